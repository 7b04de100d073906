"""Why a job waits, as each batch system says it."""

from __future__ import annotations

import json

import pytest

from jim.adapters import condor, lsf, pbs, slurm, torque
from jim.model import Answer, Observation, State

M = "jim-3f9a0001-2-1"


def parsed(adapter, text):
    return adapter.ADAPTER().parse_query(Answer(("query",), 0, text, "", 0.1))


def slurm_says(word, reason):
    text = f"JOBID|STATE|EXIT_CODE|REASON|NAME|.\n5_2|{word}|0|{reason}|{M}|.\n"
    return parsed(slurm, text)["5", 2]


# The words of a real one, with a node drained: ReqNodeNotAvail.
@pytest.mark.parametrize("words", ["Resources", "Priority", "ReqNodeNotAvail, UnavailableNodes:n[1-2]"])
def test_slurm_has_a_reason(words):
    assert slurm_says("PENDING", words) == Observation(State.SUBMITTED, M, word="PENDING", waits=words)


def test_slurm_has_none_just_after_the_submission():
    assert slurm_says("PENDING", "None").waits == ""


@pytest.mark.parametrize(("word", "reason"), [("PENDING", "PartitionTimeLimit"), ("PENDING", "JobHeldUser")])
def test_what_never_starts_or_is_held_has_another_reason(word, reason):
    seen = slurm_says(word, reason)
    assert (seen.reason, seen.waits) == (reason, "")


def test_what_runs_waits_for_nothing():
    assert slurm_says("RUNNING", "None").waits == slurm_says("CONFIGURING", "None").waits == ""


COMMENT = "Not Running: Insufficient amount of resource: ncpus (R: 4 A: 2 T: 8)"


def pbs_says(letter, comment):
    job = {"Job_Name": M, "job_state": letter, "comment": comment}
    return parsed(pbs, json.dumps({"pbs_version": "20", "Jobs": {"4.server": job}}))["4.server", 1]


def test_pbs_has_a_comment():
    assert pbs_says("Q", COMMENT).waits == COMMENT
    assert pbs_says("R", "Job run at Sat Nov 28 at 09:00 on (node1)").waits == ""
    seen = pbs_says("Q", "Can Never Run: Insufficient amount of resource")
    assert (seen.reason[:13], seen.waits) == ("Can Never Run", "")


def test_torque_has_one_in_text():
    text = (
        f"Job Id: 4.server\n    Job_Name = {M}\n    Job_Owner = me@host\n    job_state = Q\n    comment = {COMMENT}\n\n"
    )
    assert parsed(torque, text)["4.server", 1].waits == COMMENT


def idle(proc, status=1, **more):
    return {"ClusterId": 7, "ProcId": proc, "JobStatus": status, "JimMark": M, **more}


def test_htcondor_says_of_one_job_of_a_cluster_what_holds_for_all_that_are_idle():
    refused = idle(0, LastRejMatchReason="no match found ")
    other = {**idle(0), "ClusterId": 8}
    seen = parsed(condor, json.dumps([refused, idle(1), idle(2, 2), other]))
    assert {key: each.waits.strip() for key, each in seen.items()} == {
        ("7", 1): "no match found",
        ("7", 2): "no match found",
        ("7", 3): "",  # it runs
        ("8", 1): "",
    }


FIELDS = "jobid jobindex stat exit_code exit_reason job_name pend_reason"


def test_lsf_has_a_pending_reason_where_the_site_asks_for_it():
    asking = lsf.ADAPTER({"query": ["bjobs", "-o", FIELDS]})
    assert asking.query_command() == ["bjobs", "-o", FIELDS, "-a", "-json"]
    assert lsf.ADAPTER().query_command().count("-o") == 1
    record = {"JOBID": "5", "JOBINDEX": "2", "STAT": "PEND", "EXIT_CODE": "", "EXIT_REASON": "", "JOB_NAME": f"{M}[2]"}
    seen = parsed(lsf, json.dumps({"RECORDS": [{**record, "PEND_REASON": "Job slot limit reached;"}]}))
    assert seen["5", 2].waits == "Job slot limit reached;"
    assert parsed(lsf, json.dumps({"RECORDS": [record]}))["5", 2].waits == ""
