"""Decides how many events a local job gets: from the events in all, the CPU time per event and the site's limits.

Without these the job type's rule of thumb decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jim.errors import BadRequest, nearest, shown
from jim.handlers.base import Handler, has_variable
from jim.model import Resources
from jim.site.file import Site
from jim.trust.plugins import foreign

LOCAL = "local"  # the batch system of one machine, this one

TEST_EVENTS = 10
SPECIAL = ("gpus", "constraint", "licences")  # batch systems differ in these
FORMS = {
    "gpus": "expected a number from 1 to 999,999",
    "constraint": "expected NAME or NAME=VALUE, several with commas; Slurm takes names only, or its own & | ! ( ) "
    "instead of commas",
    "licences": "expected NAME or NAME:COUNT, several with commas",
}
ANY = r"[\w.,:=@%+/-]*"  # what * in an allowed word stands for: nothing that a shell or a batch system reads otherwise


class Size(NamedTuple):
    """The size of the local jobs of a grid job, and the reason for it."""

    pieces: int  # 0: as many as the splitter of the request makes
    events: int  # in all; 0: the work is not measured in events
    events_per_job: int
    cpu_seconds: float | None  # of one local job, if the CPU time per event is known
    why: str


UNSIZED = Size(0, 0, 0, None, "")


def of_test(request: Mapping[str, Any]) -> dict[str, Any]:
    """Make a request ask for the few events of a test."""
    if not request.get("events"):
        return dict(request)
    return {**request, "events": min(request["events"], TEST_EVENTS), "events_per_job": TEST_EVENTS}


def size(handler: Handler, request: Mapping[str, Any], site: Site, learned: str = "") -> Size:
    """Size the local jobs of a request, or refuse it and show the calculation.

    `learned` says where the CPU time per event comes from, if it is not the request's.
    """
    unknown = left_to_catalogue(request)
    if unknown:
        if not site.site.catalogue:
            raise BadRequest(f"cannot look up {unknown}: this site has no catalogue (site.catalogue)")
        return Size(0, 0, 0, None, f"by {unknown}, which the keeper looks up in the site's catalogue")
    if request.get("splitter") or request.get("pieces"):
        task = request.get("pieces")
        return Size(
            0, 0, 0, None, "the pieces that its task has made" if task else f"as {request['splitter']} splits it"
        )
    with foreign(f"job type {request['job_type']}"):
        work = handler.work(request)
    if not work.events:
        return _within(Size(len(work.pieces), 0, 0, None, "one local job for each piece of the request"), site)
    per_event = request.get("cpu_seconds_per_event") or handler.cpu_seconds_per_event
    whose = learned or "the request's value" if request.get("cpu_seconds_per_event") else "the job type's value"
    events, why = _events_per_job(handler, request, site, per_event, whose)
    most = handler.most_events_per_job(request)
    if most and events > most:
        if request.get("events_per_job"):
            raise BadRequest(f"{events:,}, more than the {most:,} that fit this job type's files", "events_per_job")
        events, why = most, f"at most {most:,} events fit this job type's files ({why})"
    pieces = -(-work.events // events)
    events = min(events, work.events)
    if request.get("balanced"):
        events, why = -(-work.events // pieces), f"{why}, balanced"
    cpu = per_event * events if per_event else None
    return _within(Size(pieces, work.events, events, cpu, why), site)


def left_to_catalogue(request: Mapping[str, Any]) -> str:
    """Name what the catalogue must add before JIM can size and split the request; empty if nothing is missing."""
    if request.get("request_id") and not request.get("events"):
        return f"the events of request id {request['request_id']!r:.200}"
    if request.get("dataset") and not request.get("input_files"):
        return f"the files of dataset {request['dataset']!r:.200}"
    return ""


def is_looked_up(stored: Mapping[str, Any]) -> bool:
    """Tell whether a stored request has the files of its dataset: only the catalogue gives it both."""
    return bool(stored.get("dataset") and stored.get("input_files"))


def _events_per_job(
    handler: Handler, request: Mapping[str, Any], site: Site, per_event: float | None, whose: str
) -> tuple[int, str]:
    limits = site.sizing
    most = limits.most_cpu_seconds or None
    asked = request.get("events_per_job")
    if most and per_event and per_event > most:
        raise BadRequest(
            f"one event takes {per_event:g} s of CPU ({whose}), more than the {most:,} s that this site "
            "allows a local job",
            "events",
        )
    if asked:
        if most and per_event and asked * per_event > most:
            needed = f"{asked * per_event:,.1f}".removesuffix(".0")
            raise BadRequest(
                f"{asked:,} events × {per_event:g} s per event ({whose}) = {needed} s, more than the "
                f"{most:,} s of CPU that this site allows a local job; at most {_fit(most, per_event):,} "
                "events fit",
                "events_per_job",
            )
        return asked, "events_per_job of the request"
    target = limits.recommended_cpu_seconds or most
    if per_event and target:
        word = "recommends" if limits.recommended_cpu_seconds else "allows"
        return max(1, _fit(target, per_event)), (
            f"{target:,} s of CPU per local job, as the site {word}, ÷ {per_event:g} s per event ({whose})"
        )
    return handler.events_per_job, f"the job type's rule of thumb, {handler.events_per_job:,} events per local job"


def _fit(seconds: int, per_event: float) -> int:
    """Return how many events fit. Not by the operator //, which finds 0.1 in 3,600 only 35,999 times."""
    return int(seconds / per_event)


def _within(size: Size, site: Site) -> Size:
    most = site.limits.local_jobs
    if size.pieces > most:
        parts = f"{size.events:,} events ÷ {size.events_per_job:,} per local job = " if size.events else ""
        raise BadRequest(
            f"{parts}{size.pieces:,} local jobs, more than the {most:,} that this site allows one grid job"
        )
    if size.pieces < 1:
        raise BadRequest("the request has no work: it would make no local job")
    return size


def check_limits(asked: Resources, site: Site, size: Size = UNSIZED) -> None:
    """Refuse resources that the site file does not allow, and show the calculation.

    A value with a variable stands for many values; it is checked for each local job.
    """
    batch = site.batch
    asked = asked._replace(**{name: None for name, value in asked._asdict().items() if has_variable(value)})
    _at_most("wall_seconds", asked.wall_seconds, batch.most_wall_seconds, "s")
    queue = asked.queue or batch.queue
    where = f" in the queue {queue}" if queue in site.queues else ""
    _at_most("memory_mb", asked.memory_mb, site.most_memory_mb(queue), "MB", where)
    _at_most("cores", asked.cores, batch.most_cores, "cores")
    if batch.system == LOCAL and asked.cores and asked.cores > (here := os.cpu_count() or 1):
        raise BadRequest(f"{asked.cores:,} cores, but this machine, on which all local jobs run, has {here:,}", "cores")
    for name in SPECIAL:
        if getattr(asked, name) is not None:
            _can_be_asked_for(name, getattr(asked, name), site)
    allow_options(asked.batch_options or (), batch.allowed_options)
    _one_of("queue", asked.queue, batch.queues)
    _one_of("account", asked.account, batch.accounts)
    limit, cores = asked.wall_seconds or site.usual_seconds(queue), asked.cores or 1
    if asked.warn_seconds and not (limit and asked.warn_seconds < limit):
        known = f"only {limit:,} s long" if limit else "not known to JIM: ask for wall_seconds, too"
        raise BadRequest(f"{asked.warn_seconds:,} s before a time limit that is {known}", "warn_seconds")
    if limit and size.cpu_seconds and size.cpu_seconds > limit * cores:
        on = f" on {cores:,} cores" if cores > 1 else ""
        raise BadRequest(
            f"a local job of {size.events_per_job:,} events needs {size.cpu_seconds:,.0f} s of CPU, more "
            f"than its time limit of {limit:,} s{on}; use a larger wall_seconds or a smaller events_per_job"
        )


def _at_most(name: str, asked: int | None, most: int, unit: str, where: str = "") -> None:
    if asked and asked > most:
        allowed = f"the {most:,} {unit} that this site allows a local job{where}"
        raise BadRequest(f"{asked:,} {unit}, more than {allowed}", name)


def _can_be_asked_for(name: str, value: object, site: Site) -> None:
    from jim.site.adapter import special_of  # imports the adapter: few requests ask for these

    system, special = site.batch.system, special_of(site)
    if name not in special:
        raise BadRequest(f"{shown(value)}: the batch system {system} cannot be asked for {name}", name)
    if not re.fullmatch(special[name], str(value), re.ASCII):
        raise BadRequest(f"{shown(value)}: JIM cannot ask the batch system {system} for this; {FORMS[name]}", name)


def allow_options(words: Sequence[str], patterns: Sequence[str]) -> None:
    """Refuse words of the submit command that the site does not allow.

    A pattern may be several words, which then stand together, such as an option and its value: an option that stands
    alone would take JIM's next word for its value.
    """
    rows = sorted((each.split() for each in patterns), key=len, reverse=True)
    at = 0
    while at < len(words):
        fits = next((len(row) for row in rows if row and _stands(row, words[at : at + len(row)])), 0)
        if not fits:
            allowed = f"only {', '.join(patterns)}" if patterns else "none (batch.allowed_options)"
            raise BadRequest(f"{shown(words[at])}: this site allows {allowed}", "batch_options")
        at += fits


def _stands(row: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether words are those of a pattern; * stands for no odd characters."""
    return len(row) == len(words) and all(
        re.fullmatch(re.escape(each).replace(r"\*", ANY), word, re.ASCII) for each, word in zip(row, words, strict=True)
    )


def _one_of(name: str, asked: str | None, allowed: Sequence[str]) -> None:
    if asked and allowed and asked not in allowed:
        raise BadRequest(f"this site does not allow {asked!r}{nearest(asked, allowed)}", name)
