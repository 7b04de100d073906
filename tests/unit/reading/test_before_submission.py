"""Local jobs that are not submitted yet."""

import json

import pytest

from jim.jobs import Sender
from jim.model import State, Witness
from tests.support.cli_home import sent


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("queued = 3", "3 local jobs are in the queue, and limits.queued allows 3"),
        ("queued_per_grid_job = 2", "3 local jobs of it are in the queue, and limits.queued_per_grid_job allows 2"),
        ("queued_per_dn = 3", "3 local jobs of its sender are in the queue, and limits.queued_per_dn allows 3"),
    ],
)
def test_explain_the_throttle(home, limits, said):
    (home.site.state / "site.toml").write_text(f"[limits]\n{limits}\n")
    sent(home)
    home.store.senders.put(1, Sender("/CN=Ann"))
    home.move(2, State.SUBMITTED)
    assert f"* 1 local job waits to be submitted: {said}\n" in home.out("explain", "1")
    assert "  next:     the keeper submits as soon as others end\n" in home.out("explain", "1")


def test_explain_the_next_attempt(home):
    home.beat()
    home.add(size=1)
    home.move(0, State.RUNNING)
    home.move(0, State.WAITING, Witness.CLAIM, "attempt 1: vanished", attempt=1, spent=1, due=1005.0)
    home.later("2026-01-31T12:00:02.000Z", now=1002.0)
    assert home.out("explain", "1").partition("\n")[2] == (
        "\n* 1 local job waits for the next attempt\n"
        "  evidence: claim, seen 2 s ago\n"
        "  next:     1.0 in 3 s, after attempt 1: vanished\n"
    )
    assert home.out("explain", "1.0") == (
        "1.0: waiting, attempt 1\n"
        "\n* waits for its next attempt, after attempt 1: vanished\n"
        "  evidence: claim, seen 2 s ago\n"
        "  next:     attempt 2 (1 of 3 spent), in 3 s\n"
    )


def test_explain_says_that_the_disk_is_full_on_which_the_keeper_would_tell_it(home, monkeypatch):
    home.beat()
    home.add()
    monkeypatch.setattr("jim.site.space.free_mb", lambda place: 0)
    words = f"* the disk of the state directory {home.site.state} has 0 MB left, and disk.state_stop_mb is 100: "
    assert f"\n{words}JIM takes no new grid jobs and sends nothing until there is room" in home.out("explain", "1")


def test_explain_and_status_say_that_a_disk_has_too_little_room(home):
    home.beat()
    home.add()
    full = "the disk of the work directory /w has 1 MB left, and disk.work_stop_mb is 200: JIM takes no new grid jobs"
    home.store.set_fact("space", json.dumps([[False, "little room on the state disk"], [True, full]]))
    assert home.out("status").endswith(f"\nlittle room on the state disk\n{full}\n")
    again = "JIM looks again every ten seconds, and goes on by itself once there is room"
    waits = (
        "\n* 4 local jobs wait to be submitted\n  evidence: keeper, just now\n"
        "  next:     the keeper submits when there is room on the disks\n"
    )
    for target in ("1", "1.0"):
        said = home.out("explain", target)
        assert f"* {full}\n  evidence: keeper, just now\n  next:     {again}\n" in said
        assert said.endswith(waits)
        assert said.count(full) == 1
    assert "little room" not in home.out("explain", "1")
    home.beat(ago=600)  # nobody has looked since
    assert "room" not in home.out("status")
