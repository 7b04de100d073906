"""What attempts have used of what was asked for, summed again by hand."""

from __future__ import annotations

import json

from jim.model import State, Witness
from jim.reading.job.usage import Measured, completed, measured, usage
from jim.reading.view import View
from tests.support.cli_home import Home
from tests.unit.pages.grounds import record


def ran(seconds: float, cpu: float, peak_mb: int | None = None, *, sampled: bool = False, **asked: int) -> Measured:
    return Measured(seconds, cpu, peak_mb, sampled, asked)


def told(*attempts: Measured) -> dict[str, tuple[float, float, str]]:
    return {each.what: (each.used, each.of, each.words) for each in usage(attempts)}


def test_cores_are_busy_for_a_share_of_the_time_that_attempts_had_them() -> None:
    assert told(ran(100, 50), ran(300, 250))["CPU"] == (300, 400, "5 min of 6 min 40 s on 1 core each, 75 %")
    assert told(ran(100, 100, cores=4))["CPU"][:2] == (100, 400)
    assert "on 4 cores each" in told(ran(100, 100, cores=4))["CPU"][2]
    assert told(ran(0, 0)) == {}


def test_memory_and_time_are_those_of_the_attempt_that_came_nearest_to_its_limit() -> None:
    found = told(
        ran(10, 1, 900, memory_mb=2000, wall_seconds=100),
        ran(60, 1, 800, memory_mb=1000, wall_seconds=80),
        ran(70, 1, 100, sampled=True, memory_mb=1000, wall_seconds=100),
    )
    words = "at most 800 MB of 1,000 MB, 80 %; half of them at most 800 MB"
    least = "sampled from time to time, so it may have been more"
    assert found["memory"] == (800, 1000, f"{words}; {least}")
    assert found["run time"] == (60, 80, "at most 1 min of 1 min 20 s, 75 %")
    assert told(ran(1, 1, wall_seconds=86_400))["run time"][2].endswith("less than 1 %")


def test_what_was_not_asked_for_has_no_share_and_what_was_not_measured_is_not_told() -> None:
    assert told(ran(10, 1, 300))["memory"] == (300, 0, "at most 300 MB; none was asked for")
    assert told(ran(10, 1)).keys() == {"CPU"}
    assert usage([]) == []


def test_records_come_with_what_their_submission_asked_for(home: Home) -> None:
    home.add(size=2)
    home.send(0, 1)
    view = View(home.site, home.store)
    assert completed(view, view.grid_job(1)) == []
    home.store.set_attempt(1, 1, 1, record=record("m", 1, 0, 1, "wn1", 0, 100, 0), verdict="completed")
    home.store.set_attempt(1, 1, 2, record="nonsense", verdict="completed")
    home.store.set_submission(1, 1, asked={"memory_mb": 2000, "cores": 2})
    home.move(0, State.COMPLETED, Witness.EXIT_RECORD)
    (one,) = completed(view, view.grid_job(1))
    assert (one.seconds, one.cpu, one.peak_mb, one.sampled) == (100, 94, 1500, True)
    assert dict(one.resources) == {"memory_mb": 2000, "cores": 2}
    assert measured([("nonsense", ""), ("", json.dumps({}))]) == []
