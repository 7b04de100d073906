"""Measures what the keeper spends on the starts and ends of local jobs, and how the status DB grows with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from bench.taking import Figure
from jim import request
from jim.clock import Clock
from jim.jobs import Change
from jim.model import Piece, State, Step, Witness
from jim.statusdb import file_of, open_store

if TYPE_CHECKING:
    from bench.scale import Scale

REQUEST = request.check({"job_type": "parametric", "executable": "/bin/true", "argument_sets": [["0"]]})[1]
MARK = "jim-cafe0001-1-{}"
AT_ONCE = 500  # attempts whose files a worker node puts into the spool at once
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
CLAIM = "nonce {nonce}\nhost {host}\npid 1234\nbatch {k}\nrestart -\nstarted 2026-01-31T12:00:00Z\n"
RECORD = """\
jim-exit 1
mark {mark}
index {idx}
nonce {nonce}
n {n}
attempt 1
host {host}
batch {k}
started 2026-01-31T12:{minute:02}:{second:02}Z
ended 2026-01-31T13:{second:02}:{minute:02}Z
cpu {cpu}.{minute:02}
up {up}.{second:02}
code 0
signal -
reason -
recovery -
file 0 {nothing} stdout
file 0 {nothing} stderr
end
"""


def ends(scale: Scale, count: int) -> Iterator[Figure]:
    """Let local jobs of one grid job start and end: the first half start before they end, the others at once."""
    for place in (scale.site.state, scale.site.work):
        (place / "instance").write_text("cafe0001\n")
    _make_sent(scale, count + 1)
    scale.start()
    half = count // 2
    before = _bytes(scale)
    started = sum(scale.cpu(lambda part=part: _report(scale, part, "start")) for part in _parts(range(half)))
    ended = sum(scale.cpu(lambda part=part: _report(scale, part, "exit")) for part in _parts(range(half)))
    middle = _bytes(scale)
    parts = _parts(range(half, count))
    both = sum(scale.cpu(lambda part=part: _report(scale, part, "start", "exit")) for part in parts)
    collected = scale.cpu(lambda: _end_the_last(scale, count))
    after = _bytes(scale)
    with closing(scale.reader()) as store:
        if store.counts(1) != {State.COMPLETED: count + 1}:
            raise RuntimeError(f"they ended as {store.counts(1)}")
    each = both / (count - half) + collected / count
    apart = started / half + ended / half + collected / count
    name = f"start and end, {AT_ONCE} at once, verified, collected: CPU"
    yield Figure(name, each * 1000, "ms", 0.6, f"{collected / count * 1000:.2f} ms of it to collect")
    yield Figure("  database", (after - middle) / (count - half), "B", 1200)
    note = f"{started / half * 1000:.2f} ms of it for the start"
    yield Figure("  if starts come before ends: CPU", apart * 1000, "ms", 0.6, note)
    yield Figure("  database", (middle - before) / half, "B", 1200)


def _end_the_last(scale: Scale, n: int) -> None:
    _report(scale, [n], "start", "exit")
    scale.until(lambda: _is_collected(scale))


def _is_collected(scale: Scale) -> bool:
    with closing(scale.reader()) as store:
        return store.grid_job(1).step is Step.FINISHED


def _make_sent(scale: Scale, count: int) -> None:
    """Store a grid job whose local jobs are all in the queue, and make their directories."""
    with closing(open_store(scale.site.state, Clock(), write=True)) as store, store.transaction():
        store.add_grid_job(1, "ends", "me", store.clock.utc(), REQUEST)
        store.set_grid_job(1, step=Step.RESOLVED, place="1")
        store.add_pieces(1, 0, (Piece(arguments=(str(n),)) for n in range(count)))
        store.end_split(1, count)
        for k, part in enumerate(_parts(range(count)), 1):
            store.intend(1, k, MARK.format(k), store.local_jobs(1, (State.WAITING,), limit=len(part)))
            store.set_submission(1, k, state="confirmed", batch_id=str(k))
            store.change([Change(1, 1, State.SUBMITTING, State.SUBMITTED, Witness.QUEUE, part)])
            _make_directories(scale.site.work / "1" / f"s{k}", len(part))
        store.set_grid_job(1, step=Step.ACTIVE, started=1)
    (scale.site.state / "next-id").write_text("2\n")


def _make_directories(submission: Path, count: int) -> None:
    for idx in range(1, count + 1):
        place = submission / f"run.{idx}"
        place.mkdir(parents=True)
        for name in ("stdout", "stderr"):
            (place / name).touch()


def _parts(numbers: range) -> Iterable[Sequence[int]]:
    return [numbers[first : first + AT_ONCE] for first in range(0, len(numbers), AT_ONCE)]


def _report(scale: Scale, numbers: Sequence[int], *kinds: str) -> None:
    """Put the files of wrappers into the spool, and wait until the keeper has removed them."""
    spool, made = scale.site.work / "spool", []
    for n in numbers:
        k, idx = n // AT_ONCE + 1, n % AT_ONCE + 1
        told = {"mark": MARK.format(k), "idx": idx, "k": k, "n": n, "nonce": f"{n * 0x9E3779B97F4A7C15 % 2**64:016x}"}
        told |= {"host": f"wn{n % 300:03}.site.example.org", "nothing": NOTHING}
        told |= {"minute": n % 60, "second": n * 7 % 60, "cpu": n % 3577, "up": n % 3600}
        for kind in kinds:
            file = spool / f"{MARK.format(k)}.{idx}.{kind}"
            file.with_name(f".{file.name}").write_text((CLAIM if kind == "start" else RECORD).format_map(told))
            made.append(file)
    for file in made:
        file.with_name(f".{file.name}").rename(file)
    scale.until(lambda: not any(file.exists() for file in made), 0.01)
    with closing(scale.reader()) as store:
        scale.until(lambda: not next(store.seen.completing(), None), 0.01)


def _bytes(scale: Scale) -> int:
    """Return the size of the status DB once SQLite's log is in the file."""
    file = file_of(scale.site.state)
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(FULL)")
        pages, free, size = (
            db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)
