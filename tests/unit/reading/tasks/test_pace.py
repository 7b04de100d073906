"""When tasks end, and how their allowance has changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from jim.reading.job.usage import Measured
from jim.reading.tasks import pace as task_pace
from jim.reading.view import View
from jim.statusdb.task_rows import PieceState
from jim.tasks.throttle import End, Limits, Throttle, count
from jim.tasks.throttle_row import Step, steps_in
from tests.unit.tasks.ground import EVENTS, Ground

FORTY = f"""\
[[task]]
name = "t"
{EVENTS}
source = [ {{ events = 40, events_per_piece = 1 }} ]
"""


@pytest.fixture
def ground(tmp_path, monkeypatch) -> Ground:
    """A keeper driven by hand that has tasks."""
    made = Ground(tmp_path, monkeypatch)
    begin = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
    monkeypatch.setattr(
        made.clock, "utc", lambda: f"{(begin + timedelta(seconds=made.clock.now - 1000)).isoformat()[:19]}.000Z"
    )
    return made


def eta(ground: Ground) -> task_pace.Eta | None:
    task, view = ground.task(), View(ground.site, ground.store)
    return task_pace.etas(view, [task], ground.store.seen_tasks.counts([task.id])).get(task.id)


def test_a_share_of_times_that_are_too_short_says_nothing() -> None:
    brief = [(Measured(seconds, 0.0, None, False, {}), 5) for seconds in (0, 0, 0, 0, 0, 0, 0, 1, 1)]
    long = [(Measured(20, 10.0, None, False, {}), 5)] * 2
    assert [each.what for each in task_pace.spreads_of(brief)] == ["seconds per event", "run time"]
    assert [each.what for each in task_pace.spreads_of(long)] == ["seconds per event", "run time", "CPU share"]


def test_a_task_ends_as_the_last_hour_says_once_20_pieces_are_completed(ground: Ground) -> None:
    ground.start(FORTY)
    ground.until(lambda: len(ground.batch.tasks) == 40)
    ground.begin()
    tasks = list(ground.batch.tasks)
    for each in tasks[:19]:
        ground.batch.finish(*each, code=0)
    ground.until(lambda: ground.counts("pieces").get(PieceState.COMPLETED) == 19)
    assert eta(ground) is None
    ground.batch.finish(*tasks[19], code=0)
    ground.until(lambda: ground.counts("pieces").get(PieceState.COMPLETED) == 20)
    ground.clock.now += 600
    found = eta(ground)
    assert found is not None
    assert (found.left, found.last_hour) == (20, 20)
    assert 600 <= found.seconds < 670, "20 pieces took ten minutes, so the other 20 will: counted by the minute"
    ground.clock.now += 3600
    assert eta(ground) is None, "nothing has ended in the last hour"


def test_pieces_that_are_still_to_be_planned_are_left_too(ground: Ground, monkeypatch) -> None:
    monkeypatch.setattr("jim.tasks.pieces.planning.AHEAD", 5)
    monkeypatch.setattr("jim.tasks.pieces.planning.STORED_AT_ONCE", 5)
    ground.start(f"{FORTY}release = {{ at_once = 2, every_seconds = 0 }}\n")

    def reached() -> bool:
        ground.work()
        return ground.counts("pieces").get(PieceState.COMPLETED, 0) >= 22

    ground.until(reached)
    assert sum(ground.counts("pieces").values()) < 40, "some events are in no piece yet"
    found = eta(ground)
    assert found is not None
    assert found.left == 40 - ground.counts("pieces")[PieceState.COMPLETED]


def test_the_journal_gives_back_each_change_of_the_allowance() -> None:
    state, told = Throttle(), []
    for line, well in enumerate([True] * 5 + [False] * 60 + [True] * 100, 1):
        decided = count(state, Limits(2000, 100), [End(well, line=line)], 1000.0, line, lambda *_: 0)
        state = decided.throttle
        told += [decided.told] if decided.told else []
    steps = [step for line in told for step in steps_in(line)]
    assert steps[0] == Step(0, 5, 5, 50)
    assert steps[1] == Step(50, 50, 50, 25)
    assert all(each.after == later.before for each, later in pairwise(steps))
    assert steps_in("the bad time is over") == []
    assert steps_in("50 of 1000 attempts failed: allowance 1,000 → 2,000; the bad time is over") == [
        Step(50, 1000, 1000, 2000)
    ]
