"""Cancel, suspend, resume and retry, raced with kills of keeper, wrapper and batch daemon, and with the end itself."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.real import LIMIT, doomed, until

# Children that left their parents, their session and their environment; and one that does not listen.
CLEARED = "(env -i setsid sleep 301 &)"
FAMILY = """
(setsid sleep 300 &)
(setsid sh -c "trap '' TERM; while :; do sleep 0.3; done" &)
: >>"$0.$JIM_LOCAL_JOB.$JIM_ATTEMPT"
sleep 302 & wait
"""
WAITS = ': >>"$0.$JIM_LOCAL_JOB.$JIM_ATTEMPT"; until [ -e "$0.go" ]; do sleep 0.05; done'


def running(place, *pieces: tuple[int, int]) -> bool:
    """Tell whether these attempts are in the middle of their payloads."""
    return all((place.place / f"payload.sh.{n}.{attempt}").exists() for n, attempt in pieces)


def go(place) -> None:
    (place.place / "payload.sh.go").touch()


def kill(*pids: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            pid and os.kill(pid, signal.SIGKILL)


def wrapper_of(place) -> int:
    return int((place.site.work / "1/s1/claim.1").read_text().split("pid ")[1].split()[0])


def sleepers(place) -> list[str]:
    """Find what would outlive a cancelled payload, also with a cleared environment, by where it works."""
    found = []
    for entry in os.scandir("/proc"):
        with suppress(OSError):
            if entry.name.isdigit() and Path(f"/proc/{entry.name}/cwd").readlink().is_relative_to(place.place):
                found.append(entry.name)
    return found


def relay(place, done=lambda: False):
    """Let keepers come one after the other, each killed where it did something that none before it did."""
    seen = place.place / f"seen-{len(place.started)}"
    while True:
        keeper = place.start_keeper(command=doomed(seen, "after", 1))
        until(lambda keeper=keeper: done() or keeper.poll() is not None, "keepers get on")
        if keeper.poll() is None or keeper.returncode == 0:
            return keeper


def begun(place, body: str, pieces: int = 1, *, ready: tuple[tuple[int, int], ...] = ((0, 1),), slots: int = 2):
    """Hand in a grid job and let a keeper bring it to run; the keeper is killed then."""
    hurt = place("p", slots=slots)
    hurt.batch("init", "--grace", "0.5")
    hurt.submit(pieces, body=body)
    keeper = hurt.start_keeper()
    until(lambda: running(hurt, *ready) and hurt.state_of(ready[-1][0]) == "running", "the payload runs")
    keeper.kill()
    keeper.wait()
    return hurt


def is_cancelled(hurt) -> None:
    hurt.held()
    assert hurt.events("end") == []
    assert hurt.events("start") == [(0, 1)]
    assert hurt.state_of() == "killed"
    assert sleepers(hurt) == []
    told, *number = hurt.answer().split("\n")
    assert told.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:cancelled: 1 of 1 local job killed: cancelled (")
    assert number == ["GRAM_SCRIPT_ERROR:8", "", ""]
    with hurt.store() as store:
        assert store.local_job(1, 0).reason.startswith("cancelled (")


@pytest.mark.torture
def test_cancel_while_keepers_are_killed(place):
    hurt = begun(place, CLEARED + FAMILY)
    hurt.wish("cancel", 1)
    assert relay(hurt).wait(LIMIT) == 0
    is_cancelled(hurt)


def test_cancel_while_the_wrapper_is_killed(place):
    hurt = begun(place, CLEARED + FAMILY)
    hurt.wish("cancel", 1)
    keeper = hurt.start_keeper()
    kill(wrapper_of(hurt))
    assert keeper.wait(LIMIT) == 0
    is_cancelled(hurt)


@pytest.mark.torture
def test_cancel_while_daemon_and_wrapper_are_killed(place):
    """What also clears its environment has lost all that leads to it but where it works; so it is found again."""
    hurt = begun(place, CLEARED + FAMILY)
    hurt.wish("cancel", 1)
    keeper = hurt.start_keeper()
    kill(hurt.batch_pid(), wrapper_of(hurt))
    assert keeper.wait(LIMIT) == 0
    is_cancelled(hurt)


@pytest.mark.torture
def test_a_cancel_that_comes_after_the_end_changes_nothing(place):
    """The payload ends while no keeper looks; the next one sees the wish before it sees the end."""
    hurt = begun(place, WAITS, 2, ready=((0, 1), (1, 1)))
    go(hurt)
    until(lambda: len(list(hurt.site.work.glob("1/s1/exit.*"))) == 2, "the exit records")
    hurt.wish("cancel", 1)
    hurt.wish("cancel", "1.0")
    hurt.finish()
    hurt.check(2)


def test_a_cancel_ends_what_runs_and_keeps_what_is_completed(place):
    hurt = place("p")
    hurt.batch("init", "--grace", "0.5")
    hurt.submit(2, body='[ "$JIM_LOCAL_JOB" = 0 ] && exec 8>/dev/null || {\n' + FAMILY + "}")
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of(0) == "completed" and running(hurt, (1, 1)), "one completed, one running")
    hurt.wish("cancel", 1)
    assert keeper.wait(LIMIT) == 0
    hurt.held()
    assert [hurt.state_of(n) for n in (0, 1)] == ["completed", "killed"]
    assert hurt.answer().startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:cancelled: 1 of 2 local jobs killed: cancelled (")


def stands_still(hurt) -> bool:
    """Tell whether every process of the tasks is stopped."""
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in hurt.of_tasks()]
    return bool(states) and set(states) <= {"T", "Z"}


@pytest.mark.torture
def test_suspend_and_resume_while_keepers_and_daemon_are_killed(place):
    """One runs, one is pending: both stand still through every kill, and each finishes once."""
    hurt = begun(place, WAITS, 2, slots=1)
    hurt.wish("suspend", 1)
    keeper = relay(hurt, lambda: [hurt.state_of(n) for n in (0, 1)] == ["suspended", "held"])
    assert stands_still(hurt)
    kill(keeper.pid, hurt.batch_pid())
    keeper.wait()
    go(hurt)
    hurt.batch("ping")
    assert stands_still(hurt)
    assert hurt.answer() == "GRAM_SCRIPT_JOB_STATE:16\n\n"
    hurt.wish("resume", 1)
    assert relay(hurt).wait(LIMIT) == 0
    hurt.check(2)
    assert hurt.events("start") == [(0, 1), (1, 1)]


@pytest.mark.torture
def test_suspend_of_a_local_job_whose_wrapper_is_killed(place):
    """It is tried again, but not before it is resumed."""
    hurt = begun(place, WAITS)
    hurt.wish("suspend", 1)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of() == "suspended", "it is suspended")
    kill(wrapper_of(hurt))
    until(lambda: hurt.state_of() == "waiting", "it is to be tried again")
    go(hurt)
    with pytest.raises(AssertionError):
        until(lambda: len(hurt.events("start")) > 1, "the next attempt", limit=1.5)
    hurt.wish("resume", 1)
    assert keeper.wait(LIMIT) == 0
    hurt.check(1)
    assert hurt.events("start") == [(0, 1), (0, 2)]


@pytest.mark.torture
def test_retry_while_keepers_are_killed(place):
    """A wish is a wish once: what failed gets one new attempt, what completed gets none."""
    hurt = place("p")
    hurt.submit(2, body='[ "$JIM_LOCAL_JOB $JIM_ATTEMPT" != "0 1" ] || exit 3')
    hurt.finish()
    hurt.held()
    assert hurt.answer().startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:1 of 2 local jobs failed: exit 3\n")
    hurt.wish("retry", 1)
    hurt.wish("retry", "1.0")
    hurt.wish("retry", "1.1")
    assert relay(hurt).wait(LIMIT) == 0
    hurt.check(2)
    # An attempt that a killed keeper never sent is numbered, too.
    assert sorted(n for n, _ in hurt.events("start")) == [0, 0, 1]


@pytest.mark.torture
def test_cancel_and_retry_in_one_breath(place):
    hurt = begun(place, FAMILY)
    hurt.wish("cancel", 1)
    assert hurt.keep() == 0
    is_cancelled(hurt)
    (hurt.place / "payload.sh").write_text((hurt.place / "payload.sh").read_text().replace("sleep 302 & wait", ""))
    hurt.wish("retry", 1)
    hurt.finish()
    hurt.check(1)
    assert hurt.events("start") == [(0, 1), (0, 2)]
