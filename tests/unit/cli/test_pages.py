"""`jim pages` refuses what makes no sense before it serves or writes anything."""

import errno

import pytest

from jim import cli
from jim.model import Step


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "70000"], "argument --port: '70000': expected a number from 0 to 65,535 "),
        (["--port", "-1"], "argument --port: '-1': expected a number from 0 to 65,535 "),
        (["--list"], "say `jim pages token --list`"),
        (["--revoke", "abc"], "say `jim pages token --list`"),
        (["aside"], "say what to lay aside, such as `jim pages aside 12`"),
        (["aside", "1"], "1 has not ended; what goes on stays on the overview"),
        (["aside", "--list", "1"], "say what to lay aside"),
        (["--back"], "say `jim pages aside 12`"),
        (["token", "1"], "say `jim pages aside 12`"),
        (["--export", "1.0", "out"], "`jim pages --export` needs a whole grid job: use 1 instead of 1.0"),
    ],
)
def test_what_makes_no_sense_is_refused(home, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    home.add()
    code, out, err = home.run("pages", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "out").exists()


def test_a_state_directory_that_cannot_be_used_is_not_taken_for_a_port(home, monkeypatch):
    def key_of(state):
        raise PermissionError(errno.EACCES, "Permission denied", str(state))

    monkeypatch.setattr("jim.pages.serving.key_of", key_of)
    code, out, err = home.run("pages")
    assert (code, out) == (3, "")
    assert err.startswith(
        f"jim: cannot use the state directory: [Errno 13] Permission denied: '{home.site.state}'; set "
    )
    assert "port" not in err


def test_a_token_may_be_the_first_thing_that_somebody_makes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "new"))
    assert cli.main(["pages", "token"]) == 0
    assert "with the role see, good until " in capsys.readouterr().err
    assert cli.main(["pages", "token", "--list"]) == 0
    assert capsys.readouterr().out.count("\n") == 2


def test_what_has_failed_is_laid_aside_and_brought_back(home):
    home.add()
    home.store.set_grid_job(1, step=Step.FINISHED, outcome="failed")
    assert home.run("pages", "aside", "1")[:2] == (0, "1 is laid aside; `jim pages aside --back 1` brings it back\n")
    assert home.run("pages", "aside", "--list")[1].splitlines()[1].split()[0] == "1"
    assert home.run("pages", "aside", "--back", "1")[1] == "1 is on the overview again\n"
    assert home.run("pages", "aside", "--back", "1")[1] == "1 was not laid aside\n"
