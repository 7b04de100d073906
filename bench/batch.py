"""Measures JIM's load on a real batch system: the Slurm lab of `make live`, as its ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.taking import TICKS, Figure
from jim.workdir.submission import PROGRAMS
from tests.live.site import DONE, FAILED, USER, LiveSite, install, operator, start_lab, until

LATER = 'options = ["--begin=now+1hour"]\n'  # it stays in the queue
CARRIERS, LANES = 16, 4
INTERVALS = 20
LONGEST = 300
ROOM = {"SLURM_LAB_NODES": 2, "SLURM_LAB_CPUS": 32, "SLURM_LAB_MINJOBAGE": 10}


@contextmanager
def _sites() -> Iterator[Callable[..., LiveSite]]:
    """Bring the lab up, and give what makes a site on it."""
    if os.getuid():
        raise SystemExit("--only slurm needs root and Debian: it starts a Slurm of its own, as `make live` does")
    start_lab("slurm", **ROOM)
    place = Path(tempfile.mkdtemp(prefix="jim-bench-"))
    place.chmod(0o755)
    environment, sites = install(place), []

    def make(**more: str) -> LiveSite:
        sites.append(LiveSite(place, "slurm", environment, **more))
        return sites[-1]

    try:
        yield make
    finally:
        for site in sites:
            site.close()
        _empty()
        shutil.rmtree(place, ignore_errors=True)


def _empty() -> None:
    """Cancel whatever is in the queue."""
    operator("scancel", f"--user={USER}")
    until(lambda: _queued() == 0, "the queue is empty")


def _queued() -> int:
    return len(operator("squeue", "-h", "-r", f"--user={USER}", "-o", "%i").split())


def slurm(jobs: int, grid_jobs: int, pieces: int, runs: int) -> Iterator[Figure]:
    """Hand local jobs to Slurm, watch them wait there, run them."""
    with _sites() as make:
        yield from _handing_over(make, jobs, runs)
        yield from _asking(make, grid_jobs, pieces)
        yield from _running(make, jobs, runs)


def _handing_over(make: Callable[..., LiveSite], jobs: int, runs: int) -> Iterator[Figure]:
    """Until all are in the queue: with a keeper that runs already, with one that has to start, and by a loop."""
    cold, warm, loop, calls = [], [], [], 0
    for _ in range(runs):
        site = make(batch=LATER)
        cold.append(_until_queued(lambda site=site: site.submit(jobs), jobs))  # type: ignore[misc]
        before = site.called("submit")
        warm.append(_until_queued(lambda site=site: site.submit(jobs), jobs))  # type: ignore[misc]
        calls = max(calls, site.called("submit") - before)
        site.close()
        loop.append(_until_queued(lambda: _loop(jobs), jobs))
    note = f"medians of {runs} alternating runs"
    yield Figure(f"sbatch calls for {jobs:,} local jobs", calls, "calls", 3)
    yield Figure(f"{jobs:,} in Slurm's queue by a loop of sbatch", median(loop), "s", note=note)
    for name, taken, factor in (("warm", warm, 10), ("cold", cold, 6)):
        share = median(taken) / median(loop)
        told = f"{median(taken):.2f} s; {1 / share:.1f} times as fast"
        yield Figure(f"  by JIM with a {name} keeper, of the loop's time", share, "×", 1 / factor, told)


def _until_queued(hand_over: Callable[[], object], jobs: int) -> float:
    _empty()
    began = time.perf_counter()
    hand_over()
    until(lambda: _queued() >= jobs, "all are in the queue")
    return time.perf_counter() - began


def _loop(jobs: int) -> None:
    call = "sbatch --begin=now+1hour --parsable --output=/dev/null --wrap=true >/dev/null"
    script = f"i=0; while [ $i -lt {jobs} ]; do {call} || exit; i=$((i + 1)); done"
    subprocess.run(["runuser", "-u", USER, "--", "sh", "-c", script], cwd="/", timeout=300, check=True)


def _asking(make: Callable[..., LiveSite], grid_jobs: int, pieces: int) -> Iterator[Figure]:
    """Count batch commands while one grid job, and then many, wait in the queue."""
    _empty()
    site = make(batch=LATER)
    for count in (1, grid_jobs):
        while site.number < count:
            site.submit(pieces)
        until(lambda count=count: _queued() == count * pieces, "all are in the queue")  # type: ignore[misc]
        time.sleep(2)
        before = len(site.calls.read_text().split())
        time.sleep(INTERVALS)  # of a second each, as the site has it
        calls = (len(site.calls.read_text().split()) - before) / INTERVALS
        name = f"batch commands per interval, {count:,} grid job{'s' if count > 1 else ''} of {pieces}"
        yield Figure(name, calls, "calls", 2, f"{INTERVALS} intervals")
    site.close()


class _Taken(NamedTuple):
    """What a load took: of the clock, and of the processors of the whole machine."""

    wall: float
    cpu: float


def _taken(start: Callable[[], object], ended: Callable[[], bool]) -> _Taken:
    """Start a load, and look once a second whether it has ended: looks cost processor time, too."""
    began, busy = time.perf_counter(), _busy()
    start()
    while not ended():
        if time.perf_counter() - began > LONGEST:
            raise TimeoutError(f"not within {LONGEST} s: the load has ended")
        time.sleep(1)
    return _Taken(time.perf_counter() - began, _busy() - busy)


def _busy() -> float:
    """Sum up the seconds in which the machine's processors had work."""
    user, nice, system, _idle, _iowait, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def _running(make: Callable[..., LiveSite], jobs: int, runs: int) -> Iterator[Figure]:
    """Hold a whole grid job, from request to tar, against arrays of its wrappers alone, and of the program alone."""
    _empty()
    site = make()
    ours, wrappers, bundles, programs = [], [], [], []
    site.ended(site.submit(1))
    for number in range(runs):
        ours.append(_grid_job(site, jobs))
        wrappers.append(_wrappers(site, jobs, number))
        bundles.append(_grid_job(site, jobs, bundle=-(-jobs // CARRIERS), at_once=LANES, cores=1, memory_mb=1))
        programs.append(_programs(jobs))
    for name, theirs, bound in (("its wrappers alone", wrappers, 1.1), ("a raw array of /bin/true", programs, 1.35)):
        title = f"{jobs:,} no-op local jobs, submit to tar ÷ {name}"
        yield _held(f"{title}: CPU of the machine", [each.cpu for each in ours], [each.cpu for each in theirs], bound)
        yield _held("  wall", [each.wall for each in ours], [each.wall for each in theirs])
    title = f"{jobs:,} in {CARRIERS} batch jobs, {LANES} at once in each ÷ a raw array of /bin/true"
    yield _held(f"{title}: CPU of the machine", [each.cpu for each in bundles], [each.cpu for each in programs], 0.6)
    yield _held("  wall", [each.wall for each in bundles], [each.wall for each in programs], 0.6)


def _held(name: str, ours: list[float], theirs: list[float], bound: float | None = None) -> Figure:
    """Hold the medians of alternating runs against each other."""
    told = f"{median(ours):.1f} s ÷ {median(theirs):.1f} s, medians of {len(ours)} alternating runs"
    return Figure(name, median(ours) / median(theirs), "×", bound, told)


def _grid_job(site: LiveSite, jobs: int, **attributes: int) -> _Taken:
    """Hand a grid job in, and wait for the answer that it is done."""
    told: list[str] = []

    def ended() -> bool:
        told[:] = [site.poll(site.number)]
        return told[0].endswith((DONE, FAILED))

    taken = _taken(lambda: site.submit(jobs, executable="/bin/true", outputs=[], **attributes), ended)
    if not told[0].endswith(DONE):
        raise RuntimeError(site.log()[-2000:])
    return taken


def _programs(jobs: int) -> _Taken:
    """Run the program of the local jobs as an array that nothing watches over."""
    return _taken(lambda: _array("--chdir=/", f"--array=1-{jobs}", "--wrap=/bin/true"), lambda: _queued() == 0)


def _array(*arguments: str) -> None:
    command = ["runuser", "-u", USER, "--", "sbatch", "--parsable", "--export=ALL", "--output=/dev/null", *arguments]
    subprocess.run(command, cwd="/", capture_output=True, timeout=60, check=True)


def _wrappers(site: LiveSite, jobs: int, number: int) -> _Taken:
    """Run the wrappers of the last grid job once more, in a submission directory of their own, without JIM."""
    theirs, own = site.state / f"work/{site.number}", site.place / f"bare-{number}"
    (own / "s1").mkdir(parents=True)
    (site.place / "spool").mkdir(exist_ok=True)
    for name in (*PROGRAMS, "s1/jobs", "s1/job.sh"):
        shutil.copy(theirs / name, own / name)
    script = own / "s1/job.sh"
    script.write_text(script.read_text().replace(str(theirs), str(own)))
    for each in (own, *own.rglob("*"), site.place / "spool"):
        shutil.chown(each, USER, USER)
    submission = own / "s1"
    return _taken(
        lambda: _array("--chdir=/", f"--array=1-{jobs}", str(script)),
        lambda: sum(1 for _ in submission.glob("exit.*")) == jobs,
    )
