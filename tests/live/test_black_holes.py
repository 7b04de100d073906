"""A host of a real Slurm that ends all that comes to it within a second: it is avoided."""

from __future__ import annotations

import json

import pytest

from tests.live.site import until

PIECES = 40
# n2 lacks what the payload needs; elsewhere it takes a while.
BODY = '[ "$(cat /proc/sys/kernel/hostname)" != n2 ] || { : >{ledger}/$me.hole; exit 3; }; sleep 8'


@pytest.mark.long
def test_a_host_that_eats_jobs_is_avoided(lab, make_site):
    lab("slurm", SLURM_LAB_NODES=4, SLURM_LAB_CPUS=4, SLURM_LAB_HOSTNAMES="own")
    site = make_site("slurm", more='[limits]\nattempts = 2\nretry_delay = "PT1S"\nper_submission = 20\n')
    job = site.submit(PIECES, body=BODY.replace("{ledger}", str(site.ledger)))
    until(lambda: json.loads(site.jim("show", str(job), "--json"))["step"] == "finished", "it is finished", 400)
    shown = json.loads(site.jim("show", str(job), "--json"))
    assert shown["counts"] == {"completed": PIECES}
    eaten = list(site.ledger.glob("*.hole"))
    # Mostly three, and what has come to its four processors until the keeper judged. If one took a second by the clock,
    # the others must first have run for ten, or have ended: until then it eats what these did not get.
    assert 3 <= len(eaten) <= PIECES - 3 * 4
    ended = list(site.ledger.glob("*.end"))
    assert len(ended) == PIECES, "each piece was done once"
    (hole,) = [each for each in json.loads(site.jim("hosts", "--json")) if each["avoided"]]
    assert hole["host"] == "n2"
    assert hole["avoided"].startswith("avoided as a black hole since ")
    assert hole["completed"] == 0
    local_job = ".".join(eaten[0].name.split(".")[:2])
    assert "attempt 1 does not count: n2 is a black hole: exit 3" in site.jim("show", local_job)
    # Later submissions leave that host out, and none of their jobs has come there.
    again = site.submit(8, body=BODY.replace("{ledger}", str(site.ledger)))
    until(
        lambda: json.loads(site.jim("show", str(again), "--json"))["step"] == "finished", "that is finished, too", 120
    )
    assert len(list(site.ledger.glob("*.hole"))) == len(eaten)
    assert not list((site.state / "work" / str(again)).glob("s*/left.*"))
