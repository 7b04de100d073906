"""How what is derived follows from other rows."""

import sqlite3
from contextlib import closing

from jim.model import State
from jim.statusdb.derived_sql import CODED, CODES, DERIVED, Cells, let_make, of_one


def test_a_block_has_a_byte_for_each_local_job_whatever_their_order():
    cells = Cells()
    for place, state in ((3, "failed"), (0, "waiting"), (1, "completed")):
        cells.step(place, state)
    assert cells.finalize() == b"\x01\x06\x00\x07"


def test_a_block_is_made_by_sql():
    with closing(sqlite3.connect(":memory:")) as db:
        let_make(db)
        found = db.execute("SELECT cells(value, 'running') FROM json_each('[2, 0]')").fetchone()
    assert found == (b"\x04\x00\x04",)


def test_codes_belong_to_the_format_and_each_state_that_is_stored_has_one():
    assert CODES == {
        "waiting": 1,
        "submitting": 2,
        "submitted": 3,
        "running": 4,
        "completing": 5,
        "completed": 6,
        "failed": 7,
        "killed": 8,
        "held": 9,
        "suspended": 10,
        "new": 11,
        "completed_frozen": 12,
        "failed_frozen": 13,
    }
    assert set(CODED) == set(State) - {State.UNKNOWN}


def test_the_rows_of_one_grid_job_are_made_alone():
    assert "grid = ?" in of_one("cells")
    assert "grid = ?" not in DERIVED["cells"].made
