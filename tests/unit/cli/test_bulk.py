"""A wish for many does what it can, and says what it could not do."""

from __future__ import annotations

import json

import pytest

from jim.model import State


def wishes(home):
    return sorted(path.name for path in (home.site.state / "inbox").glob("wish-*"))


def test_what_cannot_be_cancelled_is_in_a_table_and_in_the_exit_code(home):
    home.add(1)
    home.add(2)
    home.move(0, State.COMPLETED)
    home.beat()
    code, out, err = home.run("cancel", "1.9", "2", "77", "nonsense", "1.1-2")
    assert (code, err) == (4, "")
    assert [line.split(":")[0] for line in out.splitlines()[:2]] == ["2", "1.1-2"]
    table = out.partition("\n\n")[2].splitlines()
    assert table[0].split() == ["not", "done", "why"]
    assert [line.split()[0] for line in table[1:4]] == ["1.9", "77", "nonsense"]
    assert "there is no local job 1.9: 1 has 1.0 to 1.3" in table[1]
    assert "there is no grid job 77" in table[2]
    assert table[4] == "cancel could not be requested for 3 of them"
    assert len(wishes(home)) == 2


def test_one_that_cannot_be_cancelled_is_an_error_as_before(home):
    home.add(1)
    code, out, err = home.run("cancel", "77")
    assert (code, out, wishes(home)) == (4, "", [])
    assert err.startswith("jim: there is no grid job 77")


@pytest.mark.parametrize("verb", ["retry", "cancel", "suspend", "resume", "remove"])
def test_each_verb_does_what_it_can(home, verb):
    home.add(1)
    home.move(0, State.FAILED, reason="exit 3")
    if verb == "remove":
        home.finish(1)
    code, out, err = home.run(verb, "77", "1")
    assert (code, err, len(wishes(home))) == (4, "", 1)
    assert out.startswith(f"1: {verb} requested: ")
    assert out.endswith(f"\n{verb} could not be requested for 1 of them\n")


def test_a_missing_member_of_several_hides_no_other(home):
    home.add(1)
    home.beat()
    code, out, err = home.run("cancel", "1.0-1,7,3")
    assert (code, err) == (4, "")
    assert out.startswith("1.0-1,3: cancel requested: ends 3 local jobs: 3 wait")
    assert "there is no local job 1.7: 1 has 1.0 to 1.3" in out.partition("\n\n")[2]
    assert [json.loads(path.read_text())["target"] for path in (home.site.state / "inbox").glob("wish-*")] == [
        "1.0-1,3"
    ]


def test_slices_that_are_all_missing_are_refused_once(home):
    home.add(1)
    code, out, err = home.run("cancel", "1.7,8")
    assert (code, out, wishes(home)) == (4, "", [])
    assert err.startswith("jim: there is no local job 1.8: 1 has 1.0 to 1.3")
