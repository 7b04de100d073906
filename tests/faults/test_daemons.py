"""The local batch system's daemon: killed while processes hide, and careful with what belongs to a task that runs."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.real import LIMIT, alive, until
from tests.support.sampled import sampled

# A payload without its environment, in a session of its own; the second attempt ends at once.
HIDES = 'setsid env -i PATH="$PATH" sh -c \'echo $$ >"$0.pid"; until [ -e "$0.go" ]; do sleep 0.05; done\' "$0"'
ONCE = f"[ $JIM_ATTEMPT != 1 ] || {HIDES}"
# The same, forked away from all that is known, and without an open file.
FORKS = f"cd .; ({HIDES} </dev/null >/dev/null 2>&1 9>&- &)\n" + 'until [ -e "$0.go" ]; do sleep 0.05; done'


def pid_of(place) -> int:
    """Wait for the hidden process."""
    file = place.place / "payload.sh.pid"
    return int(until(lambda: file.exists() and file.read_text(), "the hidden process"))


def wrapper_of(place) -> int:
    words = next(place.site.work.glob("1/s1/claim.1")).read_text().split()
    return int(words[words.index("pid") + 1])


def kill_daemon(place) -> None:
    """Kill the daemon, and wait until the next one has taken over its tasks."""
    old = place.batch_pid()
    os.kill(old, signal.SIGKILL)
    until(lambda: place.batch_pid() not in (0, old), "the next daemon")
    job = place.batch("submit", "--name", f"after-{old}", "/bin/true").strip()
    until(lambda: "|ended|" in place.batch("history", job), "a task that the next daemon has started")


@pytest.fixture
def hidden(place, request):
    """Give a place in which a hidden process runs; `request` may name the payload and settings."""
    body, settings = request.param
    hurt = place("p", slots=3, settings=settings)
    hurt.batch("init", "--grace", "0.5")
    hurt.submit(1, body=body)
    keeper = hurt.start_keeper()
    pid = pid_of(hurt)
    until(lambda: hurt.state_of() == "running", "the payload runs")
    yield hurt, keeper, pid
    (hurt.place / "payload.sh.go").touch()


@pytest.mark.parametrize("hidden", [(ONCE, "")], indirect=True)
def test_a_wrapper_killed_under_the_next_daemon_leaves_no_payload_beside_the_next_attempt(hidden):
    """The next daemon is not the parent of what earlier tasks leave, so it looks where that works."""
    hurt, keeper, pid = hidden
    kill_daemon(hurt)
    os.kill(wrapper_of(hurt), signal.SIGKILL)
    assert keeper.wait(LIMIT) == 0
    assert not alive(pid)
    hurt.check(1)
    assert hurt.events("start") == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    "hidden",
    [(FORKS, ""), pytest.param((FORKS, '[payload]\nscratch = "WORK"\n'), marks=pytest.mark.torture)],
    indirect=True,
    ids=["run.I", "scratch"],
)
def test_a_cancel_by_the_next_daemon_ends_all(hidden):
    hurt, keeper, pid = hidden
    kill_daemon(hurt)
    hurt.wish("cancel", 1)
    assert keeper.wait(LIMIT) == 0
    until(lambda: ["cancelled", "1", "1"] in [event[:3] for event in hurt.batch_ledger()], "the end of its batch job")
    assert not alive(pid)
    assert hurt.state_of() == "killed"


HELPER = 'sh -c \'until [ -e "$0.go" ]; do sleep 0.05; done; : >"$0.ready"\' "$0" </dev/null >/dev/null 2>&1 9>&- &'


@pytest.mark.parametrize("helper", sampled([f'(setsid env -i PATH="$PATH" {HELPER})', f"(setsid {HELPER})"]))
def test_what_a_running_payload_has_sent_into_the_background_lives_on_when_another_task_ends(place, helper):
    hurt = place("p", slots=2)
    begun = 'until [ -e "$0.begun" ]; do sleep 0.05; done'
    waits = (
        'n=0; until [ -e "$0.ready" ] || [ $n = 600 ]; do sleep 0.05; n=$((n + 1)); done; [ -e "$0.ready" ] || exit 3'
    )
    hurt.submit(2, body=f'if [ $JIM_LOCAL_JOB = 0 ]; then {helper}\n: >"$0.begun"\n{waits}\nelse {begun}\nfi')
    keeper = hurt.start_keeper()
    until(lambda: ["ended", "1", "2"] in [event[:3] for event in hurt.batch_ledger()], "the other task's end")
    (hurt.place / "payload.sh.go").touch()
    assert keeper.wait(LIMIT) == 0
    hurt.check(2)
    assert len(hurt.events("start")) == 2
