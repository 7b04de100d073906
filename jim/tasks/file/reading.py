"""Reads a task file: TOML with one or more tables `[[task]]`. All of them are checked, or none is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from jim.errors import BadRequest, JimError, in_words
from jim.files import read_regular, resolved
from jim.model import MOST_PRIORITY
from jim.request.toml import parse
from jim.site.file import Site
from jim.statusdb.task_spec import OF_KIND, OutputSpec, SourceSpec, Spec
from jim.tasks.file import connecting, streams, words
from jim.tasks.file.checks import check
from jim.tasks.file.faults import Faults, Wrong, position, where, wrong
from jim.tasks.file.models import Model, model_in

LONGEST = 1024 * 1024
T = TypeVar("T")


def read(
    file: Path, site: Site, holes: Mapping[str, str] | None = None, known: Mapping[str, Spec] | None = None
) -> list[Spec]:
    """Read and check a task file, or a model with values for its holes; refuse it with the place of what is wrong."""
    text, tables = _parsed(file)
    if holes is not None:
        tables = _model(file, text, tables).filled(holes)
    found: list[Spec] = []
    troubles: list[str] = []
    for number, table in _tables(file, text, tables):
        with _gathered(text, number, troubles):
            spec = _read(table, file)
            _refuse_second(found, spec)
            found.append(spec)
            found[-1] = check(spec, site)
    _refuse(file, troubles)
    own = {each.name: each for each in found}
    for number, spec in enumerate(found):
        with _gathered(text, number, troubles):
            connecting.check(spec, own, known or {}, site)
    _refuse(file, troubles)
    return found


@contextmanager
def _gathered(text: str, number: int, troubles: list[str]) -> Iterator[None]:
    """Gather what is wrong in a task, with its places."""
    try:
        yield
    except Wrong as error:
        found = {(position(text, number, each.told, each.nth), str(each)) for each in (error, *error.more)}
        troubles += [
            f"{where(text, at)}{words}" for at, words in sorted(found, key=lambda each: (each[0] or 0, each[1]))
        ]


def _refuse(file: Path, troubles: list[str]) -> None:
    """Refuse a file in which something is wrong."""
    if len(troubles) == 1:
        raise BadRequest(f"{file}: {troubles[0]}")
    if troubles:
        lines = "".join(f"\n  {each}" for each in troubles)
        raise BadRequest(f"{file}: {len(troubles)} things are wrong:{lines}")


def model(file: Path) -> Model:
    """Read a model, of which no hole is filled."""
    text, tables = _parsed(file)
    found = _model(file, text, tables)
    _tables(file, text, found.tables)
    return found


def _parsed(file: Path) -> tuple[str, dict[str, Any]]:
    text = _text(file)
    try:
        return text, parse(text)
    except ValueError as error:
        raise BadRequest(f"{file}: not TOML: {in_words(error)}") from error


def _model(file: Path, text: str, tables: Mapping[str, Any]) -> Model:
    try:
        return model_in(file, tables)
    except BadRequest as error:
        raise BadRequest(
            f"{file}: {where(text, position(text, None, error.told)) if error.told else ''}{error}"
        ) from error


def _text(file: Path) -> str:
    try:
        return read_regular(resolved(file), LONGEST).decode().removeprefix("\ufeff")
    except (OSError, ValueError, JimError) as error:
        why = f"{file}: {in_words(error)}" if isinstance(error, OSError | ValueError) else str(error)
        raise BadRequest(f"cannot read the task file: {why}") from error


def _tables(file: Path, text: str, tables: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    for name in tables:
        at = where(text, position(text, None, name))
        if name == "model":
            fills = f"this is a model; 'jim task create --model {file.stem} hole=value' fills its holes"
            raise BadRequest(f"{file}: {at}{name}: {fills}")
        if name != "task":
            unknown = "this is for a request, which `jim submit` takes" if name == "job_type" else "unknown"
            raise BadRequest(f"{file}: {at}{name}: {unknown}; a task file has tables [[task]] alone")
    found = tables.get("task")
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        there = "task is no list of tables; each begins with" if found else "there is no table"
        raise BadRequest(f"{file}: {where(text, position(text, None, 'task')) if found else ''}{there} [[task]]")
    return list(enumerate(found))


def _refuse_second(found: list[Spec], spec: Spec) -> None:
    if spec.name in (each.name for each in found):
        raise wrong("task.name", f"{spec.name!r} is the name of two tasks of this file")


def _read(table: Mapping[str, Any], file: Path) -> Spec:
    """Check the words of a task, and fill in what it leaves out."""
    faults, sources, pools = Faults(), list[SourceSpec](), list[OutputSpec]()
    task = words.fitting("task", table, words.TASK, faults)
    for check_one in (_check_name, _check_priority):
        with faults.gathered():
            check_one(task)
    if task["request"] is None:
        faults.add(wrong("task.request", "missing: say what each grid job asks for, at least job_type"))
    task["request"] = dict(task["request"] or {})
    with faults.gathered():
        sources = list(_each(lambda source: _source(source, task, file.parent), _sources(task)))
    for name, own in (("split", words.SPLIT), ("test", words.TEST), ("release", words.RELEASE)):
        task[name] = words.fitting(name, task[name], own, faults)
    with faults.gathered():
        pools = list(_each(lambda pool: streams.read(pool, file.parent), task["output"]))
        streams.refuse_seconds(pools)
    for nth, pool in enumerate(pools):
        with faults.gathered(nth):
            streams.refuse_hidden(pool, task["source"] or ())
    faults.refuse()
    task["test"]["check"] = [_from(file.parent, each, n) for n, each in enumerate(task["test"]["check"])]
    whole = Spec.from_record(task | {"source": (), "output": (), "file": str(file.resolve())})
    return whole._replace(sources=tuple(sources), outputs=tuple(pools))


def _each(read_one: Callable[[Mapping[str, Any]], T], tables: Iterable[Mapping[str, Any]]) -> Iterator[T]:
    """Read tables; refuse them after the last one, with all that is wrong in any."""
    faults = Faults()
    for nth, table in enumerate(tables):
        with faults.gathered(nth):
            yield read_one(table)
    faults.refuse()


def _check_name(task: Mapping[str, Any]) -> None:
    if task["name"] is None or not words.NAME.fullmatch(task["name"]):
        given = "missing" if task["name"] is None else repr(task["name"])
        raise wrong("task.name", f"{given}: a name has 1 to 48 of a-z, 0-9 and -, and begins with a letter")


def _check_priority(task: Mapping[str, Any]) -> None:
    if not -MOST_PRIORITY <= task["priority"] <= MOST_PRIORITY:
        raise wrong("task.priority", f"{task['priority']}: must be -{MOST_PRIORITY:,} to {MOST_PRIORITY:,}")


def _sources(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables of sources; the catalogue may be the only one."""
    if task["source"]:
        return list(task["source"])
    if task["request"].get("request_id"):
        return [{}]
    raise _no_source(task["name"])


def _no_source(name: str) -> Wrong:
    return wrong("task.source", f"task {name!r}: no source: say events, directory, list, command, dataset or task")


def _source(table: Mapping[str, Any], task: Mapping[str, Any], here: Path) -> SourceSpec:
    """Check a source, of which exactly one word says its kind."""
    read = words.read("source", table, words.SOURCE)
    kinds = [each for each in OF_KIND if table.get(each) is not None]
    if len(kinds) > 1:
        raise wrong(f"source.{kinds[1]}", f"source: {' and '.join(kinds)}; a source is one of them")
    if not kinds and task["request"].get("request_id"):
        kinds = ["events"]  # the catalogue knows how many
    if not kinds:
        raise _no_source(task["name"])
    for name in table:
        if name not in OF_KIND[kinds[0]]:
            raise wrong(f"source.{name}", f"a source of kind {kinds[0]} has no {name!r}")
    own = _placed({name: read[name] for name in OF_KIND[kinds[0]]}, here)
    return SourceSpec.from_record({"kind": kinds[0], **own})


def _placed(source: dict[str, Any], here: Path) -> dict[str, Any]:
    """Let paths of a source be seen from the task file."""
    for name in ("directory", "list"):
        if name in source:
            source[name] = str(here.resolve() / source[name])
    if "command" in source:
        source["command"] = [_from(here, each, n) for n, each in enumerate(source["command"])]
    return source


def _from(here: Path, word: str, n: int) -> str:
    """Return a word of a command; a program, and what begins with ./, is seen from the task file."""
    return str(here.resolve() / word) if (n == 0 and "/" in word) or word.startswith("./") else word
