"""Root looks at the state directory of another account, and asks nothing of its keeper."""

import pytest

from jim.model import State

REFUSED = "run this command as"


@pytest.fixture
def anothers(home, monkeypatch):
    """A grid job with a failed local job, in the directory of another account."""
    home.add(1, 2)
    home.move(0, State.FAILED)
    home.move(1, State.RUNNING)
    monkeypatch.setattr("os.geteuid", lambda: 4_321_987)
    return home


@pytest.mark.parametrize(
    "words",
    [
        *("submit request.toml", "cancel 1", "retry 1", "force 1.0 completed --reason x", "suspend 1", "priority 1 5"),
        *("publish 1 phase a 1 2 x", "keeper", "keeper --all"),
    ],
)
def test_a_verb_that_writes_is_refused(anothers, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "request.toml").write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    before = sorted(tmp_path.rglob("*"))
    code, out, err = anothers.run(*words.split())
    assert (code, out) == (3, "")
    assert REFUSED in err
    assert sorted(tmp_path.rglob("*")) == before
    assert anothers.woken == []


@pytest.mark.parametrize("words", ["status", "show 1", "explain 1", "list", "keeper --list", "db check", "xml 1"])
def test_a_verb_that_reads_is_not(anothers, words):
    code, out, err = anothers.run(*words.split())
    assert (code, err) == (0, "")
    assert out
    assert list((anothers.site.state / "inbox").iterdir()) == []
