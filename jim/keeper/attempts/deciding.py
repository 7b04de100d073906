"""Decides what follows a failed attempt: by the rules of the request, the job type or the site, else by an analyser."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any

from jim.attempts import rules as retry_rules
from jim.clock import age_seconds
from jim.errors import BadRequest, JimError
from jim.evidence import further
from jim.evidence.analysis import Action, Decision, Failed, decide, usual
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.evidence.verdict import Verdict
from jim.handlers.base import AS_A_WHOLE, Handler
from jim.idealizer.retry import NEXT_ATTEMPT, delay
from jim.jobs import Attempt, GridJob, LocalJob, whole_reason
from jim.keeper.attempts.asked_for import AVOID
from jim.keeper.keeper import Keeper
from jim.model import Kind, Reason, State, Witness
from jim.request import check, handler_of
from jim.site.avoid import HOST
from jim.trust.plugins import foreign
from jim.work.sizing import check_limits, is_looked_up

# A refusal in words that no adapter knows, not even as a lost answer, with no job accepted. After so many refusals,
# which take three quarters of an hour, JIM takes the refusal as final.
NOES = (Kind.UNCLEAR, Kind.STUMBLED, Kind.REFUSED)
NOES_AT_MOST = 12
# Hosts on which an attempt must not run: beside its resources, and among the changes of an analyser.


def decision(keeper: Keeper, attempt: Attempt, job: LocalJob, verdict: Verdict) -> Decision:
    """Return the decision on an attempt that has ended."""
    if verdict.state is not State.FAILED:
        return Decision(Action.GIVE_UP)
    if verdict.witness is Witness.SUBMISSION or not verdict.spent:  # the attempt never began: nothing to analyse
        if verdict.again and _is_no(verdict.reason) and _noes(keeper, attempt) >= NOES_AT_MOST:
            return Decision(Action.GIVE_UP, f"refused {NOES_AT_MOST} times in a row")
        return Decision(Action.RETRY if verdict.again else Action.GIVE_UP)
    grid_job = keeper.store.grid_job(attempt.grid)
    handler: Handler | None = None
    with suppress(BadRequest, OSError):  # the job type may be gone
        handler = handler_of(grid_job.job_type, keeper.site.site.handlers)
    failed = _failed(keeper, attempt, job, verdict)
    found = further.decide(_rules(keeper, grid_job, handler), failed, _most(keeper, job, failed))
    if found is None:
        of_task = grid_job.request["task"].get("analyser", "") if grid_job.is_of_task else ""
        name = of_task or (handler.analyser if handler else "") or keeper.site.limits.analyser
        found = decide(name, keeper.site.site.handlers, failed)
        if wrong := _wrong_change(keeper, grid_job, found.change):
            found = usual(failed)._replace(why=f"{name} asked for what cannot be: {wrong}")
    return _elsewhere(keeper, found, attempt.host) if found.action is Action.ELSEWHERE else found


def _rules(keeper: Keeper, grid_job: GridJob, handler: Handler | None) -> list[retry_rules.Rule]:
    """Return the rules of the request, then those of its job type, then those of the site."""
    own = handler.retry if handler else ()
    found: list[retry_rules.Rule] = []
    for tables in (grid_job.request.get("retry") or (), own, keeper.site.limits.retry):
        with suppress(JimError), foreign("the rules"):  # JIM has checked those of requests and sites
            found += retry_rules.read(tables)
    return found


def _most(keeper: Keeper, job: LocalJob, failed: Failed) -> Mapping[str, int]:
    """Return what the site allows a local job to ask for; 0: no limit."""
    batch, queue = keeper.site.batch, failed.asked.get("queue")
    memory = keeper.site.most_memory_mb(queue)
    return {"memory_mb": memory, "wall_seconds": batch.most_wall_seconds, "cores": batch.most_cores}


def _failed(keeper: Keeper, attempt: Attempt, job: LocalJob, verdict: Verdict) -> Failed:
    """Return the facts about an attempt, and about those before."""
    attempts = keeper.store.attempts(attempt.grid, n=attempt.n)
    before = [each for each in attempts if each.attempt < attempt.attempt and each.verdict]
    spared = keeper.store.spared.among((each.grid, each.k, each.idx) for each in before)
    history = tuple(
        replace(_facts_of(keeper, each, whole_reason(each)), counts=(each.grid, each.k, each.idx) not in spared)
        for each in before
    )
    return replace(
        _facts_of(keeper, attempt, verdict.reason),
        lived=record.seconds if (record := _record(attempt)) else _lived(attempt, keeper.clock.utc()),
        witness=verdict.witness,
        blameless=verdict.again,
        spent=job.spent + 1,
        history=history,
    )


def _facts_of(keeper: Keeper, attempt: Attempt, reason: Reason) -> Failed:
    submission = keeper.store.submission(attempt.grid, attempt.k)
    record = _record(attempt)
    return Failed(
        reason=reason.words,
        witness=Witness.EXIT_RECORD if record else Witness.CLAIM,
        blameless=True,
        record=record,
        host=attempt.host,
        attempt=attempt.attempt,
        spent=attempt.attempt,
        limit=keeper.site.limits.attempts,
        kind=reason.kind,
        facts=reason.facts,
        lived=record.seconds if record else _lived(attempt, attempt.updated),
        asked=submission.asked if submission else {},
    )


def _record(attempt: Attempt) -> ExitRecord | None:
    return read_exit_record(attempt.record) if attempt.record else None


def _lived(attempt: Attempt, until: str) -> float | None:
    """Return the seconds from the start of an attempt to the time of its verdict."""
    return age_seconds(attempt.started, until) if attempt.started else None


def _wrong_change(keeper: Keeper, grid_job: GridJob, change: Mapping[str, Any]) -> str:
    """Return what is wrong with what an analyser changes; empty if nothing is."""
    if not change:
        return ""
    new = {name: value for name, value in change.items() if name != AVOID}
    try:
        if not _are_hosts(change.get(AVOID, ())):
            raise BadRequest("expected a list of names of hosts", AVOID)
        if fixed := sorted(AS_A_WHOLE & new.keys()):
            raise BadRequest("the same for all local jobs of a grid job", fixed[0])
        with foreign("its change"):
            handler, checked = check(
                {**grid_job.request, **new},
                keeper.site.site.handlers,
                looked_up=is_looked_up(grid_job.request),
            )
            check_limits(handler.resources(checked), keeper.site)
    except (JimError, OSError) as error:
        return str(error)
    return ""


def _are_hosts(names: object) -> bool:
    return isinstance(names, list | tuple) and all(isinstance(each, str) and HOST.fullmatch(each) for each in names)


def due(keeper: Keeper, job: LocalJob, verdict: Verdict, found: Decision) -> float:
    """Return when the next attempt may begin."""
    if verdict.at_once:
        return 0.0
    if not verdict.spent:  # it never began: the batch system is the trouble
        return keeper.clock.steady() + delay(NEXT_ATTEMPT, job.attempt)
    pauses = retry_rules.delays(keeper.site.limits.retry_delay)
    usual_pause = pauses[min(job.spent, len(pauses) - 1)] if pauses else 0.0
    return keeper.clock.steady() + (usual_pause if found.delay is None else max(0.0, found.delay))


def limit_of(keeper: Keeper, found: Decision) -> int:
    """Return how many attempts a local job may have; a rule with `times` may allow more than usual."""
    limits = keeper.site.limits
    return limits.attempts if found.times is None else max(limits.attempts, limits.most_attempts)


def _is_no(reason: Reason) -> bool:
    """Tell whether the batch command refused the submission, by its exit code.

    A reason of an older version has no kind and does not count: its local job is sent more often before JIM gives up.
    """
    code = reason.facts.get("code")  # None if the command did not return, negative if a signal ended it
    said_no = reason.kind is Kind.NOT_ACCEPTED and reason.facts.get("cause") in NOES
    return said_no and code is not None and code >= 0


def _noes(keeper: Keeper, attempt: Attempt) -> int:
    """Count the refused attempts in a row, up to and including this one."""
    before = [each for each in keeper.store.attempts(attempt.grid, n=attempt.n) if each.attempt < attempt.attempt]
    same = takewhile(lambda each: each.verdict == "again" and _is_no(whole_reason(each)), reversed(before))
    return 1 + sum(1 for _ in same)


def _elsewhere(keeper: Keeper, found: Decision, host: str) -> Decision:
    """Avoid a host; if the batch system cannot do so, or no other host is known, retry anywhere."""
    action, where = Action.RETRY, "on any host"
    if not host or not keeper.adapter.can_avoid:
        where += f": the batch system cannot be told to avoid {host or 'that host'}"
    elif not keeper.store.has_started_off(host):
        where += f": no other host than {host} has been seen yet"
    else:
        action, where = Action.ELSEWHERE, f"elsewhere, not on {host}"
    return found._replace(action=action, why="; ".join(filter(None, (found.why, where))))
