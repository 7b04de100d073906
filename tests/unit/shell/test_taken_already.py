"""Once a request is on the disk, nothing makes a door fail but an id that it cannot say."""

import os
import sys

import pytest

from tests.unit.shell.place import HOME

# Each is run in the door's own process, before its work.
FAULTS = {
    "no process can be started": """
import subprocess
def Popen(*_, **__): raise BlockingIOError(11, "Resource temporarily unavailable")
subprocess.Popen = Popen
import jim.keeper.waking
jim.keeper.waking.runs = lambda state: False
""",
    "the code that calls a keeper is broken": """
import jim.keeper.waking
def wake(state): raise RuntimeError("half an upgrade")
jim.keeper.waking.wake = wake
""",
    "the disk fails once the request is linked": """
import os
from jim.doors import inbox
link, known, unlink = os.link, inbox.known, os.unlink
def fails(*_, **__): raise OSError(5, "Input/output error")
def linked(*names):
    link(*names)
    inbox.known = fails
    os.unlink = fails
os.link = linked
""",
    "Ctrl-C as the request is linked": """
import os, signal
link = os.link
def linked(*names):
    link(*names)
    os.kill(os.getpid(), signal.SIGINT)
os.link = linked
""",
}


@pytest.fixture
def call(place):
    """Hand in a job as each gatekeeper does, with a fault in the door's process; return what it said."""
    (place.state / "site.toml").write_text(f'[site]\ninputs_below = ["{place.directory}"]\n')
    python = place.directory / "python"
    control, session = place.directory / "control", place.directory / "session"
    for each in (control, session):
        each.mkdir()
    grami = control / "job.a1.grami"
    grami.write_text(
        f"joboption_directory='{session}'\njoboption_controldir='{control}'\njoboption_arg_0='/bin/true'\n"
        f"joboption_stdout='{session}/out'\njoboption_gridid='a1'\n"
    )
    blah = (
        "-c",
        "/bin/echo",
        "-w",
        str(place.directory),
        "-o",
        "out",
        "-e",
        "err",
        "-i",
        "/dev/null",
        "-D",
        "home_bl_k",
    )
    doors = {
        "jim": ("jim", "submit", str(place.request())),
        "jim-submit": ("jim-submit", str(place.request())),
        "condor": ("condor/jim_submit.sh", *blah),
        "arc": ("arc/submit-jim-job", "--config", "run.conf", str(grami)),
    }

    def hand_in(door, fault):
        (place.directory / "fault.py").write_text(fault)
        begin = f'exec {sys.executable} -P -s -c "$(cat {place.directory}/fault.py)\n$code" "$@"'
        python.write_text(f"#!/bin/sh\ncode=$4\nshift 4\n{begin}\n")
        python.chmod(0o755)
        code, out, err = place.door(*doors[door], JIM_PYTHON=str(python), HOME=str(place.directory))
        return code, out + (grami.read_text() if door == "arc" else ""), err

    return hand_in


ANSWERS = {
    "jim": "1\n",
    "jim-submit": "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:32\n\n",
    "condor": "/1\n",
    "arc": f"joboption_jobid={os.getuid()}.1\n",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", ANSWERS)
def test_a_request_that_is_on_the_disk_gets_its_id(place, call, door, fault):
    code, out, err = call(door, FAULTS[fault])
    assert (code, out.endswith(ANSWERS[door])) == (0, True), (out, err)
    assert len([name for name in place.left()[1] if not name.startswith(".")]) == 1


@pytest.mark.parametrize("to", ["2>/dev/full", "2>&-"])
def test_words_for_people_that_cannot_be_written_fail_no_submission(place, to):
    program = ["/bin/sh", "-c", f'"$@" {to}', "sh", str(HOME / "shell/jim"), "submit", str(place.request())]
    assert place.door("", program=program) == (0, "1\n", "")


def test_a_wish_that_is_on_the_disk_is_no_failure_if_nobody_can_be_called(place, call):
    place.add(1)
    place.directory.joinpath("fault.py").write_text("")
    call("jim", FAULTS["no process can be started"])
    variables = {"JIM_PYTHON": str(place.directory / "python")}
    assert place.door("jim-cancel", "1", **variables)[0] == 0
    assert place.left()[0] == [("cancel", "1")]
