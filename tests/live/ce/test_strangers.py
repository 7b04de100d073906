"""What a grid user may name, through a real computing element: only what the schedd has spooled for the job."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.live.ce.computing_element import HELD
from tests.live.site import USER, until

KEY = "the-key-of-the-account\n"


@pytest.fixture
def elsewhere(ce):
    """Return a directory in which a grid user's client lies, which is closed to JIM; the account has a key."""
    (ce.account / ".ssh").mkdir(exist_ok=True)
    (ce.account / ".ssh/id").write_text(KEY)
    for each in (ce.account / ".ssh", ce.account / ".ssh/id"):
        ce.own(each)
    place = Path(tempfile.mkdtemp(prefix="client-", dir="/tmp"))
    shutil.chown(place, USER, USER)
    yield place
    shutil.rmtree(place)
    shutil.rmtree(ce.account / ".ssh")


def test_spooled_files_and_a_spooled_token_reach_the_payload(ce, elsewhere):
    (elsewhere / "given").write_text("input\n")
    (elsewhere / "mine").write_text("abc.def\n")
    program = ce.program(elsewhere, 'cat given "$BEARER_TOKEN_FILE"')
    lines = {"environment": '"BEARER_TOKEN_FILE=mine"', "transfer_input_files": "given, mine", "executable": program}
    before = ce.jobs()
    job = ce.submit(elsewhere, "-spool", **lines, should_transfer_files="YES", when_to_transfer_output="ON_EXIT")
    assert ce.ended(job) == 0
    spooled = ce.show(ce.new(before))["request"]["token"]
    assert Path(spooled).is_relative_to(ce.run("condor_config_val", "SPOOL").strip())
    ce.run("condor_transfer_data", job, cwd=elsewhere)
    ce.run("condor_rm", job)
    assert (elsewhere / "out").read_text() == "input\nabc.def\n"


@pytest.mark.parametrize(
    "attack",
    [
        {"environment": '"BEARER_TOKEN_FILE={home}/.ssh/id"'},
        pytest.param({"environment": '"JIM_INPUTS={home}/.ssh/id"'}, marks=pytest.mark.long),
        pytest.param({"environment": '"JIM_STDIN={home}/.ssh/id"'}, marks=pytest.mark.long),
        pytest.param({"_remote_JIM_token": '"{home}/.ssh/id"', "universe": "grid"}, marks=pytest.mark.long),
        pytest.param({"output": "{state}/answers/1", "universe": "grid"}, marks=pytest.mark.long),
    ],
    ids=["BEARER_TOKEN_FILE", "JIM_INPUTS", "JIM_STDIN", "an attribute", "an output"],
)
def test_no_file_of_the_account_is_read_or_written_for_a_grid_user(ce, elsewhere, attack):
    before = ce.jobs()
    lines = {name: text.format(home=ce.account, state=ce.state) for name, text in attack.items()}
    spool = [] if lines.get("universe") == "grid" else ["-spool"]
    job = ce.submit(elsewhere, *spool, executable="/bin/true", transfer_executable="false", **lines)

    def refused():
        routed = ce.run("condor_q", "-all", "-af", "JobStatus", "HoldReason")
        return next((line for line in routed.splitlines() if line.startswith(HELD) and "jim-submit:" in line), "")

    words = until(refused, "it is held", 120)
    assert "site.inputs_below" in words or "outputs go into" in words
    assert set(ce.jobs()) == set(before)
    ce.run("condor_rm", "-all", as_root=True)
    assert json.dumps(KEY.strip()) not in words
    until(lambda: not ce.run("condor_q", job, "-af", "JobStatus").strip(), "it is removed")
