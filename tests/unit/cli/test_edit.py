"""jim edit."""

from __future__ import annotations

import json

import pytest


def wishes(home):
    return [json.loads(each.read_text()) for each in sorted((home.site.state / "inbox").glob("wish-*"))]


@pytest.fixture
def two(home):
    for number, queue in ((1, "short"), (2, "long")):
        home.add(number, executable="/bin/true", queue=queue)
    return home


def test_the_change_is_left_for_the_keeper_with_a_command_that_undoes_it(two):
    assert two.out("edit", "1", "queue=night").endswith("; `jim edit 1 queue=short` undoes it\n")
    ((wish),) = wishes(two)
    assert (wish["verb"], wish["target"], wish["changes"]) == ("edit", "1", {"queue": "night"})


def test_all_grid_jobs_with_a_value_are_changed_and_no_others(two):
    two.out("edit", "--all", "--where", "queue=long", "queue=night")
    assert [wish["target"] for wish in wishes(two)] == ["2"]


def test_where_no_grid_job_has_the_value_nothing_is_left(two):
    said = "no unfinished grid job has queue=none; nothing is changed\n"
    assert two.out("edit", "--all", "--where", "queue=none", "queue=night") == said
    assert wishes(two) == []


def test_one_impossible_change_leaves_no_wish_for_any(two):
    code, out, err = two.run("edit", "1", "2", "cores=none")
    assert (code, out, wishes(two)) == (2, "", [])
    assert err.startswith("jim: cores: ")


def test_a_condition_without_a_value_is_refused(home):
    told = "jim: --where queue: expected attribute=value, for example queue=short\n"
    assert home.run("edit", "--all", "--where", "queue", "queue=long") == (2, "", told)
