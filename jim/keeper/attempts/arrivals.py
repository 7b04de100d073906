"""Takes starts, ends and publications of attempts from the spool."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from pathlib import Path

from jim.errors import JimError, StoreError
from jim.evidence import verdict
from jim.evidence.exit_record import Claim, ExitRecord, is_forged, is_whole, kept_nonce, read_exit_record
from jim.files import missed
from jim.jobs import Attempt, Change, Key
from jim.keeper.attempts import asked_for, bulk_reports, judging, publishing, spool
from jim.keeper.attempts.plausible import store_record
from jim.keeper.attempts.spool import PUBLICATION, Arrival
from jim.keeper.keeper import Keeper
from jim.keeper.rejecting import Why
from jim.keeper.unreadable import say_that_it_is_left
from jim.model import NO_REASON, State, Step, SubmissionState, Witness
from jim.workdir.claims import claim_of, record_text
from jim.workdir.submission import submission_directory

log = logging.getLogger(__name__)
AT_ONCE, LARGE = 1000, 64 * 1024  # files, and bytes of one
TAKING_SECONDS = 2.0
Then = Callable[[Keeper, Arrival], None]  # what becomes of a file
SPOOL_NAME = re.compile(
    r"(jim-([0-9a-f]+)-(\d{1,15})-(\d{1,9}))\.(\d{1,9})\.(start|exit|refused|left|gone|pub)(?:\.([\w-]{1,64}))?"
)


class TakingSpool:
    """The move that takes in the spool, with no more publications than a state directory may have in a second."""

    def __init__(self) -> None:
        self._allowance = publishing.Allowance()

    def __call__(self, keeper: Keeper) -> None:
        """Take in the spool; if more has arrived than is taken in at once, again before the next round."""
        keeper.hold.rejected.tell(keeper.site.work, keeper.clock.boot())
        most = min(AT_ONCE, self._allowance.now(keeper.clock.boot()))
        reports, published = take_spool(keeper, most)
        self._allowance.spend(published)
        keeper.looks.publications = published >= most
        if reports >= AT_ONCE:
            keeper.workers.later("spool", lambda: self(keeper))


def take_spool(keeper: Keeper, publications: int | None = None) -> tuple[int, int]:
    """Take in starts and ends, then some publications; return how many of both have gone from the spool."""
    with spool.opened(keeper) as entries:
        arrivals = _arrivals(keeper, entries, AT_ONCE if publications is None else publications)
        reports = [each for each in arrivals if each.kind != PUBLICATION]
        published = [each for each in arrivals if each.kind == PUBLICATION]
        return _take_reports(keeper, reports), _take_published(keeper, published, {each.key for each in reports})


def _take_reports(keeper: Keeper, arrivals: Sequence[Arrival]) -> int:
    """Take in the files of wrappers in one transaction, then remove the files."""
    if not arrivals:
        return 0
    until = keeper.clock.boot() + TAKING_SECONDS  # files may have grown since they were looked at

    def in_time(arrival: Arrival) -> Then | None:
        return _take(keeper, arrival) if keeper.clock.boot() <= until else None

    with keeper.store.transaction():
        in_bulk = _take_in_bulk(keeper, arrivals)
        taken = [_remove if (each.mark, each.key, each.kind) in in_bulk else in_time(each) for each in arrivals]
    for arrival, then in zip(arrivals, taken, strict=True):
        if then:
            then(keeper, arrival)
    return len(arrivals) - taken.count(None)


def _take_published(keeper: Keeper, arrivals: Sequence[Arrival], just_ended: AbstractSet[Key]) -> int:
    """Take in publications in one transaction, then remove their files."""
    if not arrivals:
        return 0
    with keeper.store.transaction():
        taken = publishing.take(keeper, arrivals, just_ended)
    for arrival, then in zip(arrivals, taken, strict=False):  # the others have their turn in the next round
        if isinstance(then, Exception):
            say_that_it_is_left(keeper, spool.name(keeper, arrival.path, then), then)
        elif then:
            _put_aside(keeper, arrival, Why.PUBLICATION, then)
        else:
            _remove(keeper, arrival)
    return len(taken)


def _take_in_bulk(keeper: Keeper, arrivals: Sequence[Arrival]) -> set[bulk_reports.ReportFile]:
    """Take in together what needs no decision; the first report of a submission confirms all of the submission."""
    reports = bulk_reports.reports(arrivals)
    for report in bulk_reports.unconfirmed(keeper, reports):
        try:
            with keeper.store.part():
                confirm(keeper, report.key, report.batch)
        except StoreError:
            raise
        except (JimError, OSError, ValueError) as error:
            log.warning("spool: %s: %s", report.mark, error)
    return bulk_reports.take(keeper, reports)


def _arrivals(keeper: Keeper, entries: Iterable[os.DirEntry[str]], publications: int) -> list[Arrival]:
    """Return finished files, starts before ends. Publications have a count of their own: there may be any number.

    Of large files, which take long to read, only as many are taken as a round has time for, the smallest first.
    """
    found, looked = list[tuple[int, Arrival]](), Counter[bool]()
    for entry in entries:
        if entry.name.startswith("."):
            continue
        published = ".pub." in entry.name
        if not (published or keeper.workers.ready(("barred", entry.name))):
            continue
        if looked[published] >= (publications if published else AT_ONCE):
            continue
        name = SPOOL_NAME.fullmatch(entry.name)
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError as error:
            if not missed(error):
                raise
            continue
        odd = not name or name[2] not in keeper.hold.instances or not stat.S_ISREG(about.st_mode)
        looked[published] += published or odd or about.st_size <= LARGE
        if odd or not name:
            _reject(keeper, Path(entry.path), Why.NAME)
            continue
        key = (int(name[3]), int(name[4]), int(name[5]))
        arrival = Arrival(Path(entry.path), name[1], key, name[6], name[7] or "", _version(about))
        found.append((about.st_size, arrival))
    return sorted(spool.that_fit(found), key=lambda each: each.kind, reverse=True)


def _version(about: os.stat_result) -> tuple[int, int]:
    return about.st_ino, about.st_mtime_ns


def _remove(keeper: Keeper, arrival: Arrival) -> None:
    """Remove a file that was taken in, but not a newer publication of the same name."""
    for what in ("unread", "barred"):
        keeper.workers.forget((what, arrival.path.name))
    if arrival.kind != PUBLICATION:
        with suppress(FileNotFoundError, IsADirectoryError):  # the next look puts a directory aside
            arrival.path.unlink()
        return
    aside = arrival.path.with_name(f".taken.{os.urandom(8).hex()}")  # a payload could have a directory at a known name
    with suppress(FileNotFoundError):
        arrival.path.rename(aside)
        if _version(aside.lstat()) != arrival.version:
            with suppress(FileExistsError):  # a still newer publication has arrived
                os.link(aside, arrival.path)
        aside.unlink()


def _reject(keeper: Keeper, path: Path, why: Why, words: str = "") -> None:
    """Move an unusable file out of the spool, to where people can look at it."""
    try:
        keeper.hold.rejected.put_aside(keeper.site.work, path, keeper.workers.start)
    except OSError as error:
        spool.name(keeper, path, error)
        why, words = Why.STAYS, str(error)
    keeper.hold.rejected.note(why, path.name, words, keeper.clock.boot())


def _put_aside(keeper: Keeper, arrival: Arrival, why: Why = Why.CONTENT, words: str = "") -> None:
    _reject(keeper, arrival.path, why, words)


def _take(keeper: Keeper, arrival: Arrival) -> Then | None:
    """Take in one file and return what to do with the file then; None if it cannot be read at the moment."""
    take = {"start": _start, "exit": _exit, "refused": _refused, "left": _left, "gone": _gone}[arrival.kind]
    try:
        with keeper.store.part():
            take(keeper, arrival)
    except StoreError:  # the file is not at fault: the next round takes in all files again
        raise
    except (JimError, OSError, ValueError) as error:
        if missed(error) or _is_put_off(keeper, arrival, error):
            say_that_it_is_left(keeper, spool.name(keeper, arrival.path, error), error)
            return None
        spool.name(keeper, arrival.path, error)
        return partial(_put_aside, words=str(error))
    return _remove


def _is_put_off(keeper: Keeper, arrival: Arrival, error: Exception) -> bool:
    """Tell whether a file that this account may not read is left for later: as long as its attempt has no verdict.

    The exit record beside the claim says the same, so each such file is read seldom.
    """
    if not isinstance(error, PermissionError):
        return False
    try:
        waits = not _attempt(keeper, arrival).verdict
    except StoreError:
        raise
    except JimError:
        return False
    if waits:
        keeper.workers.put_off(("barred", arrival.path.name))
    return waits


def _start(keeper: Keeper, arrival: Arrival) -> None:
    """Take in that a process won the claim: the attempt runs, whatever the queue shows."""
    begun(keeper, _attempt(keeper, arrival), bulk_reports.claim_in(arrival.path))


def _attempt(keeper: Keeper, arrival: Arrival) -> Attempt:
    return _attempt_of(keeper, arrival.key, arrival.mark)


def _attempt_of(keeper: Keeper, key: Key, mark: str) -> Attempt:
    """Return an attempt of ours. Its mark is checked: before a restore, another attempt may have had this key."""
    attempt, submission = keeper.store.attempt(*key), keeper.store.submission(*key[:2])
    if attempt is None or submission is None or submission.mark != mark:
        raise JimError("the report belongs to no submission of this state directory")
    return attempt


def begun(keeper: Keeper, attempt: Attempt, claim: Claim) -> None:
    """Record that an attempt has started, and what is known of its claim."""
    if attempt.verdict or attempt.started:
        return
    store, grid, key = keeper.store, attempt.grid, (attempt.grid, attempt.k, attempt.idx)
    nonce = kept_nonce(claim.nonce)
    store.set_attempt(*key, started=keeper.clock.utc(), host=claim.host, nonce=nonce, carrier=claim.carrier)
    keeper.channel.starts.started(key[:2], keeper.clock.boot())
    confirm(keeper, key, claim.batch)
    was = store.state(grid, attempt.n)
    if was in bulk_reports.PENDING:
        store.change([Change(grid, attempt.attempt, was, State.RUNNING, Witness.CLAIM, [attempt.n])])
    if not store.grid_job(grid).started:
        store.set_grid_job(grid, started=1)


def confirm(keeper: Keeper, key: Key, batch_id: str) -> None:
    """Record that a whole submission was accepted: one of its batch jobs was seen."""
    grid, k, _ = key
    submission = keeper.store.submission(grid, k)
    if submission is None or submission.state in (SubmissionState.CONFIRMED, SubmissionState.ENDED):
        return
    known = submission.batch_id or keeper.adapter.batch_id(batch_id)
    keeper.store.set_submission(grid, k, state=SubmissionState.CONFIRMED, batch_id=known, reason=NO_REASON)
    accepted(keeper, grid, k, Witness.CLAIM)


def accepted(keeper: Keeper, grid: int, k: int, witness: Witness) -> None:
    """Move a submission and its local jobs from submitting to submitted."""
    numbers_of: dict[int, list[int]] = {}
    for each in keeper.store.attempts(grid, k=k):
        if not each.verdict:
            numbers_of.setdefault(each.attempt, []).append(each.n)
    keeper.store.change(
        Change(grid, attempt, State.SUBMITTING, State.SUBMITTED, witness, numbers)
        for attempt, numbers in numbers_of.items()
    )
    if keeper.store.grid_job(grid).step is Step.SPLIT:
        keeper.store.set_grid_job(grid, step=Step.ACTIVE)


def _exit(keeper: Keeper, arrival: Arrival) -> None:
    """Take in an end. Wrappers write into the spool in place, and only once the record is in their directory."""
    text = bulk_reports.record_in(arrival.path)
    if not is_whole(text):
        attempt, (grid, k, index) = _attempt(keeper, arrival), arrival.key
        if attempt.verdict:
            return
        text = record_text(submission_directory(keeper.directory(grid), k), index)
    ended(keeper, arrival.key, text)


def ended(keeper: Keeper, key: Key, text: str) -> None:
    """Judge an attempt by its exit record; a record that comes after the verdict is only noted."""
    record = read_exit_record(text)
    attempt = _attempt_of(keeper, key, record.mark)
    if (record.index, record.n, record.attempt) != (key[2], attempt.n, attempt.attempt):
        raise JimError("the exit record belongs to no attempt of this state directory")
    if attempt.verdict:
        spool.note_once(keeper, "late exit record", Witness.EXIT_RECORD, attempt, f"attempt {attempt.attempt}")
        return
    _refuse_forged(keeper, attempt, record)
    begun(keeper, attempt, record.claim._replace(nonce=""))
    record = store_record(keeper, attempt, record, text)
    program = asked_for.program(keeper, attempt.grid, attempt.n) if record.code in verdict.MEANT else ""
    wish = judging.cancelled(keeper, attempt.grid, attempt.n)
    found = verdict.of_exit_record(record, cancelled=wish, program=program)
    killed = found.again and not record.advice and (record.reason or record.signal)
    if killed and not judging.was_suspended(keeper, attempt.grid, attempt.n):
        # The request may be large, so it is read only here.
        found = verdict.within_time(found, record, asked_for.wall_seconds(keeper, attempt.grid, attempt.n, attempt.k))
    judging.record(keeper, key, found)


def _refuse_forged(keeper: Keeper, attempt: Attempt, record: ExitRecord) -> None:
    """Refuse the record of a process that never had the claim: a payload of another grid job can write one."""
    nonce = nonce_of(attempt)
    if nonce in ("", record.nonce):
        return
    if is_forged(record, nonce, claim_of(submission_directory(keeper.directory(attempt.grid), attempt.k), attempt.idx)):
        raise JimError("the exit record is not of the process that won the claim of its attempt")


def nonce_of(attempt: Attempt) -> str:
    """Return the nonce of the process that an attempt is known by; empty if none is known."""
    if attempt.nonce or not attempt.record:
        return attempt.nonce
    return read_exit_record(attempt.record).nonce


def _refused(keeper: Keeper, arrival: Arrival) -> None:
    """Note that a second wrapper of an attempt was refused; no state changes."""
    attempt = _attempt(keeper, arrival)
    reason = f"attempt {attempt.attempt} was started again on {bulk_reports.claim_in(arrival.path).host} and refused"
    spool.note_once(keeper, "refused", Witness.CLAIM, attempt, reason)


def _left(keeper: Keeper, arrival: Arrival) -> None:
    """Take in that a wrapper has left a host which JIM avoids; `left_hosts` fences the attempt."""
    attempt = _attempt(keeper, arrival)
    if not (attempt.verdict or attempt.started):
        keeper.store.spared.set_left(arrival.key, attempt.n, bulk_reports.claim_in(arrival.path).host)


def _gone(keeper: Keeper, arrival: Arrival) -> None:
    judging.give_up_gone(keeper, _attempt(keeper, arrival))
