"""Figures of the house that only grow if nobody looks; `make figures` prints these and more."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.keeper.keeper import Keeper
from jim.statusdb import empty_store
from jim.statusdb.connected import StorePart
from jim.statusdb.store import Store
from jim.statusdb.tasks.outputs import Following
from tests.unit import test_house as walls
from tools import house

ROOT = Path(__file__).parents[2]
ADAPTERS = sorted(each.stem for each in (ROOT / "adapters").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", [name for name in ADAPTERS if name != "base"])
def test_an_adapter_is_read_in_one_sitting(name: str) -> None:
    assert house.code_lines(f"adapters/{name}.py") <= 140


def test_few_modules_lie_flat() -> None:
    assert len([each for each in Path(ROOT / "jim").glob("*.py") if each.name != "__init__.py"]) <= 10


def test_the_code_becomes_no_longer() -> None:
    """Whoever adds a feature raises the number, and says in the commit what it was worth."""
    assert sum(map(house.code_lines, walls.FILES)) <= 50_632


def test_few_small_modules_serve_one_neighbour() -> None:
    """Each of them is about a thing of its own; what is only a part of its one importer belongs into that."""
    small = [file for file in walls.FILES if not file.endswith("__init__.py") and house.code_lines(file) < 40]
    users = {file: walls.importers(walls.name_of(file)) - {file} for file in small}
    serving = [file for file, some in users.items() if len(some) == 1 and folder(file) == folder(*some)]
    assert len(serving) <= 19, serving


def folder(file: str) -> Path:
    return Path(file).parent


def test_what_all_moves_of_the_keeper_share_is_little() -> None:
    assert len(dataclasses.fields(Keeper)) <= 10


def test_the_store_is_made_of_parts_and_no_tower() -> None:
    parts = {type(part) for part in vars(empty_store(Clock())).values() if isinstance(part, StorePart)}
    assert len(Store.__mro__[1:-1]) <= 2
    assert {each.__name__: count for each in (Store, *parts) if (count := methods(each)) > 90} == {}
    assert {each.__name__ for each in parts if not set(each.__bases__) <= {StorePart, Following}} == set()


def methods(kind: type) -> int:
    """Count the methods of a class, with those that it inherits."""
    return sum(callable(getattr(kind, name)) for name in dir(kind) if not name.startswith("__"))
