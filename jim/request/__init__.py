"""Reads and checks a request: turns a file in any of the known languages into plain attributes."""

from __future__ import annotations

import errno
import importlib
import re
import sys
from pathlib import Path
from typing import Any

from jim.errors import FEW, BadRequest, JimError, Missing, in_words, nearest, shown
from jim.files import read_regular, resolved
from jim.handlers.base import AS_A_WHOLE, COMMON, SPLITTING, Attribute, Handler, has_variable
from jim.request.values import check_text, value_of
from jim.trust import use
from jim.trust.plugins import foreign

LONGEST = 1024 * 1024  # a request describes work; its data lie in other files
STDIN = Path("-")  # read from stdin; paths in it are relative to the working directory, as if the file lay there
LONGEST_NAME = 200  # letters of a job type: a file name may have 255 bytes
HANDLERS = Path(__file__).parents[1] / "handlers"
TYPELESS = ("jdf", "jdl", "rsl")  # languages with texts only
LANGUAGES = {".toml": "toml", ".json": "json", ".jdf": "jdf", ".jdl": "jdl", ".rsl": "rsl"}
# No TOML file looks like this: a value without quotes, or a line that begins with a +.
ONLY_JDF = re.compile(
    r"^[ \t]*+(?:\+[a-z_]\w*+[ \t]*+=|job_?type[ \t]*+=[ \t]*+[a-z])", re.MULTILINE | re.IGNORECASE | re.ASCII
)
# Nor this one: a value that ends with a semicolon, or brackets around attributes.
_BLANK = r"(?>(?:\s|//[^\n]*|\#[^\n]*|/\*(?s:.*?)\*/)*)"
JDL = re.compile(
    rf"{_BLANK}(?:\[{_BLANK}[A-Za-z_][\w.]*\s*=|"
    r'[A-Za-z_][\w.]*\s*=\s*(?:"(?>(?:[^"\\\n]|\\.)*)"|[\w.+-]+|\{[^{}]*\})\s*;)',
    re.ASCII,
)
RSL = re.compile(r"\s*+(?:&|[|+]?\s*+\()")
OWN_TYPE = re.compile(rb"^(?:class )?HANDLER\b", re.MULTILINE)  # what makes a module a job type


def read(file: Path, own: str = "") -> dict[str, Any]:
    """Read a request file. The ending of its name tells the language; without a known ending, the content does.

    JDF, JDL and RSL have only texts; the job type's declarations give them their kinds. The job type may lie in the
    site's `own` directory.
    """
    try:
        content = _from_stdin() if file == STDIN else _content(file)
        text = content.decode().removeprefix("\ufeff")  # a mark that some editors begin with
    except UnicodeDecodeError as error:
        raise BadRequest(f"{file}: {in_words(error)}") from error
    except (OSError, ValueError, JimError) as error:
        reason = f"{file}: {in_words(error)}" if isinstance(error, OSError) else str(error)
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            reason = f"{file} is a link that leads back to itself"
        raise BadRequest(f"cannot read the request: {reason}") from error
    language = LANGUAGES.get(file.suffix) or _language_of(text)
    parse = importlib.import_module(f"jim.request.{language}").parse
    try:
        attributes: dict[str, Any] = parse(text, own) if language in TYPELESS else parse(text)
    except BadRequest as error:
        raise BadRequest(f"{file}: {error}") from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else in_words(error)
        raise BadRequest(f"{file}: not {language.upper()}: {reason}") from error
    if not attributes:
        raise BadRequest(f"{file}: the request is empty; it needs at least the attribute job_type")
    return attributes


def _content(file: Path) -> bytes:
    if file.exists() and not file.is_file():
        raise JimError(f"{file} is no regular file; a directory, pipe or device cannot be a request (`-` reads stdin)")
    return read_regular(resolved(file), LONGEST)  # a link to a regular file is accepted


def _from_stdin() -> bytes:
    content = sys.stdin.buffer.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise JimError(f"stdin holds more than {LONGEST:,} bytes")
    return content


def _language_of(text: str) -> str:
    if text.lstrip().startswith("{"):
        return "json"
    if RSL.match(text):
        return "rsl"
    if JDL.match(text):
        return "jdl"
    return "jdf" if ONLY_JDF.search(text) else "toml"


def handler_of(job_type: object, own: str = "") -> Handler:
    """Find the handler of a job type: a module of `jim.handlers`, or a dotted name in the site's `own` directory."""
    if not isinstance(job_type, str) or not _may_be_type(job_type):
        hint = nearest(str(job_type)[:64].lower(), job_types(own), "jim types")
        raise BadRequest(f"expected the name of a job type, found {shown(job_type)}{hint}", "job_type")
    # A request must not choose which code Python imports: only files of JIM or of the site.
    place = Path(own, *job_type.split(".")) if "." in job_type else HANDLERS / job_type
    loaded = f"jim.handlers.{job_type}" in sys.modules  # then its file may have been replaced
    there = (own or "." not in job_type) and job_type != "base" and (loaded or place.with_suffix(".py").is_file())
    if not there:
        raise BadRequest(f"unknown job type {job_type!r}{nearest(job_type, job_types(own), 'jim types')}", "job_type")
    if "." in job_type and not OWN_TYPE.search(place.with_suffix(".py").read_bytes()):
        raise BadRequest(f"{job_type!r} is no job type: its file has no line `HANDLER = …`", "job_type")
    if "." in job_type:
        use(own)
    name = job_type if "." in job_type else f"jim.handlers.{job_type}"
    try:
        with foreign(f"cannot load {job_type!r}"):
            handler: Handler = importlib.import_module(name).HANDLER()
    except JimError as error:
        raise BadRequest(str(error), "job_type") from error
    return handler


def job_types(own: str = "") -> set[str]:
    """List the names of all job types: those of JIM and those in the site's `own` directory."""
    known = {each.stem for each in HANDLERS.glob("[a-z]*.py")} - {"base"}
    for file in sorted(Path(own).rglob("*.py")) if own else ():
        name = ".".join(file.relative_to(own).with_suffix("").parts)
        if _may_be_type(name) and "." in name and OWN_TYPE.search(file.read_bytes()):
            known.add(name)
    return known


def _may_be_type(name: str) -> bool:
    """Tell whether Python can import a module of this name and a directory can hold its file."""
    words = name.split(".")  # a regular expression would take longer to compile than all the checks
    return name[:1].islower() and name.isascii() and len(name) <= LONGEST_NAME and all(map(str.isidentifier, words))


def declarations(handler: Handler) -> dict[str, Attribute]:
    """Return all attributes that a request of a job type may have: the common ones and the type's own."""
    return COMMON | dict(handler.attributes)


def check(attributes: dict[str, Any], own: str = "", *, looked_up: bool = False) -> tuple[Handler, dict[str, Any]]:
    """Check every attribute against its declaration, and fill in the defaults.

    `looked_up`: the catalogue has added the files of the dataset to the request.
    """
    if "job_type" not in attributes:
        raise Missing('missing; name a job type, for example job_type = "executable"', "job_type")
    handler = handler_of(attributes["job_type"], own)
    declared = declarations(handler)
    attributes = _in_full(attributes) if "splitter" in declared else attributes
    of_task = _of_task(attributes)
    later = [name for name in declared if _of_its_own(name, attributes)]
    checked = _values(attributes, declared, {*later, *of_task})
    if not checked.get("splitter"):
        for name in SPLITTING.keys() & checked.keys():
            if checked[name]:
                raise BadRequest(f"needs a splitter; none is given ({SPLITTING['splitter'].help})", name)
    _check_sources(checked, looked_up)
    _check_rules(checked.get("retry"))
    for name in later:
        check_text(name, attributes[name])
        checked[name] = attributes[name] if declared[name].kind is str else declared[name].default
    with foreign(f"job type {attributes['job_type']}"):
        handler.check(checked)
    return handler, checked | {name: attributes[name] for name in later} | of_task


def _values(attributes: dict[str, Any], declared: dict[str, Attribute], others: set[str]) -> dict[str, Any]:
    """Check the values of all attributes but the `others`, and fill in the defaults."""
    unknown = [name for name in attributes if name not in declared and name not in others]
    all_ = f"jim types {attributes['job_type']}"
    wrong = {
        name: BadRequest(f"unknown attribute{nearest(str(name), declared, all_)}", str(name), told=shown(name))
        for name in unknown[: FEW + 2]
    }
    checked = {}
    for name in filter(lambda name: name not in others, declared):
        try:
            checked[name] = value_of(name, attributes.get(name), declared[name])
        except BadRequest as error:
            wrong[name] = error
    if wrong:
        raise _first([wrong[name] for name in attributes if name in wrong] or [*wrong.values()][:1])
    return checked


def _first(wrong: list[BadRequest]) -> BadRequest:
    """Return the first error; it names the other attributes that are wrong."""
    first, *others = wrong
    if not others:
        return first
    names = ", ".join(each.told for each in others[:FEW]) + " and more" * (len(others) > FEW)
    return BadRequest(f"{first.words}; also wrong: {names}", first.about, first.part, told=first.told)


def _in_full(attributes: dict[str, Any]) -> dict[str, Any]:
    from jim.request.short_forms import in_full  # many requests have none

    return in_full(attributes)


def _of_task(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return what no job type declares in the request of a task's grid job; doors refuse these attributes."""
    return {name: attributes[name] for name in ("task", "pieces") if "task" in attributes and name in attributes}


def _of_its_own(name: str, attributes: dict[str, Any]) -> bool:
    """Tell whether a value holds a variable; such a value is checked for each local job."""
    return name not in AS_A_WHOLE and bool(attributes.get("splitter")) and has_variable(attributes.get(name))


def _check_rules(tables: list[dict[str, Any]] | None) -> None:
    if tables:
        from jim.attempts.rules import read as read_rules  # few requests have any

        read_rules(tables)


def _check_sources(checked: dict[str, Any], looked_up: bool) -> None:
    """Refuse a request that names its work twice, or not at all."""
    if checked.get("dataset") and checked.get("input_files") and not looked_up:
        raise BadRequest("a request may have either this attribute or input_files, not both", "dataset")
    if "request_id" in checked and not checked["events"] and not checked["request_id"]:
        raise Missing("missing; give the number of events, or a request_id that the site's catalogue knows", "events")
