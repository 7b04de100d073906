"""Wrappers and payloads: killed at every step, started twice, started late; and an `ln` that lies."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.faults.real import LIMIT, alive, until

# What a wrapper starts, one after the other.
# Without date, which changes nothing, and is asked again only where a second has gone by.
CALLS = ["ln", "mkdir", "ln", "sort", "stat", "sha256sum", "stat", "dd", "mv"]
# In the first submission, index I is hurt at the wrapper's call number (I + 3) / 4, before or after the real command;
# what is killed is the wrapper, which leads its session, or all of the session: a node.
HURT = """
[ "$LOCALBATCH_ID" = 1 ] || exec "$real" "$@"
echo $name >>"$place/calls.$LOCALBATCH_INDEX"
read -r _ _ _ _ _ leader rest </proc/self/stat
hurt() { [ $((LOCALBATCH_INDEX % 2)) = 0 ] && kill -s KILL $leader || kill -s KILL -- -$leader; }
due=$(( $(wc -l <"$place/calls.$LOCALBATCH_INDEX") == (LOCALBATCH_INDEX + 3) / 4 ))
[ $due$((LOCALBATCH_INDEX / 2 % 2)) = 10 ] && hurt
"$real" "$@"
code=$?
[ $due$((LOCALBATCH_INDEX / 2 % 2)) = 11 ] && hurt
exit $code
"""


def run_again(place, k: int = 1, index: int = 1, batch: int = 1) -> subprocess.Popen[bytes]:
    """Start a task's script once more, as a batch system does that requeues a job."""
    script = place.site.work / f"1/s{k}/job.sh"
    more = {"LOCALBATCH_INDEX": str(index), "LOCALBATCH_ID": str(batch)}
    process = subprocess.Popen([script], env=place.environment(more), start_new_session=True)
    place.started.append(process)
    return process


def test_wrapper_or_node_killed_at_every_command(place):
    hurt = place("p", slots=6)
    for name in set(CALLS):
        hurt.front(name, HURT)
    pieces = 4 * len(CALLS)
    hurt.submit(pieces)
    hurt.finish()
    hurt.check(pieces)
    calls = [len((hurt.place / f"calls.{index}").read_text().split()) for index in range(1, pieces + 1)]
    assert calls[::2] == [call for call in range(1, len(CALLS) + 1) for _ in range(2)], (
        "a node does nothing once it is dead"
    )
    # The mv gives the exit record its name: from then on the attempt counts. One mv may outlive its wrapper.
    again = {n for n, attempt in hurt.events("start") if attempt == 2}
    assert again - {35} == set(range(33))
    assert "attempt 1: lost: signal 9" in hurt.journal()
    assert "attempt 1: signal 9" in hurt.journal()


def test_payload_killed_is_tried_again_and_then_a_failure(place):
    hurt = place("p")
    body = "case $JIM_LOCAL_JOB in 0) kill -9 $$ ;; 1) (kill -9 $$) & wait ;; esac"
    hurt.submit(3, body=body)
    hurt.finish()
    hurt.held()
    assert [hurt.state_of(n) for n in range(3)] == ["failed", "failed", "completed"]
    with hurt.store() as store:
        said = "killed by signal 9: by the site or for want of memory (attempt 3 of 3)"
        assert {store.local_job(1, n).reason for n in (0, 1)} == {said}
    answer = f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:2 of 3 local jobs failed: {said}\nGRAM_SCRIPT_ERROR:17\n\n"
    assert hurt.answer() == answer


WAITS = 'until [ -e "$0.go" ]; do sleep 0.05; done'


def go(place) -> None:
    (place.place / "payload.sh.go").touch()


@pytest.mark.torture
def test_a_task_started_again_is_refused_while_it_runs_and_after_its_end(place):
    hurt = place("p")
    hurt.submit(1, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of() == "running", "the payload runs")
    assert [run_again(hurt).wait(LIMIT) for _ in range(2)] == [71, 71]
    until(lambda: "refused" in hurt.journal(), "the refusal is noted")
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    assert run_again(hurt).wait(LIMIT) == 71
    hurt.finish()
    hurt.check(1)
    host = os.uname().nodename
    assert hurt.journal().count(f"attempt 1 was started again on {host} and refused") >= 2  # two may be told as one
    assert "belongs to" in (hurt.site.work / "1/s1/log.1").read_text()


# Wrappers wait before they claim until they may go: those of one batch job, or those started by hand.
GATE = 'until [ -e "$place/go.$LOCALBATCH_ID" ]; do sleep 0.02; done; exec "$real" "$@"'


@pytest.mark.torture
def test_many_starts_of_a_task_at_once(place):
    hurt = place("p", slots=3)
    hurt.front("ln", GATE)
    hurt.submit(3, body="sleep 1")
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of(2) == "running", "the batch system starts them")
    starts = [run_again(hurt, index=index) for index in (1, 2, 3) for _ in range(5)]
    (hurt.place / "go.1").touch()
    codes = [start.wait(LIMIT) for start in starts]
    assert keeper.wait(LIMIT) == 0
    assert codes.count(71) >= 12
    assert len(hurt.events("start")) == 3
    hurt.check(3)


@pytest.mark.torture
def test_a_batch_system_that_accepts_twice(place):
    """Two batch jobs of one mark: JIM hears of the second, the first one runs and the second is refused."""
    hurt = place("p", slots=4)
    hurt.front("ln", GATE)
    hurt.command("submit", '"$@" >/dev/null; exec "$@"')
    hurt.submit(1, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of() == "running", "the batch system starts them")
    with hurt.store() as store:
        assert store.submission(1, 1).batch_id == "2"
    (hurt.place / "go.1").touch()
    until(lambda: hurt.events("start"), "the first one runs")
    (hurt.place / "go.2").touch()
    until(lambda: ["ended", "2"] in [event[:2] for event in hurt.batch_ledger()], "the second one is refused")
    with pytest.raises(AssertionError):  # whatever it asks and sees
        until(lambda: hurt.state_of() != "running", "the first one's end", limit=2)
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    assert hurt.events("start") == [(0, 1)]
    hurt.check(1, accepted=2)


@pytest.mark.torture
def test_both_of_two_batch_jobs_are_cancelled(place):
    hurt = place("p", slots=4)
    hurt.front("ln", GATE)
    hurt.command("submit", '"$@" >/dev/null; exec "$@"')
    hurt.submit(1, body="sleep 60")
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of() == "running", "the batch system starts them")
    (hurt.place / "go.1").touch()
    until(lambda: hurt.events("start"), "the first one runs")
    hurt.wish("cancel", 1)
    assert keeper.wait(LIMIT) == 0
    hurt.held(accepted=2)
    assert hurt.events("end") == []
    assert hurt.state_of() == "killed"


@pytest.mark.parametrize(
    ("lie", "attempts"),
    [
        pytest.param('"$real" "$@"; exit 1', [(0, 1)], id="made the link and said no", marks=pytest.mark.torture),
        pytest.param(
            'case $2:$PWD in claim.*:*/s1) exit 0 ;; esac; exec "$real" "$@"',
            [(0, 2)],
            id="says yes and makes no link",
        ),
    ],
)
def test_ln_lies(place, lie, attempts):
    hurt = place("p")
    hurt.front("ln", lie)
    hurt.front("sleep", 'case $1 in [124]) ;; *) exec "$real" "$@" ;; esac')  # it tries again for seven seconds
    hurt.submit(1)
    hurt.finish()
    hurt.check(1)
    assert hurt.events("start") == attempts
    if attempts == [(0, 2)]:
        assert "lost: exit 72" in hurt.journal()
        assert "cannot read claim.1 (exit 72)" in (hurt.site.work / "1/s1/log.1").read_text()


@pytest.mark.torture
def test_a_wrapper_that_comes_after_its_successors_end(place):
    """The batch system promises an id and forgets the job; its wrapper turns up during and after the next attempt."""
    hurt = place("p")
    hurt.command("submit", 'once || exec "$@"; echo 999')
    hurt.submit(1, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: hurt.events("start") == [(0, 2)], "the next attempt")
    assert run_again(hurt, batch=999).wait(LIMIT) == 71
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    assert run_again(hurt, batch=999).wait(LIMIT) == 71
    hurt.finish()
    hurt.check(1)
    assert "batch job 999 was promised but is not listed" in hurt.journal()


@pytest.mark.torture
def test_a_wrapper_that_stands_still_before_its_claim(place):
    """A node hangs before the claim; JIM has another attempt made; then the node goes on."""
    hurt = place("p")
    hurt.front("ln", GATE)
    hurt.command("submit", 'once || exec "$@"; echo 999')
    (hurt.place / "go.1").touch()  # the first that is really accepted
    hurt.submit(1)
    keeper = hurt.start_keeper()
    until((hurt.site.work / "1/s1/job.sh").exists, "the first submission")
    stands = run_again(hurt, batch=999)
    assert keeper.wait(LIMIT) == 0
    assert hurt.events("end") == [(0, 2)]
    (hurt.place / "go.999").touch()
    assert stands.wait(LIMIT) == 71
    hurt.finish()
    hurt.check(1)


@pytest.mark.torture
def test_a_grid_job_that_was_removed_leaves_nothing_to_start(place):
    hurt = place("p", settings="finished_days = 0\n")
    hurt.command("submit", 'once || exec "$@"; echo 999')
    hurt.submit(1)
    hurt.finish()
    hurt.finish()  # its time is over
    assert not (hurt.site.work / "1").exists()
    late = hurt.batch("submit", "--name", "late", str(hurt.site.work / "1/s1/job.sh")).strip()
    until(lambda: "cannot start: No such file or directory" in hurt.batch("history", late), "the late job's end")
    assert len(hurt.events("start")) == 1
    assert not (hurt.site.work / "1").exists()


# The first batch command stands still: killed at its limit, found by its mark by the next keeper, or out of reach.
STILL = 'once || exec "$@"; echo $$ >"$place/still"; kill -STOP $$; exec "$@"'


def still(place) -> int:
    """Wait for the standing command."""
    file = place.place / "still"
    return int(until(lambda: file.exists() and file.read_text(), "the batch command"))


@pytest.mark.torture
def test_a_standing_batch_command_is_ended_and_does_not_submit_later(place):
    hurt = place("p", batch="command_seconds = 1")
    hurt.command("submit", STILL)
    hurt.submit(1)
    keeper = hurt.start_keeper()
    pid = still(hurt)
    assert keeper.wait(LIMIT) == 0
    assert not alive(pid)
    hurt.check(1)
    assert hurt.events("start") == [(0, 2)]
    assert "did not return" in hurt.log()
    assert "not accepted: " in hurt.journal()


def test_a_standing_batch_command_of_a_killed_keeper_is_ended(place):
    hurt = place("p")
    hurt.command("submit", STILL)
    hurt.submit(1)
    keeper = hurt.start_keeper()
    pid = still(hurt)
    keeper.kill()
    keeper.wait()
    assert alive(pid)
    hurt.finish()
    assert not alive(pid)
    hurt.check(1)
    assert "JIM was ended before the batch system's answer was recorded" in hurt.journal()


@pytest.mark.torture
@pytest.mark.parametrize(
    "late", ["while the next attempt runs", pytest.param("after the end", marks=pytest.mark.torture)]
)
def test_a_batch_command_out_of_reach_submits_hours_later(place, late):
    """It has left its session and its environment, so nothing finds it; the fence makes its job harmless."""
    hurt = place("p", slots=4)
    away = 'setsid env -i PATH="$PATH" PYTHONPATH="$PYTHONPATH" sh -c \'kill -STOP $$; exec "$@"\' - "$@" &'
    gone = 'until grep -q "^State:.T" /proc/$!/status; do sleep 0.02; done'  # before, it would still be found
    hurt.command("submit", f'once || exec "$@"\n{away}\n{gone}; echo $! >"$place/still"; exit 1')
    hurt.submit(1, body=WAITS)
    keeper = hurt.start_keeper()
    pid = still(hurt)
    until(lambda: hurt.events("start") == [(0, 2)], "the next attempt")
    if late == "after the end":
        go(hurt)
        assert keeper.wait(LIMIT) == 0
    os.kill(pid, signal.SIGCONT)
    until(lambda: [event[:2] for event in hurt.batch_ledger()].count(["ended", "2"]), "its job's end")
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    hurt.finish()
    hurt.check(1)
    assert "was started again on" in hurt.journal()


# What a power cut, or a payload, may make of a claim.
SPOIL = [
    ":",
    ": >$c",
    "head -c 1000 /dev/urandom >$c",
    "rm $c; mkfifo $c",
    "rm $c; mkdir $c",
    "rm $c; ln -s /etc/passwd $c",
    ": >claim.x; : >claim.",
]


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(False, id="and the answer was lost"),
        pytest.param(True, id="of a known batch job", marks=pytest.mark.torture),
    ],
)
def test_a_claim_that_cannot_be_read_is_taken_all_the_same_and_holds_up_nobody(place, told):
    """Claims are spoilt, and their wrappers die; before JIM knew the batch job, or after."""
    hurt = place("p", slots=4)
    lost = "" if told else "sleep 2; exit 1"
    hurt.command("submit", f'once || exec "$@"; "$@" >$place/id; {lost}\ncat $place/id')
    cases = "\n".join(f"{n}) {script} ;;" for n, script in enumerate(SPOIL))
    spoil = f"cd ..; c=claim.$JIM_INDEX; case $JIM_LOCAL_JOB in\n{cases}\nesac\nkill -9 $PPID"
    hurt.submit(len(SPOIL), body=f"[ $JIM_ATTEMPT = 2 ] || {{\n{spoil}\n}}")
    hurt.finish()
    hurt.check(len(SPOIL))
    assert sorted(hurt.events("start")) == [(n, attempt) for n in range(len(SPOIL)) for attempt in (1, 2)]
