"""The words of HTCondor, held against what it says; and against what it is documented to say, of version 24."""

from __future__ import annotations

from pathlib import Path

import pytest

from jim.adapters.condor import ADAPTER, TOLD
from jim.adapters.condor_transfer import ADAPTER as TRANSFER
from jim.errors import BatchError, Full, Refused, Unclear
from jim.model import Answer, Batch, Observation, Resources, State
from tests.unit.adapters.history.chosen import by_name

REAL = Path(__file__).parents[2] / "captured/condor/23.9.6"
ADAPTED = ADAPTER()
LOGGED = by_name("condor", "event_log")


def answer(out="", err="", code=0):
    return Answer(("condor",), code, out, err, 0.1)


def mark(number):
    return f"jim-3f9a0001-{number}"


# Parsing


@pytest.mark.parametrize(
    "text", ["", "6", "6\n", "6.0 - 6.9", "6.0 - 7.9\n", "6.1 - 6.9\n", "0.0 - 0.9\n", "Submitting"]
)
def test_an_odd_answer_to_submit_proves_nothing(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_submit(answer(text))


@pytest.mark.parametrize("text", ["", "\n", "[]\n", "[\n]\n"])
def test_nothing_is_an_answer(text):
    assert ADAPTED.parse_query(answer(text)) == ADAPTED.parse_find(answer(text)) == {}
    assert ADAPTED.parse_history(answer(text)) == {}


def test_an_unknown_word_is_kept_and_is_no_end():
    text = '[{"ClusterId": 1, "ProcId": 0, "JobStatus": 8, "JimMark": "m"}]'
    assert ADAPTED.parse_query(answer(text)) == {("1", 1): Observation(State.UNKNOWN, "m", word="8")}
    assert ADAPTED.parse_history(answer(text)) == {("1", 1): Observation(State.UNKNOWN, "m", word="8")}


# The job event log


def event(word, job, *lines, date="2026-01-31 12:00:00"):
    return "".join(f"{line}\n" for line in (f"{word} ({job}.000) {date} Something was done.", *lines, "..."))


def submitted(job, name, **more):
    return event("000", job, f"    {name}", **more)


def exited(job, code, **more):
    return event("005", job, f"\t(1) Normal termination (return value {code})", "\t\tUsr 0 00:00:00", **more)


REMOVED = ("\tThe job attribute PeriodicRemove expression 'x' evaluated to TRUE", "")


@pytest.mark.parametrize("date", ["01/31 12:00:00", "2026-01-31 12:00:00", "2026-01-31T12:00:00.123Z"])
def test_a_job_event_log_tells_how_jobs_ended(date):
    said = "".join(
        (
            submitted("006.000", mark("2-1"), date=date),
            submitted("006.001", mark("2-1"), date=date),
            exited("006.001", 7, date=date),
            exited("006.000", 0, date=date),
            submitted("1234567.000", mark("3-1"), date=date),
            event("005", "1234567.000", "\t(0) Abnormal termination (signal 11)", "\t(0) No core file", date=date),
        )
    )
    assert LOGGED.parse_history(answer(said)) == {
        ("6", 1): Observation(State.COMPLETED, mark("2-1"), code=0, word="005"),
        ("6", 2): Observation(State.FAILED, mark("2-1"), code=7, word="005"),
        ("1234567", 1): Observation(State.FAILED, mark("3-1"), signal=11, word="005"),
    }


def test_it_tells_why_a_job_was_taken_away():
    hold, by_hand = ("\tmemory usage exceeded", "\tCode 34 Subcode 102"), ("\tvia condor_hold", "\tCode 1 Subcode 0")
    said = submitted("6.0", "a") + event("012", "6.0", *hold) + event("009", "6.0", *REMOVED)
    said += submitted("7.0", "b") + event("012", "7.0", *by_hand) + event("009", "7.0", "\tvia condor_rm")
    assert {key[0]: seen.reason for key, seen in LOGGED.parse_history(answer(said)).items()} == {
        "6": "memory usage exceeded",
        "7": "via condor_rm",
    }


def test_what_is_held_has_not_ended():
    assert LOGGED.parse_history(answer(submitted("6.0", "a") + event("012", "6.0", "\tx", "\tCode 34 Subcode 0"))) == {}


def test_an_id_that_was_given_out_again_is_another_job():
    said = submitted("6.0", "a") + event("012", "6.0", "\tx", "\tCode 34 Subcode 0") + exited("6.0", 0)
    assert LOGGED.parse_history(answer(said + submitted("6.0", "b"))) == {}
    now = LOGGED.parse_history(answer(said + submitted("6.0", "b") + event("009", "6.0", "\tvia condor_rm")))
    assert now == {("6", 1): Observation(State.FAILED, "b", reason="via condor_rm", word="009")}


def test_an_event_that_is_cut_off_tells_no_end():
    """It is being written. The line feed at the end may be grep's own."""
    first = submitted("6.0", "a")
    last = exited("6.0", 15).partition("\n\t\t")[0]
    for length in range(len(last)):
        for end in ("", "\n"):
            assert LOGGED.parse_history(answer(first + last[:length] + end)) == {}
    assert LOGGED.parse_history(answer(f"{first}{last}\n"))["6", 1].code == 15


def test_a_log_without_a_word_of_these_jobs_proves_nothing():
    assert LOGGED.parse_history(answer(code=1)) == {}
    for code, error in ((2, "grep: /var/log/condor/EventLog: No such file or directory\n"), (None, ""), (-9, "")):
        with pytest.raises(Unclear):
            LOGGED.parse_history(answer(submitted("6.0", "a") + exited("6.0", 0), error, code))


@pytest.mark.parametrize("name", ["history-log", "history-EventLog"])
def test_the_log_of_a_real_one_says_what_its_history_says(name):
    """And more: the last job was still on its way into the history."""
    said = LOGGED.parse_history(answer((REAL / f"{name}.txt").read_text()))
    history = ADAPTED.parse_history(answer((REAL / "history.txt").read_text()))
    assert {key: seen._replace(word="") for key, seen in said.items() if key in history} == {
        key: seen._replace(word="") for key, seen in history.items()
    }
    assert said.keys() - history.keys() == {("8", 1)}


# Looking for what has ended already

FOUND = """\
000 (007.000.000) 11/22 02:34:17 Job submitted from host: <127.0.0.1:9618>
    jim-1-1-1
--
000 (007.001.000) 11/22 02:34:17 Job submitted from host: <127.0.0.1:9618>
    jim-1-1-1
"""


def test_what_has_ended_is_looked_for_by_its_mark():
    asked = ["condor_history", "-constraint", 'JimMark == "m"', "-limit", "1", "-json", "-attributes", TOLD]
    assert TRANSFER().find_ended_command("m") == asked


def test_a_job_event_log_tells_that_it_was_accepted_and_no_end():
    log = by_name("condor_transfer", "event_log")
    words = ["grep", "-hE", "/var/log/condor/EventLog", "-B1", "-e", "^[[:blank:]]+jim-1-1-1$"]
    assert log.find_ended_command("jim-1-1-1") == words
    accepted = Observation(State.UNKNOWN, "jim-1-1-1", word="000")
    assert log.parse_history(answer(FOUND)) == {("7", 1): accepted, ("7", 2): accepted}
    assert log.parse_history(answer(code=1)) == {}
    ended = Observation(State.COMPLETED, "a", 0, word="005")
    both = submitted("6.0", "a") + submitted("6.1", "a") + exited("6.0", 0)
    assert log.parse_history(answer(both))["6", 1] == ended
    assert LOGGED.parse_history(answer(both)) == {("6", 1): ended}


# What failures mean


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("\nERROR: Failed to commit job submission into the queue.\n", Unclear),
        ("SECMAN:2007:Failed to end classad message.\n", Unclear),
        ("\nERROR: Failed to create cluster\nNumber of submitted jobs would exceed MAX_JOBS_SUBMITTED\n", Full),
        ("\nERROR: Failed to create proc\nNumber of submitted jobs would exceed MAX_JOBS_PER_OWNER\n", Full),
        ("\nERROR: Failed to create proc\nNumber of submitted jobs would exceed MAX_JOBS_PER_SUBMISSION\n", Full),
        ("\nERROR: number of procs exceeds SUBMIT_MAX_PROCS_IN_CLUSTER\n", Full),
        ("\nERROR: Failed to create cluster\nUser is disabled\n", BatchError),
        ("\nERROR: Failed to create proc\n", BatchError),  # nothing was committed
        ("\nERROR: Failed to connect to local queue manager\nSECMAN:2007:Failed to end classad message.\n", BatchError),
        ("\nERROR: Failed to connect to queue manager schedd.example.org\nSECMAN:2011:…\n", BatchError),
        ("-- Failed to fetch ads from: <192.0.2.1:9618>\nSECMAN:2007:Failed to end classad message.\n", BatchError),
        ("\nERROR: Failed to commit job submission into the queue.\nERROR: This pool does not accept …\n", Refused),
    ],
)
def test_each_message_is_sorted_by_what_it_means(said, meaning):
    for adapter in (ADAPTED, TRANSFER()):
        with pytest.raises(BatchError) as error:
            adapter.parse_submit(answer("", said, 1))
        assert type(error.value) is meaning


# Answers that prove nothing


@pytest.mark.parametrize("text", ["null", "{}x", "1", "[1]", "[{}]", '[{"ClusterId": 1}]', '{"a": 1}', "-- Failed"])
def test_an_odd_listing_raises(text):
    for parse in (ADAPTED.parse_query, ADAPTED.parse_history):
        with pytest.raises(Unclear):
            parse(answer(text))


@pytest.mark.parametrize("code", [None, -9, 1])
def test_a_command_that_was_killed_or_says_nothing_leaves_all_open(code):
    for parse in (ADAPTED.parse_submit, ADAPTED.parse_query, ADAPTED.parse_history):
        with pytest.raises(Unclear):
            parse(answer(code=code))


# Building commands

FIRST = [
    *("-terse", "-batch-name", "jim-1-1-1", "universe=vanilla", "should_transfer_files=NO"),
    *("transfer_executable=false", "getenv=false", "notification=never", "JimIndex=$(Process)+1"),
    'environment="JIM_CONDOR_CLUSTER=$(ClusterId) JIM_CONDOR_INDEX=$INT(JimIndex)"',
]
NOTED = ['MY.JimMark="jim-1-1-1"', "submit_event_notes=jim-1-1-1"]
UNWANTED = (
    "periodic_remove=(JobStatus == 1 && NumJobStarts > 0)"
    " || (JobStatus == 5 && HoldReasonCode =!= 1 && HoldReasonCode =!= 15)"
)
RAN = "time() - JobCurrentStartDate - ifThenElse(CumulativeSuspensionTime =?= undefined, 0, CumulativeSuspensionTime)"
WHY = (
    'MY.PeriodicRemoveReason=ifThenElse(JobStatus == 2, "time limit", '
    'ifThenElse(JobStatus == 5, HoldReason, "it had begun, and was put back into the queue"))'
)


def test_a_submission_has_all_the_words_that_were_asked_for():
    asked = Resources("short", 60, 500, account="cms.prod", cores=2, disk_mb=20)
    batch = Batch("jim-1-1-1", "/a $(b)/job.sh", "/a $(b)", 3, asked, ("-name", "schedd.example.org"))
    assert ADAPTED.submit_command(batch) == [
        *("condor_submit", "-name", "schedd.example.org", *FIRST),
        *("executable=/a $(DOLLAR)(b)/job.sh", "initialdir=/a $(DOLLAR)(b)", *NOTED),
        "requirements=((NumJobStarts > 0) =!= true)",
        UNWANTED + f" || (JobStatus == 2 && {RAN} > 60)",
        *(WHY, 'MY.JimQueue="short"', "accounting_group=cms.prod"),
        *("request_cpus=2", "request_memory=500", "request_disk=20480", "-queue", "3"),
    ]


def test_what_is_not_asked_for_is_left_to_the_site():
    assert ADAPTED.submit_command(Batch("jim-1-1-1", "/w/job.sh", "/w", 1)) == [
        *("condor_submit", *FIRST, "executable=/w/job.sh", "initialdir=/w", *NOTED),
        *("requirements=((NumJobStarts > 0) =!= true)", UNWANTED, WHY, "-queue", "1"),
    ]


def test_what_a_site_requires_is_required_too():
    """Where both the command and the options say it, the last one counts, as with condor_submit itself."""
    site = ADAPTER({"submit": ["condor_submit", "Requirements = HasPython"]})
    required = {
        (): "requirements=( HasPython) && ((NumJobStarts > 0) =!= true)",
        ("requirements=a || b",): "requirements=(a || b) && ((NumJobStarts > 0) =!= true)",
    }
    for options, word in required.items():
        command = site.submit_command(Batch("jim-1-1-1", "/w/job.sh", "/w", 1, options=options))
        assert [each for each in command if each.lower().startswith("requirements")][-1] == word


def test_without_a_shared_work_directory_files_travel():
    """No claim guards that far away: what a machine was once given is given to no other."""
    asked = Batch("jim-1-1-1", "/w/job.sh", "/w", 2)
    told = dict(each.split("=", 1) for each in TRANSFER().submit_command(asked) if "=" in each)
    shared = dict(each.split("=", 1) for each in ADAPTED.submit_command(asked) if "=" in each)
    assert {name: word for name, word in told.items() if shared.get(name) != word} == {
        "should_transfer_files": "YES",
        "transfer_executable": "true",
        "transfer_input_files": "luggage/",
        "transfer_output_files": "back/",
        "when_to_transfer_output": "ON_EXIT",
        "requirements": "((NumShadowStarts > 0) =!= true)",
        "periodic_remove": "(JobStatus == 1 && NumShadowStarts > 0)"
        " || (JobStatus == 5 && HoldReasonCode =!= 1 && HoldReasonCode =!= 15)",
    }
    assert not TRANSFER.shared_work


@pytest.mark.parametrize("word", ['a"', "a\\", "$(b)", "a b", "a\nqueue 9", ""])
def test_nothing_but_words_gets_into_a_description(word):
    for asked in (Resources(queue=word), Resources(account=word)):
        if word:
            with pytest.raises(Refused):
                ADAPTED.submit_command(Batch("m", "/w/job.sh", "/w", 1, asked))


TELL = ["-json", "-attributes", TOLD]
WAITS = ["-json", "-attributes", f"{TOLD},LastRejMatchReason"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (ADAPTED.query_command(), ["condor_q", "-constraint", "JimMark =!= undefined", *WAITS]),
        (ADAPTED.find_command("m"), ["condor_q", "-constraint", 'JimMark == "m"', *TELL]),
        (ADAPTED.history_command(["6", "7"]), ["condor_history", *TELL, "6", "7"]),
        (
            LOGGED.history_command(["6", "17"]),
            ["grep", "-hE", "/var/log/condor/EventLog", "-A2", "-e", r"^0(00|05|09|12) \(0*(6|17)\."],
        ),
        (ADAPTED.cancel_command([("6", 1), ("6", 3), ("7", 0)]), ["condor_rm", "6.0", "6.2", "7"]),
        (ADAPTED.change_command("hold", [("6", 1)]), ["condor_hold", "6.0"]),
        (ADAPTED.change_command("release", [("6", 1)]), ["condor_release", "6.0"]),
        (ADAPTED.change_command("suspend", [("6", 1)]), ["condor_suspend", "6.0"]),
        (ADAPTED.change_command("resume", [("6", 1)]), ["condor_continue", "6.0"]),
        (ADAPTED.ping_command(), ["condor_q", "-totals"]),
    ],
)
def test_each_wish_becomes_the_words_of_condor_s_command(command, words):
    assert command == words


def test_hosts_to_avoid_are_named_as_machines_name_themselves():
    command = ADAPTED.submit_command(Batch("jim-1-1-1", "/w/job.sh", "/w", 1, avoid=("wn7", "wn8.example.org")))
    assert (
        'requirements=((NumJobStarts > 0) =!= true) && (TARGET.UtsnameNodename =!= "wn7") && '
        '(TARGET.UtsnameNodename =!= "wn8.example.org")'
    ) in command
