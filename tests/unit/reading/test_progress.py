"""How far a grid job is, in words."""

import pytest

from jim.jobs import GridJob
from jim.model import State, Step
from jim.reading.progress import progress

W, S, Q, R, C, F, K = (
    *(State.WAITING, State.SUBMITTING, State.SUBMITTED, State.RUNNING),
    *(State.COMPLETED, State.FAILED, State.KILLED),
)


def grid_job(step, *, wish="", outcome=""):
    text = dict.fromkeys(("key", "job_type", "owner", "why", "reason", "created", "updated"), "")
    numbers = dict.fromkeys(("id", "size", "events_per_job", "submissions", "tries", "due"), 0)
    return GridJob(
        **text, **numbers, step=step, wish=wish, outcome=outcome, result={}, started=False, request_text="{}"
    )


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({R: 2, C: 3, Q: 4}, "running: 2 of 9, 3 completed"),
        ({R: 1, State.COMPLETING: 1, F: 1, C: 6}, "running: 2 of 9, 1 failed, 6 completed"),
        ({Q: 4, W: 2}, "queued: 4 of 6"),
        ({S: 1, W: 2}, "waiting: 3 of 3"),
        ({Q: 4, State.HELD: 1}, "held: 1 of 5"),
        ({R: 1, State.SUSPENDED: 2, State.HELD: 3}, "running: 1 of 6, 2 suspended, 3 held"),
        ({F: 1, C: 8}, "failed: 1 of 9, 8 completed"),
        ({R: 2_000, W: 18_000}, "running: 2,000 of 20,000"),
        ({C: 2, State.COMPLETED_FROZEN: 1, State.FAILED_FROZEN: 1}, "completed: 2 of 2"),
        ({C: 1, State.NEW: 2}, "completed: 1 of 3, 2 never submitted"),
    ],
)
def test_what_goes_on_is_told_first_and_then_what_has_ended_or_is_stuck(counts, told):
    assert progress(grid_job(Step.ACTIVE), counts) == told


@pytest.mark.parametrize(
    ("step", "outcome", "told"),
    [
        (Step.ACCEPTED, "", "not split yet"),
        (Step.RESOLVED, "", "being split"),
        (Step.FINISHED, "failed", "no local jobs"),
    ],
)
def test_without_local_jobs_the_step_is_told(step, outcome, told):
    assert progress(grid_job(step, outcome=outcome), {}) == told


def test_an_end_begins_with_its_own_word():
    ended = {C: 5, K: 3, F: 1}
    assert progress(grid_job(Step.FINISHED, outcome="killed"), ended) == "killed: 3 of 9, 1 failed, 5 completed"
    assert progress(grid_job(Step.FINISHED, outcome="failed"), ended) == "failed: 1 of 9, 5 completed, 3 killed"


def test_a_cancel_and_the_collecting_of_outputs_are_told_before():
    assert progress(grid_job(Step.ACTIVE, wish="cancel"), {R: 1, C: 1}) == (
        "cancel requested; running: 1 of 2, 1 completed"
    )
    assert progress(grid_job(Step.COLLECTING, wish="cancel"), {K: 1, C: 1}) == (
        "collecting outputs; completed: 1 of 2, 1 killed"
    )
