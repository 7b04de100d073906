"""Who sent a grid job through a real gatekeeper, and what the accounting says of it."""

from __future__ import annotations

import json
import re

from tests.live.gram.gatekeeper import LAB, until
from tests.live.site import USER


def test_a_grid_job_is_found_by_the_contact_that_its_client_has(gate):
    contact, job = gate.submit("&(executable=/bin/true)")
    until(lambda: gate.answer(job) == "GRAM_SCRIPT_JOB_STATE:8\n\n", "it is done")
    assert json.loads(gate.jim("show", "--json", contact, account=USER))["id"] == job
    shown = gate.jim("show", str(job), account=USER)
    assert f" {who()}" in shown
    assert contact in shown


def test_each_attempt_has_its_line_with_who_sent_it(gate):
    contact, job = gate.submit(f"&(executable={gate.script('exit 3')})")
    until(lambda: "GRAM_SCRIPT_ERROR:" in gate.answer(job), "it has failed")
    line = until(lambda: accounted(gate, job), "its line is written")
    told = ("dn", "contact", "account", "local_job", "attempt", "exit_code", "cores", "verdict")
    expected = (who(), contact, USER, 0, 1, 3, 1, "failed")
    assert tuple(line[0][each] for each in told) == expected
    assert len(line) == 1
    (blah,) = (each for each in lines(gate, "blahp.log-*") if f'"jobID={line[0]["id"]}"' in each)
    assert f'"userDN={who()}"' in blah
    assert f'"lrmsID={line[0]["batch_id"]}" "localUser={USER}"' in blah
    added = json.loads(gate.jim("accounting", "--by", "dn,account", "--since", "1h", "--json", account=USER))
    (ours,) = (each for each in added if each["dn"] == who())
    assert ours["attempts"] == sum(json.loads(each)["dn"] == who() for each in lines(gate, "*.jsonl"))
    assert (ours["account"], ours["completed"] < ours["attempts"]) == (USER, True)


def who():
    """Give the name that the lab's gatekeeper knows the account's user by."""
    (name,) = re.findall(f'^"(.*)" {USER}$', (LAB / "grid-mapfile").read_text(), re.MULTILINE)
    return name


def lines(gate, files):
    return [line for each in (gate.state / "accounting").glob(files) for line in each.read_text().splitlines()]


def accounted(gate, job):
    return [found for each in lines(gate, "*.jsonl") if (found := json.loads(each))["grid_job"] == job]
