"""The words of Grid Engine; what it says is held to tests/captured by the conformance suite."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from jim.adapters.sge import ADAPTER
from jim.errors import BatchError, Full, Refused, Unclear
from jim.keeper.opening import adapter_of
from jim.model import Answer, Batch, Observation, Resources, State
from jim.site.file import read
from tests.unit.adapters.history.chosen import by_name

CAPTURED = Path(__file__).parents[2] / "captured/sge/8.1.9"
ADAPTED = ADAPTER()
ACCOUNTS = by_name("sge", "qacct")
PROGRAMS = "env SGE_ROOT=/var/lib/gridengine SGE_CELL=default /usr/lib/gridengine"
OURS = "-terse -r n -N jim-1-1 -t 1-{} -S /bin/sh -wd / -j y -o /dev/null /w/job.sh"


def answer(out="", err="", code=0):
    return Answer(("words",), code, out, err, 0.1)


def batch(size=1, options=(), **asked):
    return Batch("jim-1-1", "/w/job.sh", "/w", size, Resources(**asked), options)


# Commands


def test_a_submission_is_always_an_array():
    assert ADAPTED.submit_command(batch()) == f"{PROGRAMS}/qsub {OURS.format(1)}".split()
    assert ADAPTED.submit_command(batch(1000)) == f"{PROGRAMS}/qsub {OURS.format(1000)}".split()


def test_what_is_asked_for_comes_between_the_site_s_words_and_ours():
    asked = {"queue": "all.q", "account": "grid", "cores": 2, "memory_mb": 500, "disk_mb": 9, "wall_seconds": 61}
    words = f"-r y -q all.q -P grid -pe smp 2 -l h_rt=61 -l h_vmem=250M {OURS.format(3)}"
    assert ADAPTED.submit_command(batch(3, ("-r", "y"), **asked)) == f"{PROGRAMS}/qsub {words}".split()


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ({"memory_mb": 500}, "500M"),
        ({"memory_mb": 8000, "cores": 4}, "2000M"),
        ({"memory_mb": 8000, "cores": 3}, "2667M"),
        ({"memory_mb": 1, "cores": 2}, "1M"),
    ],
)
def test_memory_is_asked_for_each_slot(asked, value):
    assert f"h_vmem={value}" in ADAPTED.submit_command(batch(**asked))


def test_one_core_needs_no_parallel_environment():
    assert ADAPTED.submit_command(batch(3, cores=1)) == ADAPTED.submit_command(batch(3))


def test_qacct_tells_of_an_old_job_that_was_no_array():
    """Its id may be ours today; its name is not."""
    captured = (Path(__file__).parents[2] / "captured/sge/8.1.9/history-qacct.txt").read_text()
    bar = "=" * 62 + "\n"
    told = (
        captured.split(bar)[1]
        .replace("jim-cafe0001-1-1", "blast")
        .replace("taskid       1  ", "taskid       undefined")
    )
    asked = by_name("sge", "qacct", ["qacct"])
    seen = asked.parse_history(Answer(("qacct",), 0, bar + told, "", 0.0))
    assert [(index, each.mark) for (_, index), each in seen.items()] == [(1, "blast")]
    spoilt = re.sub(r"(?m)^exit_status .*", "exit_status  none", told)
    with pytest.raises(Unclear):
        asked.parse_history(Answer(("qacct",), 0, bar + spoilt, "", 0.0))


def test_qacct_is_given_few_ids_at_once():
    assert (by_name("sge", "qacct", ["qacct"]).most_asked, ADAPTED.most_asked) == (10, 200)


SITE_S_OWN = """\
from jim.adapters.sge import Sge

class ADAPTER(Sge):
    parallel_environment, memory_resource = "openmp", "mem_free"
"""


def test_a_site_names_its_own_parallel_environment_and_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # where reading the site file puts its directory
    (tmp_path / "ourcluster").mkdir()
    (tmp_path / "ourcluster/sge.py").write_text(SITE_S_OWN)
    site = tmp_path / "site.toml"
    site.write_text(f'[site]\nhandlers = "{tmp_path}"\n[batch]\nsystem = "ourcluster.sge"\n')
    command = adapter_of(read(site, tmp_path)).submit_command(batch(cores=4, memory_mb=8000))
    assert " ".join(command[4:10]) == "-pe openmp 4 -l mem_free=2000M -terse"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (ADAPTED.query_command(), f"{PROGRAMS}/qstat -xml -g d -u $user"),
        (ADAPTED.find_command("jim-1-1"), f"{PROGRAMS}/qstat -xml -g d -u $user"),
        (ADAPTED.cancel_command([("1", 2), ("1", 3), ("1", 5), ("7", 0)]), f"{PROGRAMS}/qdel 1.2-3 1.5 7"),
        (ADAPTED.change_command("hold", [("1", 2), ("7", 1)]), f"{PROGRAMS}/qalter -h u 1.2 7.1"),
        (ADAPTED.change_command("release", [("1", 2)]), f"{PROGRAMS}/qalter -h U 1.2"),
        (ADAPTED.ping_command(), f"{PROGRAMS}/qconf -sss"),
        (
            ADAPTED.history_command(["1", "2"]),
            "grep -hE /var/lib/gridengine/default/common/accounting -e ^([^:]*:){5}(1|2):",
        ),
    ],
)
def test_each_wish_becomes_the_words_of_grid_engine_s_command(command, words):
    assert command == words.split()


def test_only_operators_suspend():
    assert ADAPTED.change_command("suspend", [("1", 1)]) is None
    assert not ADAPTED.can_suspend


# Answers


@pytest.mark.parametrize("text", ["", "3.1-4:1", "3\n", "3.1-4:2\n", "3.5-9:1\n", "Your job 3 has been submitted\n"])
def test_an_odd_answer_to_submit_is_unclear(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_submit(answer(text))


def listing(word, tasks="<tasks>1</tasks>", before=""):
    job = f"<JB_job_number>7</JB_job_number><JB_name>m</JB_name><state>{word}</state>{tasks}"
    return answer(f"{before}<?xml version='1.0'?>\n<job_info><x><job_list>{job}</job_list></x></job_info>\n")


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("qw Rq Rqw", State.SUBMITTED),
        ("hqw hRwq hRqw", State.HELD),
        ("t r hr Rr Rt dr dt dRr dRt", State.RUNNING),
        ("s ts S tS T tT Rs Rts RS RtS RT RtT ds dS dT dRs dRS dRT", State.SUSPENDED),
        ("Eqw Ehqw EhRqw", State.FAILED),
        ("z x Q rr", State.UNKNOWN),
    ],
)
def test_every_state_of_the_manual(words, state):
    for word in words.split():
        (seen,) = ADAPTED.parse_query(listing(word)).values()
        assert (seen.state, seen.word) == (state, word)


def test_what_could_not_be_started_says_where_the_reason_is_found():
    assert ADAPTED.parse_query(listing("Eqw")) == {
        ("7", 1): Observation(
            State.FAILED, "m", reason="Eqw: it could not be started; qstat -j 7 says why", word="Eqw", stays=True
        )
    }


@pytest.mark.parametrize("word", ["qw", "hqw", "r", "dr", "s", "z"])
def test_nothing_else_stays(word):
    (seen,) = ADAPTED.parse_query(listing(word)).values()
    assert not seen.stays


def test_a_job_that_is_no_array_has_index_1():
    assert list(ADAPTED.parse_query(listing("r", tasks=""))) == [("7", 1)]


@pytest.mark.parametrize(
    "odd",
    [
        listing("r", "<tasks>1-3:1</tasks>"),  # as without -g d
        listing("&x;"),
        listing("r", before="<?xml version='1.0'?><!DOCTYPE x [<!ENTITY x 'r'>]>"),
        answer("<?xml version='1.0'?>\n<!DOCTYPE job_info>\n<job_info/>\n"),
        # A comment: its fields are read without regard to what they stand in.
        answer(listing("r").out.replace("<x>", "<!--").replace("</x>", "<y/>-->")),
        answer("<?xml version='1.0'?>\n<job_info><job_list><state>r</state></job_list></job_info>\n"),
    ],
)
def test_an_odd_listing_is_unclear(odd):
    with pytest.raises(Unclear):
        ADAPTED.parse_query(odd)


# Real lines of an accounting file: a job deleted by force, which ran on, and one whose shepherd was killed, likewise.
BY_FORCE = (
    "all.q:vm:root:root:jim-f:1:sge:0:1795248646:1795248646:1795248651:0:0:0:0.000000:0.000000:0.000000:0:0:0:0:0:0:0:"
    "0.000000:0:0:0:0:0:0:NONE:defaultdepartment:NONE:1:1:0.000000:0.000000:0.000000:NONE:0.000000:NONE:0.000000:0:0\n"
)
WITHOUT_SHEPHERD = (
    "all.q:vm:root:root:jim-f:4:sge:0:1795248697:0:0:19:0:0:0.000000:0.000000:0.000000:0:0:0:0:0:0:0:0.000000:0:0:0:0:0:"
    "0:NONE:defaultdepartment:NONE:1:1:0.000000:0.000000:0.000000:NONE:0.000000:NONE:0.000000:0:0\n"
)
ENDED = (
    "all.q:vm:root:root:jim-f:2:sge:0:1795248646:1795248647:1795248659:100:137:12:0.014343:0.007171:4500.000000:0:0:0:0:"
    "216:0:0:0.000000:16:0:0:0:3:7:NONE:defaultdepartment:NONE:1:3:0.021514:0.000008:0.000016:NONE:0.000000:NONE:"
    "3268608.000000:0:0\n"
)


def test_an_end_that_nobody_measured_is_not_told():
    assert ADAPTED.end_is_death
    assert ADAPTED.parse_history(answer(BY_FORCE + WITHOUT_SHEPHERD + ENDED + ENDED[:-1])) == {
        ("2", 3): Observation(State.FAILED, "jim-f", signal=9, word="failed 100")
    }


def test_qacct_takes_one_job_a_call():
    command = by_name("sge", "qacct", ["echo", "of", "qacct"]).history_command(["7", "8"])
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout == "of qacct -j 7\nof qacct -j 8\n"


def test_what_qacct_says_is_whole_or_nothing():
    said = (CAPTURED / "history-qacct.txt").read_text()
    last = said.rindex("exit_status")
    for end in range(last, said.index("maxvmem", last)):
        with pytest.raises(Unclear):
            ACCOUNTS.parse_history(answer(said[:end]))


@pytest.mark.parametrize("err", ["x: No such file or directory", "error: job id 7 not found\nerror: out of memory"])
def test_a_qacct_that_failed_proves_nothing(err):
    with pytest.raises(Unclear):
        ACCOUNTS.parse_history(answer("", err))


def test_a_line_that_is_none_is_passed_over():
    assert ADAPTED.parse_history(answer("# Version: 8.1.9\nx:y\n" + ":" * 50 + "\n" + ENDED.replace("100", "x"))) == {}


# Failures that no lab could be brought to: their words stand in Grid Engine's own tables of messages

REFUSED = "error: commlib error: got select error (Connection refused)\n"
NOT_SENT = 'unable to send message to qmaster using port 6444 on host "login": got send error'
NO_CONTACT = 'unable to contact qmaster using port 6444 on host "login"'
DENIED = (
    'error: commlib error: access denied (client IP resolved to host name "localhost". This is not identical to clients'
    ' host name "login")\n'
)


def not_run(words, before=""):
    return f"{before}Unable to run job: {words}\nExiting.\n"


@pytest.mark.parametrize(
    ("err", "kind"),
    [
        (not_run("job rejected: only 1000 jobs are allowed per user (current job count: 1000)"), BatchError),
        (not_run("job rejected: Only 1000 jobs are allowed per user (current job count: 1000)"), BatchError),  # as 6.2
        (not_run("job rejected: only 5000 jobs are allowed per cluster"), BatchError),
        (not_run("job rejected: you tried to submit a job with more than 75000 tasks"), Full),
        (not_run("job rejected: You try to submit a job with more than 75000 tasks"), Full),
        (not_run("job rejected: root@login is not allowed to submit jobs"), Refused),
        (not_run("JSV rejected job"), Refused),
        (not_run("JSV temporarily rejected job"), BatchError),
        (not_run("job 7 was rejected because it couldn't be written"), BatchError),
        ("Unable to initialize environment because of error: unable to read qmaster name\nExiting.\n", BatchError),
        (not_run(NOT_SENT, REFUSED), BatchError),
        (not_run(NO_CONTACT, DENIED), BatchError),
        # The qmaster was asked, and then it was gone: whoever looks for it then is refused.
        (not_run(NOT_SENT, 'error: commlib error: got read error (closing "login/qmaster/1")\n' + REFUSED), Unclear),
        (not_run(NOT_SENT), Unclear),
        (not_run(NO_CONTACT), Unclear),
        (not_run(NO_CONTACT, "error: commlib error: got select error (No route to host)\n"), Unclear),
        (not_run(NO_CONTACT, "error: commlib error: can't read general message size header (GMSH)\n"), Unclear),
        (
            not_run("failed receiving gdi request response for mid=1 (got syncron message receive timeout error)."),
            Unclear,
        ),
        (not_run("failed receiving gdi request response for mid=1 (can't find connection)."), Unclear),
        (not_run("failed sending gdi request"), Unclear),
        (not_run("GDI mismatch"), Unclear),
    ],
)
def test_each_message_is_sorted_by_what_it_means(err, kind):
    assert type(ADAPTED.trouble(answer("", err, 1))) is kind
    assert kind is not Unclear or ADAPTED.says(ADAPTED.unclear, err)


# Why jobs wait


def test_why_jobs_wait_is_asked_of_the_scheduler_once_for_all_jobs():
    assert ADAPTED.waits_command() == f"{PROGRAMS}/qstat -xml -j".split()


def test_a_job_waits_for_what_is_said_of_it_and_else_for_what_is_said_of_all():
    assert ADAPTED.parse_waits(answer((CAPTURED / "waits-full.xml").read_text())) == {
        "": 'queue instance "all.q@vm" dropped because it is full; All queues dropped because of overload or full',
        "7": "Job dropped because of job dependencies",
    }
    no_host = "Jobs can not run because no host can satisfy the resource requirements"
    assert ADAPTED.parse_waits(answer((CAPTURED / "waits-never.xml").read_text())) == {
        "8": "Jobs can not run because available slots combined under PE are not in range of job",
        "9": "Jobs can not run because execution time not reached",
        "10": no_host,
        "11": no_host,
    }


def messages(*said):
    """Return the words that hold for all jobs, as qstat prints them: numbers and texts."""
    each = (
        f"<element><MES_message_number>{n}</MES_message_number><MES_message>{words}</MES_message></element>"
        for n, words in said
    )
    return f"<?xml version='1.0'?><message><SME_global_message_list>{''.join(each)}</SME_global_message_list></message>"


def test_queues_that_are_left_out_for_one_reason_are_told_once():
    full = [(37, f"queue instance &quot;all.q@n{n}&quot; dropped because it is full") for n in range(200)]
    told = messages(*full, (39, "queue instance &quot;x&quot; dropped because it is disabled"), (28, "All &amp; each"))
    assert ADAPTED.parse_waits(answer(told)) == {
        "": "queue instance … dropped because it is full (200 times); "
        'queue instance "x" dropped because it is disabled; All & each'
    }


@pytest.mark.parametrize(
    "nothing",
    [(83, "(Collecting of scheduler job information is turned off)"), (90, "There are no messages available")],
)
def test_a_scheduler_without_words_says_nothing(nothing):
    assert ADAPTED.parse_waits(answer(messages(nothing))) == {}


@pytest.mark.parametrize(
    "text",
    ["", "error: unable to contact qmaster", "<?xml version='1.0'?><!DOCTYPE x><message></message>", messages()[:-3]],
)
def test_what_is_no_whole_answer_tells_nothing(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_waits(answer(text))
