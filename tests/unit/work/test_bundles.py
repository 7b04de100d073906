"""Bundles: how many batch jobs, and what each of them asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jim.errors import BadRequest
from jim.model import Resources
from jim.site.file import Batch, Site
from jim.work.bundles import (
    LARGEST,
    Bundle,
    bundle_of,
    check,
    lanes_of,
    most_seconds,
    of_carrier,
    of_node,
    turns_within,
)

EACH = {"cores": 1, "memory_mb": 500}


def site(tmp_path: Path, system: str = "slurm") -> Site:
    return Site(state=tmp_path, batch=Batch(system=system, most_cores=8, most_memory_mb=2000))


def test_a_request_says_how_its_local_jobs_are_bundled() -> None:
    assert bundle_of({}) is None
    assert bundle_of({"bundle": 10}) == Bundle(10, 1)
    assert bundle_of({"bundle": 10, "at_once": 4}) == Bundle(10, 4)
    assert bundle_of({"bundle": 3, "at_once": 4}) == Bundle(3, 3)  # no more than there are


@pytest.mark.parametrize(("local_jobs", "carriers"), [(1, 1), (10, 1), (11, 2), (1000, 100)])
def test_as_many_carriers_as_needed(local_jobs: int, carriers: int) -> None:
    assert Bundle(10).carriers(local_jobs) == carriers


def test_a_carrier_asks_for_all_that_run_at_once_and_for_the_time_of_all_in_turn() -> None:
    each = Resources(wall_seconds=600, memory_mb=500, cores=2, disk_mb=100, gpus=1, queue="long", warn_seconds=60)
    found = of_carrier(each, 10, 4, 100_000)
    # Three turns of four lanes, and a minute to spare.
    assert (found.wall_seconds, found.memory_mb, found.cores, found.disk_mb, found.gpus) == (1860, 2000, 8, 400, 4)
    assert (found.queue, found.warn_seconds) == ("long", None)  # each wrapper warns its own


def test_a_retry_that_asks_for_more_has_fewer_beside_it(tmp_path: Path) -> None:
    for each, lanes in (
        (Resources(), 4),
        (Resources(cores=2, memory_mb=500), 4),
        (Resources(cores=3), 2),
        (Resources(memory_mb=1500), 1),
        (Resources(memory_mb=9999), 1),
    ):
        assert lanes_of(Bundle(10, 4), 10, each, site(tmp_path)) == lanes
    assert lanes_of(Bundle(10, 4), 3, Resources(), site(tmp_path)) == 3


def test_a_carrier_asks_for_no_more_time_than_the_site_allows_and_no_less_than_one_needs() -> None:
    assert of_carrier(Resources(wall_seconds=600), 10, 1, 3600).wall_seconds == 3600
    assert of_carrier(Resources(wall_seconds=600), 10, 1, 60).wall_seconds == 600
    assert of_carrier(Resources(), 10, 1, 3600).wall_seconds is None


@pytest.mark.parametrize(
    ("request_", "about", "words"),
    [
        ({"at_once": 2, **EACH}, "at_once", "ask for bundle, too"),
        ({"bundle": 9, "at_once": 2}, "at_once", "ask for cores and memory_mb, too"),
        ({"bundle": 9, "at_once": 2, "cores": 1}, "at_once", "ask for memory_mb, too"),
        ({"bundle": 9, "at_once": 2, "cores": "$Cores", "memory_mb": 500}, "at_once", "ask for cores, too"),
        ({"bundle": 9, "at_once": 9, **EACH}, "at_once", "9 at once need 9 cores, and this site allows a batch job 8"),
        ({"bundle": 9, "at_once": 5, **EACH}, "at_once", "5 at once need 2,500 MB of memory, and .* job 2,000"),
        ({"bundle": 9, "at_once": 2, **EACH, "licences": "root:2"}, "at_once", "licences cannot be asked for"),
        ({"at_once": "node", **EACH}, "at_once", "ask for bundle, too"),
        ({"bundle_seconds": 600}, "bundle_seconds", "ask for bundle, too"),
        ({"bundle": 9, "at_once": "node", "cores": 1}, "at_once", "node at once, .* ask for memory_mb, too"),
        ({"bundle": 9, "at_once": "node", **EACH, "gpus": 1}, "at_once", "for how many local jobs a node has gpus"),
        (
            {"bundle": 9, "at_once": "node", **EACH},
            "at_once",
            r"does not allow whole nodes \(batch.allowed_options must have --exclusive --mem=0\): say a number",
        ),
    ],
)
def test_a_bundle_that_does_not_say_enough_is_refused(
    tmp_path: Path, request_: dict[str, Any], about: str, words: str
) -> None:
    with pytest.raises(BadRequest, match=words) as refused:
        check(request_, site(tmp_path))
    assert refused.value.about == about


def test_a_site_allows_whole_nodes_by_the_words_of_its_submit_command(tmp_path: Path) -> None:
    request = {"bundle": 90, "at_once": "node", **EACH}
    for system, options in (
        ("slurm", ("--exclusive", "--mem=0")),
        ("lsf", ("-x",)),
        ("pbs", ("-l place=excl",)),
    ):
        check(request, Site(state=tmp_path, batch=Batch(system=system, allowed_options=options)))
    for system in ("sge", "torque", "condor", "local"):
        with pytest.raises(BadRequest, match=f"{system} cannot be asked for a whole node"):
            check(request, Site(state=tmp_path, batch=Batch(system=system, allowed_options=("--exclusive",))))


def test_a_carrier_alone_on_its_node_asks_for_all_of_its_memory(tmp_path: Path) -> None:
    bundle = bundle_of({"bundle": 90, "at_once": "node"})
    assert bundle == Bundle(90, 1, whole_node=True)
    each = Resources(cores=2, memory_mb=500, wall_seconds=60, batch_options=("--qos=x",))
    found = of_node(of_carrier(each, 90, lanes_of(bundle, 90, each, site(tmp_path)), 86_400), site(tmp_path))
    assert (found.cores, found.memory_mb, found.wall_seconds) == (2, None, 90 * 60 + 60)
    assert found.batch_options == ("--qos=x", "--exclusive", "--mem=0")


def test_where_no_claim_reaches_the_nodes_nothing_is_bundled(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="worker nodes of condor_transfer do not see the work directory") as refused:
        check({"bundle": 9}, site(tmp_path, "condor_transfer"))
    assert refused.value.about == "bundle"


def test_what_says_enough_is_taken(tmp_path: Path) -> None:
    for each in ({}, {"bundle": 9}, {"bundle": 9, "at_once": 1}, {"bundle": 9, "at_once": 3, **EACH}):
        check(each, site(tmp_path))


def test_as_many_surely_fit_as_their_time_limits_do(tmp_path: Path) -> None:
    assert turns_within(60, 3600) == 59  # a minute is to spare
    assert turns_within(3600, 3600) == 0
    assert turns_within("{wall}", 3600) == turns_within(None, 3600) == LARGEST == 10_000


def test_a_carrier_takes_as_long_as_its_request_and_its_site_say(tmp_path: Path) -> None:
    hour = Site(state=tmp_path, batch=Batch(most_wall_seconds=3600))
    assert most_seconds({"bundle": 9}, hour) == 3600
    assert most_seconds({"bundle": 9, "bundle_seconds": 1800}, hour) == 1800
    assert most_seconds({"bundle": 9, "bundle_seconds": 7200}, hour) == 3600
