"""The elements of documents as rows."""

from __future__ import annotations

import pytest

from jim.statusdb.documents.elements import ELEMENTS, number_of
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import add


def test_rows_come_in_the_order_of_documents_with_all_attributes(store: Store) -> None:
    add(store, size=3)
    rows = list(store.documents.part_of_elements("local_job", 1, range(1, 3), "l.piece"))
    assert [row[0] for row in rows] == [1, 2]
    attributes = dict(zip(ELEMENTS["local_job"].attributes, rows[0][2:], strict=True))
    assert (attributes["n"], attributes["state"], attributes["reason"], attributes["attempt"]) == (1, "waiting", "", 0)
    assert list(store.documents.part_of_elements("attempt", 1, range(3))) == []
    assert store.numbers.all() == [1]


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7.0), (" -0.5\n", -0.5), (".5", 0.5), ("5.", 5.0), ("1e2", 100.0), ("", None), ("+1", None), ("a", None)],
)
def test_a_text_is_a_number_as_in_xpath(text: str, number: float | None) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["0x1", "1 2", "- 1", "\u0661", "nan", "inf", "1\u00a0", "."])
def test_other_texts_are_no_numbers(text: str) -> None:
    assert number_of(text) is None
