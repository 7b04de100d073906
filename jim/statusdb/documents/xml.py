"""What needs a parser of XML: publications of payloads, grammars, and XPath over documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from lxml import etree

from jim.errors import JimError
from jim.statusdb.documents.elements import NAMESPACE, ODD
from jim.statusdb.published import LONGEST, phase_element

PREFIXES = {"jim": NAMESPACE}
LONGEST_WORDS = 1000
DEEPEST = 32
MOST_ATTRIBUTES = 256
_PROLOG = re.compile(r"\ufeff?(?:<\?xml\s[^<>]*\?>)?(?:\s+|<!--.*?-->)*", re.DOTALL | re.ASCII)


# Fragments


def fragment(text: str) -> str:
    """Turn a publication of a payload into an XML element: its own, or one for a progress line."""
    if ODD.search(text):
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
        raise JimError(f"not XML: {error.msg}") from error
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
    """Compare elements with grammars, in a process with limits (`jim.statusdb.documents.validating`).

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


def indented(content: str) -> str:
    """Write a published element for people: each element in a line of its own."""
    element = etree.fromstring(content, _parser())
    etree.indent(element)
    return etree.tostring(element, encoding="unicode", with_tail=False)


def schema() -> bytes:
    """Return the RELAX NG schema of the documents; the contents of `detail` are free."""
    return Path(__file__).with_name("jim-status.rng").read_bytes()


# XPath


class _Later(Sequence[tuple[str, str, bool]]):
    """Results that are written when they are read: a million elements need not be in memory as text."""

    def __init__(self, found: list[Any]) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, at: Any) -> Any:
        each = self._found[at]
        return _job_of(each), _shown(each), isinstance(each, etree._Element)


def evaluate(file: IO[bytes], expression: str) -> Sequence[tuple[str, str, bool]]:
    """Evaluate an XPath expression over a document, in a process with limits; return each result with its job."""
    try:
        root = etree.parse(file, _parser()).getroot()
    except etree.XMLSyntaxError as error:  # JIM wrote the document: libxml2 says so, or nothing, if memory runs out
        raise MemoryError from error
    try:
        found = root.xpath(expression, namespaces=PREFIXES, smart_strings=True)
    except (etree.XPathError, ValueError) as error:
        own = "; the only prefix is jim, so write *[local-name() = 'NAME'] for an element of another namespace"
        unknown = "namespace prefix" in str(error)
        raise JimError(f"XPath {expression!r}: {error}{own if unknown else ''}") from error
    return _Later(found if isinstance(found, list) else [found])


def _job_of(found: Any) -> str:
    """Return the job that an element, an attribute or a text belongs to, such as 12 or 12.117."""
    element = found if isinstance(found, etree._Element) else getattr(found, "getparent", lambda: None)()
    if element is None:
        return ""
    numbers = {each.tag: each for each in (element, *element.iterancestors())}
    grid, local = numbers.get(f"{{{NAMESPACE}}}grid_job"), numbers.get(f"{{{NAMESPACE}}}local_job")
    if grid is None:
        return ""
    return str(grid.get("id")) if local is None else f"{grid.get('id')}.{local.get('n')}"


def _shown(found: Any) -> str:
    if isinstance(found, etree._Element):
        return etree.tostring(found, encoding="unicode", with_tail=False)
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, tuple):  # a namespace, as prefix and name
        return str(found[1])
    return str(int(found)) if isinstance(found, float) and found.is_integer() else str(found)
