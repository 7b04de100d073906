"""Sizes that are learned from completed local jobs: from what, how much, and when not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jim.handlers.base import BY_EVENTS, Handler
from jim.jobs import Used
from jim.site.file import Batch, Limits, Site, Sizing
from jim.work.learning import FEWEST, learn, with_learned, with_learned_bundle
from jim.work.lookup import Resolved
from jim.work.sizing import Size, size

# 21 local jobs: the quartiles are the 6th, 11th and 16th.
USED = [Used(250, round(0.20 + 0.01 * n, 2), 700 + 10 * n) for n in range(21)]
CPU, MEMORY = "0.25 | 0.3 | 0.35 s of CPU per event", "750 | 800 | 850 MB of memory"
SEEN = f"21 completed local jobs of this job type and request id used {CPU} and {MEMORY} (quartiles)"


class Events(Handler):
    attributes = BY_EVENTS


def sized(used=USED, *, learned=True, recommended=3600, most=0, batch=None, **request):
    site = Site(Path("/s"), batch=batch or Batch(), sizing=Sizing(recommended, most, learned))
    asked = {"job_type": "events", "events": 100_000, **request}
    return with_learned(Events(), Resolved(asked, size(Events(), asked, site), ""), site, used)


def test_three_quarters_of_what_was_seen_decide():
    found = sized()
    assert found.request["cpu_seconds_per_event"] == 0.35
    assert found.request["memory_mb"] == 1000  # 850 + 1.5 × (850 − 750)
    assert found.size.events_per_job == 10_285  # 3,600 ÷ 0.35
    assert found.size.why == (
        "3,600 s of CPU per local job, as the site recommends, ÷ 0.35 s per event "
        f"(three quarters of the events of 21 completed local jobs took no more); asks for 1,000 MB; learned: {SEEN}"
    )
    assert found.facts == f"learned: {SEEN}"


def test_memory_has_a_tenth_more_where_all_used_the_same():
    found = sized([Used(250, 1.0, 805)] * FEWEST)
    assert found.request["memory_mb"] == 890  # 885.5, in steps of 10


def test_switched_off_it_is_only_told():
    found = sized(learned=False)
    assert "cpu_seconds_per_event" not in found.request
    assert "memory_mb" not in found.request
    assert found.size == size(Events(), found.request, Site(Path("/s")))._replace(
        why="the job type's rule of thumb, 250 events per local job; sizing.learn is off: "
        f"{SEEN}, which would have given 10 of 10,285 events each; asks for 1,000 MB"
    )
    assert found.facts == ""


def test_fewer_than_twenty_tell_nothing():
    assert sized(USED[:19]).request == {"job_type": "events", "events": 100_000}
    few = [each._replace(memory_mb=None) for each in USED[:10]] + USED[10:]
    assert learn(few).memory is None
    assert learn(few).cpu is not None


@pytest.mark.parametrize(
    ("request_", "learned"),
    [
        ({"cpu_seconds_per_event": 2.0}, {"memory_mb": 1000}),
        ({"events_per_job": 50}, {"memory_mb": 1000}),
        ({"memory_mb": 300}, {"cpu_seconds_per_event": 0.35}),
        ({"memory_mb": 300, "events_per_job": 50}, {}),
        ({"test": "yes"}, {}),
    ],
)
def test_what_a_request_says_itself_counts(request_, learned):
    asked = {"job_type": "events", "events": 100_000, **request_}
    assert sized(**request_).request == asked | learned


def test_without_a_time_that_the_site_recommends_the_rule_of_thumb_stays():
    found = sized(recommended=0)
    assert (found.size.events_per_job, found.request.get("cpu_seconds_per_event")) == (250, None)
    assert found.request["memory_mb"] == 1000


def test_who_switched_learning_on_is_told_what_else_it_needs():
    used = [each._replace(memory_mb=None) for each in USED]
    told = (
        "used 0.25 | 0.3 | 0.35 s of CPU per event (quartiles); without sizing.recommended_cpu_seconds, JIM learns no"
    )
    found = sized(used, recommended=0)
    assert told in found.size.why
    assert "cpu_seconds_per_event" not in found.request
    assert "recommended_cpu" not in sized(used, recommended=0, learned=False).size.why
    assert "recommended_cpu" not in sized(used, recommended=0, events_per_job=7).size.why
    assert "recommended_cpu" not in sized(used[:3], recommended=0).size.why


def test_it_asks_for_no_more_memory_than_the_site_allows():
    assert sized(batch=Batch(most_memory_mb=900)).request["memory_mb"] == 900


def test_what_the_site_does_not_allow_refuses_no_request():
    """One event takes longer than the site allows, as was seen; the request was taken in before."""
    found = sized([Used(250, 50.0, None)] * 20, recommended=0, most=40)
    assert found.request == {"job_type": "events", "events": 100_000}
    assert "by which JIM cannot size it: events: one event takes 50 s of CPU" in found.size.why


def test_a_local_job_counts_as_much_as_it_has_events():
    """Small ones spend most of their time on starting up: in all they have 100 events here, of 1,100."""
    small, large = [Used(5, 9.0, 100)] * 20, [Used(500, 1.0, 300)] * 2
    assert learn(small + large).cpu == (1.0, 1.0, 1.0)
    assert learn(small + large).memory == (300, 300, 300)
    assert learn([*small * 20, *large]).cpu == (1.0, 9.0, 9.0)


# Bundles

TOOK = [(float(n), None) for n in range(1, 22)]  # seconds of 21 local jobs, of which the 16th decides


def bundled(ran=TOOK, *, wanted=800, handler=None, system="slurm", most=86_400, usual=86_400, **request):
    batch = Batch(system=system, most_wall_seconds=most, wall_seconds=usual)
    site = Site(Path("/s"), batch=batch, limits=Limits(bundle_seconds=wanted))
    handler = handler or Handler()
    asked = {"job_type": "few", "wall_seconds": 60, **request}
    how = size(handler, asked, site) if request.get("events") else Size(100, 0, 0, None, "as it is")
    return with_learned_bundle(handler, Resolved(asked, how, ""), site, ran)


def test_short_local_jobs_are_bundled_until_a_batch_job_lasts_as_long_as_it_should():
    found = bundled()
    assert found.request["bundle"] == 50  # 800 s ÷ 16 s
    assert found.request["bundle_seconds"] == 1660  # twice the 800 s, and the limit of one
    assert found.facts == (
        "bundles of 50: three quarters of 21 completed local jobs of this kind took at most 16 s, and a batch job "
        "should last 800 s (limits.bundle_seconds)"
    )
    assert found.size.why == f"as it is; {found.facts}"


@pytest.mark.parametrize(
    "case",
    [
        {"wanted": 0},
        {"wanted": 31},  # two of them take longer
        {"bundle": 7},
        {"test": "yes"},
        {"system": "condor_transfer"},  # whose worker nodes do not see who does what
        {"ran": TOOK[:19]},
    ],
)
def test_nothing_is_bundled_where_the_site_or_the_request_does_not_want_it_or_too_little_is_known(case):
    found = bundled(**case)
    assert found.request.get("bundle") == case.get("bundle")
    assert found.facts == ""


def test_where_a_local_job_has_events_its_time_is_that_of_its_events():
    ran = [(50.0, 10)] * 20  # 5 s each
    found = bundled(ran, wanted=5000, handler=Events(), events=1000, events_per_job=20)
    assert found.request["bundle"] == 50  # 5,000 s ÷ (20 × 5 s)


def test_what_takes_no_time_is_counted_as_a_second_and_no_bundle_is_larger_than_a_request_may_say():
    assert bundled([(0.0, None)] * 20, wanted=300, wall_seconds=1).request["bundle"] == 300
    assert bundled([(0.0, None)] * 20, wanted=20_000, wall_seconds=1, most=86_400).request["bundle"] == 10_000


def test_a_carrier_asks_for_hours_and_not_for_the_time_limits_of_all():
    found = bundled(wall_seconds=86_400, most=10**8)
    assert (found.request["bundle"], found.request["bundle_seconds"]) == (50, 88_000)


def test_where_no_time_limit_is_known_the_batch_system_might_end_a_carrier_midway():
    assert "bundle" not in bundled(wall_seconds=None, usual=0).request


def test_no_more_are_bundled_than_fit_into_what_the_site_allows():
    assert (
        bundled(most=660).request["bundle"] == 34
    )  # (660 s - 60 s for the last one - 60 s to spare) ÷ 16 s, and that one
    found = bundled(most=120)
    assert "bundle" not in found.request
    assert found.size.why == (
        "as it is; three quarters of 21 completed local jobs of this kind took at most 16 s, but the time limit of "
        "one leaves no room for another in a batch job: no bundles"
    )
