"""What to change at a site, by what became of a job of its test: pure functions from reasons to words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jim.model import Kind, Reason
from jim.site.file import Site


def _work(site: Site) -> Path:
    """Name the site's directory of work directories; that of the test's own is gone when this is read."""
    return Path(site.site.work) if site.site.work else site.state.parent


def _set(value: str) -> str:
    return repr(value) if value else "not set"


def of_submission(site: Site) -> str:
    """Say what may be wrong with what is handed in."""
    batch = site.batch
    set_to = {"queue": batch.queue, "account": batch.account, "options": " ".join(batch.options)}
    keys = [f"batch.{key} ({_set(value)})" for key, value in set_to.items()]
    keys.append(f"batch.commands.submit ({'set' if 'submit' in batch.commands else 'not set'})")
    return f"what it says is about one of {', '.join(keys)}, or about what this account may do there"


def of_too_much(site: Site) -> str:
    """Say what to change where more is asked for than there is."""
    batch = site.batch
    return (
        f"ask for less, or where there is more: batch.wall_seconds ({batch.wall_seconds:,}), batch.queue "
        f"({_set(batch.queue)}), batch.account ({_set(batch.account)}), and what batch.options "
        f"({_set(' '.join(batch.options))}) or batch.commands.submit say of cores and memory"
    )


def of_too_many(site: Site) -> str:
    """Say what to change where there may not be so many jobs."""
    return (
        f"lower limits.queued ({site.limits.queued:,}) and limits.per_submission ({site.limits.per_submission:,}) to "
        "what this account may have there, beside the jobs that it has already"
    )


def of_arrays(site: Site) -> str:
    """Say what to change where arrays are not taken."""
    return (
        "JIM submits arrays, also of a single job: the batch system has to allow them (with Slurm, MaxArraySize counts "
        f"0, too), of as many jobs as limits.per_submission ({site.limits.per_submission:,}) says"
    )


def of_listing(site: Site) -> str:
    """Say what may be wrong where a job that was taken is not listed."""
    return (
        "see that batch.commands.query and batch.commands.find list all jobs of this account, also those that wait, "
        f"and that batch.visible_seconds ({site.batch.visible_seconds:g} s) is longer than it takes until they do"
    )


def of_slowness(site: Site) -> str:
    """Say what may be wrong where commands do not return."""
    return (
        f"if the command is only slow, raise batch.command_seconds ({site.batch.command_seconds:g} s); "
        "else look at the batch system's server"
    )


def of_silence(site: Site) -> str:
    """Say what may be wrong where the batch system does not answer."""
    return "run that command as this account until it answers: look at batch.commands, and at the batch system's server"


def of_outputs(site: Site) -> str:
    """Say what may be wrong where outputs do not come."""
    return (
        f"see that worker nodes and this machine see the same files in {_work(site)} (site.work), and raise "
        f"batch.visible_seconds ({site.batch.visible_seconds:g} s) if they are seen late"
    )


def of_start(site: Site) -> str:
    """Say what may be wrong where a job ends before it has begun."""
    return (
        f"see that worker nodes can run programs in {_work(site)} (site.work: mounted there, not noexec, this "
        f"account may write); the logs of {site.batch.system} say of that batch job where it went, and why it ended"
    )


def of_death(site: Site) -> str:
    """Say what may be wrong where a job began and left nothing."""
    return (
        f"see in the batch system's log of that job what ended it, and that worker nodes can write in "
        f"{_work(site)} (site.work) to the end"
    )


def of_kill(site: Site) -> str:
    """Say what may be wrong where something was killed."""
    return "see who ended it in the batch system's log: limits of the queue, its preemption, or a worker node's memory"


def of_limits(site: Site) -> str:
    """Say what may be wrong where a limit was passed."""
    return f"see what limits the queue has; batch.wall_seconds is {site.batch.wall_seconds:,}"


def of_waiting(site: Site) -> str:
    """Say what to do where the queue is long."""
    return f"try again when there are free slots, or with a queue that has some: batch.queue ({site.batch.queue!r})"


def of_unlimited(site: Site) -> str:
    """Say what to change where a time limit is none."""
    return "have the batch system end what passes its limit; until then a payload that hangs holds its slot for ever"


def of_twice(site: Site) -> str:
    """Say what may be wrong where something ran twice, or not at all."""
    return (
        f"see by `jim site check` that {_work(site)} (site.work) keeps claims, and in the batch system's log "
        "whether it starts jobs again by itself (restart, requeue)"
    )


class Rule(NamedTuple):
    """Advice, and the reasons that it is for: by their kinds, or by what the batch system has said."""

    advice: Callable[[Site], str]
    kinds: frozenset[Kind] = frozenset()
    said: str = ""
    fits: Callable[[Mapping[str, Any]], bool] = lambda _: False  # by other facts


def _did_not_return(facts: Mapping[str, Any]) -> bool:
    return "code" in facts and facts["code"] is None


def _could_not_start(facts: Mapping[str, Any]) -> bool:
    return facts.get("code") in (126, 127) and "cause" not in facts  # the payload's, not a batch command's


# The first that fits counts.
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
    Rule(of_kill, frozenset({Kind.KILLED, Kind.WARNED}), "killed by"),
)


def of(site: Site, reasons: Sequence[Reason], *, silent: bool = False) -> str:
    """Say what to change by why a job is where it is; `silent`: the batch system does not answer, either."""
    for rule in RULES:
        if any(_is_for(rule, each) for each in reasons):
            return rule.advice(site)
    return of_silence(site) if silent else "see the batch system's log of that job, and `jim site check`"


def _is_for(rule: Rule, reason: Reason) -> bool:
    kinds, said = {reason.kind, reason.facts.get("cause")}, str(reason.facts.get("said", ""))
    by_words = bool(rule.said) and re.search(rule.said, said, re.IGNORECASE) is not None
    return bool(rule.kinds & kinds) or by_words or rule.fits(reason.facts)
