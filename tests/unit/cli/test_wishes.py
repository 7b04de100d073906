"""jim retry for some of what ended badly, and jim submit --test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.model import Piece, State, Step, Witness
from tests.support.stand_ins import World


def ended(home):
    """Seven local jobs, most of which have ended badly."""
    home.add(size=7)
    home.move(0, State.FAILED, reason="exit 3")
    home.move(1, State.FAILED, reason="vanished: it started, ended, and left no exit record")
    home.move(2, State.FAILED, reason="Exit 3, and more")
    home.move(3, State.KILLED, reason="cancelled (exit 3)")
    home.move(4, State.COMPLETED)
    home.move(5, State.RUNNING)
    home.move(6, State.FAILED, reason="exit 35")


def unchanged(home, *words):
    """Run a verb that changes nothing, as its exit code says; return what it prints."""
    code, out, err = home.run(*words)
    assert (code, err) == (3, "")
    return out


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["1"], "1.0-2,6"),
        (["1", "--failed"], "1.0-2,6"),
        (["1", "--reason", "exit 3"], "1.0,2"),
        (["1", "--reason", "exit"], "1.0-2,6"),
        (["1", "--reason", "it 35"], "1.6"),
        (["1", "--reason", "vanished"], "1.1"),
        (["1", "--reason", "cancelled"], "1.3"),
        (["1", "--max", "2"], "1.0-1"),
        (["1.0-3", "--failed"], "1.0-2"),
        (["1.2-3", "--reason", "exit 3", "--max", "1"], "1.2"),
    ],
)
def test_it_tells_what_it_tries_again_and_how_to_undo_it(home, words, chosen):
    ended(home)
    out = home.out("retry", *words)
    count = sum(int(b or a) - int(a) + 1 for a, _, b in (part.partition("-") for part in chosen[2:].split(",")))
    what = "1 local job gets" if count == 1 else f"{count} local jobs get"
    assert out == f"{words[0]}: retry requested: {what} another set of attempts; `jim cancel {chosen}` undoes it\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--reason", "no such"], "failed, held or killed local job with 'no such' in its reason"),
        (["--reason", "5"], "failed, held or killed local job with '5' in its reason"),
        (["--failed", "--reason", "cancelled"], "failed local job with 'cancelled' in its reason"),
    ],
)
def test_nothing_has_ended_like_that(home, words, told):
    ended(home)
    assert unchanged(home, "retry", "1", *words) == f"1: there is no {told}; retry changes nothing\n"
    assert list((home.site.state / "inbox").iterdir()) == []


@pytest.mark.parametrize("count", ["0", "-1", "x", "1.5"])
def test_a_limit_that_is_no_number_is_refused(home, count):
    ended(home)
    code, _, err = home.run("retry", "1", f"--max={count}")
    assert (code, err) == (
        2,
        f"jim: argument --max: '{count}': expected a number from 1 (see `jim retry --help`)\n",
    )


def test_the_keeper_tries_those_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jim.doors import inbox

    world = World(tmp_path, monkeypatch)
    grid = world.submit(5)
    world.until(lambda: len(world.batch.tasks) == 5)
    for index in range(1, 6):
        world.batch.start(1, index)
        world.batch.finish(1, index, code=3 if index < 4 else 4)
    world.until(lambda: world.finished(grid))
    inbox.wish(world.site.state, "retry", str(grid), failed=True, reason="EXIT 3", most=2)
    world.until(lambda: len(world.batch.tasks) == 7)
    assert [world.store.local_job(grid, n).attempt for n in range(5)] == [2, 2, 1, 1, 1]


# Tests before a production


def wishes(home):
    return [json.loads(path.read_text()) for path in (home.site.state / "inbox").glob("wish-*")]


@pytest.mark.parametrize(
    ("verb", "next_"),
    [
        (
            "cancel",
            "waiting local jobs are not submitted, others are cancelled; completed outputs are still collected",
        ),
        ("suspend", "JIM submits no more, holds queued jobs, and suspends running jobs if the batch system can"),
        ("resume", "JIM releases held jobs, and submits again"),
    ],
)
def test_a_wish_is_left_and_the_keeper_woken(home, verb, next_):
    home.add()
    if verb == "resume":
        home.store.set_grid_job(1, wish="suspend")
    does = {"cancel": "ends", "suspend": "suspends", "resume": "continues"}[verb]
    told = f"1: {verb} requested: {does} 4 local jobs: 4 wait; {next_}; `jim explain 1` shows the progress\n"
    assert home.out(verb, "1") == told
    assert [(wish["verb"], wish["target"]) for wish in wishes(home)] == [(verb, "1")]
    assert home.woken == [home.site.state]


def test_a_resume_of_what_is_not_suspended_says_so_and_is_left_all_the_same(home):
    """A suspend that nobody has obeyed yet may be before it in the inbox."""
    home.add()
    told = "none of its local jobs is suspended or held, so it goes on as before"
    assert home.out("resume", "--all") == f"1: resume requested: {told}\n"
    assert [(wish["verb"], wish["target"]) for wish in wishes(home)] == [("resume", "1")]
    home.move(0, State.HELD)
    assert "continues 1 local job: 1 is held;" in home.out("resume", "1")


def test_a_second_suspend_says_what_it_still_concerns(home):
    home.add()
    home.move(0, State.SUSPENDED)
    assert "suspends 3 local jobs: 3 wait;" in home.out("suspend", "1")
    for n in (1, 2, 3):
        home.move(n, State.SUSPENDED)
    assert home.out("suspend", "1") == "1: suspend requested: all of its local jobs are suspended already\n"


def test_several_are_cancelled(home):
    home.add()
    assert home.run("cancel", "1", "1.2")[0] == 0
    assert sorted(wish["target"] for wish in wishes(home)) == ["1", "1.2"]


def test_a_wish_that_comes_too_late(home):
    home.add()
    home.finish()
    assert home.out("cancel", "1") == "1: the grid job has already finished as completed; cancel changes nothing\n"
    assert home.out("cancel", "1.0") == "1.0: the grid job has already finished as completed; cancel changes nothing\n"
    assert unchanged(home, "retry", "1.0") == "1.0: no local job failed or was killed; retry changes nothing\n"
    assert wishes(home) == []


def test_retry_opens_what_failed(home):
    home.add()
    assert unchanged(home, "retry", "1") == "1: no local job has failed or was killed so far; retry changes nothing\n"
    home.move(2, State.FAILED)
    home.finish("failed", "1 of 4 local jobs failed")
    assert "1: retry requested: " in home.out("retry", "1")
    assert "1.2: retry requested: " in home.out("retry", "1.2")
    assert "1.3: no local job failed or was killed" in unchanged(home, "retry", "1.3")


def test_why_there_is_nothing_to_retry_is_said(home):
    home.add(size=0)
    home.finish("failed", "cannot be split: there are no files")
    assert unchanged(home, "retry", "1") == "1: it has no local jobs; retry changes nothing\n"
    assert "1 has no local jobs: correct the request and submit it again" in home.run("recover", "1")[2]
    home.store.add_pieces(1, 0, [Piece(files=("a",)), Piece(files=("b",), failure="no site")])
    home.store.end_split(1, 2)
    home.move(0, State.COMPLETED)
    home.finish("failed", "1 of 2 local jobs failed")
    for target in ("1", "1.1"):
        told = f"{target}: the failed local jobs failed on their creation, and can never run; retry changes nothing\n"
        assert unchanged(home, "retry", target) == told
    assert unchanged(home, "retry", "1.0") == "1.0: no local job failed or was killed; retry changes nothing\n"


# All that fit


def several(home):
    home.add(1, job_type="parametric")
    home.add(2)
    home.add(3)
    home.store.set_grid_job(3, step=Step.FINISHED, outcome="completed")


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["cancel", "--all"], ["1", "2"]),
        (["suspend", "--type", "executable"], ["2"]),
        (["cancel", "--type", "executable", "--type", "parametric"], ["1", "2"]),
        (["cancel", "--status", "submitted"], ["1", "2"]),
        (["cancel", "--status", "running"], []),
        (["cancel", "--failed"], []),
    ],
)
def test_all_that_fit_are_told(home, words, chosen):
    several(home)
    told = [line.partition(":")[0] for line in home.out(*words).splitlines()]
    assert told == (chosen or [f"no unfinished grid job fits; {words[0]} changes nothing"])
    wishes = [json.loads(each.read_text())["target"] for each in sorted((home.site.state / "inbox").iterdir())]
    assert sorted(wishes) == chosen


def test_a_grid_job_in_the_inbox_is_among_all(home, tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    assert home.run("submit", str(file))[0] == 0
    assert home.out("cancel", "--all").startswith("1: cancel requested: ")


@pytest.mark.parametrize("words", [["cancel"], ["suspend", "1", "--all"], ["cancel", "1", "--type", "executable"]])
def test_either_grid_jobs_or_filters(home, words):
    several(home)
    verb = words[0]
    told = f"jim: {verb} takes either grid jobs, or --all, or filters such as --type (see `jim {verb} --help`)\n"
    assert home.run(*words)[::2] == (2, told)


@pytest.mark.parametrize(("name", "value"), [("type", ""), ("since", ""), ("until", "")])
def test_an_empty_filter_never_means_all(home, name, value):
    """A script gives it if the script's variable is not set."""
    several(home)
    for words in (["cancel", "--all"], ["suspend", "--failed"], ["list"]):
        code, out, err = home.run(*words, f"--{name}", value)
        assert (code, out, err) == (2, "", f"jim: --{name} is empty: give a value, or leave --{name} out\n")
    assert not list((home.site.state / "inbox").iterdir())


def test_the_same_grid_job_named_twice_is_told_once(home):
    several(home)
    assert len(home.out("cancel", "2", "2").splitlines()) == 1


def test_a_finished_grid_job_is_removed_and_one_that_is_not_stays(home):
    home.add(1)
    home.finish(tar="/w/1.tar", bytes=20_480, local_jobs=4, line="")
    home.add(2)
    assert unchanged(home, "remove", "1", "2") == (
        "1: remove requested: removes its tar (20.5 kB), its logs, its journal and 4 local jobs; "
        "nothing brings them back; its key is free for another request\n"
        "2: it has not finished; `jim cancel 2` ends it; remove changes nothing\n"
    )
    (path,) = (home.site.state / "inbox").glob("wish-*")
    assert json.loads(path.read_text())["verb"] == "remove"
    assert home.run("remove", "1.0")[0] == 2
    assert home.run("remove", "7")[0] == 4


@pytest.mark.parametrize("verb", ["cancel", "suspend", "resume"])
def test_all_as_a_word_leads_to_the_option(home, verb):
    several(home)
    told = f"jim: 'all' is not an id: `jim {verb} --all` means all grid jobs that are not finished\n"
    assert home.run(verb, "all") == (2, "", told)
    assert not list((home.site.state / "inbox").iterdir())


@pytest.mark.parametrize("words", [("force", "1.0", "failed", "--reason", "x"), ("cancel", "1.0"), ("retry", "1.1-3")])
def test_a_grid_job_that_could_not_be_split_has_no_local_job_to_name(home, words):
    """`jim force 1.0 failed` promised to declare 0 local jobs failed."""
    home.add(size=0)
    home.finish("failed", "cannot be split")
    told = f"jim: there is no local job {words[1]}: grid job 1 ended before it was split\n"
    assert home.run(*words) == (4, "", told)


@pytest.mark.parametrize("target", ["1", "1.0"])
def test_nothing_has_failed_of_what_the_keeper_has_not_taken_yet(home, target):
    assert inbox.deposit(home.site.state, "k", {"job_type": "executable"}) == 1
    told = "no local job has failed or was killed so far; retry changes nothing"
    assert unchanged(home, "retry", target, "--max", "1") == f"{target}: {told}\n"
    assert inbox.names(home.site.state) == [inbox.request_name("k")]


@pytest.mark.parametrize("reason", ["one\ntwo", "\x1b[2J", "x" * 501, "a\u2028b"])
def test_a_reason_to_force_is_one_line(home, reason):
    home.add()
    code, out, error = home.run("force", "1.0", "failed", "--reason", reason)
    assert (code, out) == (2, "")
    assert error.startswith("jim: reason: expected one line of at most 500 characters")
    assert not any(each.name.startswith("wish") for each in (home.site.state / "inbox").iterdir())


def test_no_wish_is_left_if_what_it_does_cannot_be_told(home, monkeypatch):
    """A failure after the first wish was durable left the others out, and looked like a refusal of all."""

    def fails(*_):
        raise PermissionError(13, "Permission denied", "x")

    ended(home)
    monkeypatch.setattr("jim.cli.wishes._told", fails)
    assert home.run("retry", "1.0", "1.2")[0] == 1
    assert list((home.site.state / "inbox").iterdir()) == []


# What would change nothing, and what has not


def test_one_target_of_several_that_would_not_change_is_told_by_the_exit_code(home):
    ended(home)
    home.add(2)
    out = unchanged(home, "retry", "1", "2")
    assert [line.partition(":")[0] for line in out.splitlines()] == ["1", "2"]
    assert len(list((home.site.state / "inbox").glob("wish-*"))) == 1
    assert home.run("cancel", "1", "1")[0] == 0


@pytest.mark.parametrize(
    ("words", "journal", "code", "told"),
    [
        (
            ["retry", "1"],
            ("retry", "2 local jobs wait for another attempt"),
            0,
            "2 local jobs wait for another attempt",
        ),
        (["retry", "1.0"], ("retry changes nothing", "no"), 3, "retry changes nothing: no"),
        (["retry", "1.4"], ("retry changes nothing", "it completed"), 3, "retry changes nothing: it completed"),
        (["force", "1.0", "completed", "--reason", "x"], (), 0, "force is done"),
    ],
)
def test_with_wait_it_tells_what_the_keeper_made_of_it(home, monkeypatch, words, journal, code, told):
    """The store as it is now is not what the keeper will find: only afterwards is it known."""
    ended(home)
    home.store.note(1, "retry changes nothing", Witness.KEEPER, "an older one")
    home.beat()

    def keeper(_seconds):
        for file in (home.site.state / "inbox").glob("wish-*"):
            if journal:
                home.store.note(1, journal[0], Witness.KEEPER, journal[1])
            file.unlink()

    monkeypatch.setattr("jim.cli.awaited_wishes.time.sleep", keeper)
    found, out, err = home.run(*words, "--wait")
    assert (found, out.splitlines()[1:], err) == (code, [f"{words[1]}: {told}"], "")


def test_with_wait_a_removed_grid_job_is_one_that_is_gone(home, monkeypatch):
    home.add()
    home.finish()

    def keeper(_seconds):
        home.store.removals.remove(home.store.grid_job(1))
        for file in (home.site.state / "inbox").glob("wish-*"):
            file.unlink()

    monkeypatch.setattr("jim.cli.awaited_wishes.time.sleep", keeper)
    code, out, _ = home.run("remove", "1", "--wait")
    assert (code, out.splitlines()[-1]) == (0, "1: it is removed")


def test_with_wait_a_missing_keeper_is_started_and_told_of(home, monkeypatch):
    ended(home)
    ticks = iter(range(0, 10_000, 15))
    monkeypatch.setattr("jim.cli.awaited_wishes.time.monotonic", lambda: next(ticks))
    files = home.site.state / "inbox"

    def later(_seconds, left=[None] * 6):
        left.pop()
        if not left:
            next(files.glob("wish-*")).unlink()

    monkeypatch.setattr("jim.cli.awaited_wishes.time.sleep", later)
    code, _, err = home.run("retry", "1", "--wait")
    assert (code, err.count("\n")) == (0, 1)
    assert "no keeper" in err
    assert len(home.woken) > 1
