"""Writes the accounting: one line for each attempt that has ended, in the file of the day on which it ended (UTC).

A carrier, the batch job of several local jobs, has a line in another file, once all of its submission have ended.

The transaction that gives an attempt its verdict also marks the attempt as unaccounted. A worker appends the lines, and
only then the marks are removed. A keeper that is killed, or fails, between the two leaves lines whose marks are still
there, at the end of their files; so the next try leaves out the lines that it finds there. The day of a line does not
depend on when the line is written.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from jim.clock import age_seconds
from jim.errand import Errand
from jim.errors import JimError
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.files import append_whole, open_regular, sync_directory
from jim.jobs import GridJob, Sender, Unaccounted
from jim.keeper.keeper import Keeper
from jim.model import Resources
from jim.request import handler_of
from jim.statusdb.grid.senders import EndedCarrier
from jim.trust.plugins import foreign
from jim.work.bundles import bundle_of, lanes_of

log = logging.getLogger(__name__)
KEY, AT_ONCE, EVERY_SECONDS = "accounting", 200, 1.0
PLACE = "accounting"
TAIL = 4 * 1024 * 1024  # longer than so many lines: the texts in them are limited
LONGEST = 1000
DAY = 86_400.0
OF_A_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:\.carriers)?\.jsonl|blahp\.log-(\d{4})(\d\d)(\d\d)")
NO_FQAN = "/None/Role=NULL"  # as other writers of this form have it
Lines = Mapping[Path, Mapping[bytes, bytes]]  # by file; each line by the words in it that no other line has


class Accounting:
    """The move that writes the lines of ended attempts."""

    def __init__(self) -> None:
        self._next = 0.0
        self._sure: frozenset[Path] = frozenset()  # files without a line whose mark is still there

    def __call__(self, keeper: Keeper) -> None:
        """Let a worker write some lines: once a second while there is work, as each time waits for the disk."""
        now = keeper.clock.boot()
        if not keeper.workers.ready(KEY) or (now < self._next and keeper.store.unfinished()):
            return
        ended = keeper.store.senders.unaccounted(AT_ONCE)
        if not ended:
            return
        if not keeper.site.keep.accounting_days:
            keeper.store.senders.are_accounted(ended[-1].seq)
            return
        self._next = now + (EVERY_SECONDS if len(ended) < AT_ONCE else 0.0)
        sure, self._sure = self._sure, frozenset()
        lines = lines_of(keeper, ended, keeper.store.senders.ended_carriers(ended[-1].seq))
        work = partial(write, keeper.site.state / PLACE, lines, sure, keeper.site.keep.accounting_days)
        done = partial(self._written, keeper, ended[-1].seq, frozenset(lines))
        keeper.workers.start(Errand(KEY, work, done, partial(_failed, keeper)))

    def _written(self, keeper: Keeper, last: int, files: frozenset[Path], _: None) -> None:
        keeper.store.senders.are_accounted(last)
        self._sure = files


def _failed(keeper: Keeper, error: BaseException) -> None:
    if keeper.workers.pace(("said", KEY)):
        log.warning("the accounting cannot be written: %s; no line is lost, and JIM tries again", error)


def write(place: Path, lines: Lines, sure: frozenset[Path], days: float) -> None:
    """Append lines to their files, but those that are there already. Runs in a worker."""
    place.mkdir(mode=0o700, exist_ok=True)
    for file, records in lines.items():
        new = not file.exists()
        there = b"" if file in sure else _tail(file)
        append_whole(file, b"".join(line for words, line in records.items() if words not in there), 0o600)
        if new:
            sync_directory(place)
            _remove_old(place, file, days)


def _tail(file: Path) -> bytes:
    """Return the last whole lines of a file."""
    with suppress(FileNotFoundError), os.fdopen(open_regular(file), "rb") as opened:
        opened.seek(max(0, os.fstat(opened.fileno()).st_size - TAIL))
        content = opened.read()
        return content[: content.rfind(b"\n") + 1]
    return b""


def _remove_old(place: Path, newest: Path, days: float) -> None:
    today = _noon(newest.name)
    for each in place.iterdir():
        if age_seconds(_noon(each.name) or today, today) > days * DAY:
            each.unlink(missing_ok=True)


def _noon(name: str) -> str:
    """Return the noon of the day that a file is of; empty if it is no file of a day."""
    found = OF_A_DAY.fullmatch(name)
    return "-".join(filter(None, found.groups())) + "T12:00:00Z" if found else ""


# The lines


class Sent(NamedTuple):
    """What the lines of one grid job have in common."""

    job: GridJob
    sender: Sender
    asked: Resources  # by local jobs without attributes of their own


def _sent(keeper: Keeper, grid: int) -> Sent:
    job = keeper.store.grid_job(grid)
    return Sent(job, keeper.store.senders.of(grid), _asked(keeper, job.job_type, job.request))


def lines_of(keeper: Keeper, ended: list[Unaccounted], carriers: list[EndedCarrier]) -> Lines:
    """Return the lines of attempts and carriers by the files that they belong into."""
    grid_jobs = {*(each.grid for each in ended), *(each.grid for each in carriers)}
    by_grid_job = {grid: _sent(keeper, grid) for grid in grid_jobs}
    place, lines = keeper.site.state / PLACE, dict[Path, dict[bytes, bytes]]()
    for attempt in ended:
        sent = by_grid_job[attempt.grid]
        facts, is_batch_job = _facts(keeper, attempt, sent), bool(attempt.started) and not attempt.carried
        _add(lines, place, attempt.at[:10], "", facts, sent.sender if is_batch_job else None)
    for carrier in carriers:
        sent = by_grid_job[carrier.grid]
        _add(lines, place, carrier.ended[:10], ".carriers", _facts_of_carrier(keeper, carrier, sent), sent.sender)
    return lines


def _add(
    lines: dict[Path, dict[bytes, bytes]], place: Path, day: str, kind: str, facts: dict[str, Any], of: Sender | None
) -> None:
    """Add a line; also for those who count batch jobs by the log of BLAH, if `of` says whose that is."""
    text = json.dumps(facts).encode()
    lines.setdefault(place / f"{day}{kind}.jsonl", {})[text[: text.index(b",") + 1]] = text + b"\n"
    if of and of.dn and facts["batch_id"] and facts["started"]:
        words = f'"jobID={facts["id"]}"'
        blah = lines.setdefault(place / f"blahp.log-{day.replace('-', '')}", {})
        blah[words.encode()] = f"{_blah(facts, of, words)}\n".encode()


def _facts(keeper: Keeper, each: Unaccounted, sent: Sent) -> dict[str, Any]:
    (job, _, asked), own = sent, each.piece.attributes
    if each.asked:
        asked = _resources(each.asked)
    elif own:
        asked = _asked(keeper, job.job_type, {**job.request, **own})
    return {
        "id": f"{each.mark.split('-')[1]}-{each.grid}.{each.n}-{each.attempt}",
        **_facts_of_sender(keeper, sent),
        "local_job": each.n,
        "attempt": each.attempt,
        "batch_id": each.batch_id,
        "index": each.idx if each.size > 1 else None,
        "queue": asked.queue or "",
        "host": each.host,
        "cores": asked.cores or 1,
        "memory_mb": asked.memory_mb,
        **_measured(each),
        "verdict": each.verdict,
    }


def _facts_of_carrier(keeper: Keeper, each: EndedCarrier, sent: Sent) -> dict[str, Any]:
    """Return what a carrier had, as JIM saw it; how much a whole node is, JIM does not know."""
    needs, bundle = _resources(each.needs), bundle_of(sent.job.request)
    share = -(-each.size // each.carriers)
    lanes = lanes_of(bundle, share, needs, keeper.site) if bundle else 1
    has_node = bool(bundle and bundle.whole_node)
    return {
        "id": f"{each.mark.split('-')[1]}-{each.grid}.s{each.k}-{each.carrier}",
        **_facts_of_sender(keeper, sent),
        "local_jobs": each.local_jobs,
        "batch_id": each.batch_id,
        "index": each.carrier if each.carriers > 1 else None,
        "queue": needs.queue or "",
        "host": each.host,
        "cores": None if has_node else (needs.cores or 1) * lanes,
        "memory_mb": None if has_node or not needs.memory_mb else needs.memory_mb * lanes,
        "started": each.started,
        "ended": each.ended,
        "wall_seconds": round(max(0.0, age_seconds(each.started, each.ended)), 2) if each.started else None,
    }


def _resources(needs: Mapping[str, Any]) -> Resources:
    return Resources(**{name: needs[name] for name in Resources._fields if name in needs})


def _facts_of_sender(keeper: Keeper, sent: Sent) -> dict[str, Any]:
    job, sender, _ = sent
    return {
        "site": keeper.site.site.name,
        "account": job.owner,
        "grid_job": job.id,
        "key": job.key[:LONGEST],
        "job_type": job.job_type,
        "dn": sender.dn,
        "dn_claimed": bool(sender.dn) and not sender.known,
        "vo": sender.vo,
        "fqan": (*sender.fqans, "")[0],
        "contact": sender.contact[:LONGEST],
        "batch_system": keeper.site.batch.system,
    }


def _measured(each: Unaccounted) -> dict[str, Any]:
    """Return what the exit record says; without one, nobody has measured anything.

    Whoever reports more wall time than the keeper saw gets no more (`plausible.py`), and the line keeps both numbers.
    """
    record = _record(each)
    return {
        "started": record.started if record else each.started,
        "ended": record.ended if record else each.at,
        "wall_seconds": round(record.seconds, 2) if record else None,
        "cpu_seconds": record.cpu if record else None,
        "implausible": _implausible(record) if record else None,
        "memory_mb_peak": record.peak_mb if record else None,
        "memory_sampled": record.sampled if record and record.peak_mb is not None else None,
        "exit_code": record.code if record else None,
        "signal": record.signal if record else None,
    }


def _implausible(record: ExitRecord) -> dict[str, Any] | None:
    """Return the times that cannot be true, each as it was reported and as it can be at most; None: there is none."""
    if record.seen is None:
        return None
    times = {"wall_seconds": (record.reported, record.seen), "cpu_seconds": (record.cpu, record.seen * record.cores)}
    return {
        name: {"reported": round(reported, 2), "most": round(most, 2)}
        for name, (reported, most) in times.items()
        if reported > most
    }


def _record(each: Unaccounted) -> ExitRecord | None:
    with suppress(JimError):
        return read_exit_record(each.record) if each.record else None
    return None


def _asked(keeper: Keeper, job_type: str, request: Mapping[str, Any]) -> Resources:
    """Return what a local job asked for; without its job type, which may be gone, what the site gives."""
    asked = Resources()
    with suppress(JimError, OSError), foreign(f"job type {job_type}"):
        asked = handler_of(job_type, keeper.site.site.handlers).resources({**request})
    return keeper.site.complete(asked)


def _blah(facts: Mapping[str, Any], sender: Sender, job_id: str) -> str:
    """Return a line of the log that BLAH keeps and that APEL reads. The time is that of the start."""
    batch_id = facts["batch_id"] if facts["index"] is None else f"{facts['batch_id']}_{facts['index']}"
    element = f"{os.uname().nodename}:2119/jim-{facts['batch_system']}-{facts['queue'] or 'default'}"
    pairs = [
        ("timestamp", facts["started"][:19].replace("T", " ")),
        ("userDN", sender.dn),
        *(("userFQAN", each) for each in sender.fqans or (NO_FQAN,)),
        ("ceID", element),
    ]
    last = [("lrmsID", batch_id), ("localUser", facts["account"]), ("clientID", facts["contact"] or facts["key"])]
    return " ".join([*map(_quoted, pairs), job_id, *map(_quoted, last)])


def _quoted(pair: tuple[str, str]) -> str:
    text = "".join(each if each.isprintable() else "?" for each in pair[1])
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{pair[0]}={escaped}"'
