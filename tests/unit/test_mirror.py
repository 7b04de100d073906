"""tests/unit mirrors jim/: who looks for the test of a module finds it by its name."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit import test_house as house
from tools.house import ROOT, does
from tools.house import test_of as place_of_test

EXCUSED = Path(__file__).with_name("without_a_test_module.txt")


def test_each_module_has_a_test_module_of_its_name_or_is_excused_and_the_list_only_shrinks() -> None:
    """A module on the list is tested by modules that are named after what happens."""
    without = [file for file in house.FILES if does(file) and not (ROOT / place_of_test(file)).is_file()]
    assert without == EXCUSED.read_text().splitlines()
    assert len(without) <= 132


def test_the_name_of_a_test_is_words() -> None:
    """A number of a list that no reader has says nothing."""
    named = re.compile(r"^ *(?:async )?def (test_\d\w*)", re.MULTILINE)
    assert {
        str(file): found for file in (ROOT / "tests").rglob("*.py") if (found := named.findall(file.read_text()))
    } == {}
