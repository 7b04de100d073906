"""The words of Slurm; what it says is held to tests/captured by the conformance suite."""

from __future__ import annotations

import pytest

from jim.adapters.slurm import ADAPTER, STATES
from jim.errors import BatchError, Unclear
from jim.model import Answer, Batch, Observation, Resources, State

ADAPTED = ADAPTER()
HEADER = "JOBID|STATE|EXIT_CODE|REASON|NAME|.\n"
ACCOUNTS = "--allocations --parsable2 --format=JobID,State,ExitCode,Reason,JobName"
LISTING = "--me --states=all --array --Format=JobArrayID:|,State:|,exit_code:|,Reason:|,Name:|."


def answer(out="", err="", code=0):
    return Answer(("words",), code, out, err, 0.1)


def batch(size=1, options=(), **asked):
    return Batch("jim-1-1", "/w/job.sh", "/w", size, Resources(**asked), options)


# Commands

OURS = (
    "--parsable --no-requeue --job-name=jim-1-1 --array=1-{} --export=ALL --chdir=/"
    " --output=/dev/null --error=/dev/null /w/job.sh"
)


def test_a_submission_is_always_an_array():
    assert ADAPTED.submit_command(batch()) == ["sbatch", *OURS.format(1).split()]
    assert ADAPTED.submit_command(batch(1000)) == ["sbatch", *OURS.format(1000).split()]


def test_what_is_asked_for_comes_between_the_site_s_words_and_ours():
    asked = {"queue": "short", "account": "grid", "cores": 2, "memory_mb": 500, "disk_mb": 9, "wall_seconds": 61}
    words = "--requeue --partition=short --account=grid --cpus-per-task=2 --mem=500M --tmp=9M --time=2 " + OURS.format(
        3
    )
    assert ADAPTED.submit_command(batch(3, ("--requeue",), **asked)) == ["sbatch", *words.split()]


@pytest.mark.parametrize(("seconds", "minutes"), [(1, 1), (60, 1), (61, 2), (86_400, 1440)])
def test_time_is_rounded_up_to_minutes(seconds, minutes):
    assert f"--time={minutes}" in ADAPTED.submit_command(batch(wall_seconds=seconds))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (ADAPTED.query_command(), f"squeue {LISTING}"),
        (ADAPTED.find_command("jim-1-1"), f"squeue {LISTING} --name=jim-1-1"),
        (ADAPTED.history_command(["1", "2"]), f"squeue {LISTING} --jobs=1,2"),
        (ADAPTED.cancel_command([("1", 2), ("1", 3), ("1", 5), ("7", 0)]), "scancel 1_[2-3,5] 7"),
        (ADAPTED.change_command("hold", [("1", 2), ("7", 1)]), "scontrol hold 1_[2],7_[1]"),
        (ADAPTED.change_command("release", [("1", 2)]), "scontrol release 1_[2]"),
        (ADAPTED.ping_command(), "scontrol ping"),
    ],
)
def test_a_command(command, words):
    assert command == words.split()


def test_only_operators_suspend():
    assert ADAPTED.change_command("suspend", [("1", 1)]) is None
    assert not ADAPTED.can_suspend


@pytest.mark.parametrize(
    ("site_s", "command"),
    [
        (
            ["env", "SLURM_CONF=/c", "/opt/bin/sacct", "--cluster=a"],
            f"env SLURM_CONF=/c /opt/bin/sacct --cluster=a {ACCOUNTS} --jobs=1,2",
        ),
        (["/opt/site/squeue-slowly"], f"/opt/site/squeue-slowly {LISTING} --jobs=1,2"),
    ],
)
def test_a_site_has_ends_told_from_elsewhere(site_s, command):
    assert ADAPTER({"history": site_s}).history_command(["1", "2"]) == command.split()


def test_a_site_has_ends_told_from_the_job_completion_file():
    words = ["grep", "-hE", "/var/log/jobcomp"]
    assert ADAPTER({"history": words}).history_command(["1", "2"]) == [*words, "-e", " ArrayJobId=(1|2) "]


# Answers


@pytest.mark.parametrize(("text", "batch_id"), [("12\n", "12"), ("12;cluster\n", "12"), ("odd: 3\nwords\n12\n", "12")])
def test_submit(text, batch_id):
    assert ADAPTED.parse_submit(answer(text)) == batch_id


@pytest.mark.parametrize("text", ["", "12", "0\n", "x\n", "12 \n", "12\n\n", "Submitted batch job 12\n", "١\n"])
def test_an_odd_answer_to_submit_is_unclear(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_submit(answer(text))


def one(line):
    (seen,) = ADAPTED.parse_query(answer(HEADER + line)).values()
    return seen


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("1_1|PENDING|0|launch_failed_requeued_held|m|.\n", (State.HELD, "launch_failed_requeued_held")),
        ("1_1|REQUEUE_HOLD|0|None|m|.\n", (State.HELD, "")),
        ("1_1|COMPLETING|0|None|m|.\n", (State.RUNNING, "")),
        ("1_1|FAILED|53|JobLaunchFailure|m|.\n", (State.FAILED, "JobLaunchFailure")),  # no output file: signal 53
        ("1_1|OUT_OF_MEMORY|125|OutOfMemory|m|.\n", (State.FAILED, "out of memory")),
        ("1_1|REVOKED|0|None|m|.\n", (State.UNKNOWN, "")),
    ],
)
def test_a_job(line, seen):
    assert (one(line).state, one(line).reason) == seen


def test_a_job_that_is_no_array_has_index_1():
    assert ADAPTED.parse_query(answer(f"{HEADER}7|RUNNING|0|None|m|.\n")) == {
        ("7", 1): Observation(State.RUNNING, "m", word="RUNNING")
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1_1|RUNNING|0|None|m|.\n",  # no header: it may have had a beginning
        f"{HEADER}1_1|RUNNING|0|None|m|.",
        f"{HEADER}1_1|RUNNING|0:0|None\n",
        f"{HEADER}1_[2-4]|PENDING|0|None|m|.\n",
        f"{HEADER}1_1|RUNNING|0|None|m|.\nslurmctld: restarting\n1_2|RUNNING|0|None|m|.\n",
        f"{HEADER}1_1|RUNNING|0|None|m|.\n\n",
    ],
)
def test_an_odd_listing_is_unclear(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_query(answer(text))


def test_an_end_of_which_history_says_nothing_is_not_told():
    text = (
        "JobID|State|ExitCode|Reason|JobName\n2_[2-4%2]|PENDING|0:0|None|m\n3_1|CANCELLED by 1001|0:15|None|m\n4_1|FAI"
    )
    assert ADAPTED.parse_history(answer(text)) == {
        ("3", 1): Observation(State.KILLED, "m", reason="cancelled", word="CANCELLED")
    }


# Failures that no lab could be brought to


@pytest.mark.parametrize(
    ("err", "kind"),
    [
        ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", BatchError),
        ("Job can not be altered now, try again later", BatchError),
        ("sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received", Unclear),
        ("sbatch: error: Munge decode failed\nProtocol authentication error", Unclear),
        ("sbatch: error: Batch job submission failed: Requested partition configuration not available now", Unclear),
    ],
)
def test_a_failure(err, kind):
    assert type(ADAPTED.trouble(answer("", err, 1))) is kind


def test_no_word_of_a_running_job_is_an_end():
    ends = {word for word, state in STATES.items() if state.final}
    assert ends == {
        *("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL"),
        *("BOOT_FAIL", "DEADLINE", "PREEMPTED", "CANCELLED"),
    }
    assert not ADAPTED.end_is_death
