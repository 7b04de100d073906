"""jim copy."""

from __future__ import annotations

import json


def test_a_copy_is_a_request_for_the_events_of_one_local_job(home):
    home.add(environment={"A": "1"})
    assert json.loads(home.out("copy", "1.2")) == {
        "job_type": "executable",
        "environment": {"A": "1"},
        "events": 250,
        "events_per_job": 250,
        "came_from": "1.2",
    }


def test_a_whole_grid_job_is_refused_with_the_name_of_a_local_job(home):
    home.add()
    said = "jim: `jim copy` needs a local job, for example 1.0; 1 is a whole grid job\n"
    assert home.run("copy", "1") == (2, "", said)
