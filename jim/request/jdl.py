r"""Reads requests in the job description language of DIRAC: `[ Executable = "a.sh"; OutputSandbox = {"*.root"}; ]`.

The outer brackets may be left out. A text stands in double quotes, where `\"` is a quote and `\\` a backslash; a word
or a number needs none. `{ … }` is a list, `[ … ]` a table. Comments begin with `//` or `#`, or stand in `/* … */`.
Attributes under DIRAC's names become JIM's.
"""

from __future__ import annotations

import re
from typing import Any

from jim.request import dirac_names, languages
from jim.request.dirac_names import Quoted
from jim.request.languages import Said, plain
from jim.request.values import DEEPEST

TOKEN = re.compile(
    r"""(?P<gap>(?>(?:\s|//[^\n]*|\#[^\n]*|/\*(?s:.*?)\*/)*))
    (?: (?P<quoted> "(?>(?:[^"\\\n]|\\[^\n])*)")
      | (?P<sign>   [\[\]{};,=])
      | (?P<word>   (?>(?:[^\s"\[\]{};,=/\#\x00-\x1f]|/(?![/*]))+))
      | (?P<end>    \Z)
      | (?P<odd>    (?s:.)) )""",
    re.VERBOSE,
)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,127}")
ESCAPED = re.compile(r"\\(.)")


def parse(text: str, own: str = "") -> dict[str, Any]:
    """Read the attributes of a request; an error names the line and column."""
    said = dirac_names.in_our_words(_Reader(text).request(), text, own)
    return languages.attributes(said, text, own, dirac_names.KNOWN) if said else {}


class _Reader:
    """The state of the parser: the next token."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.end = text, 0, 0
        self.advance()

    def advance(self) -> None:
        found = TOKEN.match(self.text, self.end)
        if not found or not found.lastgroup:
            raise self.fault("this is not JDL")
        self.kind = found.lastgroup
        self.at, self.end = found.span(self.kind)
        self.word = self.text[self.at : self.end]
        if self.kind == "odd":
            never = {'"': "this quote is never closed", "/": "this comment is never closed"}
            raise self.fault(never.get(self.word, f"the character {self.word!r} is not allowed here"))

    def fault(self, reason: str, at: int | None = None) -> ValueError:
        return ValueError(f"{languages.place(self.text, self.at if at is None else at)}: {reason}")

    def sign(self, word: str) -> bool:
        """Tell whether the next token is this sign, and go past the sign."""
        there = self.kind == "sign" and self.word == word
        if there:
            self.advance()
        return there

    def expect(self, word: str, where: str) -> None:
        if not self.sign(word):
            found = f", found {self.word[:40]!r}" if self.word else ""
            raise self.fault(f"expected {word} {where}{found}")

    def request(self) -> dict[str, Said]:
        """Read all attributes."""
        in_brackets = self.sign("[")
        said = {plain(one.name): one for one in self.statements("]" if in_brackets else "", 0)}
        if in_brackets:
            self.expect("]", "at the end")
        if self.kind != "end":
            raise self.fault(f"expected the end, found {self.word[:40]!r}")
        return said

    def statements(self, last: str, depth: int) -> list[Said]:
        """Read `name = value;` up to a sign or the end; the last one needs no `;`."""
        found: list[Said] = []
        seen: set[str] = set()
        while self.kind != "end" and not (last and self.word == last and self.kind == "sign"):
            name, at = self.word, self.at
            if self.kind != "word" or not NAME.fullmatch(name):
                raise self.fault(f"expected the name of an attribute, found {name[:40]!r}")
            if plain(name) in seen:
                raise self.fault(f"{name}: given twice")
            seen.add(plain(name))
            self.advance()
            self.expect("=", f"after {name}")
            value = self.value(depth)
            if not self.sign(";") and self.kind != "end" and self.word != last:
                if plain(name) in dirac_names.USELESS:  # an expression
                    raise languages.fault(self.text, at, f"{name}: {dirac_names.USELESS[plain(name)]}")
                raise self.fault(f"expected ; after the value of {name}, found {self.word[:40]!r}; texts need quotes")
            found.append(_said(name, at, value))
        return found

    def value(self, depth: int) -> Any:
        """Read a text, a list, or a table as a list of pairs."""
        if depth > DEEPEST:
            raise self.fault(f"nested more than {DEEPEST} deep")
        word = self.word
        if self.kind == "quoted":
            self.advance()
            return Quoted(ESCAPED.sub(r"\1", word[1:-1]))
        if self.kind == "word":
            self.advance()
            return word
        if self.sign("{"):
            return self.list_(depth)
        if self.sign("["):
            table = self.statements("]", depth + 1)
            self.expect("]", "at the end of a table")
            return [[one.name, one.values if one.text is None else one.text] for one in table]
        raise self.fault(f"expected a value, found {word[:40]!r}" if word else "a value is missing")

    def list_(self, depth: int) -> list[Any]:
        found = []
        while not self.sign("}"):
            found.append(self.value(depth + 1))
            if not self.sign(",") and self.word != "}":
                raise self.fault(
                    f"expected , or }} in a list, found {self.word[:40]!r}" if self.word else "} is missing"
                )
        return found


def _said(name: str, at: int, value: Any) -> Said:
    return Said(name, at, [value], value) if isinstance(value, str) else Said(name, at, value, None)
