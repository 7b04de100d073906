"""What the file of a task says once it is checked: frozen values, and the record of JSON that a store keeps of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

CACHED = 2_000  # tasks
KEYS = {"sources": "source", "outputs": "output", "without": "not", "named": "as"}  # where a record has another word
OF_KIND = {  # the words that a source of a kind may have
    "events": ("events", "first_event", "campaigns", "events_per_piece"),
    "directory": ("directory", "files", "not", "stable_seconds", "every_seconds", "group", "closed_by"),
    "list": ("list", "every_seconds", "group"),
    "command": ("command", "every_seconds", "group"),
    "dataset": ("dataset", "every_seconds", "group"),
    "task": ("task", "output", "promises", "when_broken"),
}
FOUND_OUT = ("outputs", "file_sha256", "to_test")  # what a record has only if there is any


class SourceSpec(NamedTuple):
    """What fills an input pool, as the file says it: each kind has some of these."""

    kind: str
    events: int = 0
    first_event: int = 1
    campaigns: int = 1
    events_per_piece: int = 0
    why: str = ""  # so many
    directory: str = ""
    files: str = ""  # pattern of their names
    without: str = ""  # pattern of names to leave out
    stable_seconds: float = 0
    closed_by: str = ""
    list: str = ""
    command: tuple[str, ...] = ()
    dataset: str = ""
    task: str = ""
    output: str = ""
    promises: bool = False
    when_broken: str = "wait"
    every_seconds: float = 0
    group: str = ""  # pattern

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> SourceSpec:
        """Read a source."""
        facts = _facts(cls._fields, record)
        return cls(**{**facts, "command": tuple(facts.get("command", ()))})

    def to_record(self) -> dict[str, Any]:
        """Return the words that a source of its kind has."""
        words = _words(self._fields)
        fields = [words[word] for word in OF_KIND[self.kind]]
        return _record(self, ["kind", *fields, *(["why"] if self.why else [])])

    @property
    def place(self) -> str | tuple[str, ...]:
        """Return where it looks, which the word that names its kind says: a path, a dataset, a command."""
        place: str | tuple[str, ...] = getattr(self, self.kind)
        return place


class Split(NamedTuple):
    """How items become pieces."""

    splitter: str | None = None  # none: its items are ranges of events
    parameters: Mapping[str, Any] = {}
    when: str | None = None
    max_wait_seconds: float = 0

    @property
    def by(self) -> str:
        """Return the splitter of a task that has files."""
        return self.splitter or ""


class Test(NamedTuple):
    """How a task tries itself out."""

    pieces: int = 1
    check: tuple[str, ...] = ()
    most_seconds: float = 0


class Release(NamedTuple):
    """How many pieces are on the way."""

    at_once: int
    first: int
    probe_seconds: float
    queued: int
    every_seconds: float


class OutputSpec(NamedTuple):
    """An output pool: what its pieces bring."""

    name: str
    files: str = ""  # pattern of their names
    each: int | str = 1  # so many files of each piece, or any
    about: str = ""  # ending of the file that describes one
    store: str = ""  # empty: they stay in the work directory
    named: str = ""  # their names in the store
    expects: Mapping[str, int] = {}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> OutputSpec:
        """Read an output pool."""
        return cls(**_facts(cls._fields, record))


class Spec(NamedTuple):
    """A checked task of a task file."""

    name: str
    summary: str
    request: Mapping[str, Any]
    sources: tuple[SourceSpec, ...]
    split: Split
    test: Test
    release: Release
    priority: int
    analyser: str
    outputs: tuple[OutputSpec, ...] = ()
    file: str = ""
    file_sha256: str = ""
    to_test: str = ""  # checksum of what a test depends on

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Spec:
        """Read a task. What lacks a part, as only a person's hand can write it, raises KeyError or TypeError."""
        facts = _facts(cls._fields, record)
        facts["sources"] = tuple(map(SourceSpec.from_record, facts["sources"]))
        facts["outputs"] = tuple(map(OutputSpec.from_record, facts.get("outputs", ())))
        facts["split"] = Split(**_facts(Split._fields, facts["split"]))
        test = Test(**_facts(Test._fields, facts["test"]))
        facts["test"] = test._replace(check=tuple(test.check))
        facts["release"] = Release(**_facts(Release._fields, facts["release"]))
        return cls(**facts)

    def to_record(self) -> dict[str, Any]:
        """Return it as a store keeps it: the words, and their order, of the file as it was checked."""
        record = _record(self, [name for name in self._fields if getattr(self, name) or name not in FOUND_OUT])
        record |= {name: _record(record[name], record[name]._fields) for name in ("split", "test", "release")}
        record["source"] = [each.to_record() for each in self.sources]
        if self.outputs:
            record["output"] = [_record(each, each._fields) for each in self.outputs]
        return record

    @property
    def makes_events(self) -> bool:
        """Tell whether its items are ranges of events, which no splitter cuts."""
        return self.split.splitter is None

    @property
    def events(self) -> int:
        """Count the events that it makes."""
        return sum(each.events for each in self.sources)

    @property
    def connectors(self) -> tuple[SourceSpec, ...]:
        """Return the sources that are outputs of other tasks."""
        return tuple(each for each in self.sources if each.kind == "task")

    def stores(self, output: str) -> bool:
        """Tell whether the files of an output pool are copied to a store."""
        return any(each.store for each in self.outputs if each.name == output)


@cache
def _words(fields: tuple[str, ...]) -> Mapping[str, str]:
    """Return fields by the words that a record has for them."""
    return {KEYS.get(name, name): name for name in fields}


def _facts(fields: tuple[str, ...], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record says of some fields; null is as good as nothing."""
    words = _words(fields)
    return {words[word]: value for word, value in record.items() if word in words and value is not None}


def _record(value: NamedTuple, fields: Iterable[str]) -> dict[str, Any]:
    return {KEYS.get(name, name): getattr(value, name) for name in fields}


@lru_cache(CACHED)
def spec_in(text: str) -> Spec:
    """Read a task as a store keeps it. A row is read again and again: what it says is shared, and nobody changes it."""
    return Spec.from_record(json.loads(text))
