"""State directories for the pages: made through the store, with a clock that is set by hand."""

from __future__ import annotations

import json
import os
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from jim.clock import Clock
from jim.jobs import Change
from jim.model import Kind, Piece, Reason, State, Step, SubmissionState, Witness
from jim.site.file import Site, make_state
from jim.statusdb import open_store
from jim.statusdb.store import Store
from jim.statusdb.task_rows import Ended, NewItem, NewPiece, Part, PieceState, TaskState, WaveState
from jim.tasks.file import reading as task_file
from jim.tasks.throttle import Limits
from jim.tasks.throttle_row import ThrottleRow
from jim.workdir.tar import Tar
from tests.support.new_store import make_new

if TYPE_CHECKING:
    from jim.pages.serving import Serving

PHASE = '<phase name="{}" done="{}" total="{}" unit="{}"/>'
SEGV = Reason(Kind.EXIT, {"code": 139}, "exit 139: Segmentation fault (core dumped)")
FAILURES = (
    (216, SEGV, None),
    (139, Reason(Kind.NODE, {}, "node failure on {host}"), None),
    (29, Reason(Kind.OUTPUTS_DIFFER, {}, "outputs do not match the exit record: z_{n}.dat: 0 bytes"), None),
)


class Hand(Clock):
    """A clock that is set by hand, to write what happened before; then it goes like any other."""

    at: float | None = None

    def epoch(self) -> float:
        return time.time() if self.at is None else self.at

    def utc(self) -> str:
        return text(self.epoch())


def text(seconds: float) -> str:
    """Write a time as the store does."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(seconds * 1000) % 1000:03d}Z"


def record(mark: str, index: int, n: int, attempt: int, host: str, begun: float, seconds: float, code: int) -> str:
    """Give an exit record."""
    started, ended = (text(each)[:19] + "Z" for each in (begun, begun + seconds))
    return (
        f"jim-exit 1\nmark {mark}\nindex {index}\nnonce 5e0c\nn {n}\nattempt {attempt}\nhost {host}\n"
        f"batch 4711_{index}\nstarted {started}\nended {ended}\ncpu {0.94 * seconds:.2f}\nup {seconds:.1f}\n"
        f"code {code}\nsignal -\nreason -\nrecovery -\npeak 1536000 sampled\nend\n"
    )


class Ground:
    """A state directory, and what is in it."""

    def __init__(self, state: Path) -> None:
        self.site, self.clock, self.now = Site(state=state), Hand(), time.time()
        make_state(self.site)
        make_new(state / "status.db")
        self.store: Store = open_store(state, self.clock, write=True)

    def beat(self, ago: int = 2) -> None:
        """Let a keeper have beaten its heart; one that has just done so beats on, however slow the test is."""
        beat = int(self.clock.boot()) + (600 if ago <= 2 else -ago)
        (self.site.state / "heartbeat").write_text(f"{self.clock.boot_id()} {beat}\n")
        (self.site.state / "keeper.lock").write_text(f"{os.getpid()}\n")
        self.store.set_fact("seen", text(time.time() - ago - 1))

    def add(self, number: int, size: int, ago: float, job_type: str = "dzero_monte_carlo", **more: object) -> None:
        """Take a grid job in, some seconds ago, and split it."""
        self.clock.at = self.now - ago
        owner = str(more.pop("owner", "mc"))
        request = {"job_type": job_type, "key": f"req-{number:05d}", "events": 250 * size, **more}
        self.store.add_grid_job(number, str(request["key"]), owner, self.clock.utc(), request)
        self.clock.at += 1
        self.store.set_grid_job(number, step=Step.RESOLVED, events_per_job=250, why="events_per_job of the request")
        self.store.set_grid_job(number, place=str(number))
        for first in range(0, size, 1000):
            pieces = [Piece(n * 250 + 1, 250) for n in range(first, min(size, first + 1000))]
            self.store.add_pieces(number, first, pieces)
        self.store.end_split(number, size)
        self.clock.at = None

    def send(self, number: int, k: int, numbers: Sequence[int], ago: float, batch_id: str = "") -> str:
        """Send local jobs that wait as one submission, which the batch system accepts."""
        self.clock.at = self.now - ago
        mark = f"jim-3f9a07c2-{number}-{k}"
        self.store.intend(number, k, mark, [self.store.local_job(number, n) for n in numbers], 7200)
        self.store.set_submission(number, k, state=SubmissionState.CONFIRMED, batch_id=batch_id or str(4700 + k))
        self.change(number, numbers, State.SUBMITTING, State.SUBMITTED, Witness.QUEUE)
        self.store.set_grid_job(number, step=Step.ACTIVE)
        self.clock.at = None
        return mark

    def leave(self, number: int, k: int, idx: int, name: str, content: bytes) -> Path:
        """Leave a file of an attempt: stdout, stderr, an output, or the wrapper's log."""
        place = self.site.work / str(number) / f"s{k}"
        path = place / f"log.{idx}" if name == "log" else place / f"run.{idx}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def collect(self, number: int, files: Mapping[str, bytes], beside: Mapping[str, bytes] | None = None) -> Path:
        """Put files into the tar of a finished grid job, and others beside it."""
        place = self.site.work / str(number) / "result"
        place.mkdir(parents=True, exist_ok=True)
        for name, content in (beside or {}).items():
            (place / name).write_bytes(content)
        tar = place / f"{number}.tar"
        with tar.open("wb") as out:
            made = Tar(out)
            for name, content in files.items():
                made.add(name, len(content), [content])
            made.end()
        result = {"tar": str(tar), "bytes": tar.stat().st_size, "local_jobs": 1, "beside": sorted(beside or {})}
        self.store.set_grid_job(number, result={**result, "line": "Z mass 91.2 ± 0.1 GeV"})
        return tar

    def change(
        self, number: int, numbers: Sequence[int], was: State, now: State, witness: Witness, why: Reason | None = None
    ) -> None:
        """Move local jobs on."""
        if numbers:
            reason = why or Reason()
            attempt = self.store.local_job(number, numbers[0]).attempt
            self.store.change([Change(number, attempt, was, now, witness, list(numbers), reason)])


def blocks(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Cut numbers into parts."""
    return (numbers[at : at + size] for at in range(0, len(numbers), size))


def large(ground: Ground, number: int = 12, size: int = 10_000) -> None:
    """Add a grid job in the middle of its life: most have completed, some have failed, some run, some wait."""
    ground.add(number, size, 6 * 3600)
    ground.store.set_grid_job(number, started=1)
    marks = {}
    for k, numbers in enumerate(blocks(range(size - size // 20), 1000), 1):
        marks[k] = ground.send(number, k, numbers, 5.9 * 3600 - 60 * k)
    sent = size - size // 20
    running = {n for n in range(sent) if n * 7919 % 100 < 11 and n > size // 2}
    waiting = {n for n in range(sent) if n > sent - size // 12} - running
    failed: dict[int, tuple[Reason, str]] = {}
    for count, why, _ in FAILURES:
        share = max(1, count * size // 10_000)
        for at in range(share):
            n = (at * 6151 + count * 37) % (sent - size // 10)
            while n in failed or n in running:
                n = (n + 1) % (sent - size // 10)
            host = f"wn{13 + (at % 12 if why.kind is Kind.NODE else 0):03d}"
            failed[n] = why.worded(why.words.format(host=host, n=n)), host
    with ground.store.transaction():
        for n in range(sent):
            if n not in waiting:
                _live(ground, number, n, marks, running, failed, size)


def _live(ground: Ground, number: int, n: int, marks: dict, running: set, failed: dict, size: int) -> None:  # type: ignore[type-arg]
    k, idx = n // 1000 + 1, n % 1000 + 1
    seconds = 500 + n * 7 % 380
    ended = 5.5 * 3600 * (1 - n / size) ** 1.3 + n * 31 % 900 + 5
    why, host = failed.get(n, (None, f"wn{20 + n % 61:03d}"))
    begun = ground.now - (300 + n % 500 if n in running else ended + seconds)
    ground.clock.at = begun
    ground.store.set_attempt(number, k, idx, host=host, started=text(begun)[:19] + "Z")
    if n in running:
        ground.change(number, [n], State.SUBMITTED, State.RUNNING, Witness.CLAIM)
        ground.clock.at = ground.now - n % 50
        ground.store.publications.publish(number, n, "generator", PHASE.format("generator", 250, 250, "events"))
        ground.store.publications.publish(number, n, "d0gstar", PHASE.format("d0gstar", n % 250, 250, "events"))
    else:
        ground.clock.at = ground.now - ended
        now = State.FAILED if why else State.COMPLETED
        code = 139 if why and why.kind is Kind.EXIT else 0
        told = record(marks[k], idx, n, 1, host, begun, seconds, code)
        witness = Witness.EXIT_RECORD
        ground.store.set_attempt(number, k, idx, record=told, verdict=now.value, reason=why or Reason())
        ground.change(number, [n], State.SUBMITTED, now, witness, why)
        if not why:
            ground.store.publications.publish(number, n, "generator", PHASE.format("generator", 250, 250, "events"))
            ground.store.publications.publish(number, n, "d0gstar", PHASE.format("d0gstar", 250, 250, "events"))
    ground.clock.at = None


def ended(ground: Ground, number: int, size: int, ago: float, bad: int = 0, job_type: str = "dzero_merge") -> None:
    """Add a grid job that has ended, with so many failures."""
    ground.add(number, size, ago + 1800, job_type, owner="alice" if number % 3 else "bob")
    mark = ground.send(number, 1, range(size), ago + 1700, str(9000 + number))
    ground.store.set_grid_job(number, started=1)
    with ground.store.transaction():
        for n in range(size):
            now = State.FAILED if n < bad else State.COMPLETED
            why = Reason(Kind.EXIT, {"code": 3}, "exit 3: no space left on /scratch") if n < bad else Reason()
            host, begun = ("wn013" if n < bad else f"wn{20 + n % 9:03d}"), ground.now - ago - 600
            ground.clock.at = begun + 400
            told = record(mark, n + 1, n, 1, host, begun, 400, 3 if n < bad else 0)
            ground.store.set_attempt(
                number, 1, n + 1, host=host, started=text(begun)[:19] + "Z", record=told, verdict=now.value, reason=why
            )
            ground.change(number, [n], State.SUBMITTED, now, Witness.EXIT_RECORD, why)
    ground.clock.at = ground.now - ago
    outcome = "failed" if bad else "completed"
    tar = str(ground.site.work / str(number) / "result" / f"{number}.tar")
    result = {"tar": tar, "bytes": 10_240 * size, "local_jobs": size - bad, "beside": [], "line": ""}
    reason = f"{bad} of {size} local jobs failed: exit 3: no space left on /scratch" if bad else ""
    ground.store.set_grid_job(number, step=Step.FINISHED, outcome=outcome, reason=reason, result=result)
    ground.clock.at = None


def eaten(ground: Ground, number: int, host: str = "wn099", ago: float = 1200, count: int = 6) -> None:
    """Add a grid job of which one host has failed every attempt within seconds, while the others go well."""
    ground.add(number, 30, ago + 60, "executable", owner="bob")
    mark = ground.send(number, 1, range(30), ago + 30, str(9000 + number))
    ground.store.set_grid_job(number, started=1)
    why = Reason(Kind.EXIT, {"code": 127}, "exit 127, as of a program that is not found")
    for n in range(30):
        bad, begun = n < count, ground.now - ago + n
        where = host if bad else f"wn{20 + n % 9:03d}"
        ground.clock.at = begun
        ground.store.set_attempt(number, 1, n + 1, host=where, started=text(begun)[:19] + "Z")
        if not bad:
            ground.change(number, [n], State.SUBMITTED, State.RUNNING, Witness.CLAIM)
            continue
        ground.clock.at = begun + 2
        told = record(mark, n + 1, n, 1, where, begun, 2, 127)
        ground.store.set_attempt(number, 1, n + 1, record=told, verdict="failed", reason=why)
        ground.change(number, [n], State.SUBMITTED, State.FAILED, Witness.EXIT_RECORD, why)
    ground.clock.at = None


def add_task(ground: Ground, words: str, seen: str | None = None) -> None:
    """Add a task `mc`, of which grid job 1 is a wave, and of which a piece has failed.

    Wherever somebody may write any words stand these; others where every role may see them.
    """
    seen = words if seen is None else seen
    file = ground.site.state / "mc.toml"
    file.write_text(
        '[[task]]\nname = "mc"\nrequest = { job_type = "executable", executable = "/bin/true" }\n'
        'source = [ { directory = "/tmp", closed_by = "END.*" } ]\n'
    )
    (spec,) = task_file.read(file, ground.site)
    sources = (spec.sources[0]._replace(directory=words, closed_by=words),)
    whole = spec._replace(summary=seen, file=words, sources=sources)
    store, throttle = ground.store, ThrottleRow(Limits(1000, 1000)).stored()
    number = store.tasks.add("mc", "nonce", "mc", whole, "digest", throttle, words)
    store.pools.add_items(number, [NewItem(words, seen, 5), NewItem("b", seen)])
    items = [each.id for each in store.pools.find_items(number, "*", "", 10)]
    pieces = [NewPiece(seen, {}, (Part(item),)) for item in items]
    with store.transaction():
        store.pieces.add(number, 0, pieces)
        store.pieces.end_plan(number, len(pieces), items)
    store.pools.set_items(items, note=words)
    store.pools.set_group(number, seen, closed=text(ground.now))
    store.pools.set_source(
        number, 0, reason=words, since=text(ground.now), waits=json.dumps({"count": 1, "some": {words: words}})
    )
    store.tasks.change(number, state=TaskState.RUNNING, reason=seen)
    store.waves.intend(number, 1, store.pieces.ready(number, 10), "sha")
    store.waves.change(store.waves.live(number)[0], grid=1, state=WaveState.HANDED_IN, reason=seen)
    store.pieces.move(number, [Ended(0, PieceState.FAILED, seen)])
    store.tasks.add_fix(number, {words: words})
    store.tasks.note(number, words, words)


def png(width: int = 320, height: int = 200) -> bytes:
    """Make a picture: a peak."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    tops = [height - 10 - int(170 / (1 + ((x - 170) / 14) ** 2)) for x in range(width)]
    lines = [b"\0" + bytes(60 if y > tops[x] else 250 for x in range(width)) for y in range(height)]
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(lines)))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def checked(ground: Ground) -> None:
    """Leave what `jim site check` and `jim site test` have found, and files that make no sense."""
    found = [
        ("locks", "ok", "flock excludes a second holder", ""),
        ("state space", "warning", "1.2 GB free on the disk of the state directory", "make room before it is full"),
        ("batch system", "failed", "slurm_load_partitions: Unable to contact slurm (exit 1 after 0.1 s: sinfo)", ""),
        ("clock", "ok", "the clocks agree within 1 s", ""),
    ]
    names = ("name", "level", "said", "todo")
    checks = [dict(zip(names, each, strict=True)) for each in found]
    at = text(ground.now - 3600)
    ground.site.checked.write_text(json.dumps({"at": at, "ok": False, "checks": checks}))
    line = "JIM SITE WARNING - 1 of 4 checks: state space: 1.2 GB free"
    tested = [{"test": "config", **each} for each in checks[:2]]
    ground.site.tested.write_text(json.dumps({"at": at, "status": "warning", "line": line, "checks": tested}))
    (ground.site.work / "rejected" / "odd-report").write_text("nonsense")
    (ground.site.state / "inbox" / ".unreadable-wish-1").write_text("nonsense")


def many(ground: Ground) -> None:
    """Fill a state directory with what a busy account has."""
    for number in range(1, 12):
        ended(ground, number, 20 + number, 3600.0 * (30 - 2 * number), bad=(number % 4 == 0) * 3)
    large(ground)
    ended(ground, 13, 48, 5400)
    eaten(ground, 14)
    ended(ground, 16, 52, 600, bad=41)
    ground.add(17, 4, 120, "executable", owner="alice")
    ground.clock.at = ground.now - 20
    ground.store.add_grid_job(
        18, "req-00018", "alice", ground.clock.utc(), {"job_type": "executable", "key": "req-00018"}
    )
    ground.clock.at = None
    for n in range(200):
        words = "".join(f"event {event}: reconstructed in {2.1 + event % 7 / 10:.1f} s\n" for event in range(250))
        ground.leave(12, 1, n + 1, "stdout", words.encode())
        ground.leave(12, 1, n + 1, "stderr", b"Segmentation fault (core dumped)\n" if n % 24 == 1 else b"")
        ground.leave(12, 1, n + 1, "log", f"jim: attempt 1 of 12.{n} on wn013\n".encode())
    for n in range(52):
        ground.leave(16, 1, n + 1, "stdout", b"merging 12 files\nwriting /scratch/merged.root\n")
        ground.leave(16, 1, n + 1, "stderr", b"write: no space left on /scratch\n" if n < 41 else b"")
    ground.collect(13, {f"13.{n}/merged_{n}.root": bytes(1000 * n) for n in range(250)}, {"mass.png": png()})
    checked(ground)
    ground.beat()


if __name__ == "__main__":
    import sys

    place = Ground(Path(sys.argv[1]))
    many(place)


def end_server(made: Serving, thread: threading.Thread) -> None:
    """End pages that a thread serves, by closing all that its loop waits for."""

    def end() -> None:
        for each in list(made.server._map.values()):
            each.close()

    with suppress(OSError):  # a request that ended meanwhile has woken the loop: the loop has done it already
        made.server.trigger.pull_trigger(end)
    thread.join(10)
    made.server.task_dispatcher.shutdown(timeout=5)
    assert not thread.is_alive()
