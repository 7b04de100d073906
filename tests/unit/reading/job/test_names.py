"""What lets people know their grid jobs in a list."""

from __future__ import annotations

import json

import pytest

from jim.jobs import GridJob
from jim.model import Step
from jim.reading.job.names import LONGEST_PARSED, name_of, names_of, took
from jim.reading.quantities import largest
from jim.reading.view import View
from jim.statusdb.list_filters import GridJobsAsked
from tests.support.cli_home import EVIL, EVIL_SHOWN


def job(home, **request):
    home.store.add_grid_job(9, "k", "me", "2026-01-31T11:00:00.000Z", {"job_type": "executable", **request})
    found: GridJob = home.store.grid_job(9)
    return found


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ({"executable": "/home/me/bin/scan.py"}, "scan.py"),
        ({"executable": "scan.py", "name": "my scan"}, "my scan"),
        ({"executable": "bin/"}, "bin"),
        ({"executable": None}, ""),
        ({"executable": ["x"]}, ""),
        ({"environment": {"executable": "no"}}, ""),
        ({"executable": "/x", "arguments": ["x" * LONGEST_PARSED]}, ""),
        ({"executable": "/x", "name": "kept", "arguments": ["x" * LONGEST_PARSED]}, "kept"),
    ],
)
def test_the_name_is_that_of_the_program_unless_the_request_has_one(home, request_, name):
    assert name_of(job(home, **request_)) == name


@pytest.mark.parametrize(
    ("seconds", "words"), [(-1, "0 s"), (0, "0 s"), (59.9, "59 s"), (60, "1 min"), (7_199, "1 h"), (1e6, "11 d")]
)
def test_a_narrow_column_has_the_largest_unit(seconds, words):
    assert largest(seconds) == words


def test_only_a_finished_grid_job_has_taken_its_time(home):
    unfinished = job(home)
    assert took(unfinished) == ""
    assert took(unfinished._replace(step=Step.FINISHED, updated="2026-01-31T13:30:00.000Z")) == "2 h"


def test_lists_that_read_no_requests_have_the_same_names(home):
    job(home, executable="/home/me/bin/scan.py")
    home.store.add_grid_job(10, "l", "me", "2026-01-31T11:00:00.000Z", {"job_type": "executable", "name": "mine"})
    home.store.add_grid_job(11, "m", "me", "2026-01-31T11:00:00.000Z", {"job_type": "x", "executable": ["odd"]})
    huge = {"job_type": "executable", "executable": "/x", "arguments": ["x" * LONGEST_PARSED]}
    home.store.add_grid_job(12, "n", "me", "2026-01-31T11:00:00.000Z", huge)
    page = home.store.seen.grid_jobs_page(GridJobsAsked(), 9)
    assert names_of(View(home.site, home.store), page) == {9: "scan.py", 10: "mine", 11: ""}
    assert names_of(View(home.site, home.store), home.store.grid_jobs()) == {9: "scan.py", 10: "mine", 11: "", 12: ""}
    assert home.out("list", "--type", "executable").count("scan.py") == 1


def test_a_list_has_names_and_times_and_no_terminal_obeys_them(home):
    home.beat()
    job(home, executable=f"/bin/{EVIL}")
    head, row, *_ = home.out("list").splitlines()
    assert head.split() == ["id", "name", "type", "status", "local", "jobs", "age", "took", "reason"]
    assert json.loads(json.dumps(EVIL_SHOWN)).rpartition("/")[2] in row
    assert row.endswith("1 h")
