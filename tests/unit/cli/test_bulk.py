"""A cancel of many does what it can, and says what it could not do."""

from __future__ import annotations

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


def test_other_verbs_still_do_all_or_nothing(home):
    home.add(1)
    home.move(0, State.FAILED, reason="exit 3")
    code, out, err = home.run("retry", "1", "77")
    assert (code, out, wishes(home)) == (4, "", [])
    assert err.startswith("jim: there is no grid job 77")
