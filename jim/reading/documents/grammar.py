"""Reads a RELAX NG grammar of documents, for people: elements, their attributes, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from xml.etree import ElementTree

NG = "{http://relaxng.org/ns/structure/1.0}"
ANY = "any element of another namespace"
OFTEN = {"optional": "optional", "zeroOrMore": "any number", "oneOrMore": "one or more", "choice": "one of these"}
TYPES = {
    "string": "text",
    "decimal": "number",
    "positiveInteger": "number from 1",
    "nonNegativeInteger": "number from 0",
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of an element."""

    name: str
    values: str  # in words
    often: str


@dataclass(frozen=True, slots=True)
class Child:
    """An element inside an element."""

    name: str
    often: str


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a document."""

    name: str
    attributes: list[Attribute] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)


@cache
def elements(grammar: bytes) -> Sequence[Element]:
    """Return the elements of a grammar, in the order in which they are defined. The grammar is a part of JIM."""
    root = ElementTree.fromstring(grammar)  # noqa: S314
    defined = {each.get("name", ""): each for each in root.iter(f"{NG}define")}
    found: dict[str, Element] = {}
    for each in root.iter(f"{NG}element"):
        name = each.get("name")
        if name and name not in found:
            found[name] = _described(name, each, defined)
    return tuple(found.values())


def _described(name: str, node: ElementTree.Element, defined: dict[str, ElementTree.Element]) -> Element:
    made = Element(name)
    for each, often in _parts(node, defined, ""):
        word = each.get("name") or ANY
        if each.tag == f"{NG}attribute":
            made.attributes.append(Attribute(word, ", ".join(dict.fromkeys(_values(each, defined))) or "text", often))
        else:
            made.children.append(Child(word, often))
    return made


def _parts(
    node: ElementTree.Element, defined: dict[str, ElementTree.Element], often: str
) -> Iterator[tuple[ElementTree.Element, str]]:
    """Yield the attributes and elements directly inside a pattern, each with how often it occurs."""
    for each in node:
        kind = str(each.tag).removeprefix(NG)
        if kind in ("attribute", "element"):
            yield each, often
        elif kind == "ref":
            yield from _parts(defined[each.get("name", "")], defined, often)
        else:
            yield from _parts(each, defined, often if kind == "choice" and often else OFTEN.get(kind, often))


def _values(node: ElementTree.Element, defined: dict[str, ElementTree.Element]) -> Iterator[str]:
    """Yield the possible values of an attribute in words."""
    for each in node:
        kind = str(each.tag).removeprefix(NG)
        if kind == "value":
            yield str(each.text)
        elif kind == "data":
            yield TYPES.get(each.get("type", ""), each.get("type", ""))
        elif kind == "ref":
            name = each.get("name", "")
            yield from (name,) if name in ("time", "seconds", "count") else _values(defined[name], defined)
        else:
            yield from _values(each, defined)
