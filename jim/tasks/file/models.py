"""Models: task files with holes, of JIM and of a site. A person gives values, and a model becomes tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import BadRequest, JimError, nearest, shown
from jim.request import declarations, handler_of
from jim.site.file import Site
from jim.tasks.file.faults import wrong

HOLE = re.compile(r"<([a-z][a-z0-9_-]*)>", re.ASCII)
NAME = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
KINDS: dict[str, tuple[type, str]] = {
    "whole": (int, "a whole number"),
    "number": (float, "a number"),
    "text": (str, "a text"),
}
OWN = Path(__file__).resolve().parents[2] / "models"
OF_MODEL = {"summary": "", "description": "", "holes": {}}
OF_HOLE = {"help": "", "kind": "text", "default": None}


class Hole(NamedTuple):
    """A place of a model that a person fills."""

    name: str
    help: str
    kind: str
    default: Any = None  # none: a person must say it

    def value(self, text: str, model: str) -> Any:
        """Read what a person says."""
        kind, words = KINDS[self.kind]
        try:
            if not text.isprintable() or text.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
                raise ValueError(text)
            return kind(text)
        except ValueError:
            raise BadRequest(f"model {model}: hole {self.name!r}: expected {words}, found {shown(text)}") from None


class Model(NamedTuple):
    """A model, as its file says."""

    name: str
    file: Path
    summary: str
    description: str
    holes: dict[str, Hole]
    tables: dict[str, Any]  # what is left of the file: its tasks

    def missing(self, given: Mapping[str, str]) -> list[Hole]:
        """Return the holes that have neither a value nor a default."""
        return [each for each in self.holes.values() if each.default is None and each.name not in given]

    def filled(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return its tables with values in place of holes."""
        for name in given:
            if name not in self.holes:
                raise BadRequest(f"model {self.name} has no hole {name!r}{nearest(name, self.holes)}")
        for hole in self.missing(given):
            raise BadRequest(f"model {self.name}: hole {hole.name!r} has no value: {hole.help}")
        values = {
            hole.name: hole.value(given[hole.name], self.name) if hole.name in given else hole.default
            for hole in self.holes.values()
        }
        return {name: _filled(table, values) for name, table in self.tables.items()}


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Fill the holes in the texts of a value.

    A text that is one hole alone takes the kind of the hole, but not beside other texts in a list: words of a command.
    """
    if isinstance(value, Mapping):
        return {name: _filled(each, values) for name, each in value.items()}
    if isinstance(value, list):
        found = [_filled(each, values) for each in value]
        return [str(each) for each in found] if _has_texts(value) else found
    if not isinstance(value, str):
        return value
    alone = HOLE.fullmatch(value)
    return values[alone[1]] if alone else HOLE.sub(lambda hole: str(values[hole[1]]), value)


def _has_texts(value: list[Any]) -> bool:
    """Tell whether a list is one of texts: one of them is more than a hole."""
    return any(isinstance(each, str) and not HOLE.fullmatch(each) for each in value)


# Where models are


def places(site: Site) -> list[Path]:
    """Return the directories of models; those of the site come first."""
    return [*([Path(site.site.models)] if site.site.models else []), OWN]


def known(site: Site) -> dict[str, Path]:
    """Return the files of all models by their names; a site's own one hides that of JIM."""
    found: dict[str, Path] = {}
    for place in places(site):
        for file in sorted(place.glob("*.toml")):
            found.setdefault(file.stem, file)
    return dict(sorted(found.items()))


def file_of(name: str, site: Site) -> Path:
    """Return the file of a model."""
    models = known(site)
    if name not in models:
        where = " or ".join(map(str, places(site)))
        raise BadRequest(f"there is no model {name!r} in {where}{nearest(name, models)}")
    return models[name]


def model_in(file: Path, tables: Mapping[str, Any]) -> Model:
    """Check the table [model] of a task file, and that each hole in a text is declared."""
    if "model" not in tables:
        raise BadRequest("it has no table [model], so it is a task file: `jim task create FILE` takes it")
    values = _read("model", tables["model"], OF_MODEL)
    if not isinstance(values["holes"], Mapping):
        raise wrong("model.holes", f"expected a table, found {shown(values['holes'])}")
    holes = {name: _hole(name, table) for name, table in values["holes"].items()}
    rest = {name: table for name, table in tables.items() if name != "model"}
    for name in _holes_in(rest):
        if name not in holes:
            raise BadRequest(f"<{name}>: the model has no such hole{nearest(name, holes)}")
    return Model(file.stem, file, str(values["summary"]), str(values["description"]), holes, rest)


def _hole(name: str, table: object) -> Hole:
    place = f"model.holes.{name}"
    if not NAME.fullmatch(name):
        raise wrong(place, "a name has a-z, 0-9, _ and -, and begins with a letter")
    values = _read(place, table, OF_HOLE)
    if values["kind"] not in KINDS:
        raise wrong(f"{place}.kind", f"{shown(values['kind'])}: must be {', '.join(KINDS)}")
    (kind, words), default = KINDS[values["kind"]], values["default"]
    fits = isinstance(default, (int, float) if kind is float else kind) and not isinstance(default, bool)
    if default is not None and not fits:
        raise wrong(f"{place}.default", f"expected {words}, found {shown(default)}")
    return Hole(name, str(values["help"]), values["kind"], default)


def _read(place: str, table: object, words: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise wrong(place, f"expected a table, found {shown(table)}")
    for name in table:
        if name not in words:
            raise wrong(f"{place}.{name}", f"unknown{nearest(str(name), words)}")
    return {**words, **table}


def _holes_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _holes_in(each)
    elif isinstance(value, str):
        yield from HOLE.findall(value)


# Roles: the code that a model names


def roles(model: Model, site: Site) -> list[tuple[str, str]]:
    """Return the code of each role that plays a part in the tasks of a model, as the model names it."""
    found: dict[tuple[str, str], None] = {}
    for task in model.tables["task"]:
        request, sources = task.get("request", {}), task.get("source", ())
        found[("job type", str(request.get("job_type", "")))] = None
        if task.get("analyser"):
            found[("analyser", str(task["analyser"]))] = None
        commands = [each["command"] for each in sources if each.get("command")]
        found |= {("source command", str(each[0])): None for each in commands}
        found |= {("splitter", each): None for each in _splitter(task, site)}
    return list(found)


def _splitter(task: Mapping[str, Any], site: Site) -> Iterator[str]:
    """Yield the splitter of a task that has files; without one, that of its job type."""
    named = task.get("split", {}).get("splitter")
    with suppress(JimError):  # a hole may stand in place of the job type
        declared = declarations(handler_of(task["request"].get("job_type"), site.site.handlers)).get("splitter")
        has_files = any("events" not in each for each in task.get("source", ()))
        named = named or (has_files and declared and (declared.default or "FileBased"))
    if named:
        yield str(named)
