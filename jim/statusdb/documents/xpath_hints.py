"""Tells what in an expression can never match, in words for whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path as File

from jim.errors import close_to
from jim.model import State
from jim.statusdb.documents.elements import number_of
from jim.statusdb.documents.task_elements import ALL_ELEMENTS as ELEMENTS
from jim.statusdb.documents.xpath_sql import INTEGER, SWAPPED
from jim.statusdb.documents.xpath_tree import Operation, Path, Step, Text, Tree, below
from jim.statusdb.task_rows import ItemState, OutputState, PieceState, TaskState, WaveState

AS_NUMBERS = {"came", "planned", "promised", "changed", "updated"}  # times that stand there in seconds, too
TIMES = AS_NUMBERS | {"created", "started", "ended", "seen", "closed", "looked", "since"}
OF_TASKS = (TaskState, ItemState, PieceState, OutputState, WaveState)
STATES = {state.value for state in State if state is not State.UNKNOWN}
STATES_OF_TASKS = {state.value for states in OF_TASKS for state in states}
INTEGERS = {name for element in ELEMENTS.values() for name, each in element.attributes.items() if each.number}


@cache
def _declared(what: str) -> frozenset[str]:
    """Return the names of all elements or attributes that the schema declares."""
    return frozenset(re.findall(rf'<{what} name="(\w+)"', File(__file__).with_name("jim-status.rng").read_text()))


def hints(tree: Tree) -> list[str]:
    """Return what can never match, each once, in the order of the expression."""
    return list(dict.fromkeys(hint for part in below(tree) for hint in _of(part)))


def _of(part: Tree | Step) -> Iterator[str]:
    if isinstance(part, Step):
        yield from _of_step(part)
    elif isinstance(part, Operation) and len(part.operands) == 2 and part.operators[0] in SWAPPED:
        left, right = part.operands
        yield from _of_comparison(part.operators[0], left, right)
        yield from _of_comparison(SWAPPED[part.operators[0]], right, left)


def _of_step(step: Step) -> Iterator[str]:
    prefix, _, name = step.test.rpartition(":")
    if step.axis == "attribute":
        if not prefix and step.test != "*" and name not in _declared("attribute") and "(" not in name:
            yield f"@{name}: no element of JIM has this attribute (/schema lists all)"
    elif name == "phase" and not prefix:
        yield "phase without a prefix is the form of before, which ends with 2027: write jim:phase"
    elif not prefix and name in _declared("element"):
        yield f"{name} without a prefix finds none of JIM's elements: write jim:{name}"
    elif prefix == "jim" and name != "*" and name not in _declared("element"):
        yield f"jim:{name}: no document has such an element{_meant(name)} (/schema lists all)"
    elif not prefix and (meant := _meant(name)):
        yield f"{name} without a prefix is no element of JIM{meant}"


def _meant(name: str) -> str:
    """Suggest the element of JIM that a name may have meant; empty if none is close."""
    return close_to(name, [f"jim:{each}" for each in sorted(_declared("element"))])


def _of_comparison(sign: str, path: Tree, other: Tree) -> Iterator[str]:
    name = _attribute(path)
    if not name:
        return
    if sign in ("=", "!="):
        if isinstance(other, Text):
            yield from _of_text(sign, name, other.value)
    elif isinstance(other, Text) and number_of(other.value) is None:
        yield f"@{name} {sign} '{other.value[:40]}' compares numbers, and never holds{_instead(name)}"
    elif name in TIMES:
        yield f"@{name} {sign} … compares numbers, and a time is none: it never holds{_instead(name)}"


def _instead(name: str) -> str:
    known = name if name in AS_NUMBERS else "updated"
    return f": use @{known}_s, in seconds since 1970" if name in TIMES else ""


def _of_text(sign: str, name: str, text: str) -> Iterator[str]:
    ends = "never holds" if sign == "=" else "always holds"
    if name in INTEGERS and not INTEGER.fullmatch(text):
        yield f"@{name} {sign} '{text[:40]}' compares texts, and {ends}: numbers are written like 7"
    if name == "state" and text not in STATES | STATES_OF_TASKS:
        known = f"{', '.join(sorted(STATES))}; of tasks also {', '.join(sorted(STATES_OF_TASKS - STATES))}"
        yield f"@state {sign} '{text[:40]}' {ends}: the states are {known}"


def _attribute(tree: Tree) -> str:
    if isinstance(tree, Path) and tree.steps and tree.steps[-1].axis == "attribute":
        return tree.steps[-1].test
    return ""
