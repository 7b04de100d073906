"""Lines of the accounting, added up."""

from __future__ import annotations

from jim.reading.site.accounting import Total, lines, totals

LINE = {"dn": "/CN=A", "vo": "x", "wall_seconds": 10.0, "cpu_seconds": 4.0, "cores": 3, "verdict": "completed"}
LINE |= {"started": "then"}


def test_sums_are_by_columns_and_the_largest_comes_first():
    unmeasured = {**LINE, "vo": "y", "wall_seconds": None, "cpu_seconds": None, "verdict": "failed", "started": "then"}
    never_started = {**unmeasured, "started": ""}
    assert list(totals([unmeasured, LINE, LINE, never_started], ["vo"]).items()) == [
        (("x",), Total(2, 2, 20.0, 60.0, 8.0, 0)),
        (("y",), Total(2, 0, 0.0, 0.0, 0.0, 1)),
    ]


def test_without_a_file_there_is_no_line(tmp_path):
    assert [*lines(tmp_path)] == []
