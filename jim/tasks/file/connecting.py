"""Checks what connects tasks: sources that are outputs of others, and directories that one fills and one watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jim.errors import later, nearest
from jim.site.adapter import sees_work
from jim.site.file import Site
from jim.splitting.errors import SplitError
from jim.statusdb.task_spec import OutputSpec, SourceSpec, Spec
from jim.tasks.file.faults import Faults, Wrong, wrong
from jim.tasks.sources.directory import is_deep
from jim.work.splitters import find, name_of

WHEN_BROKEN, GO_ON = ("wait", "fail"), "go on"
BY_NAME = ("FileBased", "GangaDatasetSplitter", "RunBased", "MinFileBased")  # splitters that need no more of a file
NEEDS = {
    "SizeBased": "sizes",
    "ParentlessMergeBySize": "sizes",
    "DIRAC.BySize": "sizes",
    "EventBased": "events; say expects = { events = N } in the output",
    "EventAwareLumiBased": "events and lumis",
    "EventAwareLumiByWork": "events and lumis",
    "LumiBased": "lumis",
    "InputDataBySE": "places",
}


def check(spec: Spec, own: Mapping[str, Spec], others: Mapping[str, Spec], site: Site) -> None:
    """Check a task against those of its file, and against all others, by their names."""
    known = {**others, **own}
    faults = Faults()
    for nth, source in enumerate(spec.sources):
        with faults.gathered(nth):
            if source.kind == "task":
                _check_source(spec, source, known, site)
    faults.refuse()
    for name, each in others.items():
        if name not in own:
            _check_fed(spec, each, known, site)
    _refuse_same_names(spec)
    _refuse_cycle(spec, known, own)
    for name in _above(spec, known):
        _refuse_watched(spec, known[name])


def _check_source(spec: Spec, source: SourceSpec, known: Mapping[str, Spec], site: Site) -> None:
    name, output = source.task, source.output
    if name not in known:
        others = [each for each in known if each != spec.name]
        raise wrong("source.task", f"there is no task {name!r}{nearest(name, others, 'jim task status')}")
    streams = {each.name: each for each in known[name].outputs}
    if not streams:
        raise wrong("source.output", f"{name!r} has no output; say [[task.output]] there")
    if output not in streams:
        given = f"{name!r} has no output {output!r}" if output else "missing"
        raise wrong("source.output", f"{given}{nearest(output, streams)}")
    if source.when_broken == GO_ON:
        raise wrong("source.when_broken", f"'{GO_ON}': {later('pieces that go on without a file')}")
    if source.when_broken not in WHEN_BROKEN:
        raise wrong("source.when_broken", f"{source.when_broken!r}: must be wait or fail")
    if source.promises:
        _check_promises(spec, streams[output], site)
    if not streams[output].store and not sees_work(site):
        words = f"missing: worker nodes of {site.batch.system!r} do not see the work directory"
        raise wrong("output.store", words)


def _check_fed(spec: Spec, fed: Spec, known: Mapping[str, Spec], site: Site) -> None:
    """Refuse a task in place of one that feeds another, if it does not bring what that reads."""
    for source in fed.connectors:
        if source.task == spec.name:
            try:
                _check_source(fed, source, known, site)
            except Wrong as error:
                raise wrong("task.output", f"task {fed.name!r} reads {source.output!r}; {error}") from error


def _check_promises(spec: Spec, stream: OutputSpec, site: Site) -> None:
    """Refuse promises to a splitter that has to know more of a file than its name."""
    try:
        name = name_of(find(spec.split.by, site.site.handlers))
    except SplitError as error:
        raise wrong("split.splitter", error.words) from error
    if name in BY_NAME or (name == "EventBased" and stream.expects.get("events")):
        return
    raise wrong("source.promises", f"{name} needs {NEEDS.get(name, 'more than names')}, which a promise does not tell")


def _refuse_same_names(spec: Spec) -> None:
    """Refuse outputs of one name from two tasks: their items would have the same names."""
    names = [each.output for each in spec.connectors]
    for each in names:
        if names.count(each) > 1:
            raise wrong("source.output", f"two sources have an output {each!r}: the items of both would have one name")


def _refuse_cycle(spec: Spec, known: Mapping[str, Spec], own: Mapping[str, Spec]) -> None:
    """Refuse a cycle, of which the first task of the file tells."""
    for way in _ways(spec.name, known, (spec.name,)):
        if way[-1] == spec.name == next(name for name in own if name in way):
            raise wrong("source.task", f"{' -> '.join(reversed(way))}: a task cannot feed itself")


def _ways(name: str, known: Mapping[str, Spec], before: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each way from a task to those that feed it, which may lead back to it."""
    for source in known[name].connectors if name in known else ():
        way = (*before, source.task)
        yield way
        if source.task not in before:
            yield from _ways(source.task, known, way)


def _above(spec: Spec, known: Mapping[str, Spec]) -> set[str]:
    """Return a task and all that feed it: by connectors, or by a store that it watches."""
    above, new = set[str](), {spec.name}
    while new:
        above |= new
        new = {name for each in new for name in _feeding(known[each], known)} - above
    return above


def _feeding(spec: Spec, known: Mapping[str, Spec]) -> set[str]:
    """Return the tasks that feed a task directly."""
    connected = {each.task for each in spec.connectors} & known.keys()
    return connected | {name for name, each in known.items() if _watched(each, spec)}


def _watched(spec: Spec, by: Spec) -> str:
    """Return the store of a task that a source of another one, or its own, watches; empty: none."""
    for source in (each for each in by.sources if each.kind == "directory"):
        place = Path(source.directory).resolve()
        for store in (each.store for each in spec.outputs if each.store):
            path = Path(store).resolve()
            if path == place or (is_deep(source) and path.is_relative_to(place)):
                return store
    return ""


def _refuse_watched(spec: Spec, above: Spec) -> None:
    """Refuse a store that a source of the same or an upstream task watches."""
    if store := _watched(spec, above):
        words = f"{store} is watched by a source of task {above.name!r}: what it brings would come back as input"
        raise wrong("output.store", words)


def in_order(specs: Sequence[Spec]) -> list[Spec]:
    """Return tasks so that each comes after those that feed it."""
    known = {each.name: each for each in specs}
    return sorted(specs, key=lambda each: len(_above(each, known)))
