"""The words of LSF, held against what it is documented to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jim.adapters.lsf import ADAPTER, FIELDS
from jim.errors import BatchError, Full, Refused, Unclear
from jim.model import Answer, Batch, Observation, Resources, State
from tests.unit.adapters.history.chosen import by_name

CAPTURED = Path(__file__).parents[2] / "captured/lsf/10.1"
ADAPTED = ADAPTER()


def answer(out="", err="", code=0):
    return Answer(("b",), code, out, err, 0.1)


def captured(name, code=0):
    out, err = (CAPTURED / f"{name}.txt", CAPTURED / f"{name}.stderr.txt")
    assert out.exists() or err.exists()
    return answer(*(file.read_text() if file.exists() else "" for file in (out, err)), code)


# Parsing


def test_what_a_site_says_around_the_id_does_not_matter():
    said = "Project cms is charged.\nJob <12> is submitted to queue <short>.\nThank you.\n"
    assert ADAPTED.parse_submit(answer(said)) == "12"


@pytest.mark.parametrize(
    "text", ["", "12\n", "Job <0> is submitted to queue <q>.\n", "Job <12> is sub", "Job <x> is\n"]
)
def test_an_odd_answer_to_submit_proves_nothing(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_submit(answer(text))


def test_an_exit_code_tells_whether_some_ids_were_unknown_and_nothing_else():
    for name in ("history", "history-bhist"):
        assert ADAPTED.parse_history(captured(name)) == ADAPTED.parse_history(captured(name, 255))


def test_a_bhist_that_was_cut_off_proves_nothing():
    said = captured("history-bhist").out
    for end in range(said.rindex("Exited with exit code 143"), said.rindex("Summary")):
        with pytest.raises(Unclear):
            ADAPTED.parse_history(answer(said[:end]))


def test_what_waits_to_begin_anew_has_not_ended():
    said = captured("history-bhist").out.replace("Tue Jan  6 11:15:05: Starting (Pid 14001);\n", "")
    seen = ADAPTED.parse_history(answer(said))
    assert ("542943", 1) in seen
    assert ("542944", 1) not in seen


def test_bhist_is_asked_where_the_site_names_it():
    there = by_name("lsf", "bhist", ["/opt/lsf/bin/bhist", "-n", "0"])
    assert there.history_command(["5", "6"]) == ["/opt/lsf/bin/bhist", "-n", "0", "-a", "-l", "-UF", "5", "6"]


@pytest.mark.parametrize("said", [captured("list-empty"), captured("list-none"), captured("list-none", 255)])
def test_nothing_is_an_answer(said):
    assert ADAPTED.parse_query(said) == ADAPTED.parse_find(said) == ADAPTED.parse_history(said) == {}


def test_an_unknown_word_is_kept_and_is_no_end():
    text = captured("list").out.replace('"EXIT"', '"LEVITATED"')
    seen = ADAPTED.parse_query(answer(text))["542935", 8]
    assert seen == Observation(State.UNKNOWN, "jim-3f9a0001-2-1", word="LEVITATED")


def test_an_older_form_of_ids_and_of_nothing():
    record = '{"JOBID":"7[3]","JOBINDEX":"3","STAT":"EXIT","EXIT_CODE":"-","EXIT_REASON":"-","JOB_NAME":"m[3]"}'
    seen = ADAPTED.parse_query(answer(f'{{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{record}]}}'))
    assert seen == {("7", 3): Observation(State.FAILED, "m", word="EXIT")}


@pytest.mark.parametrize("index", ["0", "", "-"])
def test_a_job_that_is_no_member_of_an_array(index):
    """One of somebody else, among those of the account: ours are arrays, all of them."""
    record = {"JOBID": "7", "JOBINDEX": index, "STAT": "RUN", "EXIT_CODE": "-", "EXIT_REASON": "-", "JOB_NAME": "m"}
    said = json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [record]})
    assert ADAPTED.parse_query(answer(said)) == {("7", 1): Observation(State.RUNNING, "m", word="RUN")}


# What failures mean

MESSAGES = {
    Unclear: [
        "Contacting batch daemon: Communication timeout",
        "Failed in an LSF library call: Communication time out",
        "Failed in an LSF library call: Failed in sending/receiving a message: Connection reset by peer",
        "Failed in an LSF library call: XDR operation error",
        "XDR encode/decode error",
        "Batch protocol error",
        "Master batch daemon internal error",
        "Batch library internal error",
        "System call failed: Connection reset by peer",
        "batch system daemon not responding ... still trying",
        "Unknown user. Job not submitted.",
    ],
    Full: [
        "The destination queue has reached its job limit. Job not submitted.",
        "User or one of user's groups does not have enough job slots. Job not submitted.",
        "Queue does not have enough per-user job slots. Job not submitted.",
        "Queue does not have enough per-processor job slots. Job not submitted.",
        "Queue does not have enough per-host job slots. Job not submitted.",
        "User <griduser>: Pending job threshold reached.",
        "Job array index too large. Job not submitted.",
    ],
    BatchError: [
        "LIM is down; try later",
        "Cannot locate master LIM now, try later",
        "Timeout on connect call to server",
        "Connection refused by server",
        "Queue has been closed. Job not submitted.",
    ],
    Refused: [
        "RUNLIMIT: Cannot exceed queue's hard limit(s). Job not submitted.",
        "MEMLIMIT: Cannot exceed queue's hard limit(s). Job not submitted.",
        "Cannot exceed queue's resource reservation. Job not submitted.",
        "User cannot use the queue. Job not submitted.",
        "Queue only accepts interactive jobs. Job not submitted.",
        "Too few processors requested. Job not submitted.",
        "Bad resource requirement syntax. Job not submitted.",
        "Bad resource name. Job not submitted.",
        "Bad host name, host group name or cluster name. Job not submitted.",
        "Bad user group name. Job not submitted.",
        "No such user/host group. Job not submitted.",
        "User not in the specified user group. Job not submitted.",
        "Invoker is not in specified project group. Job not submitted.",
        "Queue name must be specified. Job not submitted.",
        "Host or host group is not used by the queue. Job not submitted.",
    ],
}


@pytest.mark.parametrize(("meaning", "said"), [(kind, each) for kind, said in MESSAGES.items() for each in said])
def test_each_message_is_sorted_by_what_it_means(meaning, said):
    with pytest.raises(BatchError) as error:
        ADAPTED.parse_submit(answer("", f"{said}\n", 255))
    assert type(error.value) is meaning


# Answers that prove nothing


@pytest.mark.parametrize("text", ["", "\n", "{}", "[]", "null", '{"RECORDS":[{}]}', '{"RECORDS":1}', "bjobs: killed"])
def test_an_odd_listing_raises(text):
    for parse in (ADAPTED.parse_query, ADAPTED.parse_history):
        with pytest.raises(Unclear):
            parse(answer(text))


@pytest.mark.parametrize("code", [None, -9, 255])
def test_a_command_that_was_killed_or_says_nothing_leaves_all_open(code):
    for parse in (ADAPTED.parse_submit, ADAPTED.parse_query, ADAPTED.parse_history):
        with pytest.raises(Unclear):
            parse(answer(code=code))


def test_a_batch_system_that_is_down_has_not_said_that_there_is_nothing():
    with pytest.raises(BatchError):
        ADAPTED.parse_query(captured("submit-down", 255))


def test_a_listing_that_broke_off_where_nothing_was_found_is_no_answer():
    part = captured("list").out[:200]
    with pytest.raises(Unclear):
        ADAPTED.parse_query(answer(part, "No job found\n", 255))


# Building commands


def test_a_submission_has_all_the_words_that_were_asked_for():
    asked = Resources("short", 61, 500, account="cms", cores=2, disk_mb=20)
    batch = Batch("jim-1-1-1", "/my work/job.sh", "/my work", 3, asked, ("-sla", "gold"))
    assert ADAPTED.submit_command(batch) == [
        *("bsub", "-sla", "gold", "-q", "short", "-P", "cms", "-n", "2", "-M", "500MB", "-W", "2"),
        *("-R", "span[hosts=1] rusage[mem=500MB:tmp=20MB]"),
        *("-J", "jim-1-1-1[1-3]", "-rn", "-env", "PATH", "-o", "/dev/null", "'/my work/job.sh'"),
    ]


def test_one_job_is_an_array_of_one():
    assert ADAPTED.submit_command(Batch("jim-1-1-1", "/w/job.sh", "/w", 1)) == [
        *("bsub", "-J", "jim-1-1-1[1-1]", "-rn", "-env", "PATH", "-o", "/dev/null", "/w/job.sh"),
    ]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (ADAPTED.query_command(), ["bjobs", "-a", *FIELDS]),
        (ADAPTED.find_command("m"), ["bjobs", "-a", *FIELDS]),
        (ADAPTED.history_command(["1", "2"]), ["bjobs", "-a", *FIELDS, "1", "2"]),
        (ADAPTED.cancel_command([("1", 1), ("1", 2), ("1", 5), ("2", 0)]), ["bkill", "1[1-2,5]", "2"]),
        (ADAPTED.change_command("hold", [("1", 1)]), ["bstop", "1[1]"]),
        (ADAPTED.change_command("suspend", [("1", 1)]), ["bstop", "1[1]"]),
        (ADAPTED.change_command("release", [("1", 1)]), ["bresume", "1[1]"]),
        (ADAPTED.change_command("resume", [("1", 1)]), ["bresume", "1[1]"]),
        (ADAPTED.ping_command(), ["bqueues"]),
    ],
)
def test_each_wish_becomes_the_words_of_lsf_s_command(command, words):
    assert command == words
