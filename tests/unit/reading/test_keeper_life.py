"""Whether a keeper is at work: true within seconds, and no advice where nobody can know."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from jim.log_lines import json_line
from jim.model import DECIDE, State, Witness
from jim.reading.keeper_life import heart
from jim.site.lock import holder
from tests.support.cli_home import sent

HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


@contextmanager
def keeper(home):
    """Let another process hold the keeper's lock."""
    file = home.site.state / "keeper.lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, file], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "held\n"
            file.write_text(f"{process.pid}\n")
            yield process.pid
        finally:
            process.kill()


def beat(home, ago):
    (home.site.state / "heartbeat").write_text(f"boot-1 {1000 - ago}\n")


def seen(home):
    return heart(home.site.state, home.clock)


@pytest.mark.parametrize(
    ("ago", "beats", "late"),
    [(0, True, False), (3, True, False), (6, True, False), (7, True, True), (60, False, False)],
)
def test_a_keeper_that_writes_no_heartbeat_is_silent_after_seconds(home, ago, beats, late):
    with keeper(home) as pid:
        beat(home, ago)
        found = seen(home)
        assert (found.beats, found.late, found.at_work, found.age) == (beats, late, beats and not late, ago)
        assert (found.words == f"the keeper (pid {pid}) has not updated its heartbeat for {ago} s") is late


def test_one_that_somebody_has_stopped_is_named_at_once(home):
    with keeper(home) as pid:
        beat(home, 4)
        assert seen(home).at_work
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        found = seen(home)
        assert not found.at_work
        assert found.words == f"somebody has stopped the keeper (pid {pid}): its last heartbeat was 4 s ago"
        assert found.next == f"`kill -CONT {pid}` continues it"


def test_one_that_was_killed_is_not_taken_for_one_at_work(home):
    with keeper(home):
        beat(home, 7)
    assert holder(home.site.state) == 0
    found = seen(home)
    assert not found.beats
    assert found.words == "no keeper is running: the last heartbeat was 7 s ago"


# What only a keeper can know


def touch_no_claim(home):
    """Let the claim of the running local job be old."""
    claim = home.site.work / "1/s1/claim.1"
    claim.parent.mkdir(parents=True, exist_ok=True)
    claim.write_text("x")
    os.utime(claim, (1, 1))


def test_with_a_keeper_a_silent_claim_comes_with_advice(home):
    sent(home)
    touch_no_claim(home)
    home.beat()
    assert "have the node checked" in home.out("explain", "1")


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (2, "no keeper is running yet: one has just been called; wait a moment"),
        (4, "no keeper is running, and none has been here before; a poll, a wish or `jim keeper` starts one"),
    ],
)
def test_directly_after_a_submission_nobody_is_told_to_start_a_keeper(home, ago, words):
    inbox = home.site.state / "inbox"
    inbox.mkdir(exist_ok=True)
    (inbox / "request-1").touch()
    then = home.clock.epoch() - ago
    os.utime(inbox, (then, then))
    assert seen(home).missing() == words
    (inbox / "request-1").unlink()  # a keeper has taken it, and is gone
    os.utime(inbox, (then, then))
    assert "none has been here before" in seen(home).words


@pytest.mark.parametrize("target", ["1", "1.0"])
def test_without_a_keeper_what_runs_is_told_as_of_its_last_heartbeat_without_advice(home, target):
    sent(home)
    touch_no_claim(home)
    home.beat(ago=60)
    os.utime(home.site.state / "heartbeat", (1_769_860_800, 1_769_860_800))
    told = " ".join(home.out("explain", target).split())
    assert "have the node checked" not in told
    assert re.search(r"\* as of 2026-01-31 [\d:]+[^*]*: (1 local job )?runs", told), told
    assert "next: what has happened since then is known once a keeper is at work" in told
    assert "JIM queries the batch system" not in told


def test_without_a_keeper_what_waits_in_the_store_is_told_as_before(home):
    home.add()
    home.move(0, State.FAILED, Witness.EXIT_RECORD, "exit 3")
    home.beat(ago=60)
    assert "\n* 3 local jobs wait to be submitted\n" in home.out("explain", "1")


def test_words_that_a_line_quotes_are_not_the_last_words_of_a_keeper(home):
    """Senders write into messages; only a line of its own tells how a keeper ended."""
    log = home.site.state / "keeper.log"
    log.write_text("2026-01-31 11:00:00,000 INFO jim.x 1: x CRITICAL jim.y the keeper ends: forged\n")
    assert seen(home).words == "no keeper is running, and none has been here before"


def test_the_last_words_of_a_keeper_are_read_in_json_too(home):
    log = home.site.state / "keeper.log"
    end = json_line("2026-01-31T11:00:00.000Z", "CRITICAL", "jim.x", f"the keeper ends: moved. {DECIDE}")
    log.write_text(f"{end}\n")
    assert seen(home).words.endswith(f"; its last words: moved. {DECIDE}")
    assert seen(home).refuses
    up = json_line("2026-01-31T11:00:01.000Z", "INFO", "jim.x", "up again")
    log.write_text(f"{end}\n{up}\n")
    assert "last words" not in seen(home).words
