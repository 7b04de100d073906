"""Parses an expression of XPath 1.0 into a tree: what it asks for is then known before anything is read.

The grammar is that of the whole language. Which part of it is translated into SQL is decided in `xpath_sql`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jim.errors import BadRequest

LONGEST = 8192  # characters of an expression
DEEPEST = 50  # levels of parentheses, predicates and operators
NAME = r"[^\W\d][\w.-]*"
TOKEN = re.compile(
    rf"\s*(?:(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<text>\"[^\"]*\"|'[^']*')|(?P<axis>{NAME}(?=\s*::))|"
    rf"(?P<call>{NAME}(?::{NAME})?(?=\s*\())|(?P<name>{NAME}:\*|{NAME}(?::(?!:){NAME})?)|"
    r"(?P<sign>::|//|\.\.|!=|<=|>=|[()\[\].@,/|+=<>*$-]))"
)
OPERATORS = ({"or"}, {"and"}, {"=", "!="}, {"<", "<=", ">", ">="}, {"+", "-"}, {"*", "div", "mod"})
IN_WORDS = {"and", "or", "div", "mod", "*"}
NODE_TESTS = {"node", "text", "comment", "processing-instruction"}
AXES = {
    *("ancestor", "ancestor-or-self", "attribute", "child", "descendant", "descendant-or-self", "following"),
    *("following-sibling", "namespace", "parent", "preceding", "preceding-sibling", "self"),
}


class Number(NamedTuple):
    """A number."""

    value: float
    written: str


class Text(NamedTuple):
    """A text in quotes."""

    value: str


class Call(NamedTuple):
    """A function with its arguments."""

    name: str
    arguments: tuple[Tree, ...]


class Operation(NamedTuple):
    """Operands between operators of one rank, in order; `-` before an operand has none before it."""

    operators: tuple[str, ...]
    operands: tuple[Tree, ...]


class Step(NamedTuple):
    """A step of a path: where to look, for what name, and which of those."""

    axis: str
    test: str
    predicates: tuple[Tree, ...] = ()


class Path(NamedTuple):
    """Steps from the root of the document, or from the node that the path is about."""

    absolute: bool
    steps: tuple[Step, ...]
    at: int  # where the path begins in the expression


class Filter(NamedTuple):
    """An expression with predicates, and steps from what it finds."""

    of: Tree
    predicates: tuple[Tree, ...]
    steps: tuple[Step, ...] = ()


class Variable(NamedTuple):
    """A variable: JIM has none."""

    name: str


Tree = Number | Text | Call | Operation | Path | Filter | Variable
ANYWHERE = Step("descendant-or-self", "node()")


class Token(NamedTuple):
    """A word of the expression: its kind, its text and its place."""

    kind: str
    text: str
    at: int


def parsed(expression: str) -> Tree:
    """Return the tree of an expression; refuse what is none."""
    if len(expression) > LONGEST:
        raise BadRequest(f"XPath: the expression has {len(expression):,} characters; at most {LONGEST:,} are allowed")
    if "\0" in expression:
        raise BadRequest("XPath: the expression has a NUL character")
    reader = _Reader(expression, tuple(_tokens(expression)))
    tree = reader.operation(0)
    if reader.now.kind != "end":
        raise reader.wrong()
    return tree


def below(tree: Tree | Step) -> Iterator[Tree | Step]:
    """Yield the parts of a tree, itself included."""
    yield tree
    if isinstance(tree, Call):
        parts: tuple[Tree | Step, ...] = tree.arguments
    elif isinstance(tree, Operation):
        parts = tree.operands
    elif isinstance(tree, Path):
        parts = tree.steps
    elif isinstance(tree, Step):
        parts = tree.predicates
    else:
        parts = (tree.of, *tree.predicates, *tree.steps) if isinstance(tree, Filter) else ()
    for part in parts:
        yield from below(part)


def _tokens(expression: str) -> Iterator[Token]:
    at, end = 0, len(expression.rstrip())
    before = Token("sign", "(", 0)
    while at < end:
        found = TOKEN.match(expression, at)
        if not found or not found.lastgroup:
            raise BadRequest(f"XPath {expression!r}: unexpected {expression[at:].strip()[:20]!r}")
        token = Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
        # After an operand, a star or one of four names is an operator: chapter 3.7 of XPath 1.0.
        if token.text in IN_WORDS and token.kind in ("name", "call", "sign") and _is_operand(before):
            token = token._replace(kind="operator")
        yield token
        before, at = token, found.end()
    yield Token("end", "", len(expression))


def _is_operand(token: Token) -> bool:
    """Tell whether an operand ends with this token."""
    return token.kind in ("number", "text", "name") or (
        token.kind == "sign" and token.text in (")", "]", ".", "..", "*")
    )


@dataclass
class _Reader:
    expression: str
    tokens: tuple[Token, ...]
    at: int = 0
    depth: int = field(default=0)

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def wrong(self) -> BadRequest:
        """Return the error about the token that cannot stand here."""
        rest = self.expression[self.now.at :][:40]
        return BadRequest(f"XPath {self.expression!r}: {f'unexpected {rest!r}' if rest else 'it ends too early'}")

    def take(self, *texts: str) -> str:
        """Take a sign or an operator, if it is one of these."""
        if self.now.kind in ("sign", "operator") and self.now.text in texts:
            self.at += 1
            return self.tokens[self.at - 1].text
        return ""

    def need(self, text: str) -> None:
        if not self.take(text):
            raise self.wrong()

    def operation(self, rank: int) -> Tree:
        """Read operands between operators of a rank and of all higher ones."""
        if rank == 0:
            self.depth += 1
        if self.depth > DEEPEST:
            raise BadRequest(f"XPath: the expression is nested more than {DEEPEST} deep")
        read: Callable[[int], Tree] = self.operation if rank + 1 < len(OPERATORS) else self.signed
        operands, operators = [read(rank + 1)], []
        while operator := self.take(*OPERATORS[rank]):
            operators.append(operator)
            operands.append(read(rank + 1))
        self.depth -= rank == 0
        return Operation(tuple(operators), tuple(operands)) if operators else operands[0]

    def signed(self, _: int) -> Tree:
        minus = 0
        while self.take("-"):
            minus += 1
        operands = [self.path()]
        while self.take("|"):
            operands.append(self.path())
        found = Operation(("|",) * (len(operands) - 1), tuple(operands)) if len(operands) > 1 else operands[0]
        if minus % 2 and isinstance(found, Number):
            return Number(-found.value, f"-{found.written}")
        return Operation(("-",), (found,)) if minus else found

    def path(self) -> Tree:
        at = self.now.at
        if self.take("//"):
            return Path(True, (ANYWHERE, *self.steps()), at)
        if self.take("/"):
            return Path(True, self.steps() if self.begins_step() else (), at)
        if self.begins_step():
            return Path(False, self.steps(), at)
        return self.filtered()

    def begins_step(self) -> bool:
        """Tell whether a step begins here."""
        kind, text, _ = self.now
        is_test = kind == "call" and text in NODE_TESTS
        return is_test or kind in ("name", "axis") or (kind == "sign" and text in (".", "..", "@", "*"))

    def steps(self) -> tuple[Step, ...]:
        found = [self.step()]
        while sign := self.take("/", "//"):
            found += [ANYWHERE] if sign == "//" else []
            found.append(self.step())
        return tuple(found)

    def step(self) -> Step:
        if short := self.take(".", ".."):
            return Step("self" if short == "." else "parent", "node()")
        axis = "attribute" if self.take("@") else "child"
        if self.now.kind == "axis":
            axis = self.now.text
            if axis not in AXES:
                raise self.wrong()
            self.at += 1
            self.need("::")
        return Step(axis, self.test(), self.predicates())

    def test(self) -> str:
        kind, text, _ = self.now
        if self.take("*"):
            return "*"
        if kind == "name":
            self.at += 1
            return text
        if kind != "call" or text not in NODE_TESTS:
            raise self.wrong()
        self.at += 1
        self.need("(")
        if self.now.kind == "text" and text == "processing-instruction":
            self.at += 1
        self.need(")")
        return f"{text}()"

    def predicates(self) -> tuple[Tree, ...]:
        found = []
        while self.take("["):
            found.append(self.operation(0))
            self.need("]")
        return tuple(found)

    def filtered(self) -> Tree:
        of = self.primary()
        predicates, steps = self.predicates(), ()
        sign = self.take("/", "//")
        if sign:
            steps = (*((ANYWHERE,) if sign == "//" else ()), *self.steps())
        return Filter(of, predicates, steps) if predicates or steps else of

    def primary(self) -> Tree:
        kind, text, _ = self.now
        if self.take("("):
            inner = self.operation(0)
            self.need(")")
            return Filter(inner, ())
        if self.take("$"):
            if self.now.kind != "name":
                raise self.wrong()
            self.at += 1
            return Variable(self.tokens[self.at - 1].text)
        if kind not in ("number", "text", "call"):
            raise self.wrong()
        self.at += 1
        if kind == "call":
            return self.call(text)
        return Number(float(text), text) if kind == "number" else Text(text[1:-1])

    def call(self, name: str) -> Call:
        self.need("(")
        arguments: list[Tree] = []
        if not self.take(")"):
            arguments.append(self.operation(0))
            while self.take(","):
                arguments.append(self.operation(0))
            self.need(")")
        return Call(name, tuple(arguments))
