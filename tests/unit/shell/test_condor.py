"""The scripts of shell/condor, as blahpd calls them."""

import os
import re
import subprocess
import time

import pytest

from tests.unit.shell.place import HOME

KEY = "home_bl_127.0.0.1_19718_x_1.0_1795403893"
AD = b'0[BatchJobId="12";JobStatus=2;]\n3 of 9 local jobs completed\n'
SCRIPTS = sorted(each.name for each in (HOME / "shell/condor").iterdir())


def call(place, name, *words, **variables):
    """Call a script as blahpd does: HOME is that of the daemons."""
    variables = {"HOME": "/nowhere", "XDG_STATE_HOME": "/nowhere", **variables}
    return place.door(f"condor/jim_{name}.sh", *words, **variables)


@pytest.fixture
def place(place):
    """Let users name files in the directory of their jobs."""
    (place.state / "site.toml").write_text(f'[site]\ninputs_below = ["{place.directory}"]\n')
    return place


def submit(place, *words, key=KEY, **variables):
    options = ("-c", "/bin/echo", "-w", str(place.directory), "-o", "out", "-e", "err", "-i", "/dev/null", "-D", key)
    return call(place, "submit", *options, *words, **variables)


def test_all_that_blahpd_may_call_is_there_and_can_be_started():
    assert [f"jim_{verb}.sh" for verb in ("cancel", "hold", "ping", "resume", "status", "submit")] == SCRIPTS
    for name in SCRIPTS:
        file = HOME / "shell/condor" / name
        assert os.access(file, os.X_OK)
        assert subprocess.run(["sh", "-n", str(file)], check=False).returncode == 0


# Submit


def test_a_submission_prints_an_id_and_a_repeat_the_same(place):
    for _ in range(2):
        code, out, err = submit(place, "--", '"a b"')
        assert (code, set(err.splitlines()) - {"jim_submit.sh: JIM is at work"}) == (0, set())
        assert re.fullmatch(r"BLAHP_JOBID_PREFIXjim/\d{8}/1\n", out)


def test_after_a_cancel_it_is_another_job(place):
    submit(place)
    assert call(place, "cancel", "20261123/1") == (0, " 0 No\\ error\n", "")
    assert submit(place)[1].endswith("/2\n")
    assert submit(place)[1].endswith("/2\n")
    assert submit(place, key=f"{KEY}0")[1].endswith("/3\n")


def test_a_refusal_is_one_sentence_on_stderr_at_once(place):
    code, out, err = submit(place, "-g", "2")
    assert (code, out) == (2, "")
    assert err == "jim-submit: request_gpus: '2': a local job cannot have that here; leave it out\n"
    assert place.left() == ([], [])


def test_without_a_python_it_says_so(place):
    code, out, err = submit(place, JIM_PYTHON="/no/python")
    assert (code, out) == (3, "")
    assert err.startswith("jim_submit.sh: JIM_PYTHON is /no/python")


@pytest.mark.torture  # it is slow
def test_a_slow_one_is_heard_of_and_leaves_nobody_with_the_pipes(place):
    """blahpd kills a script that is silent for 30 s, and waits for all that hold its pipes."""
    python = place.directory / "python"
    python.write_text("#!/bin/sh\nsleep 6\necho said\n")
    python.chmod(0o755)
    code, out, err = submit(place, JIM_PYTHON=str(python))
    assert (code, out, err) == (0, "said\n", "jim_submit.sh: JIM is at work\n")


def fails_once(place, said, then):
    """Make a Python that says something and fails, and then says something else."""
    python, failed = place.directory / "python", place.directory / "failed"
    python.write_text(f"#!/bin/sh\n[ -e {failed} ] || {{ : >{failed}; {said}; exit 1; }}\n{then}\n")
    python.chmod(0o755)
    return {"JIM_PYTHON": str(python)}


def test_what_may_pass_is_tried_again(place):
    assert submit(place, **fails_once(place, "echo full >&2", "echo said")) == (0, "said\n", "full\n")


def test_a_submission_writes_no_file_where_others_write(place):
    """Whoever sees the name of one in a shared directory could make another in time, or lead it elsewhere."""
    directory = place.directory / "tmp"
    directory.mkdir()
    python = place.directory / "python"
    python.write_text(f"#!/bin/sh\nls {directory} >{place.directory}/seen\nprintf 'said\\n'\n")
    python.chmod(0o755)
    assert submit(place, JIM_PYTHON=str(python), TMPDIR=str(directory))[:2] == (0, "said\n")
    assert (place.directory / "seen").read_text() == ""
    assert not list(directory.iterdir())


def test_a_submission_needs_no_directory_for_temporary_files(place):
    assert submit(place, TMPDIR="/no/such/place")[1].endswith("/1\n")


def test_each_trial_is_handed_the_whole_call(place):
    """A pipe can be read once, so the next trial needs its own."""
    heard = place.directory / "heard"
    trial = fails_once(place, f"cat >{heard}", f"cat >>{heard}")
    assert submit(place, "--", "x" * 100_000, **trial)[0] == 0
    one, other = heard.read_bytes()[: len(heard.read_bytes()) // 2], heard.read_bytes()[len(heard.read_bytes()) // 2 :]
    assert one == other
    assert one.endswith(b"\0--\0" + b"x" * 100_000 + b"\0")


def test_a_door_that_reads_nothing_of_a_long_call_is_told_in_its_own_words(place):
    code, _, err = submit(place, "--", "x" * 100_000, **fails_once(place, "echo no >&2", "echo no >&2; exit 2"))
    assert (code, err) == (2, "no\nno\n")


# Status


@pytest.mark.parametrize("words", [("jim/20261123/12",), ("-w", "jim/20261123/12"), ("20261123/12",)])
def test_a_status_call_prints_the_ad_and_starts_nothing_while_the_heart_beats(place, words):
    place.add(12, answer=AD)
    (place.state / "asked").mkdir()
    place.beat(0)
    said = call(place, "status", *words, JIM_PYTHON="/bin/false", PATH="/nowhere")
    assert said == (0, '0[BatchJobId="12";JobStatus=2;]\n', "")
    assert (place.state / "asked/12").exists()
    assert not (place.state / "woken").exists()


@pytest.mark.parametrize(("what", "code"), [("answers/12", 1), ("asked/12", 0), ("heartbeat", 0)])
def test_no_status_call_waits_for_a_pipe_in_the_place_of_a_file(place, what, code):
    place.add(12, answer=AD)
    place.beat(0)
    (place.state / "asked").mkdir()
    (place.state / what).unlink(missing_ok=True)
    os.mkfifo(place.state / what)
    began = time.monotonic()
    assert call(place, "status", "jim/20261123/12", JIM_PYTHON="/bin/false")[0] == code
    assert place.door("jim-poll", "12")[0] == (4 if code else 0)
    assert time.monotonic() - began < 10


def test_where_no_heart_beats_it_prints_the_last_answer_and_wakes_the_keeper(place):
    place.add(12, answer=AD)
    place.beat(25)
    assert call(place, "status", "jim/20261123/12", JIM_PYTHON="/bin/false") == (
        0,
        '0[BatchJobId="12";JobStatus=2;]\n',
        "",
    )
    assert (place.state / "woken").exists()


@pytest.mark.parametrize("words", [(), ("jim/20261123/",), ("jim/20261123/x",), ("jim/20261123/007",), ("-w",)])
def test_a_status_call_for_no_job_is_a_mistake(place, words):
    code, out, err = call(place, "status", *words)
    assert (code, out) == (1, "")
    assert err.startswith("jim_status.sh: expected jim/DATE/G")


def test_an_unknown_job_has_no_ad(place):
    place.beat(0)
    code, out, err = call(place, "status", "jim/20261123/7")
    assert (code, out) == (1, "")
    assert err == f"jim_status.sh: there is no answer about grid job 7 in {place.state}; see jim show 7\n"


@pytest.mark.parametrize("answer", [b"", b"\n"])
def test_an_empty_answer_is_no_ad(place, answer):
    """HTCondor would take the job for one without a status; of an error, it asks again."""
    place.add(7, answer=answer)
    place.beat(0)
    code, out, err = call(place, "status", "jim/20261123/7")
    assert (code, out) == (1, "")
    assert "there is no answer about grid job 7" in err


def test_it_works_by_the_script_that_register_writes(place):
    """That one reads it, so $0 is another place."""
    place.add(12, answer=AD)
    place.beat(0)
    stub = place.directory / "jim_status.sh"
    stub.write_text(f"#!/bin/sh\njim_shell='{HOME}/shell'\n. \"$jim_shell/condor/jim_status.sh\"\n")
    stub.chmod(0o755)
    assert place.door("", program=[str(stub), "jim/20261123/12"]) == (0, '0[BatchJobId="12";JobStatus=2;]\n', "")


# Cancel, and the others


def test_cancels_are_answered_for_each(place):
    for number in (1, 2):
        place.add(number, answer=AD)
    assert call(place, "cancel", "20261123/1", "20261123/2") == (0, ".0 0 No\\ error\n.1 0 No\\ error\n", "")
    assert sorted(place.left()[0]) == [("cancel", "1"), ("cancel", "2")]


def test_what_is_gone_is_cancelled(place):
    code, out, _ = call(place, "cancel", "20261123/7")
    assert (code, out) == (0, " 0 No\\ error\n")


def test_a_cancel_is_tried_again_for_htcondor_would_forget_the_job(place):
    variables = fails_once(place, 'echo " 1 full"', r"printf ' 0 No\\ error\n'")
    code, out, err = call(place, "cancel", "20261123/1", **variables)
    assert (code, out, err) == (0, " 0 No\\ error\n", "jim_cancel.sh: trying again\n")


@pytest.mark.parametrize(("name", "verb"), [("hold", "suspend"), ("resume", "resume")])
def test_hold_and_resume_leave_wishes(place, name, verb):
    place.add(1, answer=AD)
    assert call(place, name, "20261123/1", "2")[:2] == (0, "")
    assert place.left()[0] == [(verb, "1")]
    assert call(place, name, "20261123/7")[0] == 4


def test_ping(place):
    assert call(place, "ping") == (0, "0 No error\n", "")
    code, out, _ = call(place, "ping", JIM_PYTHON="/no/python")
    assert (code, out[:30]) == (0, "1 jim_ping.sh: JIM_PYTHON is /")
