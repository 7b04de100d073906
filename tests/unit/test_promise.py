"""The promise: each attempt starts at most once, one end per piece, no grid job lost. Fault by fault."""

from __future__ import annotations

import os

import pytest

from jim.model import Observation, State
from jim.site.file import Limits
from tests.support.stand_ins import Answers, Instead, World


def witnesses(world: World, grid: int, n: int = 0) -> list[tuple[str, str, str]]:
    return [(line.was, line.now, line.witness) for line in world.store.journals.of(grid, n)]


def test_a_grid_job_goes_from_request_to_tar(world):
    grid = world.submit(2)
    assert world.answer(grid) == "GRAM_SCRIPT_JOB_STATE:32\n\n"
    world.until(lambda: len(world.batch.tasks) == 2)
    world.go(2)
    assert world.answer(grid) == "GRAM_SCRIPT_JOB_STATE:1\n\n"
    world.batch.start(1, 1)
    world.go(2)
    assert world.answer(grid) == "GRAM_SCRIPT_JOB_STATE:2\n\n"
    world.batch.finish(1, 1)
    world.run_all(grid)
    assert world.answer(grid) == "GRAM_SCRIPT_JOB_STATE:8\n\n"
    assert witnesses(world, grid, 0) == [
        ("waiting", "submitting", "keeper"),
        ("submitting", "submitted", "submission"),
        ("submitted", "running", "claim"),
        ("running", "completing", "exit record"),
        ("completing", "completed", "exit record"),
    ]
    assert sorted(world.batch.ledger) == [("jim-cafe0001-1-1", 1), ("jim-cafe0001-1-1", 2)]


def test_the_same_key_is_the_same_grid_job(world):
    first = world.submit(key="same")
    assert world.submit(key="same") == first
    world.go(2)
    assert world.submit(key="same") == first
    world.run_all(first)
    assert world.submit(key="same") == first
    assert world.submit(key="other") != first
    assert len(world.store.grid_jobs()) == 1


def test_a_lost_submit_answer_is_found_again(world):
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)]
    grid = world.submit(3)
    world.run_all(grid)
    assert world.batch.calls.count("submit") == 1
    assert len(world.batch.ledger) == 3


def test_a_batch_job_that_ends_before_its_submission_is_answered_leaves_nothing_to_ask_about(world):
    grid = world.submit(1)
    world.rounds.round()
    while not world.batch.tasks:
        world.go()
        world.rounds.round()
    world.batch.start(1)
    world.batch.finish(1)
    world.rounds.round()  # takes in what the wrapper wrote, while the answer is still on its way
    world.go(4)
    assert world.finished(grid)
    assert world.store.submission(grid, 1).state == "ended"
    asked = len(world.batch.calls)
    world.go(20, seconds=5.0)
    assert world.batch.calls[asked:] == ["query"]  # which shows that the batch system keeps nothing


def test_a_lost_submission_is_adopted_when_a_listing_shows_it(world):
    """Also where it was denied whenever it was looked for by name."""
    world.submit(1, key="first")
    world.until(lambda: world.batch.tasks)
    world.go(2, 2.0)
    world.batch.lies = [
        Instead("submit", Answers.LOST_AFTER),
        Instead("find", Answers.EMPTY),
        Instead("find", Answers.EMPTY),
    ]
    grid = world.submit(1, key="second")
    world.until(lambda: world.state(grid) is State.SUBMITTED)
    world.batch.lies.clear()
    world.run_all(grid)
    assert [each.verdict for each in world.store.attempts(grid)] == ["completed"]
    assert len(world.batch.accepted) == 2


def test_a_submission_that_never_arrived_is_sent_again_after_a_fence(world):
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE)]
    grid = world.submit(1)
    world.run_all(grid)
    assert world.batch.ledger == [("jim-cafe0001-1-2", 1)]
    assert ("submitting", "waiting", "fence") in witnesses(world, grid)
    assert world.store.local_job(grid, 0).spent == 1  # the one that was not accepted does not count


def test_a_job_accepted_hours_later_does_not_run(world):
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE)]
    grid = world.submit(1)
    world.until(lambda: world.store.submission(grid, 2) is not None)
    directory = world.site.work / str(grid) / "s1"
    old = world.batch._submit("jim-cafe0001-1-1", str(directory), "1")
    assert world.batch.start(old) is False  # exit 71
    world.run_all(grid)
    assert world.batch.ledger == [("jim-cafe0001-1-2", 1)]


def test_an_array_of_which_one_task_was_seen_was_accepted_whole(world):
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)]
    grid = world.submit(3)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1, 2)
    world.batch.finish(1, 2)
    world.batch.lies = [Instead("find", Answers.EMPTY), Instead("find", Answers.EMPTY)]
    world.run_all(grid)
    assert sorted(world.batch.ledger) == [("jim-cafe0001-1-1", 1), ("jim-cafe0001-1-1", 2), ("jim-cafe0001-1-1", 3)]
    assert world.batch.calls.count("submit") == 1


@pytest.mark.parametrize("spool_is_late", [False, True])
def test_an_array_is_known_by_what_one_of_its_tasks_was_told_of_its_own_id(world, spool_is_late):
    world.batch.batch_id = lambda told: told.partition("[")[0]
    world.batch.lies = [
        Instead("submit", Answers.LOST_AFTER),
        Instead("find", Answers.EMPTY),
        Instead("find", Answers.EMPTY),
    ]
    grid = world.submit(3)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1, 2)
    claim = world.batch.tasks["1", 2].directory / "claim.2"
    report = world.site.work / "spool/jim-cafe0001-1-1.2.start"
    told = claim.read_text().replace("batch 1\n", "batch 1[2]\n")
    claim.write_text(told)
    report.unlink() if spool_is_late else report.write_text(told)
    world.until(lambda: world.store.submission(grid, 1).state == "confirmed")
    assert world.store.submission(grid, 1).batch_id == "1"


def test_a_batch_command_that_never_answers_is_tried_less_and_less(world):
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE)] * 1000
    grid = world.submit(1)
    world.go(720, 5.0)
    assert 8 < world.batch.calls.count("submit") < 20
    assert world.store.local_job(grid, 0).spent == 0
    world.batch.lies.clear()
    world.clock.now += 600  # the longest wait
    world.run_all(grid)
    assert len(world.batch.ledger) == 1


@pytest.mark.parametrize("lie", ["empty", "garbage", "lost after"])
def test_a_submit_answer_without_an_id_is_no_failure(world, lie):
    world.batch.lies = [Instead("submit", Answers(lie))]
    grid = world.submit(1)
    world.run_all(grid)
    assert world.batch.calls.count("submit") == 1
    assert len(world.batch.ledger) == 1


def test_a_refusal_ends_the_local_job_with_the_batch_systems_words(world):
    world.batch.lies = [Instead("submit", Answers.REFUSE)]
    grid = world.submit(1)
    world.until(lambda: world.finished(grid))
    world.go()
    assert world.batch.calls.count("submit") == 1
    assert "no way" in world.store.local_job(grid, 0).reason
    told, *number = world.answer(grid).split("\n")
    assert told.startswith(
        "GRAM_SCRIPT_GT3_FAILURE_MESSAGE:1 of 1 local job never sent: "
        "submission 1 was refused by the batch system: no way"
    )
    assert told.endswith("s1 1)")
    assert number == ["GRAM_SCRIPT_ERROR:17", "", ""]


def test_a_batch_system_that_is_down_is_waited_for(world):
    world.batch.lies = [Instead("", Answers.DOWN)] * 6
    grid = world.submit(1)
    world.run_all(grid)
    assert [each.verdict for each in world.store.attempts(grid)] == ["again", "completed"]
    assert world.store.local_job(grid, 0).spent == 1
    assert world.batch.ledger == [("jim-cafe0001-1-2", 1)]


def test_what_could_not_be_started_is_handed_over_again_under_its_mark(world):
    world.batch.lies = [Instead("submit", Answers.NOT_STARTED), Instead("submit", Answers.NOT_STARTED)]
    grid = world.submit(1)
    world.run_all(grid)
    assert [each.verdict for each in world.store.attempts(grid)] == ["completed"]
    assert world.batch.ledger == [("jim-cafe0001-1-1", 1)]


def test_a_keeper_that_dies_after_tries_that_did_not_start_looks_for_the_last_one(world):
    """Of the tries before nothing came, as is stored; of this one only the submission directory tells."""
    world.batch.lies = [Instead("submit", Answers.NOT_STARTED), Instead("submit", Answers.LOST_AFTER)]
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    submission = world.store.submission(grid, 1)
    world.store.set_submission(grid, 1, state="intended", tries=1, due=0.0)  # as it was before the answer was stored
    world.restart()
    world.run_all(grid)
    assert submission.mark == "jim-cafe0001-1-1"
    assert world.batch.calls.count("submit") == 2
    assert world.batch.ledger == [("jim-cafe0001-1-1", 1)]


def test_running_jobs_survive_any_number_of_empty_listings(world):
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.batch.start(1, 2)
    world.go(1)
    world.batch.lies = [Instead("query", Answers.EMPTY)] * 20
    world.go(60, 1.0)
    assert world.store.counts(grid) == {State.RUNNING: 2}
    world.batch.finish(1, 1)
    run_all_running = [world.batch.finish(1, 2)]
    assert run_all_running == [None]
    world.until(lambda: world.finished(grid))
    assert len(world.batch.ledger) == 2


def test_a_pending_job_that_listings_do_not_show_is_fenced_before_the_next_attempt(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.until(lambda: world.store.submission(grid, 1).state == "confirmed")
    world.batch.tasks["1", 1].hidden = 10**6
    world.until(lambda: world.store.submission(grid, 2) is not None)
    assert world.batch.start(1) is False
    world.until(lambda: ("2", 1) in world.batch.tasks)
    assert world.batch.start(2) is True
    world.batch.finish(2)
    world.until(lambda: world.finished(grid))
    assert world.batch.ledger == [("jim-cafe0001-1-2", 1)]


def test_an_empty_listing_counts_only_where_the_batch_system_answers_a_ping(world):
    grid = world.submit(1)
    world.until(lambda: world.store.submissions("confirmed"))
    world.batch.tasks["1", 1].hidden = 10**6
    world.batch.lies = [Instead("ping", Answers.DOWN)] * 60
    world.go(30, 1.0)
    assert world.batch.calls.count("ping") > 5
    assert world.store.submission(grid, 2) is None
    world.batch.lies = []
    world.until(lambda: world.store.submission(grid, 2) is not None)


def test_the_end_of_another_job_that_had_the_same_id_is_no_end(world, monkeypatch):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.until(lambda: world.state(grid) is State.RUNNING)
    world.batch.end_is_death = True
    world.batch.tasks["1", 1].hidden = 10**6
    told = {("1", 1): Observation(State.FAILED, "jim-cafe0002-1-1", 1)}
    monkeypatch.setattr(world.batch, "parse_history", lambda _: told)
    world.go(10, 1.0)
    assert "history" in world.batch.calls
    assert world.state(grid) is State.RUNNING
    told["1", 1] = told["1", 1]._replace(mark="jim-cafe0001-1-1")
    world.until(lambda: len(world.store.attempts(grid, n=0)) == 2)


def test_could_not_ask_changes_nothing_but_the_age(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2, 1.0)
    before = world.store.local_job(grid, 0)
    world.batch.lies = [Instead("query", Answers.LOST_BEFORE)] * 40
    world.go(100, 5.0)
    assert world.store.local_job(grid, 0) == before


def test_an_id_that_a_crash_gave_to_someone_else_is_not_believed(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.go()
    task = world.batch.tasks["1", 1]
    task.mark, task.state = "somebody-else", State.RUNNING
    world.run_all(grid)
    assert world.batch.ledger[-1] == ("jim-cafe0001-1-2", 1)


def test_a_requeued_wrapper_and_a_second_wrapper_are_refused(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    assert world.batch.start(1) is True
    assert world.batch.start(1) is False
    world.batch.finish(1)
    world.until(lambda: world.finished(grid))
    assert len(world.batch.ledger) == 1
    assert world.store.local_job(grid, 0).state is State.COMPLETED


def test_a_vanished_job_is_tried_three_times_then_failed(world):
    grid = world.submit(1)

    def step():
        for (id_, index), task in list(world.batch.tasks.items()):
            if task.state is State.SUBMITTED:
                world.batch.start(id_, index)
                world.batch.kill(id_, index)
        return world.finished(grid)

    world.until(step, rounds=2000)
    job = world.store.local_job(grid, 0)
    assert (job.state, job.attempt) == (State.FAILED, 3)
    assert job.reason.endswith("(attempt 3 of 3)")


def test_a_failed_payload_is_not_tried_again(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=3)
    world.until(lambda: world.finished(grid))
    job = world.store.local_job(grid, 0)
    assert (job.state, job.attempt, job.reason) == (State.FAILED, 1, "exit 3")


def test_a_recoverable_failure_hands_its_arguments_to_the_next_attempt(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=3, recovery="recoverable --skip 'event 7'")
    world.until(lambda: ("2", 1) in world.batch.tasks)
    lines = (world.site.work / "1/s2/jobs").read_text()
    assert lines.count("1 arg --skip\n1 arg event 7\n") == 1
    assert lines.count("--skip") == 1
    assert "1 attempt 2\n" in lines


@pytest.mark.parametrize(
    ("code", "recovery", "state"),
    [(0, "fatal", State.FAILED), (5, "success", State.COMPLETED), (5, "nonsense", State.FAILED)],
)
def test_the_recovery_file_has_the_first_word(world, code, recovery, state):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=code, recovery=recovery)
    world.until(lambda: world.finished(grid))
    assert world.state(grid) is state
    assert world.store.local_job(grid, 0).attempt == 1


def test_a_late_exit_record_after_the_verdict_changes_nothing(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.kill(1)
    world.until(lambda: ("2", 1) in world.batch.tasks)
    world.batch.start(2)
    world.batch.finish(1, code=0)
    world.go(3, 1.0)
    assert world.state(grid) is State.RUNNING
    world.batch.finish(2, code=4)
    world.until(lambda: world.finished(grid))
    assert world.state(grid) is State.FAILED
    assert any(line.now == "late exit record" for line in world.store.journals.of(grid))


def test_an_exit_record_that_missed_the_spool_is_found(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, spool=False)
    world.until(lambda: world.finished(grid))
    assert world.state(grid) is State.COMPLETED


def test_success_needs_the_outputs_that_the_record_claims(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    # sha256 of b"right"
    digest = "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9"
    world.batch.finish(1, extra=f"file 5 {digest} x.dat\n", files=[("x.dat", b"wrong")])
    world.until(lambda: world.state(grid) is not State.RUNNING and world.store.local_job(grid, 0).attempt == 2)
    assert any("other content" in attempt.reason for attempt in world.store.attempts(grid))


@pytest.mark.parametrize(
    ("kills", "state", "reason"),
    [
        (2, State.COMPLETED, ""),
        (3, State.FAILED, "killed by signal 9: by the site or for want of memory (attempt 3 of 3)"),
    ],
)
def test_a_payload_killed_by_the_site_is_tried_again_within_the_limit(world, kills, state, reason):
    grid = world.submit(1)

    def step() -> bool:
        for attempt, ((id_, index), task) in enumerate(list(world.batch.tasks.items()), 1):
            if task.state is State.SUBMITTED and world.batch.start(id_, index):
                world.batch.finish(id_, index, code=None if attempt <= kills else 0, signal=9)
        return world.finished(grid)

    world.until(step)
    assert len(world.batch.ledger) == 3
    job = world.store.local_job(grid, 0)
    assert (job.state, job.attempt, job.reason) == (state, 3, reason)


def test_the_throttle_holds_for_site_grid_job_and_submission(tmp_path, monkeypatch):
    limits = Limits(queued=5, queued_per_grid_job=3, per_submission=2)
    world = World(tmp_path, monkeypatch, limits=limits)
    first, second = world.submit(10, key="a"), world.submit(10, key="b")
    world.go(20, 1.0)
    assert (world.store.in_batch(), world.store.counts(first)[State.SUBMITTED]) == (5, 3)
    assert max(submission.size for submission in world.store.submissions("confirmed")) == 2
    world.run_all(first)
    world.run_all(second)
    assert len(world.batch.ledger) == 20


def test_a_reboot_makes_everything_due(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.kill(1)
    world.until(lambda: world.state(grid) is State.WAITING)
    world.clock.now, world.clock.id = 5.0, "boot-2"  # far before the due time of the old run
    world.restart()
    world.run_all(grid)
    assert world.state(grid) is State.COMPLETED


def test_unhealthy_spool_files_are_put_aside_and_nothing_stops(world):
    spool = world.site.work / "spool"
    (spool / "noise").write_bytes(b"\x00\xff" * 100)
    (spool / "jim-cafe0001-1-1.1.exit").write_text("jim-exit 1\nmark")
    (spool / "jim-00000000-1-1.1.start").write_text("nonce x\n")
    (spool / "jim-cafe0001-9-9.1.start").write_text("nonce x\n")
    (spool / "jim-cafe0001-1-1.2.exit").mkdir()
    (spool / "jim-cafe0001-1-1.3.exit").symlink_to("/etc/passwd")
    os.mkfifo(spool / "jim-cafe0001-1-1.4.exit")
    grid = world.submit(1)
    world.run_all(grid)
    assert world.state(grid) is State.COMPLETED
    assert list(spool.iterdir()) == []
    assert len(list((world.site.work / "rejected").iterdir())) == 7
