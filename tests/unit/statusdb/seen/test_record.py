"""What is told of a grid job: its exit code, its failures, and what may be tried again."""

from __future__ import annotations

from jim.model import State
from jim.statusdb.seen.record import exit_code, failures, retryable
from tests.support.exit_records import exit_record


def test_a_single_program_s_own_exit_code_is_the_grid_job_s(home):
    home.add(size=1)
    home.send(0)
    home.store.set_attempt(1, 1, 1, record=exit_record("jim-cafe-1-1", 11))
    home.finish("failed")
    assert exit_code(home.store, home.store.grid_job(1)) == 3
    home.store.set_attempt(1, 1, 1, record=exit_record("m", 11).replace("code 3\nsignal -", "code -\nsignal 9"))
    assert exit_code(home.store, home.store.grid_job(1)) == 137
    home.store.set_attempt(1, 1, 1, record="jim-exit 9\n")  # from another version
    assert exit_code(home.store, home.store.grid_job(1)) == 1
    home.finish("completed")
    assert exit_code(home.store, home.store.grid_job(1)) == 0


def test_the_most_frequent_reasons_come_first_and_the_rest_is_counted(home):
    home.add(size=7)
    assert failures(home.store, 1) == ""
    for n, why in enumerate(("exit 3", "exit 3", "lost", "exit 1", "exit 2", "exit 4", "")):
        if why:
            home.move(n, State.FAILED, reason=why)
    words = failures(home.store, 1)
    assert words.startswith("exit 3 (2), ")
    assert words.endswith(", 2 more")


def test_failed_killed_and_held_local_jobs_may_be_tried_again(home):
    home.add(size=4)
    home.move(3, State.KILLED)
    home.move(1, State.FAILED)
    home.move(0, State.COMPLETED)
    assert [each.n for each in retryable(home.store, 1)] == [1, 3]
