"""Measures a listing: running squeue and reading its text, reading the live attempts, comparing, storing."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.taking import Figure
from jim.adapters.base import Adapter
from jim.adapters.local import Local
from jim.adapters.slurm import Slurm
from jim.clock import Clock
from jim.idealizer.channel import Channel
from jim.jobs import Change
from jim.keeper.keeper import Keeper
from jim.keeper.looks import Looks
from jim.keeper.open_doors import OpenDoors
from jim.keeper.queue import asking
from jim.keeper.serial import Hold
from jim.keeper.workers import Workers
from jim.model import Listing, Observation, Piece, State, Step, Witness
from jim.site.file import Site
from jim.statusdb.store import Store

GRID, AT_ONCE = 1, 1000
HEAD = "JOBID|STATE|EXIT_CODE|REASON|NAME|.\n"  # as squeue lists them
ROW = "{0}_{1}|RUNNING|0|None|jim-cafe0001-1-{0}|.\n"


@dataclass(frozen=True)
class Taken:
    """Seconds of one listing's parts."""

    live: float
    compare: float
    store: float
    longest: float  # without a look at anything else

    @property
    def all(self) -> float:
        return self.compare + self.store


def listings(many: int, few: int, runs: int) -> Iterator[Figure]:
    """Take in listings of very many and of few local jobs, all changed, and of few changes among very many."""
    with tempfile.TemporaryDirectory(prefix="jim-bench-") as place:
        directory = Path(place)
        full, small = _stored(directory / "many.db", many), _stored(directory / "few.db", few)
        cases = ((full, _listing(many, many)), (small, _listing(few, few)), (full, _listing(many, few)))
        rounds = [[_take_in(file, listing) for file, listing in cases] for _ in range(runs)]
    large, little, among = (list(each) for each in zip(*rounds, strict=True))
    yield Figure(f"change of {many:,} local jobs taken in", _median(large, "all"), "s", 4, f"{runs} runs")
    for part, what in (("compare", "comparing"), ("store", "storing"), ("longest", "longest hold of the loop")):
        yield Figure(f"  of it {what}", _median(large, part), "s")
    yield Figure("  before it, reading what is live", _median(large, "live"), "s", note="in a worker")
    yield Figure(f"change of {few:,} local jobs taken in", _median(little, "all") * 1000, "ms", 50, f"{runs} runs")
    yield Figure("  before it, reading what is live", _median(little, "live") * 1000, "ms", note="in a worker")
    for part, what in (("compare", "compared"), ("store", "stored")):
        yield Figure(f"change of {few:,} among {many:,}, {what}", _median(among, part) * 1000, "ms")


def answers(jobs: int, runs: int) -> Iterator[Figure]:
    """Ask what stands for squeue, and says what one would, and take it in: all changed, and then nothing."""
    changed, unchanged = [], []
    with tempfile.TemporaryDirectory(prefix="jim-bench-") as place:
        said = Path(place) / "said"
        said.write_text(HEAD + "".join(ROW.format(n // AT_ONCE + 1, n % AT_ONCE + 1) for n in range(jobs)))
        stored = _stored(Path(place) / "jobs.db", jobs)
        for _ in range(runs):
            with _copy(stored) as file, _keeper(file, Slurm({"query": ["sh", "-c", 'cat "$0"', str(said)]})) as keeper:
                changed.append(_asked(keeper))
                _check(keeper.store, jobs)
                unchanged.append(_asked(keeper))
    note = f"squeue's text to the store, {runs} runs"
    yield Figure(f"listing of {jobs:,} local jobs, all changed", median(changed), "s", 1, note)
    yield Figure("  none changed", median(unchanged), "s", 0.25, note)


def _asked(keeper: Keeper) -> float:
    began = time.perf_counter()
    keeper.workers.forget(asking.QUERY)
    asking.Asking()(keeper)
    keeper.workers.deliver(60)  # the answer; what it changes comes in parts
    while keeper.workers.deliver(0):
        pass
    return time.perf_counter() - began


def _median(taken: Sequence[Taken], part: str) -> float:
    return median(getattr(each, part) for each in taken)


def _stored(file: Path, count: int) -> Path:
    """Store a grid job whose local jobs are all submitted, in confirmed submissions, as the keeper does it."""
    store = Store(file, Clock(), write=True)
    store.add_grid_job(GRID, "key", "bench", store.clock.utc(), {"job_type": "executable"})
    store.add_pieces(GRID, 0, (Piece(first_event=n + 1, events=1) for n in range(count)))
    store.end_split(GRID, count)
    for k, first in enumerate(range(0, count, AT_ONCE), 1):
        with store.transaction():
            _send(store, k, min(AT_ONCE, count - first))
    store.set_grid_job(GRID, step=Step.ACTIVE)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    return file


def _send(store: Store, k: int, size: int) -> None:
    jobs = store.local_jobs(GRID, (State.WAITING,), limit=size)
    store.intend(GRID, k, _mark(k), jobs)
    store.set_submission(GRID, k, state="confirmed", batch_id=str(k))
    store.change([Change(GRID, 1, State.SUBMITTING, State.SUBMITTED, Witness.SUBMISSION, [job.n for job in jobs])])


def _mark(k: int) -> str:
    return f"jim-cafe0001-{GRID}-{k}"


def _listing(count: int, running: int) -> Listing:
    """List so many tasks, the first ones of them running."""
    return {
        (str(n // AT_ONCE + 1), n % AT_ONCE + 1): Observation(
            State.RUNNING if n < running else State.SUBMITTED, _mark(n // AT_ONCE + 1)
        )
        for n in range(count)
    }


@contextmanager
def _copy(file: Path) -> Iterator[Path]:
    """Copy a store into a state directory of its own."""
    copy = file.with_name("copy") / "status.db"
    copy.parent.mkdir()
    try:
        shutil.copy(file, copy)
        with copy.open("rb") as written:
            os.fsync(written.fileno())
        yield copy
    finally:
        shutil.rmtree(copy.parent)


@contextmanager
def _keeper(file: Path, adapter: Adapter) -> Iterator[Keeper]:
    clock = Clock()
    store = Store(file, clock, write=True)
    site = Site(file.parent)
    channel = Channel(adapter, site.batch.command_seconds, clock)
    hold = Hold(site, ("cafe0001",), clock)
    keeper = Keeper(site, store, channel, Workers(clock, commands=1), hold, OpenDoors(""), Looks(clock))
    try:
        yield keeper
    finally:
        keeper.workers.stop()
        store.close()


def _take_in(file: Path, listing: Listing) -> Taken:
    """Take one listing in, on a copy of the store."""
    with _copy(file) as copy, _keeper(copy, Local()) as keeper, closing(keeper.store.reader()) as reader:
        moments = [time.perf_counter()]
        live = list(reader.live())
        moments.append(time.perf_counter())
        compared = asking.compare(listing, live, keeper.adapter.name_length)
        moments.append(time.perf_counter())
        asking.take_in(keeper, keeper.clock.boot(), compared)  # just as the loop does
        moments.append(time.perf_counter())
        while keeper.workers.deliver(0):
            moments.append(time.perf_counter())
        _check(keeper.store, sum(seen.state is State.RUNNING for seen in listing.values()))
    holds = [after - before for before, after in itertools.pairwise(moments[2:])]
    return Taken(moments[1] - moments[0], moments[2] - moments[1], moments[-1] - moments[2], max(holds))


def _check(store: Store, wanted: int) -> None:
    stored = store.counts(GRID).get(State.RUNNING, 0)
    if stored != wanted:
        raise RuntimeError(f"{stored} local jobs are stored as running, {wanted} were listed so")
