"""Requests in Globus RSL: `&(executable=/bin/echo)(arguments="a b" c)(maxWallTime=10)`.

A text that holds more than letters, digits and a few signs stands in quotes, and the quote in it is written twice;
`#` joins texts, `$(NAME)` stands for what `(rsl_substitution=(NAME text))` before it has said, `(* … *)` is a comment.
What GRAM calls otherwise than JIM becomes JIM's.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from jim.errors import nearest
from jim.request import DEEPEST, LONGEST, words
from jim.request.words import GRAM_NAMES, MOST_COPIES, Said, plain

# (?>(?:…)*), not (?:…)*+: the Python of Debian 12, 3.11.2, finds other things with that than there are (gh-106052).
BARE = r"""[^\s+&|()=<>!"'^\#$]"""
QUOTED = r"""(?:"[^"]*+(?>(?:""[^"]*+)*)"|'[^']*+(?>(?:''[^']*+)*)')"""
ITEM = rf"{BARE}++|{QUOTED}"
# Most of a large request is this, and read at once: texts that only spaces part, and flat lists of such.
WITH_VARIABLES = rf"{ITEM}|\$\(\w++\)(?:{BARE}++)?"
ITEMS = re.compile(rf"""(?>(?:(?:{WITH_VARIABLES})\s++(?={BARE}|["']|\$\())+)""")
LIST = re.compile(rf"""\((?!\*)\s*+((?:{ITEM})(?>(?:\s++(?:{ITEM}))*))\s*+\)\s*+""")
LISTS = re.compile(rf"""(?>(?:{LIST.pattern})+)""")
VARIABLE = re.compile(r"\$\((\w++)\)")
EACH = re.compile(WITH_VARIABLES)
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
NAME = re.compile(r"[A-Za-z_]\w{0,127}", re.ASCII)
KINDS = {
    "&": "a request cannot hold further requests",
    "|": "alternatives (|) cannot be taken; hand in one of them",
    "+": "several requests in one (+) cannot be taken; hand in each by itself",
}

# GRAM's names, in the form in which names are compared, that JIM has others for, and those it has no use for.
RENAMED = {plain(name): ours for name, ours in GRAM_NAMES.items()}
USELESS = {
    "stdout": "what local jobs print comes back in the tar; leave it out",
    "stderr": "what local jobs print comes back in the tar; leave it out",
    "directory": "every local job has an empty directory of its own; leave it out",
    "filestagein": "only a gatekeeper fetches files; name those of this machine in inputs",
    "filestageout": "only a gatekeeper delivers files; name what is to come back, in the tar, in outputs",
}
NO_JOB_TYPES = {"mpi": "no parallel jobs over several nodes", "condor": "no jobs linked with Condor's library"}
KNOWN = ("arguments", "count", "maxMemory", "maxWallTime", "project", "rsl_substitution")


def parse(text: str, own: str = "") -> dict[str, Any]:
    """Read the attributes of a request; what is wrong is told with its line and column."""
    said = _in_our_words(_Reader(text).request(), text)
    return words.attributes(said, text, own, KNOWN) if said else {}


class _Reader:
    """What is read next, and the variables defined so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables: dict[str, str] = {}
        self.left = LONGEST  # characters that variables may still become: they can double themselves
        self.at = self.end = 0
        self.advance()

    def advance(self, end: int | None = None) -> None:
        """Go on to the next token, or to the one after `end`."""
        self.end = self.end if end is None else end
        found = TOKEN.match(self.text, self.end)
        if not found or not found.lastgroup:
            raise self.fault("cannot be read")
        self.kind = found.lastgroup
        self.at, end = found.span(self.kind)
        self.word = self.text[self.at : end]
        self.apart, self.end = self.at > self.end, end
        if self.kind in ("comment", "odd"):
            quotes = {'"': "quote", "'": "quote", "^": "quote", "(": "comment"}
            what = quotes.get(self.word[0])
            raise self.fault(f"this {what} is never closed" if what else f"{self.word!r} cannot stand here")

    def fault(self, reason: str, at: int | None = None) -> ValueError:
        return ValueError(f"{words.place(self.text, self.at if at is None else at)}: {reason}")

    def sign(self, word: str) -> bool:
        """Tell whether a sign is next, and go past it."""
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
        """Read all relations."""
        said: dict[str, Said] = {}
        if not self.sign("&") and self.word in KINDS:
            raise self.fault(KINDS[self.word])
        while self.kind != "end":
            self.expect("(", "before an attribute")
            one = self.relation()
            if plain(one.name) in said:
                raise self.fault(f"{one.name}: given twice", one.at)
            if one.name:
                said[plain(one.name)] = one
        return said

    def relation(self) -> Said:
        """Read `name=values)`; what defines variables has no name."""
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
        """Read texts and lists up to what ends them."""
        if depth > DEEPEST:
            raise self.fault(f"nested more than {DEEPEST} deep")
        found: list[Any] = []
        while self.kind in ("text", "quoted") or self.word in ("(", "$("):
            many = (LISTS if self.word == "(" else ITEMS).match(self.text, self.at)
            row = self.row(many[0]) if many else None
            if many and row:
                found += row
                self.advance(many.end())
            elif self.sign("("):
                found.append(self.values(depth + 1))
                self.expect(")", "at the end of a list")
            else:
                found.append(self.joined(depth))
        return found

    def row(self, written: str) -> list[Any] | None:
        """Read a row of lists or of texts; not one whose variables have to be looked at one by one."""
        if self.word == "(":
            return [_texts(each) for each in LIST.findall(written)]
        if "$(" not in written:
            return _texts(written)
        found, known = EACH.findall(written), self.variables
        names = [each[2 : each.index(")")] for each in found if each[0] == "$"]
        length = sum(len(known.get(name, "")) for name in names)
        if length > self.left or not known.keys() >= set(names):
            return None
        self.left -= length
        return [_replaced(each, known) if each[0] == "$" else _unquoted(each) for each in found]

    def joined(self, depth: int) -> str:
        """Read one text, and what is joined to it: by a `#`, or because nothing stands between."""
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
        if known and known[1] in self.variables:  # most are written so
            at = self.at
            self.advance(known.end())
            return self.replaced(self.variables[known[1]], at)
        if not self.sign("$("):
            raise self.fault(f"expected a text, found {word[:40]!r}" if word else "a text is missing")
        return self.variable(depth)

    def variable(self, depth: int) -> str:
        """Read the rest of `$(NAME)` or `$(NAME default)`, and give what it stands for."""
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
            hint = nearest(name[:64], islice(self.variables, 50))  # there may be a hundred thousand
            raise self.fault(f"{name[:40]!r}: no variable that rsl_substitution defines before{hint}", at)
        return self.replaced(value, at)

    def replaced(self, value: str, at: int) -> str:
        """Give the text of a variable, unless there are too many."""
        self.left -= len(value)
        if self.left < 0:
            raise self.fault(f"the variables make more than {LONGEST:,} characters of this request", at)
        return value

    def define(self) -> None:
        """Read one `(NAME text)`."""
        at = self.at
        self.expect("(", "before a variable")
        pair = self.values(1)
        self.expect(")", "after a variable")
        if len(pair) != 2 or not all(isinstance(each, str) for each in pair):
            raise self.fault("expected the name of a variable and its text", at)
        if not NAME.fullmatch(pair[0]):
            raise self.fault(f"{pair[0][:40]!r} is no name of a variable", at)
        if pair[0] in self.variables:
            raise self.fault(f"the variable {pair[0][:40]!r} is defined twice", at)
        self.variables[pair[0]] = pair[1]


def _texts(written: str) -> list[str]:
    found = EACH.findall(written)
    return [each[1:-1].replace(each[0] * 2, each[0]) if each[0] in "\"'" else each for each in found]


def _replaced(written: str, known: dict[str, str]) -> str:
    name, _, rest = written[2:].partition(")")
    return known[name] + rest


def _unquoted(written: str) -> str:
    """Give what stands in quotes, or in `^` and a sign of one's own."""
    quote = written[-1]
    if written[0] not in "\"'^":
        return written
    return written[2 if written[0] == "^" else 1 : -1].replace(quote * 2, quote)


def _in_our_words(said: dict[str, Said], text: str) -> dict[str, Said]:
    """Say in JIM's words what GRAM has others for: names, minutes, copies."""
    said = _job_type(said, text)
    ours: dict[str, Said] = {}
    for name, one in said.items():
        if name in USELESS:
            raise words.fault(text, one.at, f"{one.name}: {USELESS[name]}")
        own, unit = RENAMED.get(name, (one.name, 0))
        one = one._replace(name=own)
        if unit > 1 and words.WHOLE_NUMBER.fullmatch(one.text or ""):
            one = one._replace(text=str(unit * int(one.text or "")))
        if plain(one.name) in ours:
            raise words.fault(text, one.at, f"{one.name}: given twice, once by GRAM's name for it")
        ours[plain(one.name)] = one
    return ours


def _job_type(said: dict[str, Said], text: str) -> dict[str, Said]:
    """Tell GRAM's job types, which say how often a program runs, from JIM's, which say what runs."""
    kind, count = said.get("jobtype"), said.get("count")
    if not kind and "executable" not in said:
        return said
    word = (kind.text or "").lower() if kind else "multiple"  # GRAM's default
    if kind and word in NO_JOB_TYPES:
        raise words.fault(text, kind.at, f"{kind.name}: JIM runs {NO_JOB_TYPES[word]}")
    if word not in ("single", "multiple"):
        if count:
            raise words.fault(text, count.at, f"{count.name}: goes with (jobType=single) or (jobType=multiple) only")
        return said
    rest = {name: one for name, one in said.items() if name not in ("jobtype", "count")}
    at = kind.at if kind else said["executable"].at
    if count and word == "single":
        rest["count"] = count._replace(name="cores")
    copies = _copies(count, text) if count else 1
    if word == "multiple" and copies > 1 and count:
        if "argumentsets" in rest:
            raise words.fault(text, count.at, f"{count.name}: goes with one set of arguments only")
        rest["argumentsets"] = Said("argument_sets", count.at, [[]] * copies, None)
    job_type = "parametric" if "argumentsets" in rest else "executable"
    return rest | {"jobtype": Said("job_type", at, [job_type], job_type)}


def _copies(count: Said, text: str) -> int:
    copies = int(count.text) if words.WHOLE_NUMBER.fullmatch(count.text or "") and count.text else 0
    if not 1 <= copies <= MOST_COPIES:
        found = "nothing that is a whole number" if count.text is None else repr(count.text[:40])
        raise words.fault(text, count.at, f"count: expected 1 to {MOST_COPIES:,}, found {found}")
    return copies
