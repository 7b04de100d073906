"""What every adapter is held to: which there are, what was captured from their batch systems, and what lacks.

docs/adapters.md, "Captured outputs", says what lies in a directory SYSTEM/VERSION, and what stands in expected.toml.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jim.adapters.base import Adapter
from jim.errors import BatchError, Full, Refused, Unclear
from jim.model import Answer, Observation, State

HOME = Path(__file__).parents[2]
ERRORS = {"BatchError": BatchError, "Full": Full, "Refused": Refused, "Unclear": Unclear}
KINDS = ("submit", "list", "history", "find", "cancel", "change", "ping")
LISTINGS = ("list", "history", "find")
OF_A_SYSTEM = {"restart_off", "arrays_restart", "never_restarts", "submit_words", "array_words"}
OF_A_SYSTEM |= {"no_word_for", "not_captured", "framed", "huge"}
OF_AN_ANSWER = {"id", "code", "raises", "commands", "history", "jobs", "seen"}

# What to capture beside one of each: how to tell it, and that an answer is it.
TO_CAPTURE: Mapping[str, tuple[str, Callable[[str, Mapping[str, Any]], bool]]] = {
    "submit-array": (
        "a submission of an array, as submit-array.txt",
        lambda name, told: name.startswith("submit-array") and "id" in told,
    ),
    "list-array": (
        "a listing that shows an array; write what is seen of a job of it whose index is not 1",
        lambda name, told: name.startswith("list") and any(not key.endswith(".1") for key in told.get("seen", {})),
    ),
    "list-empty": (
        "a listing without a job, as list-empty.txt, with jobs = 0",
        lambda name, told: name.startswith("list") and told.get("jobs") == 0,
    ),
    "submit-refused": (
        'a submission that can never succeed, with raises = "Refused"',
        lambda name, told: name.startswith("submit") and told.get("raises") == "Refused",
    ),
    "submit-failed": (
        "a submission that failed, but may succeed later, as when the server is down, with raises = …",
        lambda name, told: name.startswith("submit") and told.get("raises") in ("BatchError", "Full", "Unclear"),
    ),
}
OF_ARRAYS = {"submit-array", "list-array"}


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
def adapters(*named: str, handlers: str = "") -> list[Adapter]:
    """Load all of ours, or those that are named: dotted names, or files. `handlers` is their site's directory."""
    ours = sorted(each.stem for each in (HOME / "adapters").glob("[a-z]*.py") if each.stem != "base")
    names = named or [f"jim.adapters.{each}" for each in ours]
    return [_load(name, handlers).ADAPTER({}, "/area") for name in names]


def _load(name: str, handlers: str) -> Any:
    if not name.endswith(".py"):
        _import_from(handlers)
        return importlib.import_module(name)
    package = Path(name).resolve().parent
    _import_from(handlers or package.parent)  # a site's adapter lies in a package of its directory
    spec = importlib.util.spec_from_file_location(f"{package.name}.{Path(name).stem}", name)
    assert spec, name
    assert spec.loader, name
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_from(directory: str | Path) -> None:
    """Let an adapter import what lies beside it, as it can on its site."""
    place = str(Path(directory).resolve())
    if directory and place not in sys.path:
        sys.path.append(place)


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
    if "commands" not in expected and "history" not in expected:
        return adapter
    of_site = type(adapter)(expected.get("commands"), "/area")
    if "history" in expected:
        of_site.choose_history(expected["history"])
    return of_site


def observed(jobs: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, int], Observation]:
    """Read the jobs that a sidecar tells of."""
    keys = {text: (text.rpartition(".")[0], int(text.rpartition(".")[2])) for text in jobs}
    return {keys[text]: Observation(**{**job, "state": State(job["state"])}) for text, job in jobs.items()}


def says_nothing(adapter: Adapter, captured: Path) -> bool:
    """Tell whether this batch system says of no job nothing at all, and that it went well."""
    return any(
        each.kind in ("list", "find") and not (each.answer.code or each.answer.out.strip() or each.answer.err.strip())
        for each in captures(adapter, captured)
        if each.expected and each.expected.get("jobs") == 0
    )


def has(command: Sequence[str], words: str | Sequence[str]) -> bool:
    """Tell whether a word stands in a command, or some that follow each other."""
    sought = [words] if isinstance(words, str) else list(words)
    return any(list(command[at : at + len(sought)]) == sought for at in range(len(command)))


# What lacks, in words that say what to write


def lacks(adapter: Adapter, captured: Path) -> list[str]:
    """Tell what somebody has to provide yet before it is proven that an adapter keeps the contract."""
    told = sidecars(adapter, captured)
    if not told:
        form = "NAME.txt is what a command printed, NAME.stderr.txt what it said on stderr"
        return [f"{captured / adapter.name}: nothing is there. Make a directory VERSION; in it, {form}"]
    here = captures(adapter, captured)
    parts = [_version_lacks(each, table, [one for one in here if one.version == each]) for each, table in told]
    return [
        each
        for part in (*parts, _system_lacks(captured / adapter.name, adapter.array_limit, told, here))
        for each in part
    ]


def _version_lacks(version: Path, expected: Mapping[str, Any], here: Sequence[Capture]) -> Iterator[str]:
    note, sidecar = version / "NOTE", version / "expected.toml"
    text = note.read_text() if note.exists() else ""
    if not re.search(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b", text):
        yield f"{note}: say which version on which machine it was, and when, as 2026-01-31"
    for each in here:
        if not re.search(rf"(?<![\w-]){re.escape(each.name)}(?![\w-])", text):
            yield f"{note}: say which command printed {each.name}, and with which exit code"
    if not sidecar.exists():
        yield f"{sidecar}: write down by hand what these answers mean: {', '.join(each.name for each in here)}"
    answers = {name: table for name, table in expected.items() if name not in OF_A_SYSTEM}
    for name in sorted(answers.keys() - {each.name for each in here}):
        yield f"{sidecar}: {name!r} is no answer here, and no key: {', '.join(sorted(OF_A_SYSTEM))}"
    for each in here if sidecar.exists() else ():
        yield from _answer_lacks(sidecar, each.name, each.kind, each.expected)


def _answer_lacks(sidecar: Path, name: str, kind: str, told: Mapping[str, Any] | None) -> Iterator[str]:
    if kind not in KINDS:
        yield f"{sidecar.with_name(name)}: the first word of the name is what was asked: {', '.join(KINDS)}"
    elif told is None:
        yield f"{sidecar}: write [{name}], and below it what that answer means"
    elif told.keys() - OF_AN_ANSWER:
        unknown = ", ".join(sorted(told.keys() - OF_AN_ANSWER))
        yield f"{sidecar}: [{name}] has {unknown}; known are {', '.join(sorted(OF_AN_ANSWER))}"
    elif "raises" not in told and kind == "submit" and "id" not in told:
        yield f'{sidecar}: [{name}]: write id = "…", the batch id that it tells, or raises = "…"'
    elif "raises" not in told and kind in LISTINGS and "jobs" not in told:
        yield f'{sidecar}: [{name}]: write jobs = …, how many it tells of, or raises = "…"'


def _system_lacks(
    system: Path, array_limit: int, told: Sequence[tuple[Path, Mapping[str, Any]]], here: Sequence[Capture]
) -> Iterator[str]:
    expected = {key: value for _, table in told for key, value in table.items() if key in OF_A_SYSTEM}
    for kind in ("submit", "list", "history", "cancel"):
        if kind not in {each.kind for each in here}:
            yield f"{system}: capture what a {kind} printed, as {kind}.txt"
    for kind in ("list", "history"):
        if not any((each.expected or {}).get("seen") for each in here if each.kind == kind):
            yield f'{system}: write under a [{kind}] what is seen of some jobs: seen."12.1" = {{ state = …, mark = … }}'
    needless = expected.get("not_captured", {}) | (dict.fromkeys(OF_ARRAYS, "no arrays") if array_limit == 1 else {})
    yield from _kinds_lacking(system, needless, here)
    if not expected.get("restart_off") and not expected.get("never_restarts"):
        yield (
            f"{system}: write restart_off = […]: the words of the submit command, one behind the other, that switch off"
            ' its own restart. If the batch system has none: never_restarts = "how that is known"'
        )
    if not {"head", "row", "tail"} <= expected.get("huge", {}).keys():
        yield f"{system}: write [huge], a listing to be made long: head, row (with %s for id, %d for index), tail"


def _kinds_lacking(system: Path, needless: Mapping[str, str], here: Sequence[Capture]) -> Iterator[str]:
    for name, (what, is_it) in TO_CAPTURE.items():
        if not needless.get(name) and not any(is_it(each.name, each.expected or {}) for each in here):
            yield f'{system}: capture {what}. If that cannot be: not_captured.{name} = "why not"'
    for name in sorted(needless.keys() - TO_CAPTURE.keys()):
        yield f"{system}: not_captured.{name} is not asked for; that are {', '.join(TO_CAPTURE)}"
