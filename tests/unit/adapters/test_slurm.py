"""The words of Slurm; what it says is held to tests/captured by the conformance suite."""

from __future__ import annotations

import pytest

from jim.adapters.slurm import ADAPTER, STATES
from jim.errors import BatchError, Full, Refused, Unclear
from jim.model import Answer, Batch, Kind, Observation, Resources, State
from tests.unit.adapters.history.chosen import by_name

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
def test_each_wish_becomes_the_words_of_slurm_s_command(command, words):
    assert command == words.split()


def test_only_operators_suspend():
    assert ADAPTED.change_command("suspend", [("1", 1)]) is None
    assert not ADAPTED.can_suspend


@pytest.mark.parametrize(
    ("source", "site_s", "command"),
    [
        (
            "sacct",
            ["env", "SLURM_CONF=/c", "/opt/bin/sacct", "--cluster=a"],
            f"env SLURM_CONF=/c /opt/bin/sacct --cluster=a {ACCOUNTS} --jobs=1,2",
        ),
        ("squeue", ["/opt/site/squeue-slowly"], f"/opt/site/squeue-slowly {LISTING} --jobs=1,2"),
    ],
)
def test_a_site_has_ends_told_from_elsewhere(source, site_s, command):
    assert by_name("slurm", source, site_s).history_command(["1", "2"]) == command.split()


def test_a_site_has_ends_told_from_the_job_completion_file():
    words = ["grep", "-hE", "/var/log/jobcomp"]
    assert by_name("slurm", "jobcomp", words).history_command(["1", "2"]) == [*words, "-e", " ArrayJobId=(1|2) "]


# Answers


@pytest.mark.parametrize(("text", "batch_id"), [("12\n", "12"), ("12;cluster\n", "12"), ("odd: 3\nwords\n12\n", "12")])
def test_the_batch_id_is_found_in_the_answer_to_a_submission(text, batch_id):
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
        ("1_1|SPECIAL_EXIT|0|None|m|.\n", (State.HELD, "")),
        ("1_1|COMPLETING|0|None|m|.\n", (State.RUNNING, "")),
        ("1_1|FAILED|53|JobLaunchFailure|m|.\n", (State.FAILED, "JobLaunchFailure")),  # no output file: signal 53
        ("1_1|OUT_OF_MEMORY|125|OutOfMemory|m|.\n", (State.FAILED, "out of memory")),
        ("1_1|REVOKED|0|None|m|.\n", (State.UNKNOWN, "")),
        ("1_1|PENDING|0|AssocGrpSubmitJobsLimit|m|.\n", (State.SUBMITTED, "")),
        ("1_1|PENDING|0|QOSMaxMemoryPerUser|m|.\n", (State.SUBMITTED, "")),
        ("1_1|PENDING|0|QOSMaxMemoryPerJob|m|.\n", (State.SUBMITTED, "QOSMaxMemoryPerJob")),
        ("1_1|PENDING|0|MaxMemPerLimit|m|.\n", (State.SUBMITTED, "MaxMemPerLimit")),
        ("1_1|PENDING|0|ReservationDeleted|m|.\n", (State.SUBMITTED, "ReservationDeleted")),
        ("1_1|PENDING|0|JobHoldMaxRequeue|m|.\n", (State.HELD, "JobHoldMaxRequeue")),
    ],
)
def test_each_state_of_a_line_is_read(line, seen):
    assert (one(line).state, one(line).reason) == seen


def test_a_job_that_dumped_its_core_was_killed_by_the_signal():
    """Of what wait() gives, 128 says so: 139 is SIGSEGV with a core."""
    seen = one("1_1|FAILED|139|NonZeroExitCode|m|.\n")
    assert (seen.code, seen.signal, seen.reason) == (None, 11, "")


def test_what_failed_with_exit_0_was_not_ended_by_its_payload():
    assert one("1_1|FAILED|0|JobLaunchFailure|m|.\n") == Observation(
        State.FAILED, "m", reason="JobLaunchFailure", word="FAILED"
    )


def test_a_job_that_slurm_has_no_exit_code_of_is_read():
    """As squeue lists an `srun` that was ended before its node has answered."""
    assert one("1_1|CANCELLED|-1|Priority|m|.\n").state is State.KILLED
    assert one("1_1|FAILED|-1|JobLaunchFailure|m|.\n") == Observation(
        State.FAILED, "m", reason="JobLaunchFailure", word="FAILED"
    )


def test_a_job_that_is_no_array_has_index_1():
    assert ADAPTED.parse_query(answer(f"{HEADER}7|RUNNING|0|None|m|.\n")) == {
        ("7", 1): Observation(State.RUNNING, "m", word="RUNNING")
    }


def test_a_heterogeneous_job_is_somebody_else_s():
    ours = "1_1|RUNNING|0|None|m|.\n"
    theirs = "500+0|RUNNING|0|None|a\n1_2|x|.\n500+1|PENDING|0|Resources|a|.\n"
    assert list(ADAPTED.parse_query(answer(HEADER + theirs + ours + theirs))) == [("1", 1)]
    assert list(ADAPTED.parse_history(answer(f"{HEADER}500+0|FAILED|256|None|a|.\n{ours}"))) == [("1", 1)]
    accounts = "500+0|COMPLETED|0:0|None|a\n1_1|FAILED|7:0|None|m\n501+1|FAILED|1:0|None|a\n"
    assert list(ADAPTED.parse_history(answer(f"JobID|State|ExitCode|Reason|JobName\n{accounts}"))) == [("1", 1)]


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
        f"{HEADER}500+0|RUNNING|0|None|m|.",
        f"{HEADER}500+|RUNNING|0|None|m|.\n",
        f"{HEADER}500_1+0|RUNNING|0|None|m|.\n",
    ],
)
def test_an_odd_listing_is_unclear(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_query(answer(text))


def test_the_line_of_a_listing_that_is_odd_is_named():
    good = "".join(f"{n}_1|RUNNING|0|None|m|.\n" for n in range(1, 9))
    with pytest.raises(Unclear, match=r"^9_1\|RUNNING\|odd\|None\|m\|\. \(exit 0 after 0\.1 s: words\)$"):
        ADAPTED.parse_query(answer(f"{HEADER}{good}9_1|RUNNING|odd|None|m|.\n{good}"))


def test_an_end_of_which_history_says_nothing_is_not_told():
    text = (
        "JobID|State|ExitCode|Reason|JobName\n2_[2-4%2]|PENDING|0:0|None|m\n3_1|CANCELLED by 1001|0:15|None|m\n4_1|FAI"
    )
    assert ADAPTED.parse_history(answer(text)) == {
        ("3", 1): Observation(State.KILLED, "m", reason="cancelled", word="CANCELLED")
    }


# Failures that no lab could be brought to: their words stand in Slurm's own tables of errors and reasons

POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
BUSY = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"


def not_submitted(last, before=""):
    return f"{before}sbatch: error: Batch job submission failed: {last}\n"


@pytest.mark.parametrize(
    ("err", "kind"),
    [
        ("Job can not be altered now, try again later", BatchError),
        ("Job update not available right now, the DB index is being set, try again in a bit", BatchError),
        ("sbatch: error: Munge decode failed\nProtocol authentication error", Unclear),
        (not_submitted("Requested partition configuration not available now"), Unclear),
        (not_submitted("Requested operation is presently disabled"), Unclear),
        # The last answer counts.
        (not_submitted("Unable to contact slurm controller (connect failure)", BUSY), BatchError),
        (not_submitted("Socket timed out on send/recv operation", BUSY), Unclear),
        (not_submitted("Something new", BUSY), Unclear),
    ],
)
def test_each_message_is_sorted_by_what_it_means(err, kind):
    assert type(ADAPTED.trouble(answer("", err, 1))) is kind


@pytest.mark.parametrize(
    "word",
    [
        *("AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit", "QOSGrpSubmitJobsLimit"),
        *("QOSMaxSubmitJobPerUserLimit", "MaxSubmitJobsPerAccount"),
    ],
)
def test_a_limit_on_jobs_is_no_refusal(word):
    assert type(ADAPTED.trouble(answer("", not_submitted(POLICY, f"sbatch: error: {word}\n"), 1))) is Full


@pytest.mark.parametrize("word", ["AssocMaxCpuPerJobLimit", "QOSMaxWallDurationPerJobLimit", "QOSMinMemory"])
def test_a_limit_on_one_job_is_a_refusal(word):
    assert type(ADAPTED.trouble(answer("", not_submitted(POLICY, f"sbatch: error: {word}\n"), 1))) is Refused


@pytest.mark.parametrize(
    "last",
    [
        "Resource temporarily unavailable",  # MaxJobCount, as sbatch says in the end
        "MaxJobCount limit reached",  # so does a newer one
        "Unable to create job record, try again",
        "Invalid job array specification",
    ],
)
def test_too_many_jobs_at_once(last):
    assert type(ADAPTED.trouble(answer("", not_submitted(last, BUSY), 1))) is Full


@pytest.mark.parametrize(
    "last",
    [
        "Socket timed out on send/recv operation",
        "Zero Bytes were transmitted or received",
        "Header lengths are longer than data received",
        "Insane message length",
        "Unexpected message received",
        "Message send failure",
        "Message receive failure",
        "Communication shutdown failure",
        "Unable to contact slurm controller (send failure)",
        "Unable to contact slurm controller (receive failure)",
        "Unable to contact slurm controller (shutdown failure)",
        "Connection timed out reading",
        "Connection timed out writing",
        "Kernel reported delayed socket error after successful write(), client side likely closed",
    ],
)
def test_words_of_a_lost_answer(last):
    assert type(ADAPTED.trouble(answer("", not_submitted(last), 1))) is Unclear
    assert ADAPTED.says(ADAPTED.unclear, last)


@pytest.mark.parametrize(
    "last",
    [
        "Protocol authentication error",
        "Invalid authentication credential",
        "Authentication credential expired",
        "Unable to resolve user ID to user name",
        "Unable to resolve group ID to group name",
    ],
)
def test_who_is_not_known_for_a_while_is_not_refused(last):
    trouble = ADAPTED.trouble(answer("", not_submitted(last), 1))
    assert type(trouble) is Unclear
    assert trouble.kind is Kind.NO_ANSWER


def test_who_could_not_even_ask_for_want_of_a_credential_has_not_asked():
    own = "sbatch: error: Munge encode failed: Failed to access socket\nsbatch: error: auth_g_create: has failed\n"
    last = not_submitted("Protocol authentication error", own)
    assert type(ADAPTED.trouble(answer("", last, 1))) is BatchError


@pytest.mark.parametrize(
    "last",
    [
        "Unable to contact slurm controller (connect failure)",
        "Communication connection failure",
        "Slurm backup controller in standby mode",
        "Controller is in standby mode, try a different controller",
        "Rate limit exceeded, please retry later",
        "System submissions disabled",
        "Requested nodes are busy",
        "Required partition not available (inactive or drain)",
        "I/O error writing script/environment to file",  # the controller's disk is full
    ],
)
def test_nothing_was_done_and_it_may_be_later(last):
    assert type(ADAPTED.trouble(answer("", not_submitted(last), 1))) is BatchError


@pytest.mark.parametrize(
    "last",
    [
        "Memory required by task is not available",
        "No partition specified or system default partition",
        "Node count specification invalid",
        "CPU count specification invalid",
        "Task count specification invalid",
        "Task distribution specification invalid",
        "Access denied to requested reservation",
        "Duplicate generic resource (gres) specification",
        "Requested GRES option unsupported by configured SelectType plugin",
        "Requested topology configuration is not available",
        "Requested operation not supported on this system",
        "Requested nodes not in this partition",
        "Multiple partition job request not supported when a partition is set in the association",
        "Job size specification needs to be provided",
        "Job dependency problem",
        "Circular job dependency",
        "Job --batch option is invalid or not a subset of --constraints",
        "Burst Buffer request invalid",
        "Burst Buffer permission denied",
        "Burst Buffer resource limit exceeded",
    ],
)
def test_a_plain_no_as_the_last_words_is_a_refusal(last):
    assert type(ADAPTED.trouble(answer("", not_submitted(last), 1))) is Refused


def test_a_value_that_no_option_takes_is_refused():
    err = 'sbatch: error: Invalid numeric value "x" for --cpus-per-task.\n'
    assert type(ADAPTED.trouble(answer("", err, 255))) is Refused


def test_no_word_of_a_running_job_is_an_end():
    ends = {word for word, state in STATES.items() if state.final}
    assert ends == {
        *("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL"),
        *("BOOT_FAIL", "DEADLINE", "PREEMPTED", "CANCELLED"),
    }
    assert not ADAPTED.end_is_death
