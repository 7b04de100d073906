"""The words of OpenPBS, Torque and Slurm's qsub, held against what they are documented, or were heard, to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jim.adapters.pbs import ADAPTER as PBS
from jim.adapters.pbs_wrappers import ADAPTER as WRAPPERS
from jim.adapters.torque import ADAPTER as TORQUE
from jim.errors import BatchError, Full, Refused, Unclear
from jim.model import Answer, Batch, Observation, Resources, State

CAPTURED = Path(__file__).parents[2] / "captured"
VERSIONS = {PBS: "pbs/20.0.1", TORQUE: "torque/4.2", WRAPPERS: "pbs_wrappers/22.05.8"}


def answer(out="", err="", code=0):
    return Answer(("q",), code, out, err, 0.1)


def captured(adapter, name, code=0):
    """Give what a command printed, on stdout, on stderr, or both."""
    folder = CAPTURED / VERSIONS[adapter]
    out, err = (folder / f"{name}.txt", folder / f"{name}.stderr.txt")
    assert out.exists() or err.exists()
    return answer(*(file.read_text() if file.exists() else "" for file in (out, err)), code)


# Parsing


def test_what_a_site_says_before_the_id_does_not_matter():
    assert PBS().parse_submit(answer("Project: cms\n4.scheduler\n")) == "4.scheduler"


@pytest.mark.parametrize("text", ["", "4\n", "4.scheduler", "0.scheduler\n", "4.scheduler\nbye\n", "x.y\n", "[].s\n"])
def test_an_odd_answer_to_submit_proves_nothing(text):
    for adapter in (PBS, TORQUE):
        with pytest.raises(Unclear):
            adapter().parse_submit(answer(text))


def test_a_whole_listing_without_a_job_is_what_the_wrappers_say_of_an_unknown_one():
    nothing = captured(WRAPPERS, "history-unknown", 153)
    assert WRAPPERS().parse_query(nothing) == {}


def test_a_word_that_the_wrappers_do_not_know():
    unknown = answer("Job Id:\t1\n\tJob_Name = m\n\tJob_Owner = o\n\tjob_state = U\n\n")
    assert WRAPPERS().parse_query(unknown) == {("1", 1): Observation(State.UNKNOWN, "m", word="U?")}


def test_some_ids_are_unknown_and_the_others_are_told_all_the_same():
    both = captured(PBS, "history").out
    assert len(PBS().parse_history(answer(both, "qstat: Unknown Job Id 99.scheduler\n", 153))) == 7
    with pytest.raises(BatchError):  # a whole listing has no such excuse
        PBS().parse_query(answer(both, code=153))


def test_an_unknown_word_is_kept_and_is_no_end():
    text = json.dumps({"pbs_version": "1", "Jobs": {"1.s": {"Job_Name": "m", "job_state": "Y", "Exit_status": 0}}})
    assert PBS().parse_query(answer(text)) == {("1.s", 1): Observation(State.UNKNOWN, "m", word="Y")}


def test_a_control_character_in_somebody_s_environment_does_no_harm():
    text = captured(PBS, "list").out.replace('"PBS_O_LANG":"C"', '"PBS_O_LANG":"C\t\n\x1b"')
    assert len(PBS().parse_query(answer(text))) == 11


# A server without history


NO_HISTORY = "qstat: PBS is not configured to maintain job history 4.scheduler\n"


@pytest.mark.parametrize("code", [0, 36])  # qstat makes a 0 of this error, of this one alone
@pytest.mark.parametrize("out", ["", captured(PBS, "list-empty").out])
def test_a_server_without_history_says_nothing_of_the_past(code, out):
    assert PBS().parse_history(answer(out, NO_HISTORY, code)) == {}
    assert PBS(TEXT).parse_history(answer("", NO_HISTORY, code)) == {}


def test_that_is_no_answer_to_any_other_question():
    with pytest.raises(Unclear):
        PBS().parse_query(answer("", NO_HISTORY, 36))


# JSON that is none, because of what stands in somebody's environment


def in_environment(value, version="20.0.1"):
    """Give a listing with this among the variables of a stranger's job."""
    return captured(PBS, "list").out.replace('"PBS_O_LANG":"C"', f'"PBS_O_LANG":"C",\n"FOO":{value}')


NOT_JSON = [
    "005", "-00", "00.123", "-00.123", ".123", "123.", "0x1f", "+5", "inf", "nan(7)", "\v5",  # what strtod() takes
    "9" * 5000,  # more digits than Python reads
    "",  # strtod() takes nothing, too
    r'"\\\'\"asads\"\\\'"', r'"/home/Mo\\\'"', r'"ab\,c"', r'"\d\u12x\ "', '"{]:,\\\\"',
]  # fmt: skip


@pytest.mark.parametrize("value", NOT_JSON)
def test_what_a_stranger_has_in_his_environment_does_no_harm(value):
    text = in_environment(value)
    assert text != captured(PBS, "list").out
    assert PBS().parse_query(answer(text)) == PBS().parse_query(captured(PBS, "list"))


@pytest.mark.parametrize("value", ['"say "hi" now"', '"a\\"', '"a" 005', "005 006", "]", "{", '"a":"b"', '"a'])
def test_what_cannot_be_mended_is_refused_and_the_way_out_is_named(value):
    with pytest.raises(Unclear, match=r"qstat -f -w.*asks for text instead"):
        PBS().parse_query(answer(in_environment(value)))


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.torture)])
def test_mending_completes_nothing(step):
    whole = in_environment(r"""005,"X":"\'\"" """)
    assert len(PBS().parse_query(answer(whole))) == 11
    for length in range(len(whole.rstrip()) - 1, -1, -step):
        with pytest.raises(Unclear):
            PBS().parse_query(answer(whole[:length]))


# The text form, where a site asks for it

TEXT = {command: ["qstat", "-f", "-w"] for command in ("query", "history", "find")}


def test_a_site_may_ask_for_the_text_form():
    """`-u` gives but a table, unless `-f` and `-w` come behind it."""
    there = PBS(TEXT | {"query": ["qstat", "-u", "mcprod", "-f", "-w"]})
    assert there.query_command() == ["qstat", "-u", "mcprod", "-f", "-w", "-t", "-f"]
    assert there.history_command(["4.s"]) == ["qstat", "-f", "-w", "-x", "-t", "-f", "4.s"]
    assert there.find_command("m") == ["qstat", "-f", "-w", "-t", "-f"]


def test_no_job_is_nothing_in_text_and_an_odd_answer_in_json():
    assert PBS(TEXT).parse_query(answer("")) == PBS(TEXT).parse_find(answer("")) == {}
    for parse in (PBS().parse_query, PBS().parse_history, PBS().parse_find):
        with pytest.raises(Unclear):
            parse(answer(""))


@pytest.mark.parametrize("name", ["", "a\nb", "a\n\n\tb", "x = y", "a\n\tjob_state = C"])
def test_what_a_stranger_calls_his_job_does_no_harm(name):
    whole = captured(WRAPPERS, "list").out
    other = whole.replace("Job_Name = jim-3f9a0001-1-3\n", f"Job_Name = {name}\n", 1)
    assert WRAPPERS().parse_query(answer(other)) == {
        key: seen._replace(mark=name) if key == ("1225", 1) else seen
        for key, seen in WRAPPERS().parse_query(answer(whole)).items()
    }


@pytest.mark.parametrize("text", ["submit_args = -v 'A=1\nB=2\n    job_state = C\n'", "Submit_arguments = \n\n"])
def test_what_a_stranger_submits_does_no_harm(text):
    whole = captured(TORQUE, "list").out
    other = whole.replace("    job_array_id = 1\n", f"    job_array_id = 1\n    {text}\n")
    assert other != whole
    assert TORQUE().parse_query(answer(other)) == TORQUE().parse_query(answer(whole))


# Answers that prove nothing

NONSENSE = [
    "\n",
    "null",
    "[]",
    "{}",
    "1",
    '{"pbs_version":1,"Jobs":[]}',
    '{"pbs_version":1,"Jobs":{"1.s":{}}}',
    "qstat?",
]


@pytest.mark.parametrize("text", NONSENSE)
def test_an_odd_listing_raises(text):
    for parse in (PBS().parse_query, PBS().parse_history, TORQUE().parse_query, WRAPPERS().parse_query):
        with pytest.raises(Unclear):
            parse(answer(text))


@pytest.mark.parametrize(("adapter", "name"), [(TORQUE, "list"), (WRAPPERS, "history")])
def test_a_text_that_is_cut_off_is_missed_only_between_two_jobs(adapter, name):
    whole = captured(adapter, name).out
    all_of_it = adapter().parse_query(answer(whole))
    for length in range(1, len(whole)):
        try:
            seen = adapter().parse_query(answer(whole[:length]))
        except Unclear:
            continue
        assert whole[:length].endswith("\n\n")
        assert seen.items() <= all_of_it.items()


@pytest.mark.parametrize("code", [None, -9, 1, 255])
def test_a_command_that_was_killed_or_says_nothing_leaves_all_open(code):
    for adapter in (PBS, TORQUE, WRAPPERS):
        with pytest.raises(Unclear):
            adapter().parse_submit(answer(code=code))
        with pytest.raises(Unclear):
            adapter().parse_query(answer(code=code))


def test_a_cancel_by_the_wrappers_that_was_killed_proves_nothing():
    """Its silence does elsewhere: it met jobs that had ended."""
    for said in (answer(code=None), answer(code=-9)):
        with pytest.raises(BatchError):
            WRAPPERS().parse_cancel(said)


# What failures mean

MESSAGES = [
    (PBS, "qsub: Premature end of message", Unclear),
    (PBS, "qsub: End of File", Unclear),
    (PBS, "qsub: Protocol failure in commit", Unclear),
    (PBS, "qsub: Batch protocol error", Unclear),
    (TORQUE, "qsub: submit error (Error reading data from socket)", Unclear),
    (TORQUE, "qsub: submit error (Premature End of File)", Unclear),
    (TORQUE, "qsub: submit error (Socket close detected)", Unclear),
    (TORQUE, "qsub: submit error (Time out)", Unclear),
    (TORQUE, "qsub: submit error (End of File)", Unclear),
    (PBS, "qsub: Maximum number of jobs already in queue", Full),
    (PBS, "qsub: Maximum number of jobs already in complex", Full),
    (PBS, "qsub: Maximum number of jobs for user griduser already in queue workq", Full),
    (PBS, "qsub: Maximum number of jobs in 'Q' state for project cms already in complex", Full),
    (PBS, "qsub: would exceed queue workq's per-user limit", Full),
    (PBS, "qsub: would exceed complex's per-group limit of jobs in 'Q' state", Full),
    (PBS, "qsub: Array job exceeds server or queue size limit", Full),
    (TORQUE, "qsub: submit error (Maximum number of jobs already in queue for user MSG=total number of …)", Full),
    (TORQUE, "qsub: submit error (Bad Job Array Request MSG=Requested array size too large, limit is 100)", Full),
    (TORQUE, "qsub: submit error (Queue does not allow job arrays)", Full),  # of single jobs it does
    (PBS, "qsub: would exceed user griduser's limit on resource mem in complex", BatchError),
    (PBS, "qsub: would exceed per-user limit on resource ncpus in queue workq for jobs in 'Q' state", BatchError),
    (PBS, "qsub: Failed to save job/resv, refer server logs for details", BatchError),
    (PBS, "qsub: Server connection table full", BatchError),
    (PBS, "qsub: cannot connect to server scheduler (errno=15031)", BatchError),
    (TORQUE, "qsub: cannot connect to server server (errno=15096) Unable to get connection to socket", BatchError),
    (TORQUE, "qsub: cannot connect to server server (errno=110) Connection timed out", BatchError),
    (TORQUE, "qsub: cannot connect to server server (errno=15085) Time out", BatchError),
    (TORQUE, "qsub: submit error (Pbs Server is currently too busy to service this request. Please retry)", BatchError),
    (PBS, "qsub: Access to queue is denied", Refused),
    (PBS, "qsub: Job rejected by all possible destinations", Refused),
    (PBS, "qsub: No default queue specified", Refused),
    (PBS, "qsub: Undefined attribute  Resource_List", Refused),
    (PBS, "qsub: Cannot set attribute, read only or insufficient permission  Priority", Refused),
    (PBS, "qsub: Resource limit exceeds allowable", Refused),
    (PBS, 'qsub: Resource invalid in "select" specification: walltime', Refused),
    (PBS, 'qsub: "-lresource=" cannot be used with "select" or "place", resource is: ncpus', Refused),
    (PBS, "qsub: jobscript size exceeded the jobscript_max_size", Refused),
    (TORQUE, "qsub: submit error (Job exceeds queue resource limits MSG=cannot locate feasible nodes)", Refused),
    (TORQUE, "qsub: submit error (Job rejected by all possible destinations (check syntax, queue resources, ...))",
     Refused),
    (TORQUE, "qsub: submit error (Queue does not allow nonrerunable jobs)", Refused),
    (TORQUE, "qsub: submit error (Unknown resource type  Resource_List.gpus)", Refused),
]  # fmt: skip


@pytest.mark.parametrize(("adapter", "said", "meaning"), MESSAGES)
def test_each_message_is_sorted_by_what_it_means(adapter, said, meaning):
    with pytest.raises(BatchError) as error:
        adapter().parse_submit(answer("", f"{said}\n", 1))
    assert type(error.value) is meaning


# Building commands

ALL = Batch(
    "jim-1-1-1",
    "/w/s1/job.sh",
    "/w/s1",
    3,
    Resources("short", 60, 500, account="cms", cores=2, disk_mb=20),
    ("-l", "place=pack"),
)
BARE = Batch("jim-1-1-1", "/w/s1/job.sh", "/w/s1", 1)


@pytest.mark.parametrize(
    ("adapter", "batch", "words"),
    [
        (
            PBS,
            ALL,
            """qsub -l place=pack -q short -A cms -l walltime=60,select=1:ncpus=2:mem=500mb -N jim-1-1-1 -r y -J 1-3
            -f -S /bin/sh -m n -j oe -o /dev/null /w/s1/job.sh""",
        ),
        (PBS, BARE, "qsub -N jim-1-1-1 -r n -f -S /bin/sh -m n -j oe -o /dev/null /w/s1/job.sh"),
        (
            TORQUE,
            ALL,
            """qsub -l place=pack -q short -A cms -l walltime=60,nodes=1:ppn=2,mem=500mb,file=20mb -N jim-1-1-1 -r n
            -t 1-3 -S /bin/sh -m n -j oe -o /dev/null /w/s1/job.sh""",
        ),
        (TORQUE, BARE, "qsub -N jim-1-1-1 -r n -S /bin/sh -m n -j oe -o /dev/null /w/s1/job.sh"),
        (WRAPPERS, BARE, "qsub -N jim-1-1-1 -r n -v PATH -m n -j oe -o /dev/null /w/s1/job.sh"),
    ],
)
def test_a_submission_has_all_the_words_that_were_asked_for(adapter, batch, words):
    assert adapter().submit_command(batch) == words.split()


def test_memory_alone_is_asked_for_with_a_processor():
    asked = Batch("m", "/job.sh", "/", 1, Resources(memory_mb=500))
    assert "select=1:ncpus=1:mem=500mb" in PBS().submit_command(asked)


def test_the_wrappers_put_words_into_a_shell_line_and_get_them_quoted():
    odd = Batch("m", "/my work/job.sh", "/my work", 1, Resources(queue="a;reboot", account="$(reboot)"))
    with pytest.raises(Refused):
        WRAPPERS().submit_command(Batch("m", "/job.sh", "/", 1, Resources(queue="a reboot")))
    command = WRAPPERS().submit_command(odd)
    assert command[1:5] == ["-q", "'a;reboot'", "-A", "'$(reboot)'"]
    assert command[-1] == "'/my work/job.sh'"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (PBS().query_command(), "qstat -t -f -F json"),
        (PBS().history_command(["4.s", "5[].s"]), "qstat -x -t -f -F json 4.s 5[].s"),
        (PBS().find_command("m"), "qstat -t -f -F json"),
        (PBS().cancel_command([("4.s", 1), *(("5[].s", i) for i in (1, 2, 3, 7)), ("6[].s", 0)]),
         "qdel 4.s 5[1-3].s 5[7].s 6[].s"),
        (PBS().change_command("hold", [("4.s", 1), ("5[].s", 1), ("5[].s", 2)]), "qhold 4.s 5[].s"),
        (PBS().change_command("release", [("4.s", 1)]), "qrls 4.s"),
        (PBS().ping_command(), "qstat -B"),
        (TORQUE().query_command(), "qstat -t -f"),
        (TORQUE().history_command(["4.s"]), "qstat -t -f 4.s"),
        (TORQUE().cancel_command([("4.s", 1), ("5[].s", 1), ("5[].s", 2), ("6[].s", 0)]),
         "qdel 4.s 5[1].s 5[2].s 6[].s"),
        (WRAPPERS().cancel_command([("4", 1), ("5", 0)]), "qdel 4 5"),
        (WRAPPERS().change_command("hold", [("4", 1)]), "qhold -h u 4"),
        (WRAPPERS().query_command(), "qstat -f"),
        (WRAPPERS().ping_command(), "qstat -Q"),
    ],
)  # fmt: skip
def test_each_wish_becomes_the_words_of_pbs_s_command(command, words):
    assert command == words.split()


@pytest.mark.parametrize("adapter", [PBS, TORQUE, WRAPPERS])
def test_users_may_not_suspend(adapter):
    assert not adapter.can_suspend
    assert adapter().change_command("suspend", [("4.s", 1)]) is None


@pytest.mark.parametrize(
    ("told", "id_"), [("4.s", "4.s"), ("5[2].s", "5[].s"), ("5[].s", "5[].s"), ("", ""), ("1261", "1261")]
)
def test_a_member_of_an_array_knows_its_own_id_and_so_its_submission_s(told, id_):
    assert PBS().batch_id(told) == TORQUE().batch_id(told) == id_


def test_a_site_has_its_own_words():
    adapted = PBS({"query": ["/opt/pbs/bin/qstat", "-E"], "hold": ["/opt/pbs/bin/qhold"]})
    assert adapted.query_command() == ["/opt/pbs/bin/qstat", "-E", "-t", "-f", "-F", "json"]
    assert adapted.change_command("hold", [("4.s", 1)]) == ["/opt/pbs/bin/qhold", "4.s"]
