"""SQLite rows as values."""

from __future__ import annotations

import pytest

from jim.jobs import Attempt, Ended, Live
from jim.model import Kind, Reason, State, Witness
from jim.statusdb import rows
from jim.statusdb.store import Store
from tests.unit.statusdb.by_hand import add, send

REQUEST = {"job_type": "parametric", "argument_sets": [["1"], ["2"]]}


def test_a_reason_may_tell_a_file_name_that_is_no_text(store: Store) -> None:
    add(store, 1, 1)
    told = "cannot read /data/\udcff: no"  # as Python reads the name b"\xff"
    store.note(1, "looked", Witness.KEEPER, told)
    store.set_local_job(1, 0, state=State.FAILED, witness=Witness.KEEPER, reason=told)
    store.set_grid_job(1, reason=told)
    kept = "cannot read /data/\\udcff: no"
    assert store.grid_job(1).reason == kept
    assert store.local_job(1, 0).reason == kept
    assert [each.reason for each in store.journals.of(1)][-2:] == [kept, kept]


def test_rows_are_read_by_the_names_of_their_columns(store: Store) -> None:
    """Those of a database that was brought up to date may lie in another order."""
    add(store, 1, 1)
    send(store, 1, 1)
    store.set_attempt(1, 1, 1, over="o", reason=Reason(Kind.LOST, {"code": 1}, "lost"))
    told = store.attempt(1, 1, 1)
    names = ["over", *(each for each in Attempt.__annotations__ if each != "over")]
    shuffled = store.db.execute(f"SELECT {', '.join(names)} FROM attempt")
    assert list(rows.attempts(shuffled)) == [told]


@pytest.mark.parametrize(("sql", "values", "kind"), [(rows.LIVE, (), Live), (rows.ENDED, (1, 0), Ended)])
def test_what_is_read_in_great_numbers_has_its_columns_in_order(
    store: Store, sql: str, values: tuple[int, ...], kind: type[Live | Ended]
) -> None:
    assert tuple(each[0] for each in store.db.execute(sql, values).description) == kind._fields
