"""Measures tasks that feed one another: very many promised items become pieces that wait, and polls go on meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import quantiles

from bench.doors import POLL
from bench.place import Place
from bench.taking import Cpu, Figure, most_memory, seconds_of
from jim.clock import Clock
from jim.doors import inbox
from jim.site.file import Site
from jim.statusdb import open_store
from jim.statusdb.store import Store
from jim.statusdb.task_rows import PieceState
from jim.tasks.file import creating

TASKS, EACH, FILES = 10, 10, 10  # that promise, outputs of a piece, promised files to a piece
LIMIT_SECONDS = 1_800.0
BETWEEN_POLLS = 0.1
BEFORE = 400
GENERATES = """
[[task]]
name = "g{n}"
request = {{ job_type = "executable", executable = "/bin/true", arguments = ["$FirstEvent"], outputs = ["*.dat"] }}
source = [ {{ events = {events}, events_per_piece = 1 }} ]
release = {{ at_once = 0 }}
output = [ {{ name = "gen{n}", files = "*.dat", each = {each} }} ]
"""
RECONSTRUCTS = """
[[task]]
name = "fed"
request = {{ job_type = "executable", executable = "/bin/true", arguments = ["$InputFiles"] }}
source = [ {sources} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = {files} }} }}
release = {{ at_once = 0 }}
"""


def promised(items: int) -> Iterator[Figure]:
    """Let tasks promise items to another one, and wait until it has planned all of them."""
    with Place() as place:
        job = place.submit(place.request("true", job_type="executable", executable="/bin/true"))
        place.until(lambda: place.step(job) == "finished")
        command = (POLL, str(job))
        before = [_poll(place, command) for _ in range(BEFORE)]
        cpu, began = Cpu.of(place.keeper()), time.perf_counter()
        _start(place, items)
        meanwhile = list(_polls_until_planned(place, command, items // FILES))
        took, used = time.perf_counter() - began, Cpu.of(place.keeper()).since(cpu).own
        memory = most_memory(place.keeper())
    name = f"{items:,} promised items planned into {items // FILES:,} pieces"
    yield Figure(name, took, "s", 120, f"{used:.0f} s of CPU; from the start of {TASKS} tasks that promise them")
    slowest = [quantiles(each, n=100)[98] * 1000 for each in (before, meanwhile)]
    note = f"{slowest[1]:.1f} ms ÷ {slowest[0]:.1f} ms before, {len(meanwhile):,} polls"
    yield Figure("  a poll meanwhile, 99th percentile", slowest[1] / slowest[0], "×", 2, note)
    yield Figure("  most memory of the keeper", memory, "MB")


def _start(place: Place, items: int) -> None:
    """Create the tasks, and start them untested."""
    names = [f"g{n}" for n in range(TASKS)]
    events = items // TASKS // EACH
    sources = ", ".join(f'{{ task = "g{n}", output = "gen{n}", promises = true }}' for n in range(TASKS))
    texts = [GENERATES.format(n=n, events=events, each=EACH) for n in range(TASKS)]
    file = place.directory / "tasks.toml"
    file.write_text("".join([*texts, RECONSTRUCTS.format(sources=sources, files=FILES)]))
    creating.create(file, Site(place.state), "bench")
    for each in (*names, "fed"):
        inbox.task_wish(Path(place.state), "start", each, by="bench", untested=True)


def _polls_until_planned(place: Place, command: tuple[str, ...], pieces: int) -> Iterator[float]:
    """Poll until so many pieces wait; yield how long each poll took."""
    end = time.monotonic() + LIMIT_SECONDS
    with closing(open_store(place.state, Clock())) as store:
        while _waiting(store) < pieces:
            if time.monotonic() > end:
                raise TimeoutError(f"waited {LIMIT_SECONDS:g} s in vain: {_waiting(store):,} pieces wait")
            yield _poll(place, command)


def _poll(place: Place, command: tuple[str, ...]) -> float:
    """Time a poll after a pause, as it is before and meanwhile: one right after another is quicker than all others."""
    time.sleep(BETWEEN_POLLS)
    return seconds_of(command, place.environment)


def _waiting(store: Store) -> int:
    return sum(store.tasks.counts(each.id, "pieces").get(PieceState.WAITING, 0) for each in store.tasks.all())
