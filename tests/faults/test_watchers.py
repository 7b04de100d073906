"""Pairs of the processes that watch a payload, killed and stopped at random distances, from the first 0.1 s on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.watchers import KILL, STOP, Attempt, Pair, pairs

SEED, COUNT = int(os.environ.get("JIM_SEED", "1")), int(os.environ.get("JIM_PAIRS", "120"))
AT_ONCE = 8  # they mostly wait
PATH = os.defpath + ":/usr/bin:/bin"


def wrong(place: Path, drawn: list[Pair]) -> Iterator[str]:
    """Play pairs, and yield what has gone wrong with each."""

    def play(numbered: tuple[int, Pair]) -> str:
        number, pair = numbered
        attempt = Attempt(place / str(number), pair, PATH)
        try:
            attempt.play()
            fault = attempt.judge()
        finally:
            attempt.end()
        return f"{number}: {pair}: {fault}" if fault else ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from filter(None, pool.map(play, enumerate(drawn)))


@pytest.mark.torture
def test_no_pair_of_faults_lets_two_attempts_live_or_tells_a_wrong_end(tmp_path: Path) -> None:
    """Beside what is excluded: a stopped toucher whose wrapper is dead or stopped, or soon will be."""
    assert list(wrong(tmp_path, pairs(SEED, COUNT))) == []


@pytest.mark.torture
def test_a_pair_whose_payload_nobody_watches_is_found(tmp_path: Path) -> None:
    """The judge itself, on what the assumption excludes: a stopped toucher, and its wrapper killed at once."""
    pair = Pair("sh", 1.6, ("toucher", STOP), 0, ("wrapper", KILL), 40, False, 0, 30)
    assert pair.is_excluded
    attempt = Attempt(tmp_path / "1", pair, PATH)
    attempt.do(*pair.first)
    attempt.do(*pair.second)
    fault = attempt.judge()
    attempt.end()
    assert "silent, while" in fault
