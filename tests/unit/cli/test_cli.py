"""The people's door: its words, its command line, handing in and wishing."""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from jim import __version__, cli
from jim.errors import BadRequest, BadSite, BatchError, JimError, UnknownJob

# The command line


@pytest.mark.parametrize("verb", [name for name in cli.VERBS if name != "site"])
def test_every_verb_has_help_with_an_example(home, verb):
    code, out, err = home.run(verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: jim {verb}")
    assert f"example: jim {verb}" in out


def test_alone_it_guides(home):
    assert "jim submit FILE --watch" in home.out()


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_the_overview_names_every_verb_and_exit_code(home, word):
    lines = home.out(word).splitlines()
    first = {line.split()[0] for line in lines if line.startswith("  ")}
    assert first == {*cli.VERBS, "0", "1", "2", "3", "4", "5", "6", "70", "74", "130", "141"}


def test_exit_codes_are_those_of_the_errors():
    codes = [error.exit_code for error in (JimError, BadRequest, BadSite, UnknownJob, BatchError, cli.NotYet)]
    assert codes == [1, 2, 3, 4, 5, 6]
    assert set(codes) < set(cli.EXIT_CODES)


def test_the_version_is_printed(home):
    assert home.out("--version") == "jim 0.2.0\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("stauts",), 2, "unknown verb 'stauts'; did you mean 'status'? (known: status, "),
        (
            ("xyzzy",),
            2,
            "unknown verb 'xyzzy' (known: accounting, actions, advertise, arc, cancel and 36 more; `jim --help`",
        ),
        (("status", "--task", "X"), 2, "task cannot be 'X': expected the name of a task, which is of a-z, 0-9 and -"),
        (("status", "--jsno"), 2, "unrecognized arguments: --jsno; did you mean '--json'? (see `jim status --help`)"),
        (("logs",), 2, "the following arguments are required: G.n (see `jim logs --help`)"),
        (("logs", "1"), 2, "`jim logs` needs a local job, for example 1.0; 1 is"),
        (("outputs", "1.2"), 2, "`jim outputs` needs a whole grid job: use 1 instead of 1.2"),
        (("status", "1.9"), 4, "there is no local job 1.9"),
        (("watch", "7.1"), 4, "there is no grid job 7 in "),
        (("suspend", "1.2"), 2, "`jim suspend` needs a whole grid job: use 1 instead of 1.2"),
        (("xml",), 2, "name a grid job, or use one of --all (the site), --task NAME, --tasks, --schema"),
        (("submit", "/no/such"), 2, "cannot read the request: /no/such: No such file or directory"),
        (("show", "x"), 4, "'x' is not an id: a grid job has a number such as 12, a local job a name such as 12.3"),
        (("show", "7"), 4, "there is no grid job 7 in "),
        (("show", "1.9"), 4, "there is no local job 1.9"),
        (("cancel", "7"), 4, "there is no grid job 7 in "),
        (("cancel", "1.9"), 4, "there is no local job 1.9: 1 has 1.0 to 1.3"),
        (("outputs", "1"), 6, "1 is not finished (step split); `jim watch 1` follows it to its end"),
        (("logs", "1.0"), 6, "1.0 has not been submitted yet, so there are no logs; `jim explain 1.0` says why"),
    ],
)
def test_wrong_words_are_refused_with_an_exit_code_and_a_remedy(home, words, code, said):
    home.add()
    found, out, err = home.run(*words)
    assert (found, out) == (code, "")
    assert err.startswith(f"jim: {said}")
    assert err.count("\n") == 1


def test_a_bad_site_file_exits_3(home):
    (home.site.state / "site.toml").write_text("[batch]\nslotz = 2\n")
    code, _, err = home.run("status")
    assert code == 3
    assert "site.toml:2: batch.slotz: unknown key; did you mean 'slots'?" in err


def test_a_store_that_is_none(home):
    (home.site.state / "status.db").write_text("no database, but long enough to be looked at " * 50)
    code, _, err = home.run("status")
    words = "is damaged (file is not a database): end its keeper, and move the whole state directory away"
    assert (code, err) == (1, f"jim: {home.site.state}/status.db {words} (docs/operating.md, Troubleshooting)\n")


def test_errors_are_escaped(home):
    assert home.run("status", "--\x1b[2J")[2].startswith("jim: unrecognized arguments: --\\x1b[2J")


def raising(error):
    def action(words):
        raise error

    return action


def test_a_fault_of_jim_is_one_line_with_its_place(home, monkeypatch):
    monkeypatch.setattr(cli, "_run", raising(KeyError("x\x1b")))
    code, out, err = home.run("status")
    assert (code, out) == (70, "")
    assert err.startswith("jim: unexpected KeyError: 'x\\x1b' (a fault in JIM itself, at ")
    assert "test_cli.py:" in err
    assert err.count("\n") == 1


def test_a_full_disk_is_no_fault_of_jim(home, monkeypatch):
    monkeypatch.setattr(cli, "_run", raising(OSError(28, "No space left on device", "/x")))
    todo = "free space or inodes on its disk, and try again"
    assert home.run("status") == (1, "", f"jim: /x: No space left on device; {todo}\n")


def test_ctrl_c_is_quiet(home, monkeypatch):
    monkeypatch.setattr(cli, "_run", raising(KeyboardInterrupt()))
    assert home.run("status") == (130, "", "")


def test_a_closed_pipe_is_quiet(tmp_path, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main([]) == 141  # and closing the stream raises nothing any more


def test_help_of_a_verb_is_told_in_both_ways(home):
    assert home.out("help", "show") == home.out("show", "--help")
    assert home.out("help", "site", "metrics") == home.out("site", "metrics", "--help") != home.out("site", "--help")
    assert "unknown word 'metricks'" in home.run("help", "site", "metricks")[2]
    assert home.out("help") == home.out("--help") == home.out("help", "help")
    code, _, error = home.run("help", "shwo")
    assert (code, "did you mean 'show'?" in error) == (2, True)


def test_the_version_is_told_without_python(tmp_path):
    """Python alone takes four times as long as all of it."""
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 9\n")
    python.chmod(0o755)
    told = subprocess.run(
        [Path(__file__).parents[3] / "shell/jim", "--version"],
        env={"PATH": os.environ["PATH"], "JIM_PYTHON": str(python)},
        capture_output=True,
        check=False,
    )
    assert (told.returncode, told.stdout, told.stderr) == (0, f"jim {__version__}\n".encode(), b"")


def test_verbs_of_one_module_look_into_an_account_alike():
    """`jim list` is `jim status`: what the one takes, the other does."""
    by_module: dict[str, set[bool]] = {}
    for name, verb in cli.VERBS.items():
        by_module.setdefault(verb.module, set()).add(name in cli.READING)
    assert {module: alike for module, alike in by_module.items() if len(alike) > 1} == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("retry", "1", "--reason", ""), "--reason is empty: give a value, or leave --reason out"),
        (("status", "--account="), "--account is empty: give a value, or leave --account out"),
        (("force", "1.0", "failed", "--reason", ""), "--reason is empty: give a value, or leave --reason out"),
        (("hosts", ""), "an argument is empty (see `jim hosts --help`)"),
        (("submit", ""), "an argument is empty (see `jim submit --help`)"),
        (("site", "avoid", ""), "an argument is empty (see `jim site --help`)"),
    ],
)
def test_an_empty_word_is_a_variable_that_a_script_has_not_set(home, words, said):
    """`jim retry 1 --reason "$WHY"` tried everything again if WHY was not set."""
    home.add()
    assert home.run(*words) == (2, "", f"jim: {said}\n")
    assert not list((home.site.state / "inbox").iterdir())


@pytest.mark.parametrize(("option", "hint"), [("--jsno", "; did you mean '--json'?"), ("--nope", ""), ("-x", "")])
def test_only_a_near_option_is_suggested(home, option, hint):
    """`--nope` was taken for `--type`: the dashes made them alike."""
    assert home.run("status", option)[2] == f"jim: unrecognized arguments: {option}{hint} (see `jim status --help`)\n"


def parsers(parser):
    """Yield a parser, and those of its second words."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_help_fits_a_terminal_says_what_the_verb_does_and_has_a_true_example(verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    all_of_them = [each for each in parsers(cli.parser_of(verb)) if verb != "task" or each.prog == "jim task"]
    for each in all_of_them:
        assert [line for line in each.format_help().splitlines() if len(line) > 80] == []
        assert each.description.endswith((".", ".\n"))
        words = shlex.split(each.epilog.removeprefix("example: jim ").partition(" > ")[0].partition(" < ")[0])
        assert each.prog.split()[1] == words[0]
        assert cli.parser_of(words[0]).parse_args(words[1:])


def test_the_overview_fits_a_terminal(home):
    assert [line for line in home.out("--help").splitlines() if len(line) > 80] == []


def test_what_other_programs_call_a_verb_leads_to_it(home):
    home.add()
    assert home.run("ls") == home.run("list")
    assert home.run("kill", "1") == (2, "", "jim: unknown verb 'kill'; did you mean 'cancel'?\n")


def test_what_fingers_type_is_answered_with_the_word_that_there_is(home):
    assert home.run("task", "list") == (2, "", "jim: unknown word 'list'; did you mean 'status'?\n")
    code, _, err = home.run("task", "create", "x.toml", "--dry-run")
    assert (code, "`jim task check FILE` tells what it would do" in err) == (2, True)
