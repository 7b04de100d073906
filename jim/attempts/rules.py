"""Rules for further attempts, as requests, job types and sites write them: read and checked here.

A rule is a table: `when` it fits, and what is different for the next attempt. jim/evidence/further.py follows rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from jim.errors import BadRequest, later, nearest, shown

NAMES = ("when", "change", "times", "delay")
MOST_RULES, MOST_TIMES, MOST_DELAYS, LONGEST_DELAY = 20, 100, 20, 30 * 86_400.0
# What a rule may change: numbers, which may grow, and the queue.
NUMBERS = ("memory_mb", "wall_seconds", "disk_mb", "cores")
FACTOR = re.compile(r"\*(\d{1,4}(?:\.\d{1,4})?)", re.ASCII)
MORE = re.compile(r"\+(\d{1,8})", re.ASCII)
DURATION = re.compile(r"PT?(?=\d)(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,7})S)?", re.ASCII)
SHORT = re.compile(r"(\d{1,7})([smhd])", re.ASCII)
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
ALONE = "memory", "time limit", "lost"  # cases without a number or a pattern
CASES = "memory, time limit, exit N, signal N, lost, or words 'PATTERN'"
# Words that are decided upon, and come later.
LATER = {
    "arguments": "rules that add arguments",
    "elsewhere": "rules that choose other hosts",
    "hold": "rules that hold a local job",
    "give_up": "rules that give up",
    "only_tell": "rules that only tell what they would do",
}
LATER_CASES = {
    re.compile(r"exit \d+ ?- ?\d+", re.ASCII): "rules for a range of exit codes",
    re.compile("outputs"): "rules for missing outputs",
}
# A pattern that could take for ever is refused: the keeper itself looks for it.
LONGEST_PATTERN, MOST_CHOICES, CHOICES_OF_A_REPEAT = 100, 9, 3  # each doubles the time, or nearly
REPEATS = "*", "+", "{"
TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|.", re.DOTALL)


class Rule(NamedTuple):
    """One rule, checked: when it fits, and what the next attempt gets."""

    when: str  # as it is written
    case: str  # memory, time limit, lost, exit, signal or words
    number: int | None = None  # of an exit or a signal
    pattern: re.Pattern[str] | None = None  # of words
    change: Mapping[str, int | str] = {}
    times: int | None = None
    delay: tuple[float, ...] = ()


def read(tables: Sequence[object]) -> tuple[Rule, ...]:
    """Read and check the rules of a request, a job type or a site."""
    if len(tables) > MOST_RULES:
        raise BadRequest(f"expected at most {MOST_RULES} rules, found {len(tables)}", "retry")
    return tuple(map(_rule, tables))


def _rule(table: object) -> Rule:
    if not isinstance(table, Mapping):
        raise BadRequest(f"expected a list of tables, found {shown(table)} in it", "retry")
    _check_words(table)
    when, change, times = table.get("when"), table.get("change", {}), table.get("times")
    case = _case(when) if isinstance(when, str) else None
    if not isinstance(when, str) or case is None:
        raise BadRequest(f"when: expected {CASES}, found {shown(when)}", "retry")
    if not isinstance(change, Mapping):
        raise BadRequest(f"change: expected a table, found {shown(change)}", "retry")
    for name, value in change.items():
        _check_change(name, value)
    if times is not None and not (type(times) is int and 1 <= times <= MOST_TIMES):
        raise BadRequest(f"times: expected 1 to {MOST_TIMES}, found {shown(times)}", "retry")
    return Rule(when, *case, dict(change), times, delays(table.get("delay", "")))


def _check_words(table: Mapping[str, object]) -> None:
    """Refuse words that are unknown, or that come later."""
    for name in table:
        if name not in NAMES:
            _refuse_later(name)
            raise BadRequest(f"a rule has no {shown(name)}{nearest(str(name), NAMES)}", "retry")
    for pattern, what in LATER_CASES.items():
        if pattern.fullmatch(str(table.get("when"))):
            raise BadRequest(f"when: {shown(table['when'])}: {later(what)}", "retry")


def _refuse_later(name: str) -> None:
    if name in LATER:
        raise BadRequest(f"{name}: {later(LATER[name])}", "retry")


def _check_change(name: str, value: object) -> None:
    _refuse_later(name)
    if name == "queue":
        if isinstance(value, str) and value:
            return
        raise BadRequest(f"change: queue: expected the name of a queue, found {shown(value)}", "retry")
    if name not in NUMBERS:
        raise BadRequest(f"change: a rule cannot change {shown(name)}{nearest(name, (*NUMBERS, 'queue'))}", "retry")
    if type(value) is int and 1 <= value <= 10**8:
        return
    factor = FACTOR.fullmatch(value) if isinstance(value, str) else None
    if (factor and float(factor[1]) > 1) or (isinstance(value, str) and MORE.fullmatch(value)):
        return
    raise BadRequest(f'change: {name}: expected a number, "*1.5" or "+500", found {shown(value)}', "retry")


def delays(text: object) -> tuple[float, ...]:
    """Read the pauses before the next attempts: `PT1M,PT15M,PT1H`, or `1m,15m,1h`; the last one repeats."""
    words = [each.strip() for each in text.split(",")] if isinstance(text, str) and text.strip() else []
    found = tuple(map(_seconds, words))
    if not isinstance(text, str) or len(found) > MOST_DELAYS or not all(0 <= each <= LONGEST_DELAY for each in found):
        raise BadRequest(f"delay: expected pauses such as PT1M,PT15M,PT1H, found {shown(text)}", "retry")
    return found


def _seconds(word: str) -> float:
    if found := SHORT.fullmatch(word):
        return int(found[1]) * UNITS[found[2]]
    if found := DURATION.fullmatch(word):
        hours, minutes, seconds = (int(each or 0) for each in found.groups())
        return 3600.0 * hours + 60.0 * minutes + seconds
    return math.nan


def _case(when: str) -> tuple[str, int | None, re.Pattern[str] | None] | None:
    """Read what `when` says: the case, and its number or its pattern; None: nothing that JIM knows."""
    if when in ALONE:
        return when, None, None
    word, _, rest = when.partition(" ")
    if word in ("exit", "signal") and rest.isascii() and rest.isdecimal() and len(rest) <= 3:
        return word, int(rest), None
    if word == "words" and len(rest) > 2 and rest[0] == rest[-1] and rest[0] in "'\"":
        return word, None, _pattern(rest[1:-1])
    return None


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that a request brings, unless the search for it could take long."""
    tokens = TOKEN.findall(text)
    repeats = sum(each in REPEATS for each in tokens)
    choices = tokens.count("|") + sum(
        b == "?" and a not in (*REPEATS, "}", "(", "") for a, b in pairwise(["", *tokens])
    )
    nested = any(a == ")" and b in (*REPEATS, "?") for a, b in pairwise(tokens))
    odd = any(re.fullmatch(r"\\[1-9]", each) for each in tokens) or re.search(r"\(\?(?!:|i\))", text)
    too_long = len(text) > LONGEST_PATTERN or repeats * CHOICES_OF_A_REPEAT + choices > MOST_CHOICES
    if too_long or nested or odd:
        told = f"at most {LONGEST_PATTERN} characters, three repeats, none of a group, or nine of | and ?"
        raise BadRequest(f"when: words: expected a simple pattern ({told}), found {shown(text)}", "retry")
    try:
        return re.compile(text)
    except re.error as error:
        raise BadRequest(f"when: words: {shown(text)} is no pattern: {error}", "retry") from error
