"""Measure a keeper's cost with very many grid jobs: idle, after a change, while many come and go, at its start.

    make bench-scale

The keeper is the real one, in a thread of this process, with its own threads; the batch system is a stub that answers
at once, and wrappers are files that are put into the spool. The CPU time of the submitters is not counted. The query of
all jobs is left out, as its cost is the cost of the listing, which `make bench` measures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `python -P` leaves the directory out

from bench import many, people, scale_page
from bench.ends import ends
from bench.place import HOME
from bench.taking import Cpu, Figure
from jim import request
from jim.adapters.base import Adapter
from jim.clock import Clock
from jim.command import spawn
from jim.doors import inbox
from jim.errors import UnknownJob
from jim.idealizer.channel import Channel
from jim.jobs import Change
from jim.keeper import opening
from jim.keeper.keeper import Keeper
from jim.keeper.looks import Looks
from jim.keeper.loop import keep
from jim.keeper.open_doors import OpenDoors
from jim.keeper.rounds import Rounds
from jim.keeper.waking import ring
from jim.keeper.workers import Workers
from jim.model import Answer, Batch, Observation, Piece, State, Step, Witness
from jim.run_grid_job import moves
from jim.site.file import Batch as BatchSettings
from jim.site.file import Limits, Site, make_state
from jim.statusdb import open_store
from jim.statusdb.store import Store

PARTS = ("still", "coming", "cancelled", "ended", "begun", "asked", "through")
PIECES = 5
LIMIT_SECONDS, LONG_SECONDS = 600.0, 7200.0
SETS = [[str(n)] for n in range(PIECES)]
REQUEST = request.check({"job_type": "parametric", "executable": "/bin/true", "argument_sets": SETS})[1]
CANCEL_ALL = """
import sys; from pathlib import Path
from jim.doors.inbox import wish
from jim.keeper.waking import ring
state, count = Path(sys.argv[1]), int(sys.argv[2])
for grid in range(2, count + 1): wish(state, "cancel", str(grid))
ring(state)
"""
CLAIM = "nonce 0123456789abcdef\nhost node1\npid 1\nbatch {}\nrestart -\n"


class Stub(Adapter):
    """A batch system that accepts every job and lists none."""

    name = "stub"
    commands: Mapping[str, tuple[str, ...]] = {}  # type: ignore[assignment]
    index_variable, id_variable = "I", "B"
    ids = 0

    def submit_command(self, batch: Batch) -> list[str]:
        return ["submit", batch.mark]

    def parse_submit(self, answer: Answer) -> str:
        return answer.out

    def cancel_command(self, ids: Sequence[tuple[str, int]]) -> list[str]:
        return ["cancel", *(f"{id_}.{index}" for id_, index in ids)]

    def query_command(self) -> list[str]:
        return ["query"]

    def parse_query(self, answer: Answer) -> dict[tuple[str, int], Observation]:
        return {}

    parse_history = parse_find = parse_query

    def history_command(self, ids: Sequence[str]) -> list[str]:
        return ["history", *ids]

    def parse_cancel(self, answer: Answer) -> None:
        pass

    def find_command(self, mark: str) -> list[str]:
        return ["find", mark]

    def ping_command(self) -> list[str]:
        return ["ping"]

    def run(self, command: Sequence[str], *, limit: float, mark: str = "") -> Answer:
        self.ids += 1
        return Answer(tuple(command), 0, str(self.ids), "", 0.0)

    def end_marked(self, mark: str, id_variable: str) -> list[int]:
        return []


class Scale:
    """A state directory with a keeper at work."""

    def __init__(self, **limits: Any) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="jim-scale-"))
        batch = BatchSettings(query_seconds=86_400.0)
        self.site = Site(state=self.place / "state", batch=batch, limits=Limits(**{"queued": 10**6, **limits}))
        make_state(self.site)
        self.longest, self.looped, self.error = 0.0, 0.0, None  # CPU time of the loop
        self.rounds: Rounds
        self.thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Scale:
        return self

    def __exit__(self, *_: object) -> None:
        (self.site.state / "keeper.lock").unlink(missing_ok=True)
        ring(self.site.state)
        if self.thread.is_alive():
            self.thread.join(60)
        shutil.rmtree(self.place, ignore_errors=True)

    def start(self) -> None:
        """Run the keeper until it has looked at everything."""
        self.thread.start()
        self.until(lambda: hasattr(self, "rounds") and self.quiet())

    def _keep(self) -> None:
        try:
            keep(self.site.state, Clock(), 3600.0, self._open)
        except BaseException as error:
            self.error = error
            raise

    def _open(self) -> Rounds:
        clock, stub = Clock(), Stub({}, "")
        store = open_store(self.site.state, clock, write=True)
        channel, hold = Channel(stub, 60.0, clock, stub), opening.hold_of(self.site, store)
        keeper = Keeper(self.site, store, channel, Workers(clock), hold, OpenDoors(""), Looks(clock))
        keeper.workers.wait("query", 86_400.0)
        rounds = Rounds(keeper, moves())
        rounds.round, rounds.deliver = self._timed(rounds.round), self._timed(rounds.keeper.workers.deliver)
        self.rounds = rounds
        return rounds

    def _timed(self, part: Callable[..., Any]) -> Callable[..., Any]:
        """Measure the longest CPU time for which a part blocks the loop."""

        def made(*arguments: Any) -> Any:
            began = time.thread_time()
            try:
                return part(*arguments)
            finally:
                took = time.thread_time() - began
                self.longest, self.looped = max(self.longest, took), self.looped + took

        return made

    def quiet(self) -> bool:
        """Tell whether the keeper has no work now."""
        keeper = self.rounds.keeper
        waits = any(not each.name.startswith(".") for each in (self.site.state / "inbox").iterdir())
        return not waits and keeper.workers.idle() and keeper.looks.soonest() > keeper.clock.boot()

    def until(self, true: Callable[[], Any], pause: float = 0.05) -> float:
        """Wait until a condition holds; return the seconds."""
        began = time.perf_counter()
        while not true():
            if self.error or time.perf_counter() - began > LIMIT_SECONDS:
                raise TimeoutError("the keeper makes no progress") from self.error
            time.sleep(pause)
        return time.perf_counter() - began

    def cpu(self, doing: Callable[[], Any]) -> float:
        """Return the keeper's CPU time from an action until it is quiet again."""
        began, mine = time.process_time(), time.thread_time()
        doing()
        self.until(self.quiet)
        return (time.process_time() - began) - (time.thread_time() - mine)

    def reader(self) -> Store:
        """Return a reader of the store."""
        return open_store(self.site.state, Clock())

    def hand_in(self, key: str) -> int:
        """Hand in a request as a door does; return its number."""
        number = inbox.deposit(self.site.state, key, {**REQUEST, "key": key})
        ring(self.site.state)
        return number

    def make_open(self, count: int) -> None:
        """Store open grid jobs as left by an earlier keeper: all local jobs are in the queue."""
        with closing(open_store(self.site.state, Clock(), write=True)) as store, store.transaction():
            for grid in range(1, count + 1):
                _store_open(store, grid)
        for grid in range(1, count + 1):
            (self.site.work / str(grid) / "s1").mkdir(parents=True)
        (self.site.state / "next-id").write_text(f"{count + 1}\n")


def _store_open(store: Store, grid: int) -> None:
    store.add_grid_job(grid, f"open-{grid}", "me", store.clock.utc(), REQUEST)
    store.set_grid_job(grid, step=Step.RESOLVED, place=str(grid))
    store.add_pieces(grid, 0, [Piece(arguments=(str(n),)) for n in range(PIECES)])
    store.end_split(grid, PIECES)
    store.intend(grid, 1, _mark(grid), store.local_jobs(grid, (State.WAITING,)))
    store.set_submission(grid, 1, state="confirmed", batch_id=str(grid))
    store.change([Change(grid, 1, State.SUBMITTING, State.SUBMITTED, Witness.QUEUE, range(PIECES))])
    store.set_grid_job(grid, step=Step.ACTIVE)


def _mark(grid: int, instance: str = "cafe0001") -> str:
    return f"jim-{instance}-{grid}-1"


def standing_still(open_jobs: int, changes: int) -> Iterator[Figure]:
    """Measure an idle keeper, then one change at a time, then a new request."""
    with Scale() as scale:
        for place in (scale.site.state, scale.site.work):
            (place / "instance").write_text("cafe0001\n")
        scale.make_open(open_jobs)
        scale.start()
        began = time.process_time()
        time.sleep(10.0)
        idle = (time.process_time() - began) / 10.0
        name, point = f"idle, {open_jobs:,} open of {PIECES}: CPU a second", (open_jobs, idle * 1000)
        yield Figure(name, idle * 1000, "ms", 10, "", scale_page.OPEN[0], [point])
        spent, took = 0.0, 0.0
        for grid in range(1, changes + 1):
            began = time.perf_counter()
            spent += scale.cpu(lambda grid=grid: _start(scale, grid))
            took += time.perf_counter() - began
        each = (spent - idle * took) / changes
        name, point = f"one change among {open_jobs:,} open: CPU", (open_jobs, each * 1000)
        yield Figure(name, each * 1000, "ms", 5, f"{changes} starts", scale_page.OPEN[1], [point])
        with closing(scale.reader()) as store:
            times = []
            for n in range(5):
                number = scale.hand_in(f"new-{n}")
                times.append(scale.until(lambda number=number: _is_split(store, number), 0.005))
        yield Figure(f"door's answer → split, {open_jobs:,} open: wall", max(times), "s", 0.3, "the longest of 5")


def _start(scale: Scale, grid: int) -> None:
    """Report the start of a wrapper, and wait until the keeper has stored it."""
    report = scale.site.work / "spool" / f"{_mark(grid)}.1.start"
    report.with_name(f".{report.name}").write_text(CLAIM.format(grid))
    report.with_name(f".{report.name}").rename(report)
    scale.until(lambda: not report.exists(), 0.01)


def _is_split(store: Store, number: int) -> bool:
    try:
        return store.grid_job(number).step in (Step.SPLIT, Step.ACTIVE)
    except UnknownJob:
        return False


def coming(count: int) -> Iterator[Figure]:
    """Hand in grid jobs one after the other; all of them stay in the queue."""
    with Scale() as scale:
        scale.start()
        each = max(1, count // 10)
        spent = [scale.cpu(lambda n=n: [scale.hand_in(f"{n}-{m}") for m in range(each)]) / each for n in range(10)]
        told = ", ".join(f"{one * 1000:.1f}" for one in spent)
        points = [(10 * part, one * 1000) for part, one in enumerate(spent, 1)]
        name = f"{count:,} handed in: keeper's CPU per grid job"
        yield Figure(name, max(spent) * 1000, "ms", 15, told, scale_page.COMING[0], points)
        yield Figure("  the last tenth ÷ the first", spent[-1] / spent[0], "×", 1.5)
        yield Figure("  longest block of the loop (CPU)", scale.longest * 1000, "ms", 50)


def cancelled(count: int) -> Iterator[Figure]:
    """Cancel very many grid jobs at once while their local jobs wait for room in the queue."""
    with Scale(queued=1) as scale:
        scale.start()
        scale.hand_in("0")
        scale.until(scale.quiet)  # the first one has the only place in the queue
        for n in range(1, count):
            scale.hand_in(str(n))
        scale.until(scale.quiet)
        scale.longest, looped = 0.0, scale.looped

        def cancel() -> None:  # doors are other processes: a thread of this one would compete for Python
            subprocess.run([sys.executable, "-c", CANCEL_ALL, str(scale.site.state), str(count)], cwd=HOME, check=True)

        spent = scale.cpu(cancel)
        with closing(scale.reader()) as store:
            left = sum(each.id > 1 for each in store.grid_jobs(*(step for step in Step if step is not Step.FINISHED)))
        if left:
            raise RuntimeError(f"{left} are not cancelled")
        each, loop = spent / count * 1000, (scale.looped - looped) / count * 1000
        note = f"the loop's part is {loop:.1f} ms"
        yield Figure(f"cancel of {count:,} that wait: CPU per grid job", each, "ms", 1, note)
        yield Figure("  longest block of the loop (CPU)", scale.longest * 1000, "ms", 50)


def ended(count: int) -> Iterator[Figure]:
    """Let the local jobs of one grid job start and end."""
    with Scale() as scale:
        yield from ends(scale, count)


def begun(count: int) -> Iterator[Figure]:
    """Start a keeper process with very many ended grid jobs; hand in a new one meanwhile."""
    with Scale() as scale:
        _store_finished(scale, count)
        (scale.site.state / "site.toml").write_text("")
        number = scale.hand_in("new")
        command = (sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", str(scale.site.state))
        beat, moment = scale.site.state / "heartbeat", time.perf_counter()
        pid = _spawned(command)
        first, cpu = scale.until(beat.exists, 0.005), Cpu.of(pid).own
        with closing(scale.reader()) as store:
            scale.until(lambda: store.numbers.of_key("new") == number, 0.005)
        taken = time.perf_counter() - moment
        time.sleep(10.0)
        ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        os.kill(pid, 15)
        yield Figure(
            f"start with {count:,} ended: to the first heartbeat, wall",
            first,
            "s",
            0.5,
            f"with Python's start; CPU {cpu:.2f} s",
        )
        yield Figure("  to the first request", taken, "s", 0.5)
        yield Figure("  CPU of its first 10 s", ticks / os.sysconf("SC_CLK_TCK"), "s")


def asked(ended: int, local_jobs: int) -> Iterator[Figure]:
    """Run people's commands."""
    with Scale() as scale:
        _store_finished(scale, ended)
        yield from people.start_up(scale.site.state, ended)
        yield from people.reading(scale.place, local_jobs)


def _spawned(command: Sequence[str]) -> int:
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        "HOME": "/nonexistent",
    }
    spawn(command, env=environment)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for each in Path("/proc").iterdir():
            if each.name.isdigit() and int(each.name) != os.getpid():
                try:
                    if (each / "cmdline").read_bytes().split(b"\0")[:-1] == [os.fsencode(word) for word in command]:
                        return int(each.name)
                except OSError:
                    continue
    raise TimeoutError("the keeper does not start")


def _store_finished(scale: Scale, count: int) -> None:
    for place in (scale.site.state, scale.site.work):
        (place / "instance").write_text("cafe0001\n")
    text, now = json.dumps({**REQUEST, "key": "k"}), Clock().utc()
    with closing(open_store(scale.site.state, Clock(), write=True)) as store, store.transaction():
        store.add_grid_job(1, "1", "me", now, REQUEST)
        store.set_grid_job(1, step=Step.FINISHED, outcome="completed", place="1")
        store.answers.are_written([1])
        db: Any = store
        names = ", ".join(column for _, column, *_ in db.db.execute("PRAGMA table_info(grid_job)"))
        others = names.replace("id, key", "value, 'k' || value").replace(", place", ", value")
        numbers = json.dumps(list(range(2, count + 1)))
        db.db.execute(
            f"INSERT INTO grid_job ({names}) SELECT {others} FROM json_each(?), grid_job WHERE grid_job.id = 1",
            (numbers,),
        )
        db.db.execute("INSERT INTO request SELECT value, ? FROM json_each(?)", (text, numbers))
        for state, times in (("completed", PIECES),):
            db.db.execute("INSERT INTO tally SELECT value, ?, ? FROM json_each(?)", (state, times, numbers))
    for number in range(1, count + 1):
        (scale.site.state / "answers" / str(number)).write_bytes(b"GRAM_SCRIPT_JOB_STATE:8\n\n")
    (scale.site.state / "next-id").write_text(f"{count + 1}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the figures, and compare them with their bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny amounts: tests the benchmark, measures nothing")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--write", action="store_true", help="write bench/scale.json and docs/scale.svg")
    parser.add_argument("--through", type=int, default=100_000, metavar="N", help="local jobs on the stub of Slurm")
    asked_for = parser.parse_args(arguments)
    size = 100 if asked_for.quick else 1
    parts = {
        "still": lambda: chain.from_iterable(
            standing_still(open_jobs // size, min(50, open_jobs // size)) for open_jobs in (100, 1_000, 10_000)
        ),
        "coming": lambda: coming(10_000 // size),
        "cancelled": lambda: cancelled(5_000 // size),
        "ended": lambda: ended(20_000 // size),
        "begun": lambda: begun(100_000 // size),
        "asked": lambda: asked(100_000 // size, 100_000 // size),
        "through": lambda: many.through(asked_for.through // size, LONG_SECONDS),
    }
    found = []
    for name in asked_for.only or parts:
        for each in parts[name]():
            found.append(each)
            bound = "" if each.bound is None else f"≤ {each.bound:g}{'' if each.ok else '  OVER'}"
            print(f"{each.name:<56} {each.measured:>10.3g} {each.unit:<3} {bound:<14} {each.note}".rstrip(), flush=True)
    print(f"\n{scale_page.table(found)}", end="")
    if asked_for.write:
        scale_page.write(found, HOME / "bench/scale.json", HOME / "docs/scale.svg")
    return int(not all(each.ok for each in found))


if __name__ == "__main__":
    sys.exit(main())
