"""What every adapter is held to: which there are, and what was captured from their batch systems.

A capture is what one command of a batch system printed: NAME.txt on stdout, NAME.stderr.txt on stderr, in
tests/captured/SYSTEM/VERSION, where SYSTEM is the adapter's name. The first word of NAME says what was asked: submit,
list, history, find, cancel, change, ping. What it means is written beside it by hand, in expected.toml:

    submit_words = ["--no-requeue"]     # what must stand in every submit command, behind a site's own words
    framed = true                       # a listing shows where it ends, so one that was cut anywhere is refused

    [submit-array]
    id = "12"

    [submit-down]
    code = 1                            # the exit code; 0 where none is given, "none" for no end in time
    raises = "BatchError"               # or Refused, or Unclear; nothing of the kind: nothing is raised

    [history-accounts]
    commands = { history = ["sacct"] }  # what a site has said in [batch.commands], if this is its answer

    [list]
    jobs = 7                            # how many there are
    seen = { "12.1" = { state = "running", mark = "jim-3f9a0001-1-1", word = "R" } }    # some of them, all of each

    [huge]                              # a listing to be made long: head, one row for each job, tail
    head = "jobs\\n"
    row = "%s|%d|pending|jim-3f9a0001-1-1\\n"
    tail = "end\\n"
"""

from __future__ import annotations

import importlib
import importlib.util
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jim.adapters.base import Adapter
from jim.errors import BatchError, Refused, Unclear
from jim.model import Answer, Observation, State

HOME = Path(__file__).parents[2]
ERRORS = {"BatchError": BatchError, "Refused": Refused, "Unclear": Unclear}


@dataclass(frozen=True)
class Capture:
    """One answer of a batch system, and what it means."""

    name: str
    version: Path
    adapter: Adapter = field(repr=False)
    expected: Mapping[str, Any] | None = field(repr=False)  # None: nobody has written down what it means

    @property
    def kind(self) -> str:
        return self.name.partition("-")[0]

    @property
    def parse(self) -> Callable[[Answer], Any]:
        adapter = self.adapter
        return {
            "submit": adapter.parse_submit,
            "list": adapter.parse_query,
            "history": adapter.parse_history,
            "find": adapter.parse_find,
        }.get(self.kind, adapter.parse_cancel)

    @property
    def answer(self) -> Answer:
        code = (self.expected or {}).get("code", 0)
        out, err = self._text(".txt"), self._text(".stderr.txt")
        return Answer((self.adapter.name,), None if code == "none" else code, out, err, 0.1)

    def _text(self, ending: str) -> str:
        file = self.version / f"{self.name}{ending}"
        return file.read_bytes().decode(errors="replace") if file.exists() else ""


@cache
def adapters(*named: str) -> list[Adapter]:
    """Load all of ours, or those that are named: dotted names, or files."""
    ours = sorted(each.stem for each in (HOME / "adapters").glob("[a-z]*.py") if each.stem != "base")
    return [_load(name).ADAPTER({}, "/area") for name in named or [f"jim.adapters.{each}" for each in ours]]


def _load(name: str) -> Any:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    assert spec, name
    assert spec.loader, name
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sidecars(adapter: Adapter, captured: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    """Give the versions that an adapter's captures are of, each with what is expected of them."""
    versions = sorted(each for each in (captured / adapter.name).glob("*") if each.is_dir())
    files = [(version, version / "expected.toml") for version in versions]
    return [(version, tomllib.loads(file.read_text()) if file.exists() else {}) for version, file in files]


@cache
def captures(adapter: Adapter, captured: Path) -> tuple[Capture, ...]:
    """Give all that was captured from an adapter's batch system."""
    return tuple(
        Capture(name, version, _of_site(adapter, expected.get(name, {})), expected.get(name))
        for version, expected in sidecars(adapter, captured)
        for name in sorted({each.name.removesuffix(".txt").removesuffix(".stderr") for each in version.glob("*.txt")})
    )


def _of_site(adapter: Adapter, expected: Mapping[str, Any]) -> Adapter:
    """Give the adapter as a site has it whose commands gave this answer."""
    return type(adapter)(expected["commands"], "/area") if "commands" in expected else adapter


def observed(jobs: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, int], Observation]:
    """Read the jobs that a sidecar tells of."""
    keys = {text: (text.rpartition(".")[0], int(text.rpartition(".")[2])) for text in jobs}
    return {keys[text]: Observation(**{**job, "state": State(job["state"])}) for text, job in jobs.items()}
