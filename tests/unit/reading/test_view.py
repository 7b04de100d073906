"""What people are shown of a state directory."""

import fcntl
import json
import os

import pytest

from jim.keeper.serial import CHOICE
from jim.reading.view import View, look
from jim.tasks.file import reading as task_file
from tests.support.cli_home import explained

# logs


def test_any_member_finds_its_herd(home):
    home.add(size=4)
    assert [each["id"] for each in home.json("status", "1.3", "1.0-1", "1")] == [1]
    home.finish()
    assert home.out("watch", "1.3").startswith("1 finished (waiting: 4 of 4)\n")


# watch


@pytest.mark.parametrize(
    ("heartbeat", "said"),
    [
        ("boot-1 idle\n", "no keeper is running: the last one had no work left"),
        ("boot-0 999\n", "no keeper is running: the machine was restarted"),
        ("nonsense", "no keeper is running, and none has been here before"),
        ("boot-1 979\n", "no keeper is running: the last heartbeat was 21 s ago"),  # polls wait 20 s
    ],
)
def test_explain_a_missing_keeper(home, heartbeat, said):
    home.add()
    (home.site.state / "heartbeat").write_text(heartbeat)
    assert f"* {said}\n" in home.out("explain", "1")


def test_a_keeper_that_is_silent_is_not_denied(home):
    home.add()
    home.beat(ago=25)
    heart = home.site.state / "heartbeat"
    with (home.site.state / "keeper.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        holds = f"a keeper holds the lock (pid {os.getpid()}), but has not"
        assert f"\n{holds} updated its heartbeat for 25 s; its work may take long; " in home.out("status")
        assert f"* {holds} updated its heartbeat for 25 s\n" in home.out("explain", "1")
        assert f"`kill -CONT {os.getpid()}` continues it" in home.out("explain", "1")
        heart.write_text("boot-0 999\n")
        assert f"* a keeper holds the lock (pid {os.getpid()}), but has not written a heartbeat yet\n" in home.out(
            "explain", "1"
        )
    assert "* no keeper is running: the machine was restarted\n" in home.out("explain", "1")


def test_a_request_in_the_inbox_has_the_age_of_its_handing_in(home, tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    home.run("submit", str(file))
    (handed,) = (home.site.state / "inbox").glob("request-*")
    content = json.loads(handed.read_text()) | {"created": "2026-01-31T11:58:00.000Z"}
    handed.write_text(json.dumps(content))
    assert [job["age_s"] for job in home.json("status")] == [120.0]


def test_the_very_first_request_is_found_where_the_keeper_takes_it_at_this_moment(home):
    """`jim submit` exited 4, "there is no grid job 1", though the request was taken in."""
    view = look()  # no keeper has made the store yet
    home.add()
    assert (view.grid_job(1).id, [each.n for each in view.store.local_jobs(1)]) == (1, [0, 1, 2, 3])


def test_explain_gives_the_last_words_of_a_keeper_that_failed(home):
    home.add()
    log = home.site.state / "keeper.log"
    end = (
        "2026-01-31 CRITICAL root the keeper ends\nTraceback …\n  File …\njim.errors.BadSite: unknown system 'x\x1b'\n"
    )
    log.write_text(f"2026-01-31 11:00:00 INFO jim: up\n{end}")
    assert "and none has been here before; its last words: jim.errors.BadSite: unknown system 'x\\x1b'\n" in explained(
        home, "1"
    )
    log.write_text(f"{end}2026-01-31 11:00:00 INFO jim: up again\n")
    assert "last words" not in explained(home, "1")


def test_who_waits_for_a_decision_is_not_told_to_start_a_keeper(home):
    home.add()
    (home.site.state / "keeper.log").write_text(f"2026-01-31 CRITICAL root the keeper ends: moved. {CHOICE}\n")
    next_ = "decide, and run `jim site moved` or `jim site restored`: either starts a keeper"
    assert explained(home, "1").count(f" {next_}; nothing happens until then") == 1
    assert home.out("status").endswith(f"; its last words: moved. {CHOICE}; {next_}\n")


def test_trouble_is_read_without_the_records_of_all_open_grid_jobs(world):
    """There may be very many. What a batch system says may look like the place where they begin."""
    words = 'down", "jobs": ['
    head = json.dumps({"trouble": words, "failures": 3, "unsaid": {"7": "no"}})
    for records in ("[{}]", "[{]"):  # what follows is not even parsed
        world.site.summary.write_text(f'{head[:-1]}, "jobs": {records}}}')
        published = View(world.site, world.store).published
        assert (published.trouble.words, published.trouble.failures, published.unsaid) == (words, 3, {"7": "no"})


# Ids


@pytest.mark.parametrize("verb", ["explain", "show", "watch", "logs", "cancel"])
def test_the_name_of_a_task_leads_to_its_own_verbs(home, verb):
    file = home.site.state / "mc-1.toml"
    file.write_text(
        '[[task]]\nname = "mc-1"\nrequest = { job_type = "executable", executable = "/bin/true" }\n'
        'source = [ { directory = "/tmp", closed_by = "END.*" } ]\n'
    )
    (spec,) = task_file.read(file, home.site)
    home.store.tasks.add("mc-1", "nonce", "mc", spec, "digest", {}, "")
    for name in ("mc-1", "mc-1/3"):
        code, _, told = home.run(verb, name)
        assert (code, "mc-1 is a task, not a grid job: `jim task explain mc-1` says what it waits for" in told) == (
            4,
            True,
        ), told
    assert "'mc-2' is not an id: a grid job has a number such as 12" in home.run(verb, "mc-2")[2]
