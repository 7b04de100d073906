"""`jim explain` says in the batch system's own words why jobs wait."""

from __future__ import annotations

import json

import pytest

from tests.live.site import LONG, operator, until


def test_slurm_says_why_jobs_wait(lab, make_site):
    lab("slurm")
    site = make_site("slurm")
    nodes = operator("sinfo", "-h", "-o", "%N").strip()
    operator("scontrol", "update", f"nodename={nodes}", "state=drain", "reason=jim-test")
    try:
        job = site.submit(3, body=LONG)
        site.wake()

        def said() -> tuple[set[str], str]:
            """Return what squeue says, and what JIM tells of that once it has asked again."""
            words = {each.strip() for each in operator("squeue", "-h", "-r", "-o", "%r").splitlines()} - {"None"}
            told = json.loads(site.jim("explain", "--json", str(job)))["waits_for"]
            return words, next((each["what"] for each in told if "queue" in each["what"]), "")

        def agreed() -> str:
            words, told = said()
            return told if words and all(each in told for each in words) else ""

        told = until(agreed, "JIM says what squeue says")
        assert told.startswith("3 local jobs wait in the batch system's queue: "), told
        (group, *_) = json.loads(site.jim("show", "--json", str(job)))["queue"]
        assert (group["submission"], group["state"]) == (1, "submitted")
    finally:
        site.jim("cancel", str(job))
        operator("scontrol", "update", f"nodename={nodes}", "state=resume")
        site.close()


def test_htcondor_says_why_jobs_wait(lab, make_site):
    lab("condor")
    site = make_site("condor")
    try:
        job = site.submit(2, constraint="NoMachineHasThis")
        site.wake()
        words = until(lambda: json.loads(site.jim("show", "--json", str(job)))["queue"], "a negotiator has refused one")
        assert [(each["words"], each["count"]) for each in words] == [("no match found", 2)]
    finally:
        site.jim("cancel", str(job))
        site.close()


@pytest.mark.long
def test_grid_engine_says_why_jobs_wait(lab, make_site):
    lab("sge")
    site = make_site("sge")
    operator("qmod", "-d", "all.q")
    try:
        job = site.submit(2)
        site.wake()
        words = until(lambda: json.loads(site.jim("show", "--json", str(job)))["queue"], "the scheduler has looked")
        ((told, count),) = [(each["words"], each["count"]) for each in words]
        assert "dropped because it is disabled" in told, told
        assert count == 2
    finally:
        site.jim("cancel", str(job))
        operator("qmod", "-e", "all.q")
        site.close()
