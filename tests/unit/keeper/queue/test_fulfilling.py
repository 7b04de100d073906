"""A wish is fulfilled once, in its turn, and what comes to nothing is told."""

from __future__ import annotations

import pytest

from jim.doors import inbox
from jim.doors.gram.protocol import EXECUTION_FAILED, is_failure
from jim.errors import DiskFull, UnknownJob
from jim.model import State, Step
from tests.support.splitting_work import end_all, states
from tests.support.splitting_work import submit as split
from tests.support.stand_ins import Answers, Instead


def lines(world, n=None, grid=1):
    """Give what the journal says of wishes."""
    told = world.store.journals.of_itself(grid) if n is None else world.store.journals.of(grid, n)
    return [(line.now, line.reason) for line in told if line.witness in ("user", "keeper") and not line.was]


def wished(world):
    return [path.name for path in (world.site.state / "inbox").glob("wish-*")]


def ended(world, *codes):
    """Hand in a grid job, and end its local jobs so."""
    grid = world.submit(len(codes))
    world.until(lambda: len(world.batch.tasks) == len(codes))
    for index, code in enumerate(codes, 1):
        if code is not None:
            world.batch.start(1, index)
            world.batch.finish(1, index, code=code)
    return grid


def collecting(world, monkeypatch, *codes):
    """End a grid job whose outputs cannot be gathered yet; give what lets them be."""
    gather = world.keeper.workers.start
    held = []

    def start(errand):
        return 0.0 if errand.key == ("collect", 1) and not held else gather(errand)

    monkeypatch.setattr(world.keeper.workers, "start", start)
    ended(world, *codes)
    world.until(lambda: world.store.grid_job(1).step is Step.COLLECTING)
    return lambda: held.append(True)


def test_a_wish_is_fulfilled_once_though_the_keeper_is_killed_before_its_file_is_gone(world, monkeypatch):
    """A retry of at most one would try another one again."""
    ended(world, 3, 3, 3)
    world.until(lambda: world.finished(1))

    def killed(_):
        raise KeyboardInterrupt

    inbox.wish(world.site.state, "retry", "1", most=1)
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "taken", killed)
        with pytest.raises(KeyboardInterrupt):
            world.go(1)
    assert len(wished(world)) == 1
    world.restart()
    world.until(lambda: len(world.batch.accepted) == 2)
    world.go(3)
    assert wished(world) == []
    assert [world.state(1, n) for n in range(3)] == [State.SUBMITTED, State.FAILED, State.FAILED]
    assert [word for word, _ in lines(world)].count("retry requested") == 1


def test_of_many_wishes_stored_together_each_is_fulfilled_once_though_a_kill_leaves_the_files_of_some(
    world, monkeypatch
):
    for key in ("a", "b", "c"):
        world.submit(2, key=key)
    world.until(lambda: len(world.batch.tasks) == 6)
    for grid in ("1", "2", "3"):
        inbox.wish(world.site.state, "suspend", grid)
    taken, calls = inbox.taken, []

    def killed_at_the_second(path):
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        taken(path)

    with monkeypatch.context() as patch:
        patch.setattr(inbox, "taken", killed_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            world.go(1)
    assert len(wished(world)) == 2
    world.restart()
    world.go(2)
    assert (wished(world), world.store.fulfilled()) == ([], set())
    told = [[word for word, _ in lines(world, grid=grid)].count("suspend requested") for grid in (1, 2, 3)]
    assert told == [1, 1, 1]


def test_wishes_that_cannot_be_stored_stay_in_the_inbox_in_their_order(world, monkeypatch):
    """All of a transaction or nothing of it, with the requests that came with them."""
    world.submit(1, key="a")
    world.until(lambda: world.batch.tasks)
    world.submit(1, key="b")
    inbox.wish(world.site.state, "suspend", "1")
    inbox.wish(world.site.state, "resume", "1")
    fulfil = world.store.fulfil

    def full_at_the_second(name):
        if "000000002" in name:
            raise DiskFull("full")
        fulfil(name)

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "fulfil", full_at_the_second)
        with pytest.raises(DiskFull):
            world.go(1)
    assert (len(wished(world)), world.store.numbers.of_key("b"), world.store.grid_job(1).wish) == (2, 0, "")
    world.go(1)
    assert (wished(world), world.store.numbers.of_key("b")) == ([], 2)
    assert [word for word, _ in lines(world) if "requested" in word] == ["suspend requested", "resume requested"]


def test_a_wish_that_makes_no_sense_undoes_none_that_was_stored_with_it(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    inbox.wish(world.site.state, "suspend", "1")
    inbox.wish(world.site.state, "priority", "1", priority="high")
    world.go(1)
    assert (world.store.grid_job(1).wish, world.store.grid_job(1).priority, wished(world)) == ("suspend", 0, [])
    assert [path.name[:17] for path in (world.site.state / "inbox").iterdir()] == [".unreadable-wish-"]
    assert "priority requested" not in [word for word, _ in lines(world)]


def test_what_is_remembered_of_wishes_does_not_grow(world):
    ended(world, None)
    for verb in ("suspend", "resume", "suspend", "resume"):
        world.wish(verb, "1")
    world.go(1)
    assert len(world.store.fulfilled()) == 4
    world.go(1)
    assert world.store.fulfilled() == set()


@pytest.mark.parametrize("verb", ["retry", "force"])
def test_what_is_wished_while_outputs_are_gathered_waits_until_they_are(world, monkeypatch, verb):
    go_on = collecting(world, monkeypatch, 0, 3)
    more = {"to": "completed", "reason": "seen"} if verb == "force" else {}
    inbox.wish(world.site.state, verb, "1.1", **more)
    world.go(2)
    assert len(wished(world)) == 1
    go_on()
    world.until(lambda: not wished(world))
    want = State.COMPLETED if verb == "force" else State.SUBMITTED
    world.until(lambda: world.state(1, 1) is want)


def test_a_cancel_of_what_is_not_there_is_told(world):
    """It was wished before the split, when nobody knew how many there would be."""
    world.submit(3)
    inbox.wish(world.site.state, "cancel", "1.77")
    world.until(lambda: world.batch.tasks)
    world.go(2)
    assert wished(world) == []
    assert lines(world)[-1] == ("cancel changes nothing", "there is no local job 1.77: there are 3")
    with pytest.raises(UnknownJob):
        inbox.wish(world.site.state, "cancel", "1.77")
    assert not any(each.wish for each in world.store.local_jobs(1))


def test_a_cancel_of_what_has_completed_is_told(world):
    ended(world, 0, None, 0)
    world.until(lambda: world.state(1, 2) is State.COMPLETED)
    world.wish("cancel", "1.0")
    world.wish("cancel", "1.0-2")
    world.wish("cancel", "1.0,2")
    world.go(1)
    assert lines(world, 0)[-1] == ("cancel changes nothing", "1.0 is already completed")
    assert lines(world)[-3:] == [
        ("cancel", "2 of 3 have ended already"),
        ("cancel requested", "1.0,2"),
        ("cancel changes nothing", "all are already completed"),
    ]
    assert [each.wish for each in world.store.local_jobs(1)] == ["", "cancel", ""]


def test_a_held_job_that_listings_have_missed_before_it_is_resumed_is_released(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.wish("suspend", "1")
    world.until(lambda: world.state(1, 0) is State.HELD)
    world.batch.lies += [Instead("query", Answers.EMPTY)] * 2
    world.until(lambda: not world.batch.lies, 5.0)
    world.wish("resume", "1")
    world.until(lambda: world.state(1, 0) is State.SUBMITTED, 5.0)


def test_a_suspend_after_a_cancel_is_told(world):
    ended(world, None)
    for verb in ("cancel", "suspend"):
        world.wish(verb, "1")
    world.go(1)
    assert lines(world)[-1] == ("suspend changes nothing", "a cancel of it is in progress")
    assert world.store.grid_job(1).wish == "cancel"


def test_what_is_pending_is_held_before_what_runs_is_suspended(world, monkeypatch):
    """A suspended job frees its slot in some batch systems: a pending one would start there."""
    world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 3)
    world.batch.start(1, 1)
    world.until(lambda: states(world) == ["running", "submitted", "submitted"])
    told, change = [], world.keeper.channel.change
    monkeypatch.setattr(world.keeper.channel, "change", lambda verb, ids: (told.append(verb), change(verb, ids))[1])
    world.wish("suspend", "1")
    world.until(lambda: states(world) == ["suspended", "held", "held"])
    assert told[:2] == ["hold", "suspend"]  # both may be repeated


def test_a_suspend_while_outputs_are_gathered_is_told(world, monkeypatch):
    go_on = collecting(world, monkeypatch, 0)
    world.wish("suspend", "1")
    world.go(1)
    assert lines(world)[-1] == ("suspend changes nothing", "its outputs are being collected")
    go_on()
    world.until(lambda: world.finished(1))
    assert world.store.grid_job(1).wish == ""


def test_a_cancel_that_came_to_nothing_does_not_stand_beside_completed(world, monkeypatch):
    go_on = collecting(world, monkeypatch, 0)
    world.wish("cancel", "1")
    world.go(1)
    assert world.store.grid_job(1).wish == "cancel"
    go_on()
    world.until(lambda: world.finished(1))
    job = world.store.grid_job(1)
    assert (job.outcome, job.wish) == ("completed", "")
    assert lines(world)[-1] == ("cancel changes nothing", "already completed")


@pytest.mark.parametrize(("verb", "more"), [("retry", {}), ("force", {"to": "failed", "reason": "no use"})])
def test_a_cancel_of_what_is_held_is_done_before_the_next_wish_of_the_same_look(world, verb, more):
    """Else a retry would take it back without a line, and a force would not find it ended."""
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=3, recovery="hold look")
    world.until(lambda: world.store.local_job(1, 0).held)
    world.wish("cancel", "1.0")
    inbox.wish(world.site.state, verb, "1.0", **more)
    world.go(1)
    became = [line.now for line in world.store.journals.of(1, 0) if line.was]
    at = became.index("killed")
    assert became[at : at + 2] == ["killed", "waiting" if verb == "retry" else "failed"]
    assert not [line for line in lines(world, 0) if "changes nothing" in line[0]]


@pytest.mark.parametrize(("code", "state"), [(0, State.COMPLETED), (None, State.KILLED)])
def test_a_cancel_of_a_local_job_that_ends_by_itself_is_told(world, code, state):
    ended(world, None, None)
    world.batch.start(1, 1)
    world.until(lambda: world.state(1, 0) is State.RUNNING)
    world.batch.lies = [Instead("cancel", Answers.LOST_BEFORE)]
    world.wish("cancel", "1.0")
    world.go(1)
    world.batch.finish(1, 1, code=code)
    world.until(lambda: world.state(1, 0) is state)
    came_to_nothing = state is State.COMPLETED
    assert world.store.local_job(1, 0).wish == ("" if came_to_nothing else "cancel")
    assert (("cancel changes nothing", "already completed") in lines(world, 0)) == came_to_nothing
    world.batch.start(1, 2)
    world.batch.finish(1, 2, code=3)
    world.until(lambda: world.finished(1))
    world.go(1)
    assert is_failure(world.answer(1).encode(), EXECUTION_FAILED)


def test_the_keeper_asks_again_whether_anything_is_left_that_an_edit_could_change(world):
    """All of it was sent, or it was so made, between the door's look and the keeper's."""
    ended(world, None)
    inbox.wish(world.site.state, "edit", "1", changes={"queue": "long"})
    world.go(1)
    said = "1: all of its local jobs are already sent; nothing is left to change"
    assert lines(world)[-1] == ("edit changes nothing", said)
    assert world.store.grid_job(1).request["queue"] is None


def test_a_resplit_that_waits_for_its_pieces_is_not_overtaken(world):
    """A later wish for the same local job waits behind it; those for others, and a cancel of all, do not."""
    split(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    end_all(world, 1, 1)
    world.until(lambda: world.finished(1))
    inbox.wish(world.site.state, "resplit", "1.0", parameters={"lumis_per_job": 2})
    for target in ("1.0", "1.1"):
        inbox.wish(world.site.state, "retry", target)
    inbox.wish(world.site.state, "retry", "1")
    for _ in range(2):  # while what the worker has made is not delivered
        world.rounds.round()
        assert states(world)[0] == "failed"
        assert len(wished(world)) == 3
    world.go(3)
    assert wished(world) == []
    assert states(world)[0] == "failed_frozen"
    said = [word for word, _ in lines(world, 0)]
    assert said == ["resplit requested", "retry requested", "retry changes nothing"]  # others do its work
    assert len(states(world)) == 4


# At the people's door


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("suspend", "1"), "1: a cancel of it is in progress; suspend changes nothing\n"),
        (("resume", "1"), "1: a cancel of it is in progress; resume changes nothing\n"),
        (("priority", "1", "5"), "1: a cancel of it is in progress; priority changes nothing\n"),
        (
            ("retry", "1.1"),
            "1.1: a cancel of it is in progress; retry it when it has finished; retry changes nothing\n",
        ),
        (("cancel", "1.0"), "1.0: already completed; cancel changes nothing\n"),
        (("cancel", "1.0-1"), "1.0-1: already completed, failed; cancel changes nothing\n"),
    ],
)
def test_a_wish_that_is_known_to_be_vain_is_not_left(home, words, said):
    home.add()
    home.move(0, State.COMPLETED)
    home.move(1, State.FAILED)
    home.store.set_grid_job(1, wish="cancel", step=Step.ACTIVE)
    assert home.run(*words) == (3 if words[0] == "retry" else 0, said, "")
    assert list((home.site.state / "inbox").glob("wish-*")) == []


def test_a_wish_that_waits_for_the_outputs_is_told_of(home):
    home.add()
    home.move(1, State.FAILED)
    home.store.set_grid_job(1, step=Step.COLLECTING)
    told = "1 local job gets another set of attempts, once its outputs are collected; "
    assert home.out("retry", "1.1").startswith(f"1.1: retry requested: {told}")
    assert "a keeper applies this once the outputs are collected" in home.out("explain", "1")
    assert home.out("suspend", "1") == "1: its outputs are being collected; suspend changes nothing\n"
