"""Timelines, the pace of a grid job, and what its attempts took, counted again by hand."""

from __future__ import annotations

from jim.model import State, Step, Witness
from jim.reading.job.history import Slow, Spread, Timeline, last_hour, pace, slowest, spread, spreads, timeline
from jim.reading.view import View
from jim.statusdb.list_filters import Minute
from tests.support.cli_home import Home


def test_minutes_become_steps_of_equal_length() -> None:
    found = [Minute("2026-01-31T10:00", "completed", 3), Minute("2026-01-31T10:02", "failed", 1)]
    assert timeline(found, "2026-01-31T10:03:20.000Z") == Timeline(
        "2026-01-31T10:00:00Z", 1, {"completed": [3, 0, 0, 0], "failed": [0, 0, 1, 0]}
    )
    long = timeline([*found, Minute("2026-01-31T20:00", "completed", 2)], "2026-01-31T12:00:00.000Z")
    assert long is not None
    assert (long.begin, long.step_minutes, len(long.counts["completed"])) == ("2026-01-31T10:00:00Z", 10, 61)
    assert (sum(long.counts["completed"]), long.counts["completed"][-1], long.most) == (5, 2, 3)
    assert timeline([], "2026-01-31T10:03:20.000Z") is None


def running(home: Home, done: int, size: int = 100) -> View:
    home.add(size=size)
    home.store.set_grid_job(1, step=Step.ACTIVE)
    home.later("2026-01-31T11:30:30.000Z")
    for n in range(done):
        home.move(n, State.COMPLETED, Witness.EXIT_RECORD)
    home.later("2026-01-31T12:00:00.000Z")
    return View(home.site, home.store)


def test_an_end_is_estimated_from_the_last_hour(home: Home) -> None:
    view = running(home, 30)
    found = pace(view, view.grid_job(1), view.store.seen.minutes(1))
    assert found is not None
    # 30 in the 30 minutes since 11:30: a minute each, and 70 are left.
    assert (found.end, found.last_hour, found.left) == ("2026-01-31T13:10:00Z", 30, 70)


def test_too_few_completions_give_no_estimate(home: Home) -> None:
    view = running(home, 19)
    assert pace(view, view.grid_job(1), view.store.seen.minutes(1)) is None
    home.later("2026-01-31T13:00:00.000Z")
    home.move(19, State.COMPLETED)
    assert pace(view, view.grid_job(1), view.store.seen.minutes(1)) is None, "those of an hour ago do not count"


def test_quartiles_are_those_of_the_exit_records(home: Home) -> None:
    home.add(size=6)
    home.send(*range(6))
    view = View(home.site, home.store)
    assert spreads(view, view.grid_job(1)) == []
    for n, seconds in enumerate((100, 200, 300, 400, 500)):
        told = RECORD.format(cpu=seconds * 0.5, up=f"up {seconds}.0\n" if n else "", ended="11:01:40")
        home.store.set_attempt(1, 1, n + 1, record=told, verdict="completed")
        home.move(n, State.COMPLETED)
    home.store.set_attempt(1, 1, 6, record=RECORD.format(cpu=9e9, up="up 1.0\n", ended="11:01:40"), verdict="failed")
    assert spreads(view, view.grid_job(1)) == [
        Spread("seconds per event", "s", (0.8, 1.2, 1.6), 5),
        Spread("run time", "s", (200, 300, 400), 5),
        Spread("CPU share", "%", (50, 50, 50), 5),
    ]


def test_payloads_of_no_second_count_in_the_quartiles_of_run_time(home: Home) -> None:
    home.add(size=5)
    home.send(*range(5))
    view = View(home.site, home.store)
    for n, seconds in enumerate((0, 0, 0, 4, 8)):
        told = RECORD.format(cpu=seconds * 0.5, up=f"up {seconds}.0\n", ended="11:00:00")
        home.store.set_attempt(1, 1, n + 1, record=told, verdict="completed")
        home.move(n, State.COMPLETED)
    found = {each.what: (each.quartiles, each.of) for each in spreads(view, view.grid_job(1))}
    assert found["run time"] == ((0, 0, 4), 5)
    assert found["CPU share"] == ((50, 50, 50), 2)


def test_times_too_short_to_be_measured_are_told_in_words() -> None:
    def told(what: str, *values: float) -> str:
        found = spread(what, "s", values)
        assert found is not None
        return found.note if found.is_brief else "numbers"

    assert told("run time", 0, 0, 0, 0) == told("run time", 0.2, 0, 0.9) == "all under a second"
    assert told("run time", 0, 0, 0, 0, 1) == "three quarters under a second"
    assert told("run time", 0, 0, 4, 5) == "numbers"
    assert told("seconds per event", 0, 0, 0) == "all under a second"
    assert told("seconds per event", 0.04, 0.05) == "numbers", "a part of a second is a time of an event"


def test_quartiles_of_memory_are_of_those_whose_memory_was_measured(home: Home) -> None:
    home.add(size=5)
    home.send(*range(5))
    for n, peak in enumerate(("", "100 cgroup", "200 cgroup", "300 sampled", "400 cgroup")):
        told = RECORD.format(cpu=1, up="up 2.0\n", ended="11:01:40")
        if peak:
            megabytes, how = peak.split()
            told = told.replace("end\n", f"peak {int(megabytes) * 1024} {how}\nend\n")
        home.store.set_attempt(1, 1, n + 1, record=told, verdict="completed")
        home.move(n, State.COMPLETED)
    view = View(home.site, home.store)
    (found,) = (each for each in spreads(view, view.grid_job(1)) if each.what == "memory")
    assert (found.quartiles, found.of) == ((175, 250, 325), 4)
    assert found.note == "1 of 4 sampled, which may be less than the peak"
    asked = view.grid_job(1)._replace(request_text='{"memory_mb": 2000}')
    (found,) = (each for each in spreads(view, asked) if each.what == "memory")
    assert found.note.startswith("of 2,000 asked; ")


RECORD = (
    "jim-exit 1\nmark m\nindex 1\nnonce x\nn 0\nattempt 1\nhost h\nbatch -\nstarted 2026-01-31T11:00:00Z\n"
    "ended 2026-01-31T{ended}Z\ncpu {cpu:.2f}\n{up}code 0\nsignal -\nreason -\nrecovery -\nend\n"
)


def test_the_last_hour_is_counted(home: Home) -> None:
    view = running(home, 5)
    found = last_hour(view)
    assert found is not None
    assert (found.begin, found.counts["completed"][29], sum(found.counts["completed"])) == (
        "2026-01-31T11:01:00Z",
        5,
        5,
    )
    home.later("2026-01-31T13:00:00.000Z")
    assert last_hour(view) is None


def test_the_slowest_attempts_are_named_completed_or_not(home: Home) -> None:
    home.add(size=8)
    home.send(*range(8))
    view = View(home.site, home.store)
    assert slowest(view, view.grid_job(1)) == []
    for n, (seconds, verdict) in enumerate([(100, ""), (700, "failed"), (300, ""), (900, ""), (300, ""), (500, "")]):
        told = RECORD.format(cpu=1.0, up=f"up {seconds}.0\n", ended="11:01:40")
        home.store.set_attempt(1, 1, n + 1, record=told, verdict=verdict or "completed")
    home.store.set_attempt(1, 1, 7, record="nonsense", verdict="failed")
    assert slowest(view, view.grid_job(1)) == [
        Slow(900, 3, 1),
        Slow(700, 1, 1),
        Slow(500, 5, 1),
        Slow(300, 2, 1),
        Slow(300, 4, 1),
    ]
