"""Takes in starts and good ends of local jobs, any number of them in a few statements.

Only what needs no decision is taken in here: failed ends, late reports and files that cannot be read are left to
`arrivals`, which takes in one file after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import JimError
from jim.evidence import verdict
from jim.evidence.exit_record import LONGEST_RECORD, Claim, ExitRecord, kept_nonce, read_claim, read_exit_record
from jim.files import read_regular
from jim.jobs import Change, Compared, Key
from jim.keeper.attempts.plausible import plausible
from jim.keeper.attempts.spool import LONGEST_AT_ONCE, Arrival
from jim.keeper.keeper import Keeper
from jim.model import NO_REASON, State, Witness

LONGEST_CLAIM = 4096
PENDING = (State.SUBMITTING, State.SUBMITTED, State.HELD)
Name = tuple[str, Key]  # of an attempt, with its mark: before a restore, another attempt may have had the same key
ReportFile = tuple[str, Key, str]  # a file: its attempt, and whether it reports the start or the exit
ChangedAlike = dict[tuple[int, int, State, State, Witness], list[int]]  # numbers of local jobs, by their change


class Report(NamedTuple):
    """The report of a wrapper about its attempt: the start, and perhaps a good end."""

    mark: str
    key: Key
    host: str
    batch: str
    record: ExitRecord | None = None
    text: str = ""  # the exit record if the end is good
    nonce: str = ""  # of the claim, if the report is that of the start alone
    carrier: int = 0
    length: int = 0  # of what was read: of a bad end, too, all outputs are in memory


def claim_in(path: Path) -> Claim:
    """Read the report of a start."""
    return read_claim(read_regular(path, LONGEST_CLAIM).decode(errors="replace"))


def record_in(path: Path) -> str:
    """Read the text of an exit record."""
    return read_regular(path, LONGEST_RECORD).decode(errors="replace")


def reports(arrivals: Iterable[Arrival]) -> list[Report]:
    """Read the starts and ends among the files of the spool; leave out those that cannot be read, or are too long."""
    files: dict[Name, dict[str, Path]] = {}
    for each in arrivals:
        if each.kind in ("start", "exit"):
            files.setdefault((each.mark, each.key), {})[each.kind] = each.path
    found: list[Report] = []
    length = 0
    for name, paths in files.items():
        if length > LONGEST_AT_ONCE:
            break
        if report := _report(*name, paths):
            found.append(report)
        length += report.length if report else sum(map(_size, paths.values()))
    return found


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0


def _report(mark: str, key: Key, paths: Mapping[str, Path]) -> Report | None:
    """Read the report about an attempt; an exit record tells the start, too."""
    with suppress(JimError, OSError, ValueError):
        if "exit" in paths:
            return _of_exit_record(mark, key, record_in(paths["exit"]))
        claim = claim_in(paths["start"])
        return Report(mark, key, claim.host, claim.batch, nonce=kept_nonce(claim.nonce), carrier=claim.carrier)
    return None


def _of_exit_record(mark: str, key: Key, text: str) -> Report | None:
    record = read_exit_record(text)
    if (record.mark, record.index) != (mark, key[2]):
        return None
    good = verdict.of_exit_record(record, cancelled=False).state is State.COMPLETING
    told = text if good else ""
    return Report(mark, key, record.host, record.batch, record, told, carrier=record.carrier, length=len(text))


def unconfirmed(keeper: Keeper, found: Iterable[Report]) -> Iterator[Report]:
    """Yield the first report of each submission that no report has confirmed yet."""
    seen = keeper.store.compared(report.key for report in found)
    met: set[tuple[int, int]] = set()
    for report in found:
        about = seen.get(report.key)
        if about and about.live and about.mark == report.mark and not about.confirmed and report.key[:2] not in met:
            met.add(report.key[:2])
            yield report


def take(keeper: Keeper, found: Iterable[Report]) -> set[ReportFile]:
    """Record starts and good ends that need no decision; return the files that need not be taken in again."""
    seen = keeper.store.compared(report.key for report in found)
    changes: ChangedAlike = {}
    columns: dict[Key, dict[str, Any]] = {}
    taken: set[ReportFile] = set()
    now, at = keeper.clock.utc(), keeper.clock.boot()
    for report in found:
        about = seen.get(report.key)
        steps = _steps(report, about) if about else []
        if about is None or not steps or report.key in columns:
            continue
        columns[report.key] = _columns(keeper, report, about, now)
        if not about.started:
            keeper.channel.starts.started(report.key[:2], at)
        for step in steps:
            changes.setdefault((about.grid, about.attempt, *step), []).append(about.n)
        taken |= {(report.mark, report.key, "start")} | ({(report.mark, report.key, "exit")} if report.text else set())
    _store(keeper, columns, changes, {key[0] for key in columns if not seen[key].grid_started})
    return taken


def _steps(report: Report, about: Compared) -> list[tuple[State, State, Witness]]:
    """Return the steps of the local job, if the report is about its attempt and nothing is to be decided."""
    record, state = report.record, about.state
    if not (about.live and about.confirmed and about.mark == report.mark):
        return []
    if record and (record.n, record.attempt) != (about.n, about.attempt):
        return []
    if record and about.nonce and record.nonce != about.nonce:  # perhaps it is forged
        return []
    ended = [(State.RUNNING, State.COMPLETING, Witness.EXIT_RECORD)] if report.text else []
    if about.started:
        return ended if state is State.RUNNING else []
    return [(state, State.RUNNING, Witness.CLAIM), *ended] if state in PENDING else []


def _columns(keeper: Keeper, report: Report, about: Compared, now: str) -> dict[str, Any]:
    begun: dict[str, Any] = {} if about.started else {"started": now, "host": report.host}
    if not about.started:
        begun |= {name: value for name in ("nonce", "carrier") if (value := getattr(report, name))}
    if not report.text or report.record is None:
        return begun
    return begun | {"record": plausible(keeper, about, about.n, report.record, report.text)}


def _store(
    keeper: Keeper, columns: Mapping[Key, Mapping[str, Any]], changes: ChangedAlike, begun: Iterable[int]
) -> None:
    keeper.store.set_attempts(columns)
    keeper.store.change(Change(*alike, sorted(numbers)) for alike, numbers in changes.items())
    for grid in begun:
        keeper.store.set_grid_job(grid, started=1)


def complete(keeper: Keeper, keys: Iterable[Key]) -> set[Key]:
    """Complete local jobs whose outputs are verified and that nobody wished to end; return their attempts."""
    good = State.COMPLETING, State.COMPLETED, Witness.EXIT_RECORD
    changes: ChangedAlike = {}
    done = set()
    for key, about in keeper.store.compared(keys).items():
        if about.live and about.state is State.COMPLETING and not about.wish:
            changes.setdefault((about.grid, about.attempt, *good), []).append(about.n)
            done.add(key)
    keeper.store.set_attempts({key: {"verdict": State.COMPLETED, "reason": NO_REASON, "nonce": ""} for key in done})
    keeper.store.change(Change(*alike, sorted(numbers), spent=1) for alike, numbers in changes.items())
    for key in done:
        keeper.doubts.pop(key, None)
    return done
