"""The people's door: explain."""

import json

import pytest

from jim.model import Kind, Piece, Reason, State, Step, Witness
from tests.support.cli_home import EVIL, EVIL_SHOWN, RECORD_NAMES, explained, sent

KEEPER_ASLEEP = """
* no keeper is running: the last heartbeat was 1 min ago
  evidence: heartbeat, just now
  next:     a poll, a wish or `jim keeper` starts one; nothing happens until then
"""


def test_explain_what_waits_without_a_keeper(home):
    home.add()
    home.beat(ago=60)
    assert home.out("explain", "1") == (
        "1: submitted (waiting: 4 of 4; step split); size: events_per_job of the request\n"
        f"{KEEPER_ASLEEP}\n"
        "* 4 local jobs wait to be submitted\n"
        "  evidence: keeper, just now\n"
        "  next:     the keeper submits in its next rounds\n"
    )


@pytest.mark.parametrize("verb", ["suspend", "resume", "cancel", "retry"])
def test_explain_a_wish_that_is_not_taken_up_yet(home, verb):
    home.add()
    home.move(0, State.FAILED, Witness.EXIT_RECORD, "exit 3")
    home.run(verb, "1")
    (home.site.state / "inbox/wish-999999999-odd").write_text("[]")
    assert f"\n* {verb} of 1 was requested, but no keeper has applied it yet\n  evidence: user, just now\n" in home.out(
        "explain", "1"
    )


def test_explain_a_late_wish_for_a_local_job(home):
    home.add()
    home.move(0, State.FAILED, Witness.EXIT_RECORD, "exit 3")
    home.finish("failed")
    home.run("retry", "1.0")
    for target in ("1", "1.0"):
        assert "\n* retry of 1.0 was requested, but no keeper has applied it yet\n" in home.out("explain", target)


def test_explain_a_request_in_the_inbox(home, tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    home.run("submit", str(file))
    assert home.out("explain", "1").startswith("1: new (not split yet; step accepted)\n\n* no keeper is running")
    assert "* the keeper still has to size it\n" in home.out("explain", "1")


@pytest.mark.parametrize(
    ("columns", "what", "next_"),
    [
        (
            {"state": "unknown", "reason": EVIL, "due": 1003.0},
            f"submission 1 (2 local jobs): outcome unknown: {EVIL_SHOWN}",
            "JIM looks for jim-cafe-1-1 again in 3 s: it adopts the batch job, or fences it and submits again",
        ),
        (
            {"state": "refused", "reason": "qsub (exit 1): no such queue"},
            "submission 1 (2 local jobs) was refused: qsub (exit 1): no such queue",
            "JIM ensures that no attempt of it can start, then ends its local jobs as failed",
        ),
        (
            {"tries": 2, "reason": Reason(Kind.NOT_STARTED, words="qsub: too many jobs"), "due": 1012.0},
            "submission 1 (2 local jobs) failed: qsub: too many jobs",
            "JIM runs the batch command again in 12 s (try 3)",
        ),
        (
            {"reason": ""},
            "JIM submits submission 1 (2 local jobs) to the batch system",
            "JIM waits for the answer, at most 1 min",
        ),
    ],
)
def test_explain_a_submission(home, columns, what, next_):
    home.beat()
    home.add(size=2)
    home.send(0, 1, **columns)
    for target in ("1", "1.1"):
        lines = home.out("explain", target).splitlines()
        assert lines[2] == f"* {what}"
        assert lines[4] == f"  next:     {next_}"


def test_explain_what_the_batch_system_has(home):
    sent(home)
    assert explained(home, "1") == (
        "\n* 1 local job waits to be submitted\n"
        "  evidence: keeper, just now\n"
        "  next:     the keeper submits in its next rounds\n"
        "\n* 1 local job is held in the batch system\n"
        "  evidence: queue, seen 3 s ago\n"
        "  next:     each starts when it is released; JIM queries the batch system every 2 s\n"
        "\n* 1 local job runs\n"
        "  evidence: claim, seen 3 s ago\n"
        "  next:     each ends with its exit record; JIM queries the batch system every 2 s\n"
        "\n* 1 local job has failed: exit 3\n"
        "  evidence: keeper, seen 0 s ago\n"
        "  next:     the others are not concerned; `jim retry 1` gives the failed ones another set of attempts\n"
    )
    assert explained(home, "1.0") == (
        "\n* runs, batch job 4711, on node7 since 2026-01-31 11:00:00 UTC\n"
        "  evidence: claim, seen 0 s ago\n"
        "  next:     it ends with its exit record; JIM queries the batch system every 2 s\n"
    )
    assert explained(home, "1.2") == (
        "\n* ended as failed: exit 3\n"
        "  evidence: exit record, seen 0 s ago\n"
        "  next:     nothing happens by itself; `jim retry 1.2` gives it another set of attempts\n"
    )


def test_explain_a_batch_system_that_does_not_answer(home):
    sent(home)
    home.later("2026-01-31T12:00:37.000Z")
    trouble = {"trouble": "no output (did not return after 60.0 s: sinfo)", "failures": 4, "retry_due": 1012.0}
    home.site.summary.write_text(json.dumps(trouble))
    assert explained(home, "1").startswith(
        "\n* the batch system has not answered for 40 s (4 in a row); "
        "last words: no output (did not return after 60.0 s: sinfo)\n"
        "  evidence: queue, seen 40 s ago\n"
        "  next:     next question in 12 s, at growing intervals up to a minute; running jobs continue\n"
    )
    assert "  next:     the keeper submits when the batch system answers again\n" in explained(home, "1")


def test_explain_a_history_that_cannot_be_asked_to_those_that_wait_for_it(home):
    sent(home)
    history = {"trouble": "sacct (exit 1), down", "failures": 4, "retry_due": 1012.0, "grid_jobs": [1]}
    home.site.summary.write_text(json.dumps({"trouble": "", "history": history}))
    told = (
        "\n* JIM could not find out how local jobs ended that left the queue (4 failures in a row); "
        "last words: sacct (exit 1), down\n"
        "  evidence: keeper, just now\n"
        "  next:     next question in 12 s, at growing intervals; all else continues\n"
    )
    assert explained(home, "1").startswith(told)
    assert told in explained(home, "1.0")
    home.site.summary.write_text(json.dumps({"history": {**history, "grid_jobs": [2]}}))
    assert "could not find out" not in explained(home, "1")


@pytest.mark.parametrize(
    ("wish", "what", "next_"),
    [
        ("suspend", "suspended on request; still running: 1 of its local jobs", "`jim resume 1` continues it"),
        (
            "cancel",
            "cancel was requested; still in the batch system: 1 held, 1 running",
            "JIM repeats the cancel until it sees the end of each job, then collects the completed ones",
        ),
        (
            "resume",
            "resume was requested; in the batch system: 1 held, 1 running",
            "JIM repeats the request until it sees the effect",
        ),
    ],
)
def test_explain_a_wish(home, wish, what, next_):
    sent(home)
    home.store.set_grid_job(1, wish=wish)
    assert explained(home, "1").startswith(f"\n* {what}\n  evidence: user, just now\n  next:     {next_}\n")
    assert explained(home, "1.0").startswith(f"\n* {what}\n")


def test_explain_steps_that_fail(home):
    home.beat()
    home.add(size=0)
    home.store.set_grid_job(1, tries=2, due=1004.0, reason="[Errno 28] No space left on device")
    assert "* the keeper still has to size it: [Errno 28] No space left on device\n" in explained(home, "1")
    assert "  next:     try 3 in 4 s\n" in explained(home, "1")
    home.store.set_grid_job(1, step=Step.COLLECTING)
    home.store.set_grid_job(1, tries=1, due=1004.0, reason="collecting: No space left on device")
    assert explained(home, "1").startswith("\n* collecting: No space left on device\n")
    assert "  next:     try 2 in 4 s, repeated until it succeeds\n" in explained(home, "1")


def test_explain_what_is_finished(home):
    home.add()
    home.move(2, State.FAILED)
    home.finish("failed", "1 of 4 local jobs failed")
    home.later("2026-02-01T12:00:00.000Z")
    assert home.out("explain", "1") == (
        "1: failed (failed: 1 of 4; step finished); size: events_per_job of the request\n"
        "\n* finished as failed: 1 of 4 local jobs failed\n"
        "  evidence: keeper, seen 1 d ago\n"
        "  next:     JIM removes rows and files in 29 d; `jim retry 1` tries the failed local jobs again\n"
    )


def test_explain_says_that_a_retry_tries_killed_local_jobs_again(home):
    home.add()
    home.move(2, State.KILLED)
    home.finish("killed", "cancelled")
    assert "`jim retry 1` tries the killed local jobs again\n" in home.out("explain", "1")
    home.move(1, State.FAILED)
    assert "`jim retry 1` tries the failed local jobs again\n" in home.out("explain", "1")


def test_explain_does_not_advise_a_retry_that_would_change_nothing(home):
    home.add(size=0)
    home.finish("failed", "cannot be split: there are no files")
    assert home.out("explain", "1").endswith(
        " in 30 d; it has no local jobs: correct the request and submit it again\n"
    )
    home.store.add_pieces(1, 0, [Piece(files=("a",), failure="no site")])
    home.store.end_split(1, 1)
    home.finish("failed", "1 of 1 local jobs failed")
    assert home.out("explain", "1").endswith(
        " in 30 d; `jim recover 1` writes a request for the work that can never run\n"
    )


def test_what_came_of_a_test_is_not_said_to_be_kept_for_longer_than_it_is(home):
    home.add(test="yes")
    home.finish()
    home.later("2026-01-31T18:00:00.000Z")
    assert "  next:     JIM removes rows and files in 18 h\n" in explained(home, "1")


def test_explain_what_is_suspended_before_it_is_split(home):
    home.beat()
    home.add(size=0)
    home.store.set_grid_job(1, wish="suspend", tries=2, due=1004.0, reason="disk full")
    assert explained(home, "1") == (
        "\n* suspended on request; none of its local jobs runs\n"
        "  evidence: user, just now\n"
        "  next:     `jim resume 1` continues it\n"
        "\n* the keeper still has to size it\n"
        "  evidence: keeper, just now\n"
        "  next:     the keeper continues after `jim resume 1`\n"
    )


def test_explain_as_json(home):
    sent(home)
    document = home.json("explain", "1.2")
    assert list(document) == [*RECORD_NAMES, "waits_for"]
    assert document["waits_for"] == [
        {
            "what": "ended as failed: exit 3",
            "witness": "exit record",
            "seen": "2026-01-31T12:00:00.000Z",
            "age_s": 0.0,
            "next": "nothing happens by itself; `jim retry 1.2` gives it another set of attempts",
        }
    ]


def test_explain_several_local_jobs(home):
    home.add(1)
    home.move(1, State.FAILED, reason="exit 3")
    told = home.out("explain", "1.0-1,3")
    assert [line for line in told.splitlines() if line.startswith("1.")] == [
        "1.0: waiting, attempt 0",
        "1.1: failed, attempt 0",
        "1.3: waiting, attempt 0",
    ]
    assert [each["id"] for each in home.json("explain", "1.0-1,3")] == ["1.0", "1.1", "1.3"]
    assert home.run("explain", "1.2-4")[2] == "jim: there is no local job 1.4: 1 has 1.0 to 1.3\n"
