"""How grid jobs end as a whole."""

from __future__ import annotations

import pytest

from jim.keeper.inbox.accepting import TakingInbox
from jim.keeper.results import finishing
from jim.model import State, Step
from jim.site.file import Limits


@pytest.mark.parametrize("few", [100, 2])
def test_a_cancelled_grid_job_of_which_nothing_was_sent_ends_without_a_tar(world, monkeypatch, few):
    """Many such are cancelled at once: each would cost a directory, a tar and its way to the disk."""
    monkeypatch.setattr(finishing, "FEW", few)
    world.keeper.site = world.site._replace(limits=Limits(queued=0))
    grid = world.submit(3)
    world.until(lambda: world.store.counts(grid) == {State.WAITING: 3})
    world.wish("cancel", str(grid))
    world.move(TakingInbox)(world.keeper)
    at_once = Step.FINISHED if few == 100 else Step.SPLIT
    assert world.store.grid_job(grid).step is at_once
    world.until(lambda: world.finished(grid))
    job = world.store.grid_job(grid)
    assert (job.outcome, job.reason, job.result) == (
        "killed",
        "cancelled: 3 of 3 local jobs killed: cancelled before it was submitted",
        {},
    )
    assert not (world.site.work / "1/result").exists()
    assert [(each.was, each.now) for each in world.store.journals.of(grid) if each.n == 2] == [("waiting", "killed")]
    world.go()
    assert "GRAM_SCRIPT_ERROR:8\n" in world.answer(grid)
