"""Taking in what doors and wrappers left: requests and wishes from the inbox, starts and ends from the spool."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from jim.doors import inbox
from jim.errors import JimError, NotStorable, StoreError, UnknownJob
from jim.evidence import verdict
from jim.evidence.exit_record import LONGEST_RECORD, read_claim, read_exit_record
from jim.files import cut, missed, passes, read_regular
from jim.jobs import Attempt, Change, Key
from jim.keeper import judging
from jim.keeper.accepting import Wishes, take_request
from jim.keeper.keeper import SLOW_SECONDS, House
from jim.model import NO_REASON, State, Step, SubmissionState, Witness
from jim.workdir.submission import is_seen

log = logging.getLogger(__name__)
LONGEST_PUBLICATION = 65_536
MOST_PUBLICATIONS = 64  # of one local job: what is published is shown, not archived
AT_ONCE = 1000
PENDING = (State.SUBMITTING, State.SUBMITTED, State.HELD)
SPOOL_NAME = re.compile(
    r"(jim-([0-9a-f]+)-(\d{1,15})-(\d{1,9}))\.(\d{1,9})\.(start|exit|refused|pub)(?:\.([\w-]{1,64}))?"
)


# The inbox


def take_inbox(house: House) -> None:
    """Take requests and wishes into the store, one transaction each, and put their files away."""
    wishes = Wishes(house)
    waiting = False  # a request: then a grid job that is not known may be that one
    for path, content in inbox.arrived(house.site.state):
        is_request = path.name.startswith("request-")
        if isinstance(content, Exception):
            waiting |= is_request
            wishes.unread.add(inbox.wish_of(path.name))
            _say_that_it_is_left(house, path, content)
            continue
        try:
            if is_request:
                waiting |= not take_request(house, path, content)
            elif wishes.take(path.name, content):
                inbox.taken(path)
        except UnknownJob as error:
            if not waiting:
                log.warning("%s cannot be taken: %s", path.name, error)
                inbox.taken(path)
        except (KeyError, TypeError, ValueError, NotStorable) as error:
            log.warning("%s cannot be taken: %s", path.name, error)
            inbox.put_aside(path)


def _say_that_it_is_left(house: House, path: Path, error: Exception) -> None:
    if house.pace(("unread", path.name)):
        log.warning("%s: %r cannot be read now, and will be tried again: %s", path.parent.name, path.name, error)


# The spool


@dataclass(frozen=True, slots=True)
class Arrival:
    """One file of the spool."""

    path: Path
    mark: str
    key: Key
    kind: str
    name: str
    version: tuple[int, int]  # what was published may be replaced at any time


def take_spool(house: House) -> None:
    """Take in what wrappers and payloads wrote: all in one transaction, then remove the files."""
    arrivals = list(_arrivals(house))
    if not arrivals:
        return
    left = 0
    with house.store.transaction():
        taken = [_take(house, arrival) for arrival in arrivals]
    for arrival, then in zip(arrivals, taken, strict=True):
        if then:
            then(house, arrival)
        else:
            left += 1
    if len(arrivals) >= AT_ONCE > left:
        house.workers.later("spool", lambda: take_spool(house))


def _spool(house: House) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    """Open the spool to be listed. Without it no round goes on, so nobody else sees that the file server is away."""
    began, away = house.clock.boot(), False
    try:
        return os.scandir(house.site.work / "spool")
    except OSError as error:
        away = passes(error) and not is_seen(house.site.work)
        raise
    finally:
        now = house.clock.boot()
        if away or now - began > SLOW_SECONDS:
            house.blind_at = now


def _arrivals(house: House) -> Iterator[Arrival]:
    """List what is finished, starts before ends. Publications do not count with the rest: there may be any number."""
    found, looked = [], Counter[bool]()
    with _spool(house) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            published = ".pub." in entry.name
            looked[published] += 1
            if looked[published] > AT_ONCE:
                continue
            name = SPOOL_NAME.fullmatch(entry.name)
            try:
                about = entry.stat(follow_symlinks=False)
            except OSError as error:
                if not missed(error):
                    raise
                continue
            if not name or name[2] not in house.hold.instances or not stat.S_ISREG(about.st_mode):
                _reject(house, Path(entry.path))
                continue
            key = (int(name[3]), int(name[4]), int(name[5]))
            found.append(Arrival(Path(entry.path), name[1], key, name[6], name[7] or "", _version(about)))
    return iter(sorted(found, key=lambda each: each.kind, reverse=True))


def _version(about: os.stat_result) -> tuple[int, int]:
    return about.st_ino, about.st_mtime_ns


def _remove(house: House, arrival: Arrival) -> None:
    """Remove what was taken in, but not what has been published meanwhile in its place."""
    house.paced.pop(("unread", arrival.path.name), None)
    if arrival.kind != "pub":
        arrival.path.unlink(missing_ok=True)
        return
    aside = arrival.path.with_name(f".taken.{arrival.path.name}")
    with suppress(FileNotFoundError):
        arrival.path.rename(aside)
        if _version(aside.lstat()) != arrival.version:
            with suppress(FileExistsError):  # there is a still newer one
                os.link(aside, arrival.path)
        aside.unlink()


def _reject(house: House, path: Path) -> None:
    """Put an unhealthy file where people can look at it, and nothing else will."""
    name = f"{os.urandom(4).hex()}-{cut(path.name)}"
    try:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)  # a directory that is closed cannot be moved
        path.rename(house.site.work / "rejected" / name)
    except OSError as error:
        if house.pace(("rejected", path.name)):
            log.warning("spool: %r is not what a wrapper writes, and cannot be moved away: %s", path.name, error)
        return
    log.warning("spool: %r is not what a wrapper writes; moved to %s", path.name, house.site.work / "rejected")


def _put_aside(house: House, arrival: Arrival) -> None:
    _reject(house, arrival.path)


def _take(house: House, arrival: Arrival) -> Callable[[House, Arrival], None] | None:
    """Take in one file, and say what is to be done with it then; nothing, where it is out of reach for a moment."""
    take = {"start": _start, "exit": _exit, "refused": _refused, "pub": _publication}[arrival.kind]
    try:
        with house.store.part():
            take(house, arrival)
    except StoreError:  # that says nothing of the file: all is taken in again
        raise
    except (JimError, OSError, ValueError) as error:
        if missed(error):
            _say_that_it_is_left(house, arrival.path, error)
            return None
        log.warning("spool: %s: %s", arrival.path.name, error)
        return _put_aside
    return _remove


def _start(house: House, arrival: Arrival) -> None:
    """Take in that a claim was won: that attempt runs, whatever the queue says."""
    attempt = _attempt(house, arrival)
    claim = read_claim(read_regular(arrival.path, 4096).decode(errors="replace"))
    begun(house, attempt, claim.host, claim.batch)


def _attempt(house: House, arrival: Arrival) -> Attempt:
    return _attempt_of(house, arrival.key, arrival.mark)


def _attempt_of(house: House, key: Key, mark: str) -> Attempt:
    """Give an attempt of ours; before a restore, another may have been at its place."""
    attempt, submission = house.store.attempt(*key), house.store.submission(*key[:2])
    if attempt is None or submission is None or submission.mark != mark:
        raise JimError("it belongs to no submission of ours")
    return attempt


def begun(house: House, attempt: Attempt, host: str, batch_id: str) -> None:
    """Record that an attempt has started."""
    if attempt.verdict or attempt.started:
        return
    store, grid, key = house.store, attempt.grid, (attempt.grid, attempt.k, attempt.idx)
    store.set_attempt(*key, started=house.clock.utc(), host=host)
    house.hosts.add(host)
    confirm(house, key, batch_id)
    was = store.state(grid, attempt.n)
    if was in PENDING:
        store.change([Change(grid, attempt.attempt, was, State.RUNNING, Witness.CLAIM, [attempt.n])])
    if not store.grid_job(grid).started:
        store.set_grid_job(grid, started=1)


def confirm(house: House, key: Key, batch_id: str) -> None:
    """One task seen means that the whole submission was accepted."""
    grid, k, _ = key
    submission = house.store.submission(grid, k)
    if submission is None or submission.state in (SubmissionState.CONFIRMED, SubmissionState.ENDED):
        return
    known = submission.batch_id or house.adapter.batch_id(batch_id)
    house.store.set_submission(grid, k, state=SubmissionState.CONFIRMED, batch_id=known, reason=NO_REASON)
    accepted(house, grid, k, Witness.CLAIM)


def accepted(house: House, grid: int, k: int, witness: Witness) -> None:
    """Move what a submission carries from submitting to submitted."""
    alike: dict[int, list[int]] = {}
    for each in house.store.attempts(grid, k=k):
        if not each.verdict:
            alike.setdefault(each.attempt, []).append(each.n)
    house.store.change(
        Change(grid, attempt, State.SUBMITTING, State.SUBMITTED, witness, numbers) for attempt, numbers in alike.items()
    )
    if house.store.grid_job(grid).step is Step.SPLIT:
        house.store.set_grid_job(grid, step=Step.ACTIVE)


def _exit(house: House, arrival: Arrival) -> None:
    ended(house, arrival.key, read_regular(arrival.path, LONGEST_RECORD).decode(errors="replace"))


def ended(house: House, key: Key, text: str) -> None:
    """Judge an attempt by its exit record; one that comes after the verdict is only noted."""
    store, record = house.store, read_exit_record(text)
    attempt = _attempt_of(house, key, record.mark)
    if (record.index, record.n, record.attempt) != (key[2], attempt.n, attempt.attempt):
        raise JimError("its exit record belongs to no attempt of ours")
    if attempt.verdict:
        store.note(attempt.grid, "late exit record", Witness.EXIT_RECORD, f"attempt {attempt.attempt}", attempt.n)
        return
    begun(house, attempt, record.host, record.batch)
    store.set_attempt(*key, record=text)
    wish = judging.cancelled(house, attempt.grid, attempt.n)
    found = verdict.of_exit_record(record, cancelled=wish)
    killed = found.again and not record.advice and (record.reason or record.signal)
    if killed and not judging.was_suspended(house, attempt.grid, attempt.n):
        # The request, which may be large, is read only now.
        found = verdict.within_time(found, record, judging.wall_seconds(house, attempt.grid, attempt.n, attempt.k))
    judging.record(house, key, found)


def _refused(house: House, arrival: Arrival) -> None:
    """Note that a second wrapper of one attempt was kept from running; it changes nothing."""
    attempt = _attempt(house, arrival)
    host = read_claim(read_regular(arrival.path, 4096).decode(errors="replace")).host
    reason = f"attempt {attempt.attempt} was started again on {host} and refused"
    house.store.note(attempt.grid, "refused", Witness.CLAIM, reason, attempt.n)


def _publication(house: House, arrival: Arrival) -> None:
    attempt = _attempt(house, arrival)
    text = read_regular(arrival.path, LONGEST_PUBLICATION).decode()
    from jim.statusdb.xml import fragment  # lxml, which most keepers never need

    content = fragment(text)
    known = {name for _, name, _, _ in house.store.details(attempt.grid, attempt.n)}
    if arrival.name in known or len(known) < MOST_PUBLICATIONS:
        house.store.publish(attempt.grid, attempt.n, arrival.name, content)
