"""Checks a task against its site: its request, its splitter, its sources; and sizes its pieces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any

from jim.errors import BadRequest, JimError
from jim.evidence.analysis import analyser
from jim.request import declarations, handler_of
from jim.site.file import Site
from jim.splitting.errors import SplitError
from jim.splitting.registry import splits_requests
from jim.statusdb.task_spec import SourceSpec, Spec, Split
from jim.tasks.file import streams
from jim.tasks.file.faults import Faults, Wrong, wrong
from jim.tasks.file.requests import sample
from jim.tasks.file.words import ELSEWHERE
from jim.tasks.sources import ALL
from jim.tasks.sources.directory import is_deep
from jim.work.catalogue import NotReadable, catalogue_at
from jim.work.program import with_program
from jim.work.sizing import size
from jim.work.splitters import find, name_of, parameters

OF_CLOSED = ("total_files", "total_lumis", "total_events", "job_limit", "maxFiles")  # parameters
WHENS = ("full", "now", "closed")
PRODUCERS = ("WMBSMergeBySize", "SiblingProcessingBased")


def check(spec: Spec, site: Site) -> Spec:
    """Check a task that is read; return it with the splitter and the sizes that it leaves to JIM."""
    faults = Faults()
    for name in spec.request:
        if name in ELSEWHERE:
            faults.add(wrong(f"request.{name}", ELSEWHERE[name]))
    for nth, each in enumerate(spec.sources):
        with faults.gathered(nth):
            _check_source(each, site)
    _check_names(spec.sources, faults)
    for nth, pool in enumerate(spec.outputs):
        with faults.gathered(nth):
            streams.check_store(pool)
    with faults.gathered():
        _check_analyser(spec.analyser, site)
    with faults.gathered():
        _check_program("test.check", spec.test.check)
    if not spec.request.keys() & ELSEWHERE.keys():
        with faults.gathered():
            spec = _check_request(spec, site)
    faults.refuse()
    return spec


def _check_request(spec: Spec, site: Site) -> Spec:
    """Check what becomes of items: the splitter, and the request of each grid job with what it brings."""
    kinds = {each.kind for each in spec.sources}
    if "events" in kinds and len(kinds) > 1:
        raise wrong("source.events", "a task makes events or has files; make two tasks of them")
    try:
        spec = spec._replace(request=with_program(spec.request, site.site.handlers, Path(spec.file).parent))
        spec = _check_events(spec, site) if "events" in kinds else _check_files(spec, site)
        handler, checked = sample(spec, site, events=spec.events)
        streams.check(spec.outputs, [str(each) for each in handler.outputs(checked)])
        return spec
    except Wrong:
        raise
    except BadRequest as error:
        word = error.told.strip("'")  # requests quote words that they do not know
        raise Wrong(error.words, told=word and f"request.{word}") from error


def _check_source(source: SourceSpec, site: Site) -> None:
    if source.kind in ("directory", "list"):
        _check_place(source)
    elif source.kind == "command":
        if not source.command:
            raise wrong("source.command", "empty: say the program and its words")
        _check_program("source.command", source.command)
    elif source.kind == "dataset":
        _check_dataset(source.dataset, site)
    if source.group:
        _check_group(source.group)
    if source.kind == "directory":
        _check_patterns(source)


def _check_patterns(source: SourceSpec) -> None:
    """Refuse patterns that no name below the directory can have."""
    files, closed_by = Path(source.files), source.closed_by
    if not source.files or files.is_absolute() or ".." in files.parts:
        raise wrong("source.files", f"{source.files!r}: a pattern of names below the directory, such as *.raw")
    before, dot, ending = Path(closed_by).name.rpartition(".")
    if closed_by and not dot:
        raise wrong("source.closed_by", f"{closed_by!r}: no ending: that of the file is the group, as in END.*")
    if ending != ALL and _is_open(before) and not _is_open(ending):
        words = f"{closed_by!r}: it closes no group but {ending!r}: the ending of the file is the group, as in END.*"
        raise wrong("source.closed_by", words)


def _is_open(pattern: str) -> bool:
    """Tell whether a pattern fits more than one text."""
    return bool(set("*?[") & set(pattern))


def _check_names(sources: Sequence[SourceSpec], faults: Faults) -> None:
    """Find directories that two sources call by different names; one name may be that of several sources."""
    places = [(nth, each) for nth, each in enumerate(sources) if each.kind == "directory"]
    there = [(nth, each) for nth, each in places if Path(each.directory).is_dir()]
    for nth, source in there:
        with faults.gathered(nth):
            for k, other in there:
                name = _name_by(other, source, is_before=k < nth)
                if name not in ("", source.directory):
                    words = f"{source.directory} is {name}, which another source of this task watches: name it once"
                    raise wrong("source.directory", words)


def _name_by(other: SourceSpec, source: SourceSpec, *, is_before: bool) -> str:
    """Return how another source calls the directory of a source; empty: not at all, or the source comes first."""
    place, within = Path(source.directory), Path(other.directory)
    if place.samefile(within):
        return str(within) if is_before else ""
    real, top = place.resolve(), within.resolve()
    return str(within / real.relative_to(top)) if is_deep(other) and real.is_relative_to(top) else ""


def _check_place(source: SourceSpec) -> None:
    place = Path(source.directory or source.list)
    if source.kind == "directory" and not place.is_dir():
        raise wrong("source.directory", f"{place}: no such directory")
    if source.kind == "list" and not place.is_file():
        raise wrong("source.list", f"{place}: no such file")


def _check_program(path: str, words: Sequence[str]) -> None:
    if words and which(words[0]) is None:
        why = "may not be executed" if Path(words[0]).is_file() else "no such program"
        raise wrong(path, f"{words[0]}: {why}")


def _check_dataset(name: str, site: Site) -> None:
    """Ask the catalogue for a dataset, which may be empty as long as it is open."""
    if not site.site.catalogue:
        raise wrong("source.dataset", "this site has no catalogue (site.catalogue)")
    try:
        catalogue_at(site.site.catalogue).dataset(name)
    except NotReadable as error:
        raise wrong("source.dataset", f"the catalogue cannot be asked: {error}") from error
    except JimError as error:
        raise wrong("source.dataset", str(error)) from error


def _check_group(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise wrong("source.group", f"{pattern!r} is no pattern: {error}") from error
    if not groups:
        raise wrong("source.group", "no brackets: the first pair says what the group is")


def _check_analyser(name: str, site: Site) -> None:
    if not name:
        return
    try:
        analyser(name, site.site.handlers)
    except (JimError, OSError) as error:
        raise wrong("task.analyser", f"there is no {name!r} in site.handlers: {error}") from error


# A task that makes events


def _check_events(spec: Spec, site: Site) -> Spec:
    if not spec.makes_events:
        raise wrong("split.splitter", "events are cut by their number; say events_per_piece in source")
    spec = spec._replace(sources=tuple(_with_events(each, spec.request, site) for each in spec.sources))
    _refuse_overlap(spec.sources)
    handler, checked = sample(spec, site, events=spec.events)
    if "events" in declarations(handler):
        found = size(handler, checked, site)
        own, why = found.events_per_job, found.why
    else:
        own, why = handler.events_per_job, f"the job type's rule of thumb, {handler.events_per_job:,} events"
    return spec._replace(
        sources=tuple(
            each._replace(why="as the task says")
            if each.events_per_piece
            else each._replace(events_per_piece=own, why=why)
            for each in spec.sources
        )
    )


def _with_events(source: SourceSpec, request: Mapping[str, Any], site: Site) -> SourceSpec:
    """Return a source with the events that it makes, which may be for the catalogue to say."""
    events = source.events or _events_of(request, site)
    if source.campaigns > events:
        raise wrong("source.campaigns", f"{source.campaigns:,}: there are only {events:,} events")
    return source._replace(events=events)


def _events_of(request: Mapping[str, Any], site: Site) -> int:
    """Return what the catalogue says of the request id."""
    if not site.site.catalogue:
        raise wrong("source.events", "missing: this site has no catalogue (site.catalogue)")
    try:
        return catalogue_at(site.site.catalogue).events(str(request["request_id"]))
    except NotReadable as error:
        raise wrong("source.events", f"missing, and the catalogue cannot be asked: {error}") from error


def _refuse_overlap(sources: Sequence[SourceSpec]) -> None:
    ranges = sorted((each.first_event, each.first_event + each.events - 1) for each in sources)
    for (_, last), (first, end) in pairwise(ranges):
        if first <= last:
            raise wrong("source.first_event", f"events {first:,} to {min(last, end):,} are in two sources")


# A task that has files


def _check_files(spec: Spec, site: Site) -> Spec:
    handler = handler_of(spec.request.get("job_type"), site.site.handlers)
    declared = declarations(handler).get("splitter")
    if declared is None:
        raise wrong("source", f"job type {spec.request['job_type']} takes no input files; say events in source")
    splitter = spec.split.splitter or declared.default or "FileBased"
    spec = spec._replace(split=spec.split._replace(splitter=splitter, when=spec.split.when or "full"))
    if spec.split.when not in WHENS:
        raise wrong("split.when", f"{spec.split.when!r}: must be full, now or closed")
    check_splitter(spec.split, site)
    sample(spec, site)
    return spec


def check_splitter(split: Split, site: Site) -> None:
    """Refuse a splitter that cannot work while items arrive, and wrong parameters."""
    try:
        module = find(split.by, site.site.handlers)
        name = name_of(module)
        if splits_requests(module):
            raise wrong("split.splitter", f"{name} splits no items; use source.list")
        given = split.parameters
        checked = parameters(module, given)
    except SplitError as error:
        place = "split.splitter" if error.about == "splitter" else f"split.parameters.{error.key}"
        raise wrong(place, error.words) from error
    if name == "Harvest" and checked.interval:
        raise wrong("split.splitter", "Harvest with an interval reads items twice")
    if name in PRODUCERS:
        raise wrong("split.splitter", f"later: {name} needs to be told producers or siblings")
    for each in OF_CLOSED:
        if given.get(each):
            raise wrong(f"split.parameters.{each}", f"an open pool has no first {given[each]} by name")
    if given.get("applyLumiCorrection") and split.when != "closed":
        raise wrong("split.parameters.applyLumiCorrection", 'an open pool is not wholly known; say when = "closed"')
