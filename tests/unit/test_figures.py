"""Figures of the house that only grow if nobody looks; `make figures` prints these and more."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from jim.keeper.keeper import Keeper
from tools import house

ADAPTERS = sorted(each.stem for each in (Path(__file__).parents[2] / "adapters").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", [name for name in ADAPTERS if name != "base"])
def test_an_adapter_is_read_in_one_sitting(name: str) -> None:
    assert house.code_lines(f"adapters/{name}.py") <= 140


def test_what_all_moves_of_the_keeper_share_is_little() -> None:
    assert len(dataclasses.fields(Keeper)) <= 10


def test_most_functions_fit_on_a_hand() -> None:
    lengths = sorted(house.functions())
    assert lengths[len(lengths) * 9 // 10] <= 15
