r"""Reads requests as SAMGrid job description files: each line is `attribute = value`.

A value is a row of words. A word, or a part of it, stands in double quotes if it holds spaces or a `#`. Two double
quotes inside quotes stand for one. `#` before a word starts a comment. `\` at the end of a line continues the line. A
list of lists has a line for each of its lists. An attribute that begins with a `+` is not an attribute of the request:
JIM passes it to the payload as a variable.
"""

import re
from typing import Any

from jim.request import languages
from jim.request.languages import Said

# (?>(?:…)*) instead of (?:…)*+: Python 3.11.2 of Debian 12 matches the second one wrongly (gh-106052).
SPACE = re.compile(r"(?>(?:[ \t\r]|\\\r?\n)*)")
BLANK = re.compile(r"(?>(?:[ \t\r\n]|\\\r?\n|#[^\n]*)*)")
HEAD = re.compile(r"(\+?[A-Za-z_][A-Za-z0-9_]{0,127})(?>(?:[ \t]|\\\r?\n)*)=")
WORD = re.compile(r'(?>(?:[^\s"\\]++|\\(?!\r?\n)|"[^"\n]*+(?>(?:""[^"\n]*+)*)")+)')
# Most lines of a large request match these patterns, which read a line at once: a line of words without quotes; or
# words that are bare or wholly in quotes, with spaces between them.
BARE = r'[^\s"\\#][^\s"\\]*+'
PLAIN = re.compile(rf"{HEAD.pattern}[ \t]*+({BARE}(?>(?:[ \t]++{BARE})*))[ \t\r]*+(?=[\n#])")
ITEM = rf'{BARE}|"[^"\n]*+(?>(?:""[^"\n]*+)*)"'
ITEMS = re.compile(rf"(?>(?:(?:{ITEM})[ \t]++)+)")
EACH = re.compile(ITEM)
QUOTED = re.compile(r'"([^"\n]*+(?>(?:""[^"\n]*+)*))"')


def parse(text: str, own: str = "") -> dict[str, Any]:
    """Read the attributes of a request; an error names the line and column."""
    said: dict[str, Said] = {}
    again: dict[str, list[Said]] = {}
    at = _past(BLANK, text, 0)
    while at < len(text):
        one, at = _line(text, at)
        name = one.name if one.name.startswith("+") else languages.plain(one.name)
        if name.startswith("+") and name in said:
            raise languages.fault(text, one.at, f"{one.name}: given twice")
        if said.setdefault(name, one) is not one:
            again.setdefault(name, []).append(one)
        at = _past(BLANK, text, at)
    return languages.attributes(said, text, own, again=again) if said else {}


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line(text: str, began: int) -> tuple[Said, int]:
    plain = PLAIN.match(text, began)
    if plain:
        return Said(plain[1], began, plain[2].split(), plain[2]), plain.end()
    head = HEAD.match(text, began)
    if not head:
        raise ValueError(f"{languages.place(text, began)}: expected attribute = value")
    first = end = at = _past(SPACE, text, head.end())
    found: list[str] = []
    while at < len(text) and text[at] not in "\n#":
        many = ITEMS.match(text, at)
        if many:
            found += EACH.findall(many[0])
            end, at = at + len(many[0].rstrip(" \t")), _past(SPACE, text, many.end())
            continue
        word = WORD.match(text, at)
        if not word:
            raise ValueError(f"{languages.place(text, at)}: {_trouble(text, at)}")
        found.append(word[0])
        end = word.end()
        at = _past(SPACE, text, end)
    values = [_unquoted(word) if '"' in word else word for word in found]
    return Said(head[1], began, values, _whole(text[first:end], values)), at


def _trouble(text: str, at: int) -> str:
    return "this quote is never closed" if text[at] == '"' else f"the character {text[at]!r} is not allowed here"


def _unquoted(word: str) -> str:
    if word[0] == word[-1] == '"' and word.count('"') == 2:
        return word[1:-1]
    return QUOTED.sub(lambda found: found[1].replace('""', '"'), word)


def _whole(written: str, values: list[str]) -> str | None:
    """Return a value as one text: a single word, or several words without quotes, with the spaces between them."""
    if len(values) == 1:
        return values[0]
    if not values or '"' in written:
        return None
    return " ".join(values) if "\n" in written else written
