"""Settles doubts: finds out what became of attempts that listings miss.

An end needs the exit record, or the certainty that there will never be one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from jim.errand import Errand
from jim.errors import BatchError, JimError, StoreError
from jim.evidence import verdict
from jim.evidence.carriers import end_of
from jim.evidence.exit_record import Claim, ExitRecord, is_forged
from jim.evidence.listing import Doubt
from jim.files import passes
from jim.jobs import Key, Live
from jim.keeper import reasons
from jim.keeper.attempts import arrivals, asked_for, judging, left_hosts
from jim.keeper.keeper import SLOW_SECONDS, Keeper
from jim.keeper.missing_directories import IsAway, fence
from jim.model import Observation, State, SubmissionState, Verb
from jim.workdir.avoid import host_left
from jim.workdir.claims import Trace, has_begun, has_refused, record_text, trace
from jim.workdir.recovery import recovery_of
from jim.workdir.removed import was_remade
from jim.workdir.submission import is_seen, submission_directory

log = logging.getLogger(__name__)
SETTLE, AT_ONCE, EVERY_SECONDS = "settle", 500, 0.5
COME_BACK_SECONDS = 90.0  # NFSv4 grace: worker nodes reach a returned file server within this time
SUPERSEDED = 71  # a wrapper's exit code: another start of the attempt, or the keeper, holds the claim
_BEGUN = (State.RUNNING, State.SUSPENDED)


def settle(keeper: Keeper) -> None:
    """Let a worker examine attempts that two good listings missed; `look_up` looks for those never confirmed."""
    if keeper.workers.busy(SETTLE):
        return
    doubts = [doubt for key, doubt in keeper.doubts.items() if keeper.doubts.is_missed(key)]
    for doubt in [doubt for doubt in doubts if not doubt.live.confirmed]:
        _unconfirmed(keeper, doubt)
        doubts.remove(doubt)
    if doubts and keeper.workers.ready(SETTLE) and keeper.clock.boot() >= keeper.history.retry_at:
        chosen = sorted(doubts, key=lambda doubt: doubt.looked_at)[:AT_ONCE]
        work, done = partial(_examine_all, keeper, chosen), partial(_take_findings, keeper)
        keeper.workers.start(Errand(SETTLE, work, done, keeper.history.failed, command=True, heeds=(OSError,)))
        keeper.workers.wait(SETTLE, EVERY_SECONDS)


def _unconfirmed(keeper: Keeper, doubt: Doubt) -> None:
    """Let `look_up` look for a batch job that has an id and that no listing ever showed: a crash may have lost it."""
    grid, k, idx = doubt.live.grid, doubt.live.k, doubt.live.idx
    submission = keeper.store.submission(grid, k)
    if submission and submission.state == SubmissionState.RECORDED:
        reason = reasons.not_listed(submission.batch_id)
        keeper.store.set_submission(grid, k, state=SubmissionState.UNKNOWN, reason=reason, tries=0, due=0.0)
    keeper.doubts.pop((grid, k, idx), None)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a close look at an attempt in doubt."""

    doubt: Doubt
    record: str = ""  # its exit record, which had not reached the spool
    lost: bool = False  # the attempt never started and never will
    left: str = ""  # it is lost because its wrapper has left this host, which JIM avoids
    left_over: bool = False  # it is lost because its carriers had begun others
    seems_dead: bool = False  # it started; the keeper gives it up first
    is_dead: bool = False  # it started and is certainly dead
    recovery: str = ""  # what a dead payload has left for its next attempt
    blind: bool = False  # the work directory was unreachable for a while
    error: str = ""  # why this attempt could not be looked at, while others could


def _examine_all(keeper: Keeper, doubts: Sequence[Doubt]) -> list[Finding]:
    """Ask the batch system how the attempts ended, then look into their directories. Runs in a worker."""
    try:
        ended = _history(keeper, doubts)
    except (BatchError, OSError):
        # Without the history, only an exit record decides; all other signs wait for the next look.
        return [each for each in map(partial(_tried, keeper, _exit_record_only), doubts) if each.record]
    return [_tried(keeper, _examine, _with_reported_end(keeper, doubt, ended)) for doubt in doubts]


def _tried(keeper: Keeper, look: Callable[[Keeper, Doubt], Finding], doubt: Doubt) -> Finding:
    """Look at one attempt; a failed look concludes nothing and does not stop the looks at others."""
    try:
        return look(keeper, doubt)
    except (OSError, JimError) as error:
        return Finding(_without_silence(keeper, doubt), error=str(error))


def _with_reported_end(keeper: Keeper, doubt: Doubt, ended: Mapping[tuple[str, int], Observation]) -> Doubt:
    end = end_of(doubt.live, ended, keeper.adapter.name_length)
    finished = end is not None and end.state.final
    since = min(doubt.told, keeper.clock.boot()) if finished else math.inf
    return replace(doubt, ended=end, finished=finished, told=since)


def _history(keeper: Keeper, doubts: Sequence[Doubt]) -> dict[tuple[str, int], Observation]:
    return keeper.channel.history(sorted({doubt.live.batch_id for doubt in doubts if doubt.live.batch_id}))


def _exit_record(keeper: Keeper, directory: Path, live: Live, left: Trace) -> str:
    """Return the exit record in the directory, if it belongs to this attempt."""
    record = left.exit_record
    if record is None or (record.mark, record.index, record.attempt) != (live.mark, live.idx, live.attempt):
        return ""
    if left.claim and left.claim.nonce != record.nonce and _is_forged(keeper, live, left.claim, record):
        return ""
    return record_text(directory, live.idx)


def _is_forged(keeper: Keeper, live: Live, claim: Claim, record: ExitRecord) -> bool:
    with closing(keeper.store.reader()) as store:
        attempt = store.attempt(live.grid, live.k, live.idx)
    return attempt is not None and is_forged(record, arrivals.nonce_of(attempt), claim)


def _exit_record_only(keeper: Keeper, doubt: Doubt) -> Finding:
    """Look only for the exit record of an attempt."""
    directory = submission_directory(keeper.directory(doubt.live.grid), doubt.live.k)
    return Finding(doubt, _exit_record(keeper, directory, doubt.live, trace(directory, doubt.live.idx)))


def _examine(keeper: Keeper, doubt: Doubt) -> Finding:
    live = doubt.live
    directory = submission_directory(keeper.directory(live.grid), live.k)
    sight = _sight_of(keeper, directory, live)
    if sight.record:
        return Finding(doubt, sight.record)
    if sight.left is None:
        return Finding(_without_silence(keeper, doubt), blind=sight.blind)
    doubt = _with_touch(keeper, doubt, sight.left)
    if sight.left.gone:
        return Finding(doubt, is_dead=True, recovery=recovery_of(directory, live.idx))
    if _may_be_seen_late(keeper, doubt):
        return Finding(doubt)
    try:
        claim = sight.left.claim or fence(keeper, directory, [live.idx])[live.idx]
    except IsAway:
        return Finding(doubt)
    return _of_claim(keeper, replace(doubt, removed=was_remade(directory)), directory, claim)


@dataclass(frozen=True, slots=True)
class Sight:
    """The visible traces of an attempt; none if the look took long or failed for a passing reason."""

    record: str = ""
    left: Trace | None = None
    blind: bool = False  # the work directory was unreachable for a while


def _sight_of(keeper: Keeper, directory: Path, live: Live) -> Sight:
    began = keeper.clock.boot()
    try:
        left = trace(directory, live.idx)
        record = _exit_record(keeper, directory, live, left)
    except OSError as error:
        if not passes(error):
            raise
        return Sight(blind=not is_seen(keeper.site.work))
    slow = keeper.clock.boot() - began > SLOW_SECONDS
    if left.unreadable:
        log.warning("%s.%s: its traces in the work directory cannot be read just now", live.mark, live.idx)
        return Sight(record, blind=slow or not is_seen(keeper.site.work))
    return Sight(record, None if slow else left, slow)


def _may_be_seen_late(keeper: Keeper, doubt: Doubt) -> bool:
    """Tell whether an exit record may not be visible yet: listings may miss what lives, so the end may be recent."""
    visible = keeper.site.batch.visible_seconds
    return doubt.last - doubt.since < visible or (doubt.finished and doubt.looked_at - doubt.told < visible)


def _of_claim(keeper: Keeper, doubt: Doubt, directory: Path, claim: Claim) -> Finding:
    """Decide on an attempt by the holder of its claim; the keeper has taken a free claim."""
    live = doubt.live
    # A started attempt had a claim: if the keeper could take it, somebody has removed it.
    if claim.fence and not (live.started and keeper.adapter.shared_work):
        # If worker nodes do not see the work directory, only the keeper makes claims: the queue reported the start.
        started = not keeper.adapter.shared_work and live.state in _BEGUN
        left = "" if started else host_left(directory, live.idx)
        left_over = bool(live.carriers) and (_has_well_ended(doubt) or has_begun(directory, live.carriers))
        return Finding(doubt, lost=not started, left=left, left_over=left_over, is_dead=started)
    holder = claim.batch and keeper.adapter.batch_id(claim.batch)
    refused = doubt.ended and (doubt.ended.code == SUPERSEDED or has_refused(directory, live.idx))
    if refused or holder not in ("", live.batch_id):
        # There are two batch jobs of this attempt. The refused one has ended, and tells nothing of the other.
        doubt = replace(doubt, ended=None)
    dead, seems = _is_dead(keeper, doubt), _seems_dead(keeper, doubt)
    return Finding(
        doubt, is_dead=dead, seems_dead=seems, recovery=recovery_of(directory, live.idx) if dead or seems else ""
    )


def _has_well_ended(doubt: Doubt) -> bool:
    """Tell whether all carriers have ended by themselves, as far as that is known."""
    return doubt.ended is None or doubt.ended.code == 0


def _with_touch(keeper: Keeper, doubt: Doubt, left: Trace) -> Doubt:
    """Take in the last touch of the claim.

    Silence is counted from look to look. Only a part of a long time without looks counts, as the file server may have
    been away. After such an absence, silence begins below zero, by COME_BACK_SECONDS. A touch that is seen then may be
    an old one, so it does not raise silence to zero.
    """
    now = keeper.clock.boot()
    silent = doubt.silent + min(now - doubt.looked_at, max(SLOW_SECONDS, keeper.site.batch.touch_seconds / 2))
    if left.touched != doubt.touched:
        silent = min(silent, 0.0)
    silent = min(silent, now - keeper.doubts.blind_at - COME_BACK_SECONDS)  # also of doubts that came after
    doubt = replace(doubt, touched=left.touched, silent=silent, looked_at=now)
    return replace(doubt, started=left.claim.started) if left.claim else doubt


def _is_dead(keeper: Keeper, doubt: Doubt) -> bool:
    """Tell whether a started attempt is certainly dead, by the report of a batch system that ends all processes."""
    return keeper.adapter.leaves_nothing and doubt.ended is not None and doubt.ended.state.final


def _seems_dead(keeper: Keeper, doubt: Doubt) -> bool:
    """Tell whether a started attempt seems dead: never by the queue alone."""
    if keeper.adapter.end_is_death and doubt.ended is not None and doubt.ended.state.final:
        return doubt.silent > 1.5 * keeper.site.batch.touch_seconds  # a live wrapper would have touched its claim
    return doubt.silent > keeper.site.batch.silent_seconds


def _take_findings(keeper: Keeper, findings: Sequence[Finding]) -> None:
    with keeper.store.transaction():
        for finding in findings:
            live = finding.doubt.live
            key = live.grid, live.k, live.idx
            if finding.error and keeper.workers.pace(("settle", key)):
                log.warning("%d: submission %d, index %d cannot be looked at just now: %s", *key, finding.error)
            if key in keeper.doubts:  # else a listing has shown it, or it has its verdict
                _take(keeper, key, finding)
    if any(each.blind for each in findings):
        _forget_all_silence(keeper)


def _take(keeper: Keeper, key: Key, finding: Finding) -> None:
    """Take in the result of a look. A listing may have come since, so only findings of the look are kept."""
    seen = finding.doubt
    stopped = _may_be_stopped(keeper, seen) and not finding.is_dead
    silent = 0.0 if stopped else seen.silent
    keeper.doubts[key] = replace(
        keeper.doubts[key], touched=seen.touched, silent=silent, looked_at=seen.looked_at, told=seen.told
    )
    wish = judging.cancelled(keeper, seen.live.grid, seen.live.n)
    if finding.record:
        _take_record(keeper, key, finding.record)
    elif finding.left and (attempt := keeper.store.attempt(*key)):
        left_hosts.left(keeper, attempt, finding.left)
    elif finding.left_over:
        left_hosts.left_over(keeper, key, seen.live.n)
    elif finding.lost:
        judging.record(keeper, key, verdict.of_lost(seen.ended, seen.stuck, cancelled=wish))
    elif stopped:
        _say_that_it_may_be_stopped(keeper, seen)
    elif finding.is_dead or finding.seems_dead:
        _take_death(keeper, key, finding, cancelled=wish)


def _forget_all_silence(keeper: Keeper) -> None:
    """Reset all silence: while the file server was away from the keeper, worker nodes could not touch claims."""
    log.warning("the work directory could not be seen for a while: no silence from before counts")
    keeper.doubts.blind_at = keeper.clock.boot()
    for key, doubt in keeper.doubts.items():
        keeper.doubts[key] = _without_silence(keeper, doubt)


def _without_silence(keeper: Keeper, doubt: Doubt) -> Doubt:
    return replace(doubt, silent=-COME_BACK_SECONDS, looked_at=keeper.clock.boot())


def _may_be_stopped(keeper: Keeper, doubt: Doubt) -> bool:
    """Tell whether an attempt may be silent because it is suspended; with such a wish, silence does not count."""
    if not keeper.adapter.can_suspend or doubt.finished:
        return False
    return not {Verb.SUSPEND, Verb.RESUME}.isdisjoint(keeper.store.wishes(doubt.live.grid, doubt.live.n))


def _say_that_it_may_be_stopped(keeper: Keeper, doubt: Doubt) -> None:
    grid, missed_for = doubt.live.grid, doubt.last - doubt.since
    if missed_for > keeper.site.batch.silent_seconds and keeper.workers.pace(("stopped", grid)):
        log.warning("%d: suspended local jobs are no longer in the queue: none of them is tried again yet", grid)


def _take_death(keeper: Keeper, key: Key, finding: Finding, *, cancelled: bool) -> None:
    """Judge a started, dead attempt without exit record; one that only seems dead is given up first."""
    attempt, doubt = keeper.store.attempt(*key), finding.doubt
    if attempt is None:
        return
    if doubt.removed:
        found = verdict.of_removed(attempt.attempt, cancelled=cancelled)
    else:
        of_others = doubt.live.carriers and doubt.ended and doubt.ended.code == 0  # a carrier went on without it
        found = verdict.of_vanished(None if of_others else doubt.ended, back=doubt.back, cancelled=cancelled)
    if not found.again:  # `wall_seconds` reads the request, which may be large
        lived = _lived_at_most(keeper, doubt)
        wall_seconds = asked_for.wall_seconds(keeper, attempt.grid, attempt.n, attempt.k)
        found = verdict.before_its_time(found, lived, wall_seconds)
    found = verdict.recovered(found, finding.recovery)
    start = Claim("", "", doubt.live.batch_id, fence=False)
    arrivals.begun(keeper, attempt, start)  # if its start was never reported
    if finding.is_dead:
        judging.record(keeper, key, found)
    else:
        judging.give_up(keeper, key, found, doubt.touched)


def _lived_at_most(keeper: Keeper, doubt: Doubt) -> float:
    """Return for how long its claim was kept fresh, plus a margin; infinite if no claim shows this."""
    if not doubt.started or doubt.touched <= 0 or not keeper.adapter.shared_work:
        return math.inf
    lived = doubt.touched - datetime.fromisoformat(doubt.started).timestamp()
    # After a clock jump, times are worthless. File times are up to a tick of the kernel, 4 ms, behind the clock.
    return lived + keeper.site.batch.silent_seconds if lived > -1 else math.inf


def _take_record(keeper: Keeper, key: Key, text: str) -> None:
    try:
        arrivals.ended(keeper, key, text)
    except StoreError:
        raise
    except JimError as error:
        log.warning("%d: exit record of submission %d, index %d: %s", *key, error)
    keeper.doubts.pop(key, None)
