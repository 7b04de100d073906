"""Follows rules for further attempts: pure functions from a failed attempt to what the next one gets.

The first rule that fits decides; without one, the analyser does (analysis.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from jim.attempts.rules import FACTOR, Rule
from jim.evidence.analysis import Action, Decision, Failed
from jim.model import Kind

LONGEST_WORDS = 300  # that a pattern is searched in
LOSSES = Kind.LOST, Kind.VANISHED, Kind.PUT_BACK, Kind.NODE
NEAR = 0.95  # of the memory or time asked for: an end that comes there comes of that limit


def _of_memory(failed: Failed) -> bool:
    if failed.kind is Kind.MEMORY:
        return True
    if failed.kind is Kind.TIME_OR_MEMORY:
        return not _reached_its_time(failed)
    record, asked = failed.record, failed.asked.get("memory_mb")
    if record is None or record.peak_mb is None or not asked:
        return False
    # A cgroup counts files in the cache, too: without a kill, its peak says nothing about a payload that ended itself.
    kinds = (Kind.KILLED, Kind.WARNED, Kind.EXIT) if record.sampled else (Kind.KILLED, Kind.WARNED)
    return failed.kind in kinds and record.peak_mb >= NEAR * int(asked)


def _of_time(failed: Failed) -> bool:
    if failed.kind in (Kind.TIME_LIMIT, Kind.CPU_LIMIT, Kind.OVER_TIME):
        return True
    if failed.record and failed.record.warned_in_time:  # also one that asks to go on
        return True
    return failed.kind in (Kind.TIME_OR_MEMORY, Kind.WARNED) and _reached_its_time(failed)


def _reached_its_time(failed: Failed) -> bool:
    limit = failed.asked.get("wall_seconds")
    return bool(limit) and failed.lived is not None and failed.lived >= NEAR * float(limit or 0)


# By the case of a rule.
CASES: Mapping[str, Callable[[Rule, Failed], bool]] = {
    "memory": lambda _, failed: _of_memory(failed),
    "time limit": lambda _, failed: _of_time(failed),
    "lost": lambda _, failed: failed.kind in LOSSES,
    "exit": lambda rule, failed: failed.facts.get("code") == rule.number,
    "signal": lambda rule, failed: failed.facts.get("signal") == rule.number,
    "words": lambda rule, failed: bool(rule.pattern and rule.pattern.search(failed.reason[:LONGEST_WORDS])),
}


def fits(rule: Rule, failed: Failed) -> bool:
    """Tell whether a rule is for this failure."""
    return CASES[rule.case](rule, failed)


def decide(rules: Iterable[Rule], failed: Failed, most: Mapping[str, int]) -> Decision | None:
    """Return what the first rule that fits decides, None if none fits. `most`: what the site allows to ask for."""
    rule = next((each for each in rules if fits(each, failed)), None)
    if rule is None:
        return None
    before = sum(fits(rule, each) for each in failed.history if each.counts)
    limit = rule.times
    if limit is not None and before >= limit:
        made = "its further attempt" if limit == 1 else f"its {limit} further attempts"
        return Decision(Action.GIVE_UP, f"the rule for {rule.when!r} has made {made}")
    change, why = _changes(rule, failed, most)
    if change is None:
        return Decision(Action.GIVE_UP, why)
    pause = rule.delay[min(before, len(rule.delay) - 1)] if rule.delay else None
    return Decision(Action.RETRY, why, change, pause, limit)


def _changes(rule: Rule, failed: Failed, most: Mapping[str, int]) -> tuple[dict[str, int | str] | None, str]:
    """Return what the next attempt asks for, and the words; None: the site allows no more."""
    found: dict[str, int | str] = {}
    words = []
    for name, value in rule.change.items():
        if name == "queue":
            found[name] = value
            words.append(f"queue {value}")
            continue
        was = failed.asked.get(name) or _measured(name, failed)
        if was is None and isinstance(value, str):
            words.append(f"{name} as before, because the request leaves it to the batch system")
            continue
        wanted, limit = _grown(value, int(was or 0)), most.get(name, 0)
        new = min(wanted, limit) if limit else wanted
        if isinstance(value, str) and was and new <= int(was):
            return None, f"{name} is {int(was):,} already, and the site allows no more"
        found[name] = new
        words.append(f"{name} {f'{int(was):,} → ' if was else ''}{new:,}")
    return found, f"with {', '.join(words)}" if words else f"by the rule for {rule.when!r}"


def _measured(name: str, failed: Failed) -> int | None:
    """Return the memory that an attempt was seen to use; nothing else is measured."""
    return failed.record.peak_mb if name == "memory_mb" and failed.record else None


def _grown(value: int | str, was: int) -> int:
    if isinstance(value, int):
        return value
    if found := FACTOR.fullmatch(value):
        return math.ceil(was * float(found[1]))
    return was + int(value[1:])
