"""Reads requests in Globus RSL: `&(executable=/bin/echo)(arguments="a b" c)(maxWallTime=10)`.

A text with characters other than letters, digits and a few signs stands in quotes; a quote inside is written twice. `#`
joins texts. `$(NAME)` stands for the text that an earlier `(rsl_substitution=(NAME text))` defines. `(* … *)` is a
comment. Attributes under GRAM's names become JIM's.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import Any

from jim.errors import nearest
from jim.request import LONGEST, gram_names, languages
from jim.request.languages import Said, plain
from jim.request.values import DEEPEST

# (?>(?:…)*) instead of (?:…)*+: Python 3.11.2 of Debian 12 matches the second one wrongly (gh-106052).
BARE = r"""[^\s+&|()=<>!"'^\#$]"""
QUOTED = r"""(?:"[^"]*+(?>(?:""[^"]*+)*)"|'[^']*+(?>(?:''[^']*+)*)')"""
ITEM = rf"{BARE}++|{QUOTED}"
# Most of a large request matches these patterns, which read much at once: texts with only spaces between them, flat
# lists of such texts, and an attribute or a variable with a single text.
NAMED = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
UNIT = rf"(?:{ITEM}|\$\(\w++\)(?:{BARE}++)?)"
ITEMS = re.compile(rf"""(?>(?:{UNIT}\s++(?={BARE}|["']|\$\())+)""")
TEXT = rf"{UNIT}(?>(?:\s*+\#\s*+{UNIT})*)"
ROW = re.compile(rf"""(?>(?:{TEXT}(?:\s++(?={BARE}|["']|\$\()|\s*+(?=\))))+)""")
LIST = re.compile(rf"""\((?!\*)\s*+((?:{ITEM})(?>(?:\s++(?:{ITEM}))*))\s*+\)\s*+""")
LISTS = re.compile(rf"""(?>(?:{LIST.pattern})+)""")
UNITS, TEXTS = re.compile(UNIT), re.compile(TEXT)
VARIABLE = re.compile(r"\$\((\w++)\)")
TOKEN = re.compile(
    r"""(?P<gap>(?>(?:\s++|\(\*.*?\*\))*))
    (?: (?P<comment> \(\*)
      | (?P<text>    BARE++)
      | (?P<quoted>  QUOTED
                   | \^(?P<mark>\S)(?>(?:(?!(?P=mark)).|(?P=mark)(?P=mark))*)(?P=mark))
      | (?P<sign>    \$\( | [<>!]=? | [&|+()=\#])
      | (?P<end>     \Z)
      | (?P<odd>     .) )""".replace("BARE", BARE).replace("QUOTED", QUOTED),
    re.VERBOSE | re.DOTALL,
)
NAME = re.compile(NAMED)
RELATION = re.compile(rf"\(\s*+({NAMED})\s*+=\s*+({ITEM})\s*+\)")
PAIR = re.compile(rf"\(\s*+({NAMED})\s++({ITEM})\s*+\)")
KINDS = {
    "&": "a request cannot contain other requests",
    "|": "JIM does not take alternatives (|); submit one of them",
    "+": "JIM does not take several requests in one (+); submit each by itself",
}
KNOWN = ("arguments", "count", "maxMemory", "maxWallTime", "project", "rsl_substitution")


def parse(text: str, own: str = "") -> dict[str, Any]:
    """Read the attributes of a request; an error names the line and column."""
    said = gram_names.in_our_words(_Reader(text).request(), text)
    return languages.attributes(said, text, own, KNOWN) if said else {}


class _Reader:
    """The state of the parser: the next token, and the variables defined so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables: dict[str, str] = {}
        self.left = LONGEST  # how many characters variables may still add: a variable can double itself
        self.at = self.end = 0
        self.slow = 0  # texts up to this place are read one by one, because one of them is refused
        self.advance()

    def advance(self, end: int | None = None) -> None:
        """Go to the next token, or to the one after `end`."""
        self.end = self.end if end is None else end
        found = TOKEN.match(self.text, self.end)
        if not found or not found.lastgroup:
            raise self.fault("this is not RSL")
        self.kind = found.lastgroup
        self.at, end = found.span(self.kind)
        self.word = self.text[self.at : end]
        self.apart, self.end = self.at > self.end, end
        if self.kind in ("comment", "odd"):
            quotes = {'"': "quote", "'": "quote", "^": "quote", "(": "comment"}
            what = quotes.get(self.word[0])
            raise self.fault(f"this {what} is never closed" if what else f"{self.word!r} is not allowed here")

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
            raise self.fault(
                f"expected {word} {where}, found {self.word[:40]!r}" if self.word else f"{word} is missing"
            )

    def request(self) -> dict[str, Said]:
        """Read all attributes."""
        said: dict[str, Said] = {}
        if not self.sign("&") and self.word in KINDS:
            raise self.fault(KINDS[self.word])
        while self.kind != "end":
            one = self.relation()
            if plain(one.name) in said:
                raise self.fault(f"{one.name}: given twice", one.at)
            if one.name:
                said[plain(one.name)] = one
        return said

    def relation(self) -> Said:
        """Read `(name=values)`; the attribute that defines variables has no name."""
        single = RELATION.match(self.text, self.at)
        if single and plain(single[1]) != "rslsubstitution":
            self.advance(single.end())
            value = _unquoted(single[2])
            return Said(single[1], single.start(1), [value], value)
        self.expect("(", "before an attribute")
        name, at = self.word, self.at
        if self.kind == "sign" and name in KINDS:
            raise self.fault(KINDS["&"])
        if self.kind != "text" or not NAME.fullmatch(name):
            raise self.fault(f"expected the name of an attribute, found {name[:40]!r}")
        self.advance()
        self.expect("=", f"after {name}")
        if plain(name) == "rslsubstitution":
            while self.kind != "sign" or self.word != ")":
                self.define()
            name = ""
        values = self.values(0)
        self.expect(")", f"at the end of {name or 'rsl_substitution'}")
        return Said(name, at, values, values[0] if len(values) == 1 and isinstance(values[0], str) else None)

    def values(self, depth: int) -> list[Any]:
        """Read texts and lists up to the sign that ends them."""
        if depth > DEEPEST:
            raise self.fault(f"nested more than {DEEPEST} deep")
        found: list[Any] = []
        while self.kind in ("text", "quoted") or self.word in ("(", "$("):
            many = self.many() if self.at >= self.slow else None
            row = self.row(many[0]) if many else None
            if many and row:
                found += row
                self.advance(many.end())
            elif many:
                self.slow = many.end()
            elif self.sign("("):
                found.append(self.values(depth + 1))
                self.expect(")", "at the end of a list")
            else:
                found.append(self.joined(depth))
        return found

    def many(self) -> re.Match[str] | None:
        """Find a row of lists or of texts. The row without joined texts is tried first: that takes half the time."""
        if self.word == "(":
            return LISTS.match(self.text, self.at)
        return ITEMS.match(self.text, self.at) or ROW.match(self.text, self.at)

    def row(self, written: str) -> list[Any] | None:
        """Read a row at once, unless one of its variables has to be refused."""
        if self.word == "(":
            return [_texts(each) for each in LIST.findall(written)]
        if "$(" not in written and "#" not in written:
            return _texts(written)
        joined = [UNITS.findall(each) for each in TEXTS.findall(written)] if "#" in written else []
        units = [*chain(*joined)] or UNITS.findall(written)
        names = [each[2 : each.index(")")] for each in units if each[0] == "$"]
        length = sum(len(self.variables.get(name, "")) for name in names)
        if length > self.left or not self.variables.keys() >= set(names):
            return None
        self.left -= length
        meant = [self.unit(each) if each[0] in "$\"'" else each for each in units]
        if not joined:
            return meant
        rest = iter(meant)
        return ["".join(islice(rest, len(each))) for each in joined]

    def unit(self, written: str) -> str:
        """Read a text in quotes, or a variable with the text that follows it directly."""
        if written[0] != "$":
            return _unquoted(written)
        name, _, rest = written[2:].partition(")")
        return self.variables[name] + rest

    def joined(self, depth: int) -> str:
        """Read one text and the texts joined to it: by a `#`, or because nothing stands between them."""
        parts = [self.part(depth)]
        while self.sign("#") or (not self.apart and (self.kind in ("text", "quoted") or self.word == "$(")):
            parts.append(self.part(depth))
        return "".join(parts)

    def part(self, depth: int) -> str:
        word = self.word
        if self.kind in ("text", "quoted"):
            self.advance()
            return _unquoted(word)
        known = VARIABLE.match(self.text, self.at)
        if known and known[1] in self.variables:  # the usual form
            at = self.at
            self.advance(known.end())
            return self.replaced(self.variables[known[1]], at)
        if not self.sign("$("):
            raise self.fault(f"expected a text, found {word[:40]!r}" if word else "a text is missing")
        return self.variable(depth)

    def variable(self, depth: int) -> str:
        """Read the rest of `$(NAME)` or `$(NAME default)`, and return the text of the variable."""
        name, at = self.word, self.at
        if self.kind != "text":
            raise self.fault(f"expected the name of a variable, found {name[:40]!r}")
        self.advance()
        value = self.variables.get(name)
        otherwise = self.values(depth + 1)
        self.expect(")", f"after the variable {name[:40]}")
        if value is None and len(otherwise) == 1 and isinstance(otherwise[0], str):
            value = otherwise[0]
        if value is None:
            hint = nearest(name[:64], islice(self.variables, 50))  # a request may have a hundred thousand of them
            raise self.fault(f"{name[:40]!r}: no rsl_substitution before this place defines this variable{hint}", at)
        return self.replaced(value, at)

    def replaced(self, value: str, at: int) -> str:
        """Return the text of a variable, unless variables have added too many characters."""
        self.left -= len(value)
        if self.left < 0:
            raise self.fault(f"the variables add more than {LONGEST:,} characters to this request", at)
        return value

    def define(self) -> None:
        """Read one `(NAME text)`."""
        at = self.at
        plain_pair = PAIR.match(self.text, at)
        if plain_pair:
            self.advance(plain_pair.end())
            pair = [plain_pair[1], _unquoted(plain_pair[2])]
        else:
            self.expect("(", "before a variable")
            pair = self.values(1)
            self.expect(")", "after a variable")
        if len(pair) != 2 or not all(isinstance(each, str) for each in pair):
            raise self.fault("expected the name of a variable and its text", at)
        if not NAME.fullmatch(pair[0]):
            raise self.fault(f"{pair[0][:40]!r} is not a valid name of a variable", at)
        if pair[0] in self.variables:
            raise self.fault(f"the variable {pair[0][:40]!r} is defined twice", at)
        self.variables[pair[0]] = pair[1]


def _texts(written: str) -> list[str]:
    """Return a row of texts in which no text is joined and none is a variable."""
    found = UNITS.findall(written)
    return [each[1:-1].replace(each[0] * 2, each[0]) if each[0] in "\"'" else each for each in found]


def _unquoted(written: str) -> str:
    """Remove the quotes of a text, or `^` and the sign that the writer chose as a quote."""
    quote = written[-1]
    if written[0] not in "\"'^":
        return written
    return written[2 if written[0] == "^" else 1 : -1].replace(quote * 2, quote)
