"""The words of LSF, held against what it is documented to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from jim.adapters.lsf import ADAPTER, FIELDS
from jim.errors import BatchError, Refused, Unclear
from jim.model import Answer, Batch, Observation, Resources, State

CAPTURED = Path(__file__).parents[1] / "captured/lsf/10.1"
ADAPTED = ADAPTER()
TIME_LIMIT = "TERM_RUNLIMIT: job killed after reaching LSF run time limit"


def answer(out="", err="", code=0):
    return Answer(("b",), code, out, err, 0.1)


def captured(name, code=0):
    out, err = (CAPTURED / f"{name}.txt", CAPTURED / f"{name}.stderr.txt")
    assert out.exists() or err.exists()
    return answer(*(file.read_text() if file.exists() else "" for file in (out, err)), code)


def mark(number):
    return f"jim-3f9a0001-{number}"


# Parsing


@pytest.mark.parametrize(("name", "batch_id"), [("submit", "542935"), ("submit-default-queue", "1")])
def test_submit(name, batch_id):
    assert ADAPTED.parse_submit(captured(name)) == batch_id


def test_what_a_site_says_around_the_id_does_not_matter():
    said = "Project cms is charged.\nJob <12> is submitted to queue <short>.\nThank you.\n"
    assert ADAPTED.parse_submit(answer(said)) == "12"


@pytest.mark.parametrize(
    "text", ["", "12\n", "Job <0> is submitted to queue <q>.\n", "Job <12> is sub", "Job <x> is\n"]
)
def test_an_odd_answer_to_submit_proves_nothing(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_submit(answer(text))


def test_list():
    assert ADAPTED.parse_query(captured("list")) == {
        ("542935", 1): Observation(State.RUNNING, mark("2-1"), word="RUN"),
        ("542935", 2): Observation(State.SUBMITTED, mark("2-1"), word="PEND"),
        ("542935", 3): Observation(State.HELD, mark("2-1"), word="PSUSP"),
        ("542935", 4): Observation(State.SUSPENDED, mark("2-1"), word="USUSP"),
        ("542935", 5): Observation(State.SUSPENDED, mark("2-1"), word="SSUSP"),
        ("542935", 6): Observation(State.UNKNOWN, mark("2-1"), word="UNKWN"),
        ("542935", 7): Observation(State.COMPLETED, mark("2-1"), code=0, word="DONE"),
        ("542935", 8): Observation(State.FAILED, mark("2-1"), code=3, word="EXIT"),
        ("542936", 1): Observation(State.SUBMITTED, mark("3-1"), word="PROV"),
        ("542937", 1): Observation(State.RUNNING, "sleep 60", word="RUN"),
    }


def test_history_and_an_id_that_is_not_known_any_more():
    ended = {
        ("542940", 1): Observation(State.COMPLETED, mark("1-1"), code=0, word="DONE"),
        ("542941", 1): Observation(State.FAILED, mark("1-2"), code=7, word="EXIT"),
        ("542942", 1): Observation(State.FAILED, mark("1-3"), signal=12, reason=TIME_LIMIT, word="EXIT"),
        ("542943", 1): Observation(
            State.FAILED, mark("1-4"), signal=2, reason="TERM_OWNER: job killed by owner", word="EXIT"
        ),
        ("542944", 1): Observation(State.FAILED, mark("1-5"), word="EXIT"),
    }
    assert ADAPTED.parse_history(captured("history")) == ended
    assert ADAPTED.parse_history(captured("history", 255)) == ended
    assert ADAPTED.parse_history(captured("history-unknown", 255)) == {}


def test_what_bhist_says_of_ends():
    ended = {
        ("542940", 1): Observation(State.COMPLETED, mark("1-1"), code=0, word="DONE"),
        ("542941", 1): Observation(State.FAILED, mark("1-2"), code=7, word="EXIT"),
        ("542942", 1): Observation(State.FAILED, mark("1-3"), signal=12, reason=TIME_LIMIT, word="EXIT"),
        ("542943", 1): Observation(
            State.FAILED, mark("1-4"), signal=9, reason="TERM_OWNER: job killed by owner", word="EXIT"
        ),
    }
    assert ADAPTED.parse_history(captured("history-bhist")) == ended
    assert ADAPTED.parse_history(captured("history-bhist", 255)) == ended  # another id was not found


def test_a_bhist_that_folds_its_lines():
    assert ADAPTED.parse_history(captured("history-bhist-folded")) == {
        ("542942", 12): Observation(State.FAILED, mark("1-3"), signal=12, reason=TIME_LIMIT, word="EXIT")
    }


def test_a_bhist_that_was_cut_off_proves_nothing():
    said = captured("history-bhist").out
    for end in range(said.rindex("Exited with exit code 143"), said.rindex("Summary")):
        with pytest.raises(Unclear):
            ADAPTED.parse_history(answer(said[:end]))


def test_bhist_is_asked_where_the_site_names_it():
    there = ADAPTER({"history": ["/opt/lsf/bin/bhist", "-n", "0"]})
    assert there.history_command(["5", "6"]) == ["/opt/lsf/bin/bhist", "-n", "0", "-a", "-l", "-UF", "5", "6"]


@pytest.mark.parametrize("said", [captured("list-empty"), captured("list-none"), captured("list-none", 255)])
def test_nothing_is_an_answer(said):
    assert ADAPTED.parse_query(said) == ADAPTED.parse_find(said) == ADAPTED.parse_history(said) == {}


def test_an_unknown_word_is_kept_and_is_no_end():
    text = captured("list").out.replace('"EXIT"', '"LEVITATED"')
    seen = ADAPTED.parse_query(answer(text))["542935", 8]
    assert seen == Observation(State.UNKNOWN, mark("2-1"), word="LEVITATED")


def test_an_older_form_of_ids_and_of_nothing():
    record = '{"JOBID":"7[3]","JOBINDEX":"3","STAT":"EXIT","EXIT_CODE":"-","EXIT_REASON":"-","JOB_NAME":"m[3]"}'
    seen = ADAPTED.parse_query(answer(f'{{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{record}]}}'))
    assert seen == {("7", 3): Observation(State.FAILED, "m", word="EXIT")}


# Answers that prove nothing


@pytest.mark.parametrize("text", ["", "\n", "{}", "[]", "null", '{"RECORDS":[{}]}', '{"RECORDS":1}', "bjobs: killed"])
def test_an_odd_listing_raises(text):
    for parse in (ADAPTED.parse_query, ADAPTED.parse_history):
        with pytest.raises(Unclear):
            parse(answer(text))


@pytest.mark.parametrize("name", ["list", "history"])
def test_every_cut_off_listing_raises(name):
    whole = captured(name).out
    for length in range(len(whole) - 1):
        with pytest.raises(Unclear):
            ADAPTED.parse_query(answer(whole[:length]))
        with pytest.raises(Unclear):
            ADAPTED.parse_history(answer(whole[:length], code=255))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("submit-queue", Refused),
        ("submit-processors", Refused),
        ("submit-section", Refused),
        ("submit-rusage", Refused),
        ("submit-denied", Refused),
        ("submit-not-ready", BatchError),
        ("submit-host", BatchError),
        ("submit-down", BatchError),
        ("submit-lim", BatchError),
        ("submit-limit", BatchError),
        ("submit-no-answer", Unclear),
        ("submit-timeout", Unclear),
    ],
)
def test_a_failed_submit_is_one_of_three_kinds(name, kind):
    with pytest.raises(BatchError) as raised:
        ADAPTED.parse_submit(captured(name, 255))
    assert type(raised.value) is kind


@pytest.mark.parametrize("code", [None, -9, 255])
def test_a_command_that_was_killed_or_says_nothing_leaves_all_open(code):
    for parse in (ADAPTED.parse_submit, ADAPTED.parse_query, ADAPTED.parse_history):
        with pytest.raises(Unclear):
            parse(answer(code=code))


def test_a_batch_system_that_is_down_has_not_said_that_there_is_nothing():
    with pytest.raises(BatchError):
        ADAPTED.parse_query(captured("submit-down", 255))


@pytest.mark.parametrize("name", ["cancel-ended", "cancel-unknown"])
def test_a_job_that_is_not_there(name):
    assert ADAPTED.says(ADAPTED.gone, captured(name, 255).err)


# Building commands


def test_submit_command():
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
def test_commands(command, words):
    assert command == words
