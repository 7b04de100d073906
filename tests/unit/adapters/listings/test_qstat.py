"""Reading what qstat lists, without an adapter."""

from __future__ import annotations

import json

import pytest

from jim.adapters.listings.qstat import from_json, from_text

TEXT = "Job Id: 4.s\n    Job_Name = a\n    Job_Owner = u@h\n    job_state = R\n\n"


def listed(job, **more):
    return json.dumps({"pbs_version": "20", "Jobs": {"4.s": job}} | more)


def test_facts_have_one_name_in_both_forms():
    facts = {"job_name": "a", "job_state": "F", "exit_status": "7"}
    assert from_json(listed({"Job_Name": "a", "job_state": "F", "Exit_status": 7})) == {"4.s": facts}
    text = TEXT.replace("job_state = R\n", "job_state = F\n    exit_status = 7\n")
    assert from_text(text) == {"4.s": facts}


def test_no_job_is_an_answer():
    assert from_text("") == from_json('{"pbs_version": "20"}') == {}


def test_json_that_is_odd_is_mended():
    text = listed({"Job_Name": "a", "job_state": "R", "odd": 1}).replace('"odd": 1', r'"odd": 005, "none":, "e": "\e"')
    assert from_json(text.replace('"none":,', '"none":\n,'))["4.s"]["job_state"] == "R"


@pytest.mark.parametrize("text", [TEXT[:-1], TEXT[10:], TEXT.replace("Job_Owner", "x"), f"{TEXT}Job Id: 5.s\n\n"])
def test_text_that_lacks_anything_is_no_listing(text):
    with pytest.raises(ValueError):
        from_text(text)
