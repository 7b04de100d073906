"""Any two features in one request, with a real keeper, the local batch system and the real wrapper."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from tests.pairs import features
from tests.pairs.covering import Row, cover, pairs_of
from tests.pairs.scene import Scene, ledger_faults

SITES = cover(features.OF_SITES, lambda _: False)
PLAIN = {name: levels[0] for name, levels in features.OF_SITES.items()}
RICH = {name: levels[-1] for name, levels in features.OF_SITES.items()} | {"steps": "around"}
QUICK = 5


@cache
def all_rows() -> list[Row]:
    """Return the rows in which all pairs meet."""
    return cover(features.FACTORS, features.excluded, SITES)


def run(here: Path, site: Row, rows: Sequence[Row]) -> None:
    """Hand in all requests at a site, and judge what became of them."""
    with Scene(here, site) as scene:
        with ThreadPoolExecutor(2) as several:
            list(several.map(scene.hand_in, rows, [f"k{n}" for n in range(len(rows))]))
        scene.await_ends()
        scene.hand_in_again()
        scene.await_ends()
        if faults := scene.faults():
            pytest.fail("\n".join(faults), pytrace=False)


def test_each_pair_that_may_meet_is_in_a_row_and_no_other() -> None:
    factors = {"a": "123", "b": "12", "c": "12"}
    rows = cover(factors, lambda row: row.get("a") == "1" and row.get("b") == "2", [{"site": "x"}, {"site": "y"}])
    met = {pair for row in rows for pair in pairs_of(row)}
    levels = [(name, level) for name, of_it in {**factors, "site": "xy"}.items() for level in of_it]
    every = {frozenset(pair) for pair in combinations(levels, 2) if pair[0][0] != pair[1][0]}
    assert met == every - {frozenset({("a", "1"), ("b", "2")})}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda lines: lines + lines[-1:], "done"),
        (lambda lines: lines[:-1], "done"),
        (lambda lines: lines[1:], "begun"),
        (lambda lines: [*lines[:-1], [*lines[-1][:-1], "place=work inside=yes"]], "seen"),
        (lambda lines: lines, ""),
    ],
    ids=["twice", "never", "not begun", "in a container", "right"],
)
def test_what_the_payloads_write_down_is_judged(change, fault) -> None:
    row = {name: levels[0] for name, levels in {**features.FACTORS, **features.OF_SITES}.items()}
    seen = " ".join(f"{name}={text}" for name, text in features.seen_by(row).items())
    lines = [[verb, "1", "0", "1", "alone", seen] for verb in ("begun", "done")]
    assert [each.partition(":")[0] for each in ledger_faults(row, change(lines))] == ([fault] if fault else [])


def test_the_richest_pairs_of_features(tmp_path: Path) -> None:
    rows = cover(features.FACTORS, features.excluded, [RICH], QUICK)
    assert frozenset({("steps", "around"), ("input", "dataset")}) in {pair for row in rows for pair in pairs_of(row)}
    run(tmp_path, RICH, [row | {"after": "none"} for row in rows])  # what comes after takes as long again


@pytest.mark.torture
@pytest.mark.parametrize("number", range(len(SITES)))
def test_all_pairs_of_features(number: int, tmp_path: Path) -> None:
    site = SITES[number]
    rows = all_rows()
    run(tmp_path, site, [row for row in rows if site.items() <= row.items()])


@pytest.mark.torture
def test_what_can_never_be_is_refused_whatever_else_is_asked(tmp_path: Path) -> None:
    scene = Scene(tmp_path, PLAIN)
    names = ("door", "retry", "recovery", "proxy", "token", "inputs", "tar", "memory", "test", "keep_going", "end")
    factors = {"asks": [*features.REFUSED], **{name: features.FACTORS[name] for name in names}}
    usual = {name: levels[0] for name, levels in features.FACTORS.items()}
    for number, row in enumerate(cover(factors, features.excluded)):
        attributes, words = features.REFUSED[row["asks"]]
        asked = scene.asked(PLAIN | usual | row, f"k{number}") | attributes
        answer = scene.doors.hand_in(row["door"], f"k{number}", asked)
        assert (answer.code, answer.number) == (2, None), (row, answer)
        assert words in answer.err, (row, answer)
        assert "Traceback" not in answer.err
    left = [path for name in ("inbox", "keys", "answers", "work") for path in (scene.state / name).rglob("*")]
    assert [path for path in left if path.is_file()] == []
