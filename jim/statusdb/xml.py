"""The XML documents of the status DB: a grid job, the schema, and publications of payloads."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lxml import etree

from jim.clock import seconds_of
from jim.errors import JimError
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.statusdb.published import LONGEST, OF_ALL, UNCHECKED, phase_element, phase_of
from jim.statusdb.record import record

if TYPE_CHECKING:
    from jim.jobs import Attempt, GridJob, LocalJob
    from jim.statusdb.contract import Store

NAMESPACE = "urn:jim:status:1"
PREFIXES = {"jim": NAMESPACE}
LONGEST_WORDS = 1000
DEEPEST = 32
MOST_ATTRIBUTES = 256
# XML allows none of these characters, even as escapes.
_ODD = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PROLOG = re.compile(r"\ufeff?(?:<\?xml\s[^<>]*\?>)?(?:\s+|<!--.*?-->)*", re.DOTALL | re.ASCII)


# Fragments


def fragment(text: str) -> str:
    """Turn a publication of a payload into an XML element: its own, or one for a progress line."""
    if _ODD.search(text):
        raise JimError("not XML: it holds a character that XML cannot carry")
    if len(text.encode()) > LONGEST:
        raise JimError(f"more than {LONGEST:,} bytes")
    return phase_element(text) or etree.tostring(_parsed(text), encoding="unicode", with_tail=False)


def _parsed(text: str) -> etree._Element:
    prolog = _PROLOG.match(text)
    rest = text[prolog.end() if prolog else 0 :]
    if rest.startswith(("<!", "<?")):  # a document type may stand only here; refused before the parser sees it
        raise JimError("JIM accepts no document type, entity or processing instruction")
    try:
        element = etree.fromstring(text.encode(), _parser())
    except etree.XMLSyntaxError as error:
        raise JimError(f"not XML: {error}") from error
    if element.tag == "phase":
        raise JimError("a phase is published by `jim-publish phase`; name the element otherwise")
    _check(element)
    return element


def _parser() -> etree.XMLParser:
    """Return a parser that trusts nothing: no entities, no network, no document type, and only UTF-8."""
    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, strip_cdata=True
    )


def _check(root: etree._Element) -> None:
    """Refuse what parsers accept but would burden readers."""
    level = [root]
    for _ in range(DEEPEST):
        for element in level:
            _check_one(element)
        level = [child for element in level for child in element]
        if not level:
            return
    raise JimError(f"elements are nested more than {DEEPEST} deep")


def _check_one(element: etree._Element) -> None:
    if not isinstance(element.tag, str):
        if element.tag is not etree.Comment:
            raise JimError("JIM accepts no document type, entity or processing instruction")
        return
    if len(element.attrib) > MOST_ATTRIBUTES:
        raise JimError(f"an element has more than {MOST_ATTRIBUTES} attributes")
    if etree.QName(element).namespace == NAMESPACE:
        raise JimError(f"the namespace {NAMESPACE} is JIM's own; use another, or none")


# Grammars of job types


def namespace(content: str) -> str:
    """Return the namespace of a published element; empty: it has none."""
    return etree.QName(etree.fromstring(content, _parser())).namespace or ""


def differences(elements: Sequence[tuple[str, Mapping[str, str]]]) -> tuple[dict[str, str], list[str]]:
    """Compare elements with grammars, in a process with limits (`jim.statusdb.validating`).

    Return how grammars are faulty, by file, and how elements differ from their grammar.
    """
    faults: dict[str, str] = {}
    grammars: dict[str, etree.RelaxNG] = {}
    for file in sorted({file for _, by_namespace in elements for file in by_namespace.values()}):
        try:
            grammars[file] = etree.RelaxNG(etree.parse(file, _parser()))
        except (OSError, etree.LxmlError) as error:
            faults[file] = str(error)
    return faults, [_difference(content, by_namespace, grammars) for content, by_namespace in elements]


def _difference(content: str, by_namespace: Mapping[str, str], grammars: Mapping[str, etree.RelaxNG]) -> str:
    element = etree.fromstring(content, _parser())
    grammar = grammars.get(by_namespace.get(etree.QName(element).namespace or "", ""))
    if grammar is None or grammar.validate(element):
        return ""
    return "; ".join(dict.fromkeys(error.message for error in grammar.error_log))[:LONGEST_WORDS] or "not valid"


# Documents


def document(store: Store, grid: int, *, strict: bool = False) -> bytes:
    """Return a grid job's document."""
    whole = io.BytesIO()
    write(store, grid, whole, strict=strict)
    return whole.getvalue()


def write(store: Store, grid: int, out: IO[bytes], *, strict: bool = False) -> None:
    """Write a grid job's document, one local job after another; all of it shows the same moment."""
    with store.snapshot(), etree.xmlfile(out, encoding="utf-8") as file:
        job = store.grid_job(grid)
        file.write_declaration()
        facts = record(store, job, store.fact("seen"), strict=strict)
        counts = facts.pop("counts")
        with file.element(_name("grid_job"), _attributes(facts | _at(job.updated)), nsmap=PREFIXES):
            file.write("\n")
            for part in _about(store, job, counts):
                _write(file, part)
            for local in store.local_jobs(grid):
                _write(file, _local_job(store, local))
    out.write(b"\n")


def of_local_job(store: Store, grid: int, n: int) -> bytes:
    """Return the part of a grid job's document about one local job, as a document of its own."""
    element = _local_job(store, store.local_job(grid, n))
    whole: bytes = etree.tostring(element, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"


def indented(content: str) -> str:
    """Write a published element for people: each element in a line of its own."""
    element = etree.fromstring(content, _parser())
    etree.indent(element)
    return etree.tostring(element, encoding="unicode", with_tail=False)


def schema() -> bytes:
    """Return the RELAX NG schema of the documents; the contents of `detail` are free."""
    return Path(__file__).with_name("jim-status.rng").read_bytes()


def _about(store: Store, job: GridJob, counts: Mapping[str, int]) -> Iterator[etree._Element]:
    yield _element("counts", counts)
    yield _values(_element("request"), job.request)
    yield _element("size", {"local_jobs": job.size, "events_per_job": job.events_per_job}, job.why)
    yield _values(_element("result"), job.result)
    yield _detail(_element("detail"), store, job.id, OF_ALL)


def _local_job(store: Store, job: LocalJob) -> etree._Element:
    facts = _some(job, "n", "attempt", "witness", "reason") | _at(job.updated)
    element = _element("local_job", facts | {"state": job.state.value})
    _piece(element, job)
    for attempt in store.attempts(job.grid, n=job.n):
        _attempt(element, attempt)
    _detail(_add(element, "detail"), store, job.grid, job.n)
    return element


def _piece(parent: etree._Element, job: LocalJob) -> None:
    piece = job.piece
    element = _add(parent, "piece", _some(piece, "first_event", "events", "source", "failure"))
    for argument in piece.arguments:
        _add(element, "argument", text=argument)
    for file in piece.files:
        _add(element, "file", text=file)
    for name in ("mask", "variables", "attributes"):
        if getattr(piece, name):
            _values(_add(element, name), getattr(piece, name))


def _attempt(parent: etree._Element, attempt: Attempt) -> None:
    facts = {"number": attempt.attempt, "submission": attempt.k, "index": attempt.idx}
    told = _some(attempt, "host", "started", "verdict", "reason") | _at(attempt.updated)
    element = _add(parent, "attempt", facts | told)
    with suppress(JimError):  # JIM has not acted on an unreadable record
        if attempt.record:
            _exit(element, read_exit_record(attempt.record))


def _exit(parent: etree._Element, record: ExitRecord) -> None:
    cpu = f"{record.cpu:.2f}" if 0 <= record.cpu < 1e12 else None  # a wrapper's word, perhaps nan
    facts = _some(record, "started", "ended", "code", "signal", "reason")
    element = _add(parent, "exit", {**facts, "cpu_seconds": cpu})
    for output in record.files:
        _add(element, "output", {"name": output.name, "bytes": output.size, "sha256": output.sha256})
    for refused in record.refused:
        _add(element, "refused", text=refused)


def _detail(element: etree._Element, store: Store, grid: int, n: int) -> etree._Element:
    """Add publications. A phase is there twice: in JIM's namespace, and for a year as an element of none."""
    refused = store.refused(grid, n)
    element.attrib.update({name: str(count) for name, count in refused._asdict().items() if count})
    for each in store.details(grid, n):
        published = etree.fromstring(each.content, _parser())
        if phase := phase_of(each.content):
            facts = phase._asdict() | {"attempt": each.attempt or None, "late": each.late or None}
            _add(element, "phase", facts | _at(each.updated))
        elif each.valid not in ("", UNCHECKED):
            published.set(_name("valid"), "no")
            published.set(_name("words"), _safe(each.valid))
        element.append(published)
    return element


def _at(updated: str) -> dict[str, str | None]:
    """Return a time in words, and in seconds since 1970: XPath compares numbers only."""
    seconds = seconds_of(updated)
    return {"updated": updated, "updated_s": None if seconds is None else f"{seconds:.3f}"}


def _values(element: etree._Element, value: Any) -> etree._Element:
    """Write a value of a request: a table as attributes, a list as values, anything else as text."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            _values(_add(element, "attribute", {"name": name}), each)
    elif isinstance(value, list | tuple):
        for each in value:
            _values(_add(element, "value"), each)
    elif value is not None:
        element.text = _safe(str(value).lower() if isinstance(value, bool) else str(value))
    return element


def _element(name: str, facts: Mapping[str, Any] | None = None, text: str = "") -> etree._Element:
    element = etree.Element(_name(name), _attributes(facts or {}), nsmap=PREFIXES)
    element.text = _safe(text) or None
    return element


def _add(parent: etree._Element, name: str, facts: Mapping[str, Any] | None = None, text: str = "") -> etree._Element:
    element = etree.SubElement(parent, _name(name), _attributes(facts or {}))
    if text:
        element.text = _safe(text)
    return element


def _write(file: etree._IncrementalFileWriter, part: etree._Element) -> None:
    file.write(part)
    file.write("\n")


def _name(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def _attributes(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the known attributes; leave out unknown ones."""
    return {name: _safe(str(value)) for name, value in facts.items() if value not in (None, "")}


def _some(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _safe(text: str) -> str:
    """Replace characters that XML cannot carry."""
    return text if text.isascii() and text.isprintable() else _ODD.sub("\ufffd", text)


# XPath


def evaluate(file: Path, expression: str) -> list[str]:
    """Evaluate an XPath expression over a document, in a process with limits (`jim.statusdb.xpath`)."""
    try:
        root = etree.parse(str(file), _parser()).getroot()
        found = root.xpath(expression, namespaces=PREFIXES, smart_strings=False)
    except (etree.XPathError, etree.XMLSyntaxError, ValueError) as error:
        raise JimError(f"XPath {expression!r}: {error}") from error
    return [_shown(each) for each in found] if isinstance(found, list) else [_shown(found)]


def _shown(found: Any) -> str:
    if isinstance(found, etree._Element):
        return etree.tostring(found, encoding="unicode", with_tail=False)
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(int(found)) if isinstance(found, float) and found.is_integer() else str(found)
