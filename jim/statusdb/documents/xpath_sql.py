"""Translates expressions of XPath into SQL: paths over sites, grid jobs, local jobs, attempts and phases.

The meaning is exactly that of XPath 1.0. An empty value is an attribute that is absent. A comparison with a text
compares texts, an order compares numbers, and `!=` is false of nothing. Each condition is 0 or 1, never NULL: `not()`
must be right. What is outside the subset raises `NotTranslated`, with the part that is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne

from jim.statusdb.documents.elements import Attribute, number_of
from jim.statusdb.documents.task_elements import ALL_ELEMENTS as ELEMENTS
from jim.statusdb.documents.task_elements import TASK_ELEMENTS
from jim.statusdb.documents.xpath_nodes import (
    ALWAYS,
    NOTHING,
    Nodes,
    NotTranslated,
    Walk,
    all_of,
    inner,
    local_jobs_of,
    plain,
    tables_of,
)
from jim.statusdb.documents.xpath_tree import Call, Number, Operation, Path, Text, Tree, below
from jim.statusdb.list_filters import Query

MOST_PARTS = 300  # of an expression: SQLite's own limits are not far
WHOLE = ("grid_job", "queued", *TASK_ELEMENTS)  # elements that are results only in a whole document
SWAPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
HOLDS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
INTEGER = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)


def for_all(expression: str, tree: Tree) -> str:
    """Return an expression about a grid job or a task as one about the site: a path from it means each of them."""
    paths = (each for each in below(tree) if isinstance(each, Path) and each.absolute and each.steps)
    for path in sorted(paths, key=lambda each: -each.at):
        if path.steps[0][:2] in (("child", "jim:grid_job"), ("child", "jim:task")):
            expression = f"{expression[: path.at]}/jim:site{expression[path.at :]}"
    return expression


def quoted(text: str) -> str:
    """Return a text in SQL."""
    return "'" + text.replace("'", "''") + "'"


class Translation(Walk):
    """The translation of one expression over one document."""

    def query(self, tree: Tree) -> Query:
        """Translate a whole expression."""
        if sum(1 for _ in below(tree)) > MOST_PARTS:
            raise NotTranslated("an expression of so many parts")
        tree = plain(tree)
        if isinstance(tree, Call) and tree.name == "count" and len(tree.arguments) == 1:
            return Query(f"SELECT {self._count(tree.arguments[0], Nodes(''))}", "")
        if not isinstance(tree, Path) or not tree.absolute:
            raise NotTranslated("a result that is neither a path from the root nor the count of one")
        nodes, attribute = self.walk(tree, Nodes("root"))
        return self._query(nodes, attribute)

    def _query(self, nodes: Nodes, attribute: str) -> Query:
        if nodes.none:
            return Query("SELECT 0 WHERE 0", "site")
        if nodes.at not in ELEMENTS or (nodes.at in WHOLE and not attribute):
            raise NotTranslated(f"elements {nodes.at} as results")
        keys = ", ".join(f"{nodes.alias}.{key}" for key in ELEMENTS[nodes.at].keys)
        where, value = nodes.where, ""
        if attribute:
            told = self.attribute(nodes, attribute)
            where, value = (*where, _present(told)), f", {_text(told)}"
        sql = f"SELECT {keys}{value} FROM {tables_of(nodes)} WHERE {all_of(where)} ORDER BY {keys}"
        return Query(sql, nodes.at, attribute)

    # Conditions

    def boolean(self, tree: Tree, here: Nodes) -> str:
        """Return the SQL of a condition about a node."""
        tree = plain(tree)
        if isinstance(tree, Operation):
            return self._operation(tree, here)
        if isinstance(tree, Call):
            return self._call(tree, here)
        if isinstance(tree, Path):
            return self._exists(tree, here, lambda _: ALWAYS)
        if isinstance(tree, Text):
            return ALWAYS if tree.value else NOTHING
        raise NotTranslated("a number as a condition")

    def _operation(self, tree: Operation, here: Nodes) -> str:
        if set(tree.operators) <= {"or"} or set(tree.operators) <= {"and"}:
            parts = [self.boolean(each, here) for each in tree.operands]
            return f"({f' {tree.operators[0].upper()} '.join(parts)})"
        if len(tree.operands) != 2 or tree.operators[0] not in SWAPPED:
            raise NotTranslated(f"the operator {tree.operators[0]}")
        left, right = map(plain, tree.operands)
        return self._compared(tree.operators[0], left, right, here)

    def _call(self, call: Call, here: Nodes) -> str:
        if call.name == "not" and len(call.arguments) == 1:
            return f"(NOT {self.boolean(call.arguments[0], here)})"
        if call.name in ("starts-with", "contains") and len(call.arguments) == 2:
            return self._begins(call.name, plain(call.arguments[0]), plain(call.arguments[1]), here)
        raise NotTranslated(f"the function {call.name}()")

    def _begins(self, name: str, whole: Tree, part: Tree, here: Nodes) -> str:
        if not isinstance(part, Text) or not isinstance(whole, Path):
            raise NotTranslated(f"{name}() of these arguments")
        text, wanted = self._first(whole, here), self._literal(part)
        if not part.value:
            return ALWAYS
        return (
            f"(substr({text}, 1, {len(part.value)}) = {wanted})"
            if name == "starts-with"
            else f"(instr({text}, {wanted}) > 0)"
        )

    def _literal(self, text: Text) -> str:
        if "\ufffd" in text.value:  # documents have it in place of characters that XML cannot carry
            raise NotTranslated("the character U+FFFD")
        return quoted(text.value)

    def _first(self, path: Path, here: Nodes) -> str:
        """Return the text of the first attribute that a path finds; empty, if there is none."""
        nodes, attribute = self.walk(path, inner(here))
        if not attribute:
            raise NotTranslated("the text of an element")
        if nodes.none:
            return "''"
        if not nodes.tables:
            return _text(self.attribute(here, attribute))
        told = self.attribute(nodes, attribute)
        keys = ", ".join(f"{nodes.alias}.{key}" for key in ELEMENTS[nodes.at].keys)
        which = all_of((*nodes.links, *nodes.where, _present(told)))
        return f"ifnull((SELECT {_text(told)} FROM {tables_of(nodes)} WHERE {which} ORDER BY {keys} LIMIT 1), '')"

    def _exists(self, path: Path, here: Nodes, condition: Callable[[Attribute], str], *, outer: bool = False) -> str:
        """Return the condition that some node of a path meets a condition, which may be about `here` (`outer`)."""
        nodes, attribute = self.walk(path, inner(here))
        if nodes.none:
            return NOTHING
        if not nodes.tables:
            if not attribute:
                raise NotTranslated("a node itself as a condition")
            told = self.attribute(here, attribute)
            return _all(_present(told), condition(told))
        if attribute:
            told = self.attribute(nodes, attribute)
            nodes = nodes._replace(where=(*nodes.where, _present(told), condition(told)))
        elif condition(Attribute("''")) != ALWAYS:
            raise NotTranslated("the text of an element")
        if here.at == "local_job" and nodes.links and not outer:
            return f"(({here.grid}, {here.alias}.n) IN ({local_jobs_of(nodes)} WHERE {all_of(nodes.where)}))"
        return f"EXISTS (SELECT 1 FROM {tables_of(nodes)} WHERE {all_of((*nodes.links, *nodes.where))})"

    # Comparisons

    def _compared(self, sign: str, left: Tree, right: Tree, here: Nodes) -> str:
        if not isinstance(left, Path) and isinstance(right, Path):
            left, right, sign = right, left, SWAPPED[sign]
        if isinstance(left, Path):
            return self._some(sign, left, right, here)
        if isinstance(right, Call) and not isinstance(left, Call):
            left, right, sign = right, left, SWAPPED[sign]
        if isinstance(left, Call) and left.name == "count" and len(left.arguments) == 1:
            return self._counted(sign, left, self._number(right, here), here)
        raise NotTranslated("this comparison")

    def _some(self, sign: str, path: Path, other: Tree, here: Nodes) -> str:
        """Return the condition that some attribute of a path compares like this."""
        if isinstance(other, Path):

            def with_other(mine: Attribute) -> str:
                return self._exists(other, here, lambda its: _both(sign, mine, its), outer=True)

            return self._exists(path, here, with_other, outer=True)
        if isinstance(other, Text) and sign in ("=", "!="):
            literal = self._literal(other)
            return self._exists(path, here, lambda mine: _like_text(sign, mine, other.value, literal))
        number = self._number(other, here)
        counted = isinstance(other, Call)
        return self._exists(path, here, lambda mine: _like_number(sign, mine, number), outer=counted)

    def _number(self, tree: Tree, here: Nodes) -> str:
        """Return a number in SQL; NULL stands for NaN."""
        if isinstance(tree, Call) and tree.name == "count" and len(tree.arguments) == 1:
            return self._count(tree.arguments[0], here)
        if not isinstance(tree, Number | Text):
            raise NotTranslated("this comparison")
        value = tree.value if isinstance(tree, Number) else number_of(tree.value)
        return "NULL" if value is None else repr(float(value)) if abs(value) < 1e300 else f"{'-' * (value < 0)}9e999"

    def _counted(self, sign: str, call: Call, number: str, here: Nodes) -> str:
        """Compare a count. Of all local jobs, it is found by one look at all attempts, instead of one for each."""
        nodes, attribute = self._counting(call.arguments[0], here)
        if here.at != "local_job" or not nodes.links or nodes.none or "SELECT" in number:
            return _like_number(sign, Attribute(self._count(call.arguments[0], here), number=True), number)
        if attribute:
            nodes = nodes._replace(where=(*nodes.where, _present(self.attribute(nodes, attribute))))
        met = _like_number(sign, Attribute("count(*)", number=True), number)
        groups = f"{local_jobs_of(nodes)} WHERE {all_of(nodes.where)} GROUP BY 1, 2 HAVING"
        of_none = number != "NULL" and HOLDS[sign](0.0, float(number.replace("9e999", "inf")))
        which = f"NOT IN ({groups} NOT {met})" if of_none else f"IN ({groups} {met})"
        return f"(({here.grid}, {here.alias}.n) {which})"

    def _counting(self, tree: Tree, here: Nodes) -> tuple[Nodes, str]:
        tree = plain(tree)
        if not isinstance(tree, Path) or not (tree.absolute or here.at):
            raise NotTranslated("the count of something else than a path")
        return self.walk(tree, inner(here))

    def _count(self, tree: Tree, here: Nodes) -> str:
        nodes, attribute = self._counting(tree, here)
        if nodes.none:
            return "0"
        if not nodes.tables:
            if not attribute:
                raise NotTranslated("the count of a node itself")
            return _present(self.attribute(here, attribute))
        if nodes.at not in ELEMENTS:
            raise NotTranslated(f"the count of {nodes.at}")
        present = (_present(self.attribute(nodes, attribute)),) if attribute else ()
        return f"(SELECT count(*) FROM {tables_of(nodes)} WHERE {all_of((*nodes.links, *nodes.where, *present))})"


def _all(*conditions: str) -> str:
    return f"({all_of(conditions)})"


def _present(attribute: Attribute) -> str:
    return ALWAYS if attribute.number else f"({attribute.sql} <> '')"


def _text(attribute: Attribute) -> str:
    return f"CAST({attribute.sql} AS TEXT)" if attribute.number else attribute.sql


def _safe(attribute: Attribute) -> str:
    """Return the text as documents have it: without characters that XML cannot carry."""
    return _text(attribute) if attribute.number else f"xml_safe({attribute.sql})"


def _as_number(attribute: Attribute) -> str:
    return attribute.sql if attribute.number else attribute.as_number or f"xpath_number({attribute.sql})"


def _like_text(sign: str, mine: Attribute, text: str, literal: str) -> str:
    other = "=" if sign == "=" else "<>"
    if not mine.number:
        return f"({mine.sql} {other} {literal})"
    if not INTEGER.fullmatch(text):
        return NOTHING if sign == "=" else ALWAYS
    return f"({mine.sql} {other} {text})"


def _like_number(sign: str, mine: Attribute, number: str) -> str:
    value = _as_number(mine)
    if sign == "!=":
        return ALWAYS if number == "NULL" else f"({value} IS NOT {number})"
    if number == "NULL":
        return NOTHING
    return f"({value} {sign} {number})" if mine.number else f"ifnull({value} {sign} {number}, 0)"


def _both(sign: str, mine: Attribute, its: Attribute) -> str:
    if sign not in ("=", "!="):
        return f"ifnull({_as_number(mine)} {sign} {_as_number(its)}, 0)"
    sign = "=" if sign == "=" else "<>"
    if mine.number and its.number:
        return f"({mine.sql} {sign} {its.sql})"
    return f"({_safe(mine)} {sign} {_safe(its)})"
