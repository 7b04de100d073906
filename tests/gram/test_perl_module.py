"""The Perl module: what it calls, and each byte that it prints."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from jim.doors import inbox
from tests.gram.script import DONE, FAILED, MODULE, PENDING, STUBS, beat, call

# The Perl module


def test_the_same_job_is_the_same_grid_job(place):
    once = "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:1\n\n"
    assert call(place, "submit", "submit") == once + once
    assert [path.read_bytes() for path in (place.directory / "out", place.directory / "err")] == [b"", b""]
    (path,) = (place.state / "inbox").glob("request-*")
    request = json.loads(path.read_text())["request"]
    assert request["key"] == "173.72"
    assert (request["executable"], request["arguments"], request["environment"]) == (
        "/bin/echo",
        ["hello"],
        {"A": "b c"},
    )


def test_a_refusal_tells_its_reason_and_leaves_no_file(place):
    said = call(place, "submit", queue=["a b"])
    assert said.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:queue: 'a b' is not possible")
    assert said.endswith("\nGRAM_SCRIPT_ERROR:48\n\n")
    assert not (place.directory / "out").exists()
    assert not list((place.state / "inbox").glob("request-*"))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("uniqid", None, "uniqid: missing; no value of a description may hold an empty line"),
        ("executable", None, "executable: expected the name of one program"),
        ("executable", [""], "executable: expected the name of one program"),
    ],
)
def test_a_description_without_a_name_or_a_program_is_refused(place, name, value, reason):
    said = call(place, "submit", **{name: value})
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:48\n\n"
    assert not (place.directory / "out").exists()


def test_the_rest_of_a_command_cut_short_is_not_taken_for_the_next(place):
    script = (
        f"require '{MODULE}';"
        "$job = bless {}, 'Globus::GRAM::JobDescription';"
        "Globus::GRAM::JobManager::samgrid->new($job)->submit(); print <>"
    )
    rest = "empty line'],\n\n  'count' => ['1'],\n    };\n\npoll\n"
    done = subprocess.run(
        ["perl", f"-I{STUBS}", "-e", script], input=rest, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("poll\n", "")


def test_the_names_of_what_is_staged_in_are_kept_for_the_submission(place):
    submit = f"cat $1 >{place.directory}/described; echo GRAM_SCRIPT_JOB_ID:1"
    module = doors(place, jim_submit=submit, jim_staging="true")
    pairs = {"filestagein": [["https://x/a", "it's a"]], "filestageinshared": [["https://x/b", "/b"]]}
    assert call(place, "stage_in", "stage_in", module=module, **pairs) == "\n\n"
    call(place, "submit", module=module)
    told = json.loads((place.directory / "described").read_text())
    assert told["jimstagedin"] == ["it's a", "/b", "it's a", "/b"]
    assert call(place, "stage_in", module=module, jobdir=["/nowhere"]) == "GRAM_SCRIPT_ERROR:135\n\n"


def test_nothing_is_staged_in_that_jim_refuses_or_cannot_tell_of(place):
    why = "GRAM_SCRIPT_GT3_FAILURE_MESSAGE:file_stage_in: no\nGRAM_SCRIPT_ERROR:48\n"
    module = doors(place, jim_staging=f"cat $1 >{place.directory}/described; printf '{why}'; exit 2")
    pairs = {"filestagein": [["https://x/a", "a"]], "filestageinshared": [["https://x/b", "b"]]}
    assert call(place, "stage_in", module=module, **pairs) == f"{why}\n"
    told = json.loads((place.directory / "described").read_text())
    assert (told["filestagein"], told["filestageinshared"]) == ([["https://x/a", "a"]], [["https://x/b", "b"]])
    (module.parents[1] / "jim-staging").unlink()
    said = call(place, "stage_in", module=module, **pairs)
    assert said == (
        "GRAM_SCRIPT_GT3_FAILURE_MESSAGE:JIM does not tell which files are its own\nGRAM_SCRIPT_ERROR:3\n\n"
    )


def test_nothing_is_staged_out_that_jim_refuses(place):
    """The client of a job may name other places for its streams while the job runs."""
    (place.state / "answers").mkdir(exist_ok=True)
    (place.state / "answers/7").write_bytes(DONE)
    module = doors(place, jim_staging="echo GRAM_SCRIPT_ERROR:48; exit 2")
    streams = {"filestreamout": [["out", "file:///etc/jim/site.toml"]]}
    assert call(place, "stage_out", module=module, jobid=["7"], **streams) == "GRAM_SCRIPT_ERROR:155\n\n"
    assert "STAGED_OUT" in call(place, "stage_out", module=module, jobid=["7"]), "there is nothing to ask about"


def test_a_stream_is_made_only_once_the_door_has_taken_the_job_in(place):
    """Before that, nobody knows whether the name is one of JIM's own."""
    look = f"ls {place.directory} >{place.directory}/there; echo GRAM_SCRIPT_JOB_ID:1"
    call(place, "submit", module=doors(place, jim_submit=look))
    assert "out" not in (place.directory / "there").read_text().split()
    assert (place.directory / "out").read_bytes() == b""


def test_a_stream_that_cannot_be_made(place):
    said = call(place, "submit", stdout=["/nowhere/out"])
    reason = "stdout: cannot write /nowhere/out: No such file or directory"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:73\n\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"GRAM_SCRIPT_JOB_STATE:32\n\n", PENDING),
        (b"GRAM_SCRIPT_JOB_STATE:2\n\n", "GRAM_SCRIPT_JOB_STATE:2\n\n"),
        (b"GRAM_SCRIPT_JOB_STATE:77x\nGRAM_SCRIPT_FOO:1\n<html>\n", "\n"),
        (b"", "\n"),
    ],
)
def test_a_poll_hands_on_protocol_and_nothing_else(place, answer, said):
    place.add(7, answer=answer)
    beat(place)
    assert call(place, "poll", jobid=["7"]) == said


def test_a_poll_finds_a_job_by_its_key(place):
    inbox.deposit(place.state, "173.72", {})
    beat(place)
    assert call(place, "poll") == PENDING


def test_nothing_is_known_of_a_job_and_nobody_dies(place):
    methods = ("poll", "cancel", "signal", "poll")
    assert call(place, *methods, uniqid=None, signal=["2"], variables={"JIM_STATE": "/nowhere"}) == "\n" * 4


def test_signals_become_verbs(place):
    module = doors(place, jim=f'echo "$*" >>{place.directory}/verbs; [ "$4" != high ]')
    place.add(7, answer=b"GRAM_SCRIPT_JOB_STATE:16\n\n")
    for number, text, said in (
        ("2", "-", "GRAM_SCRIPT_JOB_STATE:16\n"),
        ("3", "-", ""),
        ("4", "-5", ""),
        ("4", "high", "GRAM_SCRIPT_ERROR:107\n"),
        ("9", "-", "GRAM_SCRIPT_ERROR:27\n"),
    ):
        assert call(place, "signal", module=module, signal=[number], signalarg=[text], jobid=["7"]) == said + "\n"
    assert (place.directory / "verbs").read_text() == "suspend 7\nresume 7\npriority -- 7 -5\npriority -- 7 high\n"


def test_cancel_waits_for_the_end(place):
    place.add(7, answer=b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:cancelled\nGRAM_SCRIPT_ERROR:8\n\n")
    assert call(place, "cancel", jobid=["7"]) == "GRAM_SCRIPT_JOB_STATE:4\n\n"


def test_a_cancel_that_comes_too_late_lets_the_poll_deliver(place):
    place.add(7, answer=DONE)
    assert call(place, "cancel", jobid=["7"]) == "\n"


def doors(place, **scripts):
    """Make doors that print what a test wants, and the module beside them."""
    shell = place.directory / "shell"
    (shell / "gram").mkdir(parents=True)
    for name, text in scripts.items():
        file = shell / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    return Path(shutil.copy(MODULE, shell / "gram"))


def test_a_door_gets_neither_commands_nor_answers(place):
    module = doors(place, jim_submit="cat; echo noise >&2; echo '<html>'; echo GRAM_SCRIPT_EXIT_CODE:3")
    said = call(place, "submit", module=module)
    reason = "JIM did not answer in time; hand the job in again"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:3\n\n"


def test_a_jim_that_was_moved_away(place):
    module = doors(place)
    said = call(place, "submit", module=module)
    reason = f"{module.parents[1]}/jim-submit cannot be started"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:3\n\n"
    assert not (place.directory / "out").exists()


def test_a_jim_that_was_upgraded_is_found_by_the_name_that_stays(place):
    module, name = doors(place), place.directory / "jim"
    name.symlink_to(module.parents[2])
    link = place.directory / "samgrid.pm"
    link.symlink_to(name / "shell/gram/samgrid.pm")
    assert f":{name}/shell/jim-submit cannot be started\n" in call(place, "submit", module=link)


def test_what_was_handed_in_counts_whatever_became_of_the_door(place):
    module = doors(place, jim_submit="kill -KILL $$")
    inbox.deposit(place.state, "173.72", {})
    assert call(place, "submit", module=module) == "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:1\n\n"


@pytest.mark.parametrize("fails", ["", "1"])
def test_what_a_failed_job_wrote_is_sent_before_its_reason(place, fails):
    module = doors(place, jim_deliver=f"printf '{FAILED.decode()}'")
    place.add(7, answer=FAILED)
    said = call(place, "poll", module=module, jobid=["7"], variables={"STAGE_OUT_FAILS": fails})
    reason = "why; what it wrote could not be sent" if fails else "why"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:17\n\n"
