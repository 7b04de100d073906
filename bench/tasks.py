"""Measures tasks: files that arrive, waves from ready to inbox, ends that are followed, and many that idle."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median

from bench.place import Place
from bench.taking import Figure, most_memory
from jim.adapters.local import Local
from jim.clock import Clock
from jim.idealizer.channel import Channel
from jim.jobs import Change
from jim.keeper.keeper import Keeper
from jim.keeper.looks import Looks
from jim.keeper.open_doors import OpenDoors
from jim.keeper.serial import Hold
from jim.keeper.workers import Workers
from jim.model import Piece, State, Step, Witness
from jim.reading.tasks import task as reading
from jim.reading.view import View
from jim.site.file import Site, make_state
from jim.statusdb import open_store
from jim.statusdb.store import Store
from jim.statusdb.task_rows import ItemState, NewItem, PieceState, TaskState, WaveState
from jim.statusdb.task_spec import SourceSpec
from jim.tasks import wishes
from jim.tasks.file import creating
from jim.tasks.moves import Tasks
from jim.tasks.pieces.recovering import Recoveries
from jim.tasks.results.following import follow
from jim.tasks.sources import Found, directory
from jim.tasks.sources.memory import Memory
from jim.tasks.sources.mount_points import identity

REQUEST = 'request = { job_type = "executable", executable = "/bin/true", arguments = ["$InputFiles"] }'
OPEN_ENDED = {"files": "*", "not": "", "stable_seconds": 1, "group": "", "closed_by": "", "kind": "directory"}
LIMIT_SECONDS = 60.0
STORED_AT_ONCE = 5_000
LEAST = 1e-4  # processor seconds a second: what is less cannot be told from none


def text_of(name: str, source: str, more: str = "") -> str:
    """Return a task file."""
    return f'[[task]]\nname = "{name}"\n{REQUEST}\nsource = [ {source} ]\n{more}\n'


class Bench:
    """A keeper in this process that has tasks alone."""

    def __init__(self, place: Path) -> None:
        self.site, self.clock = Site(place / "state"), Clock()
        make_state(self.site)
        store = Store(self.site.state / "status.db", self.clock, write=True)
        channel = Channel(Local(), self.site.batch.command_seconds, self.clock)
        hold, doors = Hold(self.site, ("cafe0001",), self.clock), OpenDoors("")
        workers, looks = Workers(self.clock, commands=3), Looks(self.clock)
        self.keeper = Keeper(self.site, store, channel, workers, hold, doors, looks)
        self.tasks = Tasks(lambda *_: None)
        self.longest = 0.0  # hold of the loop

    @property
    def store(self) -> Store:
        return self.keeper.store  # type: ignore[return-value]

    def start(self, text: str) -> None:
        """Create the tasks of a file, and let them run."""
        file = self.site.state.parent / "tasks.toml"
        file.write_text(text)
        left = creating.create(file, self.site, "bench").file
        if left:
            wishes.take(self.keeper, json.loads(left.read_text()), Recoveries())
            left.unlink()
        for task in self.store.tasks.all():
            self.store.tasks.change(task.id, state=TaskState.RUNNING)

    def until(self, true: Callable[[], bool]) -> float:
        """Make the moves of tasks until something holds; return how long that took."""
        began, self.longest = time.perf_counter(), 0.0
        while not true():
            self._hold(lambda: self.tasks(self.keeper))
            while self._hold(lambda: self.keeper.workers.deliver(0)):
                pass
            if time.perf_counter() - began > LIMIT_SECONDS:
                raise TimeoutError(f"waited {LIMIT_SECONDS:g} s in vain")
            time.sleep(0.002)
        return time.perf_counter() - began

    def _hold(self, act: Callable[[], object]) -> object:
        began = time.perf_counter()
        found = act()
        self.longest = max(self.longest, time.perf_counter() - began)
        return found


@contextmanager
def _bench() -> Iterator[Bench]:
    place = Path(tempfile.mkdtemp(prefix="jim-bench-"))
    made = Bench(place)
    try:
        yield made
    finally:
        made.keeper.workers.stop()
        made.store.close()
        shutil.rmtree(place)


def tasks(files: int, pieces: int, running: int, idle_seconds: float) -> Iterator[Figure]:
    """Measure what tasks cost that have much to do, and what many cost that have nothing to do."""
    yield from _arrival(files)
    yield from _wave(pieces)
    yield from _ends(pieces)
    yield from _idle(running, idle_seconds)


def _arrival(files: int) -> Iterator[Figure]:
    """Let files lie in a directory that is watched; then look at it again."""
    with _bench() as bench:
        place = bench.site.state.parent / "in"
        place.mkdir()
        for n in range(files):
            (place / f"run{n % 100}_{n:06}.raw").write_bytes(b"x")
        source = f'{{ directory = "{place}", stable_seconds = 1, every_seconds = 1, group = "run(\\\\d+)_" }}'
        bench.start(text_of("t", source, 'split = { when = "closed" }'))
        before = _memory(anew=True)
        took = bench.until(lambda: bench.store.tasks.counts(1, "items").get(ItemState.AVAILABLE) == files)
        more, longest = _memory() - before, bench.longest
        note = "from the start of the task; 1 s of it is for coming to rest"
        yield Figure(f"{files:,} files appear: all available", took, "s", 20, note)
        yield Figure("  longest hold of the loop", longest, "s", 0.2)
        yield Figure("  more memory", more, "MB", 150)
        yield from _looks(bench.store, place, files)


def _looks(store: Store, place: Path, files: int) -> Iterator[Figure]:
    """Look at a directory in which nothing is new; then once nothing in it matters any more."""
    told = {**OPEN_ENDED, "directory": str(place), "group": r"run(\d+)_"}
    memory, device = Memory(), identity(place, "", "it")

    def look() -> Found | None:
        return directory.look(told, memory, store.pools.known_items(1), device, Clock().boot())

    times = [_seconds(look) for _ in range(3)]
    yield Figure("  a look with nothing new, in a worker", median(times), "s", 3)
    numbers = [each.id for each in store.pools.known_items(1)]
    for first in range(0, files, STORED_AT_ONCE):
        store.pools.move_items(1, numbers[first : first + STORED_AT_ONCE], ItemState.COMPLETED)
    memory = Memory(mtimes=(place.stat().st_mtime_ns, place.stat().st_mtime_ns), listed=Clock().boot())
    if look() is not None:
        raise RuntimeError("a directory that is at rest was listed")
    took = _seconds(look)
    yield Figure("  the same with all done, and the directory at rest", took, "s", None, "no listing")


def _seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _memory(*, anew: bool = False) -> float:
    """Return the most memory that this process has used, or with `anew` from now on."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    return most_memory(os.getpid())


def _planned(bench: Bench, pieces: int) -> None:
    """Plan ready pieces of ten files each, of which none is released before `_release`."""
    file = bench.site.state.parent / "names.txt"
    file.write_text("".join(f"/data/{n:07}\n" for n in range(10 * pieces)) + "closed\n")
    more = "split = { parameters = { files_per_job = 10 } }\nrelease = { at_once = 0 }"
    bench.start(text_of("t", f'{{ list = "{file}", every_seconds = 3600 }}', more))
    bench.until(lambda: bench.store.tasks.counts(1, "pieces").get(PieceState.READY) == pieces)


def _release(bench: Bench) -> float:
    """Let all pieces be released in one wave; return how long that takes."""
    (task,) = bench.store.tasks.all()
    most = dict.fromkeys(("at_once", "queued", "first"), 100000)
    bench.store.tasks.change(task.id, throttle={**task.throttle, **most})
    return bench.until(lambda: bool(bench.store.waves.all(1, WaveState.HANDED_IN)))


def _wave(pieces: int) -> Iterator[Figure]:
    """Release ready pieces of ten files as a wave, and hand it in."""
    with _bench() as bench:
        _planned(bench, pieces)
        took = _release(bench)
        (wave,) = bench.store.waves.all(1)
        yield Figure(f"a wave of {wave.size:,} pieces, from ready to inbox", took, "s", 0.5)
        yield Figure("  longest hold of the loop", bench.longest, "s")


def _ends(pieces: int) -> Iterator[Figure]:
    """Follow the grid job of a wave of which all local jobs have completed."""
    with _bench() as bench:
        _planned(bench, pieces)
        _release(bench)
        (wave,) = bench.store.waves.all(1)
        store, every = bench.store, list(range(wave.size))
        store.add_grid_job(wave.grid, "k", "bench", store.clock.utc(), {"job_type": "executable"})
        store.add_pieces(wave.grid, 0, (Piece() for _ in every))
        store.end_split(wave.grid, wave.size)
        store.set_grid_job(wave.grid, step=Step.ACTIVE)
        store.intend(wave.grid, 1, "jim-cafe0001-1-1", store.local_jobs(wave.grid, (State.WAITING,)))
        states = (State.SUBMITTING, State.SUBMITTED, State.RUNNING, State.COMPLETING, State.COMPLETED)
        for was, now in pairwise(states):
            store.change([Change(wave.grid, 1, was, now, Witness.EXIT_RECORD, every)])
        took = _seconds(lambda: follow(bench.keeper))
        if store.tasks.counts(1, "pieces") != {PieceState.COMPLETED: wave.size}:
            raise RuntimeError(f"followed as {store.tasks.counts(1, 'pieces')}")
        yield Figure(f"{wave.size:,} ended pieces of 10 items followed", took, "s", 0.5)


def _idle(running: int, seconds: float) -> Iterator[Figure]:
    """Let many tasks run that have nothing to do, in a real keeper."""
    with Place() as place:
        _make_idle(place, running)
        idle = _cpu_of_idle(place, seconds)
    yield Figure(f"keeper's CPU, {running} running tasks with nothing to do", idle * 1000, "ms/s", 5)


def _make_idle(place: Place, running: int, finished: int = 0) -> None:
    """Let tasks run whose lists are open and empty; one of them with so many items that are done."""
    site = Site(place.state)
    with closing(open_store(place.state, Clock(), write=True)) as store:
        for n in range(running):
            _add_task(store, f"t{n}", SourceSpec("list", list=f"{place.directory}/empty", every_seconds=30))
        for first in range(0, finished, STORED_AT_ONCE):
            upto = min(first + STORED_AT_ONCE, finished)
            store.pools.add_items(1, [NewItem(f"/d/{n:07}") for n in range(first, upto)], ItemState.COMPLETED)
        for each in store.pools.groups(1):
            store.pools.set_group(1, each.grp, dirty=0)
    (place.directory / "empty").write_text("")
    make_state(site)


def _add_task(store: Store, name: str, source: SourceSpec) -> None:
    """Store a task that runs, without a task file."""
    file = Path(store.file.parent.parent) / "t.toml"
    file.write_text(text_of(name, '{ list = "empty" }'))
    (file.parent / "empty").touch()
    from jim.tasks.file import reading as task_file

    (spec,) = task_file.read(file, Site(store.file.parent))
    number = store.tasks.add(
        name, name, "bench", spec._replace(sources=(source,)), name, {"at_once": 10, "queued": 10, "first": 5}, "bench"
    )
    store.tasks.change(number, state=TaskState.RUNNING)


def _cpu_of_idle(place: Place, seconds: float) -> float:
    """Return the processor seconds that a keeper takes in a second."""
    place.submit(place.request("true", job_type="executable", executable="/bin/true"))
    place.until(lambda: place.step(1) == "finished")
    time.sleep(min(3.0, seconds))
    pid, before = place.keeper(), _on_processors(place.keeper())
    time.sleep(seconds)
    return (_on_processors(pid) - before) / seconds


def _on_processors(pid: int) -> float:
    """Return the processor seconds of all threads of a process: its own count has steps of 10 ms."""
    told = [each.read_text() for each in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(each.split()[0]) for each in told) / 1e9


def million(items: int, running: int, seconds: float) -> Iterator[Figure]:
    """Measure what many finished items cost: nothing."""
    with Place() as place:
        _make_idle(place, running)
        few = _cpu_of_idle(place, seconds)
    with Place() as place:
        _make_idle(place, running, items)
        view = View(Site(place.state), open_store(place.state, Clock()), Clock())
        with closing(view.store):
            times = [_seconds(lambda: reading.seen(view, view.store.tasks.all())) for _ in range(5)]
        many = _cpu_of_idle(place, seconds)
    yield Figure(f"jim task status, {items:,} items", median(times) * 1000, "ms", 150, f"{running} tasks, from tallies")
    note = f"{many * 1000:.2f} ms/s ÷ {few * 1000:.2f} ms/s"
    yield Figure(f"keeper's CPU with {items:,} finished items", max(many, LEAST) / max(few, LEAST), "×", 1.1, note)
