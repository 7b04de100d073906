"""What a wish would do, told before it is stored."""

from __future__ import annotations

import shutil
from contextlib import closing

import pytest

from jim.errors import BadRequest, UnknownJob
from jim.model import State, Step
from jim.reading.job.effects import Effect, effect, grown
from jim.reading.view import View, look


@pytest.fixture
def seen(home):
    home.add(size=8)
    home.move(0, State.COMPLETED)
    home.move(1, State.FAILED, reason="exit 3")
    home.move(2, State.KILLED)
    home.move(3, State.RUNNING)
    home.move(4, State.COMPLETING)
    home.move(5, State.SUSPENDED)
    view = look()
    with closing(view.store):
        yield view


def told(view: View, verb: str, target: str, **more: object) -> str:
    found = effect(view, verb, target, more)
    assert bool(found.late) != bool(found.words)
    return found.late or found.words


@pytest.mark.parametrize(
    ("verb", "target", "more", "words"),
    [
        ("cancel", "1", {}, "ends 5 local jobs: 2 run, 1 is suspended, 2 wait"),
        ("cancel", "1.3", {}, "ends 1 local job: 1 runs"),
        ("cancel", "1.2-6", {}, "ends 4 local jobs: 2 run, 1 is suspended, 1 waits"),
        ("cancel", "1.0-2", {}, "already completed, failed, killed"),
        ("suspend", "1", {}, "suspends 4 local jobs: 2 run, 2 wait"),
        ("resume", "1", {}, "continues 1 local job: 1 is suspended"),
        ("priority", "1", {"priority": 7}, "gives 2 waiting local jobs priority 7 instead of 0"),
        ("retry", "1", {}, "1 local job gets another set of attempts"),
        ("retry", "1.1-2", {}, "2 local jobs get another set of attempts"),
        ("retry", "1.0", {}, "no local job has failed or was killed so far"),
        (
            "retry",
            "1",
            {"reason": "exit 4"},
            "there is no failed, held or killed local job with 'exit 4' in its reason",
        ),
        ("retry", "1.0", {"most": 1}, "no local job has failed or was killed so far"),
        ("force", "1.1-2", {"to": "failed"}, "declares 1 local job failed: 1 was killed"),
        ("force", "1.0", {"to": "completed"}, "already completed"),
        ("force", "1.3", {"to": "failed"}, "still running; cancel them first"),
    ],
)
def test_an_effect_is_told_in_numbers(seen, verb, target, more, words) -> None:
    assert told(seen, verb, target, **more) == words


def test_numbers_that_are_shown_are_those_that_are_compared(seen) -> None:
    found = effect(seen, "cancel", "1")
    assert found.hit == {"run": 2, "are suspended": 1, "wait": 2}
    assert sum(found.hit.values()) == 5
    assert not grown(found.hit, found.hit)
    assert not grown(found.hit, {"run": 1})
    assert grown(found.hit, {"run": 3, "wait": 1}), "the sum is smaller, but one more of those that run would be lost"
    assert grown({}, {"wait": 1})


def test_a_grid_job_without_local_jobs(home) -> None:
    home.add(size=0)
    view = look()
    with closing(view.store):
        assert effect(view, "cancel", "1") == Effect("", {}, "ends the grid job; it has no local jobs yet")
        assert told(view, "priority", "1", priority=-2) == "gives the grid job priority -2 instead of 0"


def test_outputs_are_collected(home) -> None:
    home.add(size=1)
    home.move(0, State.COMPLETED)
    home.store.set_grid_job(1, step=Step.COLLECTING)
    view = look()
    with closing(view.store):
        assert told(view, "cancel", "1") == "ends the grid job; all local jobs have ended"
        assert told(view, "suspend", "1") == "its outputs are being collected"


@pytest.mark.parametrize("verb", ["suspend", "resume", "priority"])
def test_a_verb_for_whole_grid_jobs_refuses_a_local_job(seen, verb) -> None:
    with pytest.raises(BadRequest, match="needs a whole grid job: use 1"):
        effect(seen, verb, "1.0", {"priority": 1})


def test_force_needs_local_jobs_and_each_must_be_there(seen) -> None:
    with pytest.raises(BadRequest, match="`jim force` needs a local job"):
        effect(seen, "force", "1", {"to": "failed"})
    with pytest.raises(UnknownJob):
        effect(seen, "cancel", "1.8")


def test_nothing_is_tried_again_where_its_directory_was_removed(home) -> None:
    """The local jobs became *never sent*, and the grid job was collecting for ever."""
    home.add(size=2)
    home.move(0, State.FAILED)
    home.store.set_grid_job(1, place="1")
    (home.site.work / "1").mkdir(parents=True)
    (home.site.work / "1/local-job").touch()
    (home.site.work / "instance").write_text("cafe0001\n")
    with closing((view := look()).store):
        assert told(view, "retry", "1") == "1 local job gets another set of attempts"
        shutil.rmtree(home.site.work / "1")
        gone = f"{home.site.work}/1 was removed, and nothing of 1 can run without it; `jim copy` writes a new request"
        assert told(view, "retry", "1.0") == told(view, "retry", "1") == gone
        (home.site.work / "1/result").mkdir(parents=True)  # for the tar
        assert told(view, "retry", "1") == gone
        (home.site.work / "instance").unlink()  # the work directory is not mounted just now
        assert told(view, "retry", "1") == "1 local job gets another set of attempts"
