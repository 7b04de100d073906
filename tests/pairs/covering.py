"""Rows of levels, such that any two levels that may meet do meet in a row. The same rows each time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

Row = dict[str, str]
Pair = frozenset[tuple[str, str]]
TRIES = 12


def pairs_of(row: Mapping[str, str]) -> Iterator[Pair]:
    """Yield all pairs of levels that meet in a row."""
    return map(frozenset, combinations(sorted(row.items()), 2))


def cover(
    factors: Mapping[str, Sequence[str]],
    excluded: Callable[[Row], bool],
    beginnings: Sequence[Row] = ({},),
    most: int = 10_000,
) -> list[Row]:
    """Return at most so many rows; each begins with one of the beginnings, whose factors are none of the others."""
    chance = random.Random(54)
    pending = _possible(factors, excluded, beginnings)
    rows: list[Row] = []
    while pending and len(rows) < most:
        tried = (_row(factors, excluded, beginnings, pending, chance) for _ in range(TRIES))
        best = max(tried, key=lambda row: sum(pair in pending for pair in pairs_of(row)))
        pending -= set(pairs_of(best))
        rows.append(best)
    return rows


def _possible(factors, excluded, beginnings) -> set[Pair]:
    """Return the pairs that are not excluded; of two levels of the beginnings none."""
    levels = [(name, level) for name, of_it in factors.items() for level in of_it]
    begun = sorted({item for beginning in beginnings for item in beginning.items()})
    several = [*combinations(levels, 2), *((one, two) for one in begun for two in levels)]
    return {frozenset(pair) for pair in several if pair[0][0] != pair[1][0] and not excluded(dict(pair))}


def _row(factors, excluded, beginnings, pending, chance) -> Row:
    """Make a row around a pair that is still to be covered."""
    seed = chance.choice(sorted(map(sorted, pending)))
    fitting = [each for each in beginnings if not any(name in each and each[name] != level for name, level in seed)]
    row = chance.choice(fitting) | dict(seed)
    names = [name for name in factors if name not in row]
    chance.shuffle(names)
    for name in names:
        possible = [level for level in factors[name] if not excluded(row | {name: level})]
        chance.shuffle(possible)
        row[name] = max(
            possible, key=lambda level: sum(frozenset({(name, level), each}) in pending for each in row.items())
        )
    return row
