"""Measures the pages: a process of `jim pages` over a store that a keeper writes to, with a cold page cache.

The store is made through JIM's own store. `python bench/pages.py STATE KEEPER` is the keeper's part of it: it moves
local jobs, notes the time, and never asks a batch system.
"""

from __future__ import annotations

import gzip
import http.client
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle
from pathlib import Path
from statistics import quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.taking import Cpu, Figure
from jim.clock import Clock
from jim.files import replace
from jim.jobs import Change
from jim.model import Kind, Piece, Reason, State, Step, SubmissionState, Witness
from jim.pages.access import Access, key_of
from jim.site.file import Site, make_state
from jim.statusdb import file_of, open_store
from jim.statusdb.store import Store

HOME = Path(__file__).resolve().parents[1]
PAGES = "import sys; from jim.cli import main; sys.exit(main(['pages']))"
BUSY = 1  # the grid job of 10,000, in which the keeper moves local jobs
VIEWED_SECONDS = 5.0
CONNECTIONS = 25  # of 100 viewers: the pages take 32 of one account
PHASE = '<phase name="events" done="{}" total="250" unit="events"/>'


def fill(store: Store, number: int, size: int, bad: int) -> None:
    """Add a grid job of which all but the last tenth has ended; each 1,000 local jobs are one submission."""
    now = store.clock.utc()
    request = {"job_type": f"type{number % 7}", "key": f"key-{number}", "events": 250 * size}
    store.add_grid_job(number, request["key"], f"user{number % 5}", now, request)
    store.set_grid_job(number, step=Step.RESOLVED, place=str(number), events_per_job=250)
    for first in range(0, size, 10_000):
        with store.transaction():
            count = min(10_000, size - first)
            store.add_pieces(number, first, [Piece(n * 250 + 1, 250) for n in range(first, first + count)])
    store.end_split(number, size)
    for k, first in enumerate(range(0, size - size // 10, 1000), 1):
        with store.transaction():
            _submission(store, number, k, range(first, min(first + 1000, size - size // 10)), bad)
    ended = number != BUSY and number % 20
    store.set_grid_job(number, step=Step.FINISHED if ended else Step.ACTIVE, outcome="failed" if bad else "completed")


def _submission(store: Store, number: int, k: int, numbers: range, bad: int) -> None:
    mark = f"jim-bench-{number}-{k}"
    jobs = store.local_jobs(number, (State.WAITING,), first=numbers[0], limit=len(numbers))
    store.intend(number, k, mark, jobs, 7200)
    store.set_submission(number, k, state=SubmissionState.CONFIRMED, batch_id=str(100_000 + 1000 * number + k))
    failed = set(numbers[:: max(1, len(numbers) // bad)][:bad]) if bad else set()
    started = store.clock.utc()
    for n in numbers:
        idx, host = n - numbers[0] + 1, f"wn{n % 211:03d}"
        code = 139 if n in failed else 0
        times = f"cpu {400 + n % 90}.5\nup {430 + n % 90}.1"
        record = f"jim-exit 1\nmark {mark}\nindex {idx}\nhost {host}\n{times}\ncode {code}\n"
        verdict = "failed" if code else "completed"
        store.set_attempt(number, k, idx, host=host, started=started, record=record, verdict=verdict, reason=_why(code))
        store.publications.publish(number, n, "events", PHASE.format(n % 250 if code else 250))
    for state, those in ((State.FAILED, sorted(failed)), (State.COMPLETED, sorted(set(numbers) - failed))):
        if those:
            why = _why(139 if state is State.FAILED else 0)
            store.change([Change(number, 1, State.SUBMITTING, state, Witness.EXIT_RECORD, those, why)])


def _why(code: int) -> Reason:
    return Reason(Kind.EXIT, {"code": code}, f"exit {code}: Segmentation fault") if code else Reason()


def keep(state: Path) -> None:
    """Be at work as a keeper is: beat, hear from the batch system, and let local jobs of the busy grid job go on."""
    with closing(open_store(state, Clock(), write=True)) as store:
        waiting = [each.n for each in store.local_jobs(BUSY, (State.WAITING,))]
        for turn in range(10**9):
            replace(state / "heartbeat", f"{store.clock.boot_id()} {int(store.clock.boot())}\n".encode())
            store.set_fact("seen", store.clock.utc())
            some = waiting[10 * turn : 10 * turn + 10]
            for was, now in ((State.WAITING, State.KILLED),) if some and len(sys.argv) > 3 else ():
                store.change([Change(BUSY, 0, was, now, Witness.QUEUE, some)])
            time.sleep(1.0)


class Served:
    """The pages of a state directory, by a process of their own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.environment = {**os.environ, "JIM_STATE": str(state), "PYTHONPATH": str(HOME)}
        self.process = self._start([sys.executable, "-P", "-s", "-c", PAGES])
        assert self.process.stdout
        self.port = next(int(found[1]) for line in self.process.stdout if (found := re.search(r":(\d+)/\?token", line)))
        self.key = key_of(state)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True)

    @contextmanager
    def keeper(self, *more: str) -> Iterator[None]:
        """Let a keeper be at work."""
        process = self._start([sys.executable, "-P", "-s", __file__, str(self.state), "keeper", *more])
        time.sleep(1.5)
        yield
        process.kill()
        process.communicate()

    def viewer(self) -> Viewer:
        access = Access(self.key, self.port)
        return Viewer(self.port, f"{access.cookie}={access.begin(access.token)}")

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()

    def forget(self) -> None:
        """Drop the store from the page cache."""
        for file in self.state.glob(f"{file_of(self.state).name}*"):
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Viewer:
    """One session with one connection."""

    def __init__(self, port: int, cookie: str) -> None:
        self.connection, self.cookie, self.tags = (
            http.client.HTTPConnection("127.0.0.1", port),
            cookie,
            dict[str, str](),
        )

    def get(self, path: str, *, again: bool = False) -> tuple[int, float, bytes]:
        """Ask for a page, `again` with the tag of the last time; return status, seconds and content."""
        headers = {"Cookie": self.cookie, "If-None-Match": self.tags.get(path, "") if again else ""}
        began = time.perf_counter()
        self.connection.request("GET", path, headers=headers)
        answer = self.connection.getresponse()
        body = answer.read()
        self.tags[path] = answer.headers.get("ETag", "")
        return answer.status, time.perf_counter() - began, body


def _series(served: Served, paths: Sequence[str]) -> list[float]:
    """Time each page once, each as another person, with a cold page cache."""
    served.forget()
    times, viewer = [], served.viewer()
    for at, path in enumerate(paths):
        viewer = viewer if at % 50 else served.viewer()  # the requests of one are limited
        status, seconds, _ = viewer.get(path)
        if status != 200:
            raise RuntimeError(f"{path} answered {status}")
        times.append(seconds * 1000)
        time.sleep(0.05)
    return times


def _judged(name: str, times: Sequence[float], usual: float, worst: float) -> Iterator[Figure]:
    if len(times) >= 20:
        yield Figure(f"{name}: 95 of 100", quantiles(times, n=20)[-1], "ms", usual, f"{len(times)} requests")
    yield Figure(f"{name}: the slowest", max(times), "ms", worst)


def pages(grid_jobs: int, size: int, large: int, viewed: int, repeats: int) -> Iterator[Figure]:
    """Measure lists and pages, a document, and 100 viewers."""
    with _place() as state:
        with closing(open_store(state, Clock(), write=True)) as store:
            for number in range(1, grid_jobs + 1):
                fill(store, number, large if number == BUSY else size, 3 if number % 4 == 0 or number == BUSY else 0)
        with _served(state) as served:
            yield from _of(served, grid_jobs, size, repeats)
            yield from _watched(served, grid_jobs, viewed)


def million(local_jobs: int, repeats: int) -> Iterator[Figure]:
    """Measure the pages of one very large grid job."""
    with _place() as state:
        with closing(open_store(state, Clock(), write=True)) as store:
            fill(store, BUSY, local_jobs, 3)
        with _served(state) as served, served.keeper("busy"):
            yield Figure("page of the grid job", max(_repeated(served, f"/jobs/{BUSY}", repeats)), "ms", 250)
            for path in (f"/jobs/{BUSY}?state=failed", f"/jobs/{BUSY}/{local_jobs // 2}"):
                yield Figure(path, max(_repeated(served, path, repeats)), "ms", 250)
            for word in ("101002", f"jim-bench-{BUSY}-2", f"key-{BUSY}", "wn017"):
                yield Figure(f"search for {word}", max(_series(served, [f"/jobs?q={word}"])), "ms", 150)
            yield Figure("its XML, whole", _series(served, [f"/jobs/{BUSY}.xml"])[0] / 1000, "s", 60)
            yield Figure("memory of the pages", _memory(served.process.pid), "MB", 214, "64 MB more than usual for XML")


@contextmanager
def _place() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="jim-bench-"))
    try:
        make_state(Site(state=place / "state"))
        yield place / "state"
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _served(state: Path) -> Iterator[Served]:
    served = Served(state)
    try:
        yield served
    finally:
        served.end()


def _of(served: Served, grid_jobs: int, size: int, repeats: int) -> Iterator[Figure]:
    rng = random.Random(1)
    others = [rng.randint(2, grid_jobs) for _ in range(min(100, 10 * grid_jobs))]
    lists = [f"/jobs?after={number}" for number in others] + [f"/jobs?failed=yes&after={number}" for number in others]
    with served.keeper("busy"):
        yield from _judged("lists", _series(served, lists), 60, 150)
        yield from _judged("grid jobs", _series(served, [f"/jobs/{number}" for number in others]), 60, 150)
        local = [f"/jobs/{number}/{rng.randrange(size)}" for number in others]
        yield from _judged("local jobs", _series(served, local), 60, 150)
        yield from _judged("overview", _repeated(served, "/", repeats), 60, 150)
        for word in (f"{100_000 + 1000 * others[0] + 1}", f"jim-bench-{others[0]}-1", f"key-{others[0]}", "wn017"):
            yield Figure(f"search for {word}", max(_series(served, [f"/jobs?q={word}"])), "ms", 150)
        yield from _large(served, repeats)


def _watched(served: Served, grid_jobs: int, viewed: int) -> Iterator[Figure]:
    with served.keeper():
        yield from _viewers(served, grid_jobs, viewed, "nothing changes", 3.0, least=80.0)
    with served.keeper("busy"):
        yield from _viewers(served, grid_jobs, viewed, "half on a busy grid job", 10.0)


def _repeated(served: Served, path: str, times: int) -> list[float]:
    """Time a page anew, after each rendering has become too old to be shared."""

    def once() -> float:
        time.sleep(VIEWED_SECONDS + 0.2)
        return _series(served, [path])[0]

    once()  # what a thread finds out beside is found out
    return [once() for _ in range(times)]


def _large(served: Served, repeats: int) -> Iterator[Figure]:
    times = _repeated(served, f"/jobs/{BUSY}", repeats)
    yield Figure("page of the large grid job", max(times), "ms", 150)
    _, _, body = served.viewer().get(f"/jobs/{BUSY}")
    yield Figure("  its size", len(body) / 1000, "kB", 250)
    yield Figure("  its size, compressed", len(gzip.compress(body)) / 1000, "kB", 60)
    times = _series(served, [f"/jobs/{BUSY}.xml"])
    yield Figure("its XML, whole", times[0] / 1000, "s", 0.6, "the document is written before its first byte is sent")


def _viewers(
    served: Served, grid_jobs: int, seconds: int, how: str, most: float, least: float | None = None
) -> Iterator[Figure]:
    """Let 100 people look, each with a page that asks every 5 s for what has changed."""
    paths = [f"/jobs/{BUSY}"] * 50 + ["/", "/jobs"] * 10
    paths += [f"/jobs/{BUSY}/{n}" for n in range(20)] + [f"/jobs/{min(2, grid_jobs)}"] * 10
    codes: Counter[int] = Counter()
    warm, stop = threading.Barrier(CONNECTIONS + 1), threading.Event()
    shares = [paths[at::CONNECTIONS] for at in range(CONNECTIONS)]
    threads = [threading.Thread(target=_view, args=(served, share, codes, warm, stop)) for share in shares]
    for thread in threads:
        thread.start()
    warm.wait()
    codes.clear()
    before, began = Cpu.of(served.process.pid), time.perf_counter()
    time.sleep(seconds)
    used = 100 * Cpu.of(served.process.pid).since(before).own / (time.perf_counter() - began)
    counted = Counter(codes)
    stop.set()
    for thread in threads:
        thread.join()
    if set(counted) - {200, 304}:
        raise RuntimeError(f"answers: {counted}")
    note = f"{counted[304]:,} of {counted.total():,} polls were answered by 304"
    yield Figure(f"100 viewers, {how}", used, "% of a core", most, note)
    if least is not None:
        yield Figure("  polls that brought a page anew", 100 * counted[200] / counted.total(), "%", 100 - least)
        yield Figure("  memory of the pages", _memory(served.process.pid), "MB", 150)


def _memory(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1000


def _view(
    served: Served, paths: Sequence[str], codes: Counter[int], warm: threading.Barrier, stop: threading.Event
) -> None:
    """Look at some pages in turn, over one connection: the pages take few of one account."""
    viewers, pause = [(served.viewer(), path) for path in paths], _pauses(paths)
    for viewer, path in viewers:
        viewer.connection = viewers[0][0].connection
        viewer.get(path)
    warm.wait()
    for viewer, path in cycle(viewers):
        if stop.wait(pause()):
            break
        codes[viewer.get(path, again=True)[0]] += 1


def _pauses(paths: Sequence[str]) -> Callable[[], float]:
    chance = random.Random(paths[0])
    return lambda: VIEWED_SECONDS / len(paths) * chance.uniform(0.9, 1.1)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
