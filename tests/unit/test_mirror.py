"""tests/unit mirrors jim/: who looks for the test of a module finds it by its name."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit import test_house as house
from tools.house import ROOT, does
from tools.house import test_of as place_of_test

DEFINED = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
EXCUSED = Path(__file__).with_name("without_a_test_module.txt")


def test_each_module_has_a_test_module_of_its_name_or_is_excused_and_the_list_only_shrinks() -> None:
    """A module on the list is tested by modules that are named after what happens."""
    without = [file for file in house.FILES if does(file) and not (ROOT / place_of_test(file)).is_file()]
    assert without == EXCUSED.read_text().splitlines()
    assert len(without) <= 132


def test_the_name_of_a_test_is_words() -> None:
    """A number of a list that no reader has says nothing."""
    names = [name for file in (ROOT / "tests").rglob("*.py") for name in DEFINED.findall(file.read_text())]
    assert [name for name in names if name[len("test_")].isdigit()] == []


def test_the_slowest_tests_are_told_by_their_names() -> None:
    told = re.findall(r"`(test_\w+)`", (ROOT / "docs/tests.md").read_text())
    defined = {name for file in (ROOT / "tests").rglob("*.py") for name in DEFINED.findall(file.read_text())}
    assert len(told) == 30
    assert set(told) <= defined
