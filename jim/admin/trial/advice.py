"""Advice on what to change at a site, from the reasons of failed test jobs: pure functions from reasons to words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jim.model import Kind, Reason
from jim.site.file import Site
from jim.site.rules import NONE


def _work(site: Site) -> Path:
    """Return the site's directory of work directories; the one of the test no longer exists."""
    return Path(site.site.work) if site.site.work else site.state.parent


def _set(value: str) -> str:
    return repr(value) if value else "not set"


def of_submission(site: Site) -> str:
    """Advise on a refused submission."""
    batch = site.batch
    set_to = {"queue": batch.queue, "account": batch.account, "options": " ".join(batch.options)}
    keys = [f"batch.{key} ({_set(value)})" for key, value in set_to.items()]
    keys.append(f"batch.commands.submit ({'set' if 'submit' in batch.commands else 'not set'})")
    return f"its message is about one of {', '.join(keys)}, or about the rights of this account"


def _seconds(site: Site) -> str:
    return f"{site.batch.wall_seconds:,}" if site.batch.wall_seconds else NONE


def of_too_much(site: Site) -> str:
    """Advise on a request for too many resources."""
    batch = site.batch
    return (
        f"ask for less, or where there is more: batch.wall_seconds ({_seconds(site)}), batch.queue "
        f"({_set(batch.queue)}), batch.account ({_set(batch.account)}), and the cores and memory in "
        f"batch.options ({_set(' '.join(batch.options))}) or batch.commands.submit"
    )


def of_too_many(site: Site) -> str:
    """Advise on a limit on the number of jobs."""
    return (
        f"lower limits.queued ({site.limits.queued:,}) and limits.per_submission "
        f"({site.limits.per_submission:,}) to what this account may have there in addition to its present "
        "jobs"
    )


def of_arrays(site: Site) -> str:
    """Advise on refused arrays."""
    return (
        "JIM submits arrays, also for a single job: the batch system must allow arrays (with Slurm, "
        f"MaxArraySize also counts 0) of limits.per_submission ({site.limits.per_submission:,}) jobs"
    )


def of_listing(site: Site) -> str:
    """Advise on an accepted job that listings do not show."""
    return (
        "check that batch.commands.query and batch.commands.find list all jobs of this account, also "
        f"waiting ones, and that batch.visible_seconds ({site.batch.visible_seconds:g} s) is longer than "
        "the delay until they do"
    )


def of_slowness(site: Site) -> str:
    """Advise on commands that do not return."""
    return (
        f"if the command is only slow, raise batch.command_seconds ({site.batch.command_seconds:g} s); "
        "otherwise check the batch system's server"
    )


def of_silence(site: Site) -> str:
    """Advise on a batch system that does not answer."""
    return "run that command as this account until it answers: check batch.commands, and the batch system's server"


def of_outputs(site: Site) -> str:
    """Advise on missing outputs."""
    return (
        f"check that worker nodes and this machine see the same files in {_work(site)} (site.work), and "
        f"raise batch.visible_seconds ({site.batch.visible_seconds:g} s) if files appear late"
    )


def of_start(site: Site) -> str:
    """Advise on jobs that end before they start."""
    return (
        f"check that worker nodes can run programs in {_work(site)} (site.work: mounted, not noexec, "
        f"writable for this account); the logs of {site.batch.system} say where that batch job went, and "
        "why it ended"
    )


def of_death(site: Site) -> str:
    """Advise on jobs that started and left nothing."""
    return (
        "find out in the batch system's log what ended that job, and check that worker nodes can write to "
        f"{_work(site)} (site.work) to the end"
    )


def of_kill(site: Site) -> str:
    """Advise on killed jobs."""
    return (
        "find out in the batch system's log who ended it: limits of the queue, preemption, or the memory of a "
        "worker node"
    )


def of_limits(site: Site) -> str:
    """Advise on exceeded limits."""
    return f"check the limits of the queue; batch.wall_seconds is {_seconds(site)}"


def of_waiting(site: Site) -> str:
    """Advise on a long queue."""
    return f"try again when there are free slots, or with a queue that has some: batch.queue ({site.batch.queue!r})"


def of_unlimited(site: Site) -> str:
    """Advise on a time limit that is not enforced."""
    return (
        "have the batch system end jobs that exceed their limit; until then a payload that hangs occupies its "
        "slot for ever"
    )


def of_no_history(site: Site) -> str:
    """Advise on a history whose file does not exist even after the end of a job."""
    return (
        f"check that {site.batch.system} writes this file and that batch.commands.history names the right one; until "
        "then local jobs wait that die without an exit record"
    )


def of_twice(site: Site) -> str:
    """Advise on jobs that ran twice or not at all."""
    return (
        f"check with `jim site check` that {_work(site)} (site.work) keeps claims, and in the batch "
        "system's log whether it restarts jobs by itself (restart, requeue)"
    )


class Rule(NamedTuple):
    """An advice, and the reasons that it is for: their kinds, or the batch system's words."""

    advice: Callable[[Site], str]
    kinds: frozenset[Kind] = frozenset()
    said: str = ""
    fits: Callable[[Mapping[str, Any]], bool] = lambda _: False  # whether other facts fit


def _did_not_return(facts: Mapping[str, Any]) -> bool:
    return "code" in facts and facts["code"] is None


def _could_not_start(facts: Mapping[str, Any]) -> bool:
    return facts.get("code") in (126, 127) and "cause" not in facts  # the payload's exit code, not a batch command's


# The first rule that fits is used.
RULES = (
    Rule(of_too_much, frozenset({Kind.NEVER_STARTS})),
    Rule(of_arrays, said=r"job array|array (job|size)|more than [0-9]+ tasks|procs_in_cluster|jobs_per_submission"),
    Rule(
        of_too_many,
        frozenset({Kind.TOO_MANY}),
        r"submitjob|max_jobs_|number of jobs|jobs are allowed per|would exceed .* limit"
        r"|job limit|job slots|pending job threshold",
    ),
    Rule(
        of_too_much,
        said=r"time limit is invalid|\b(assoc|qos)(max|min|grp)|resource limits?\b|cannot exceed queue's"
        r"|(too many|more) processors|node configuration is not|memory (required|specification)",
    ),
    Rule(of_listing, frozenset({Kind.NOT_LISTED})),
    Rule(of_slowness, fits=_did_not_return),
    Rule(of_submission, frozenset({Kind.REFUSED, Kind.NOT_ACCEPTED})),
    Rule(of_outputs, frozenset({Kind.NOT_TAKEN, Kind.OUTPUTS_DIFFER})),
    Rule(of_start, frozenset({Kind.LOST}), fits=_could_not_start),
    Rule(of_death, frozenset({Kind.VANISHED, Kind.PUT_BACK})),
    Rule(of_limits, frozenset({Kind.OVER_TIME, Kind.TIME_LIMIT, Kind.CPU_LIMIT, Kind.TIME_OR_MEMORY})),
    Rule(of_kill, frozenset({Kind.KILLED, Kind.WARNED, Kind.MEMORY}), "killed by"),
)


def of(site: Site, reasons: Sequence[Reason], *, silent: bool = False) -> str:
    """Return the advice for these reasons; `silent`: the batch system does not answer either."""
    for rule in RULES:
        if any(_is_for(rule, each) for each in reasons):
            return rule.advice(site)
    return of_silence(site) if silent else "see the batch system's log of that job, and `jim site check`"


def _is_for(rule: Rule, reason: Reason) -> bool:
    kinds, said = {reason.kind, reason.facts.get("cause")}, str(reason.facts.get("said", ""))
    by_words = bool(rule.said) and re.search(rule.said, said, re.IGNORECASE) is not None
    return bool(rule.kinds & kinds) or by_words or rule.fits(reason.facts)
