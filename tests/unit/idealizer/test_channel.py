"""The channel: it counts whether a batch system answers, and outlives adapters that raise what none should."""

from __future__ import annotations

import pytest

from jim.errors import BatchError, Full, NotStarted, Refused, Unclear
from jim.idealizer.channel import Channel
from jim.model import Answer, Batch, Observation, Resources, State
from tests.support.stand_ins import Answers, Instead, StandInBatch, StandInClock


@pytest.fixture
def stumble(world, monkeypatch):
    """Let the next answers of one kind be too much for the adapter."""

    def arrange(kind, times=1):
        parse, left = getattr(world.batch, kind), [True] * times

        def stumbles(answer):
            if left:
                left.pop()
                raise IndexError("list index out of range")
            return parse(answer)

        monkeypatch.setattr(world.batch, kind, stumbles, raising=False)

    return arrange


@pytest.mark.parametrize("kind", ["parse_submit", "trouble"])
def test_a_submission_that_was_accepted_is_found_and_not_given_up(world, stumble, kind):
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)] if kind == "trouble" else []
    stumble(kind)
    grid = world.submit(1)
    world.until(lambda: world.store.submission(grid, 1) and world.store.submission(grid, 1).state == "unknown")
    reason = world.store.submission(grid, 1).reason
    assert reason.startswith("its adapter cannot read an answer: IndexError: list index out of range (test_channel")
    assert ": submit jim-" in reason
    world.until(lambda: world.state(grid) is State.SUBMITTED)
    world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.finished(grid))
    assert (len(world.batch.accepted), world.state(grid)) == (1, State.COMPLETED)


@pytest.mark.parametrize("kind", ["parse_query", "parse_find", "parse_history"])
def test_a_listing_or_a_history_changes_nothing(world, stumble, kind):
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)] if kind == "parse_find" else []
    stumble(kind)
    grid = world.submit(1)
    world.until(lambda: world.state(grid) is State.SUBMITTED)
    world.batch.start(1)
    world.go(2, 1.0)
    if kind == "parse_history":
        world.batch.kill(1)
        world.until(lambda: world.state(grid) is State.WAITING)
    else:
        world.batch.finish(1)
        world.until(lambda: world.finished(grid))
        assert world.state(grid) is State.COMPLETED
    assert len(world.batch.ledger) == 1


def test_a_cancel_is_told_again(world, stumble):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    stumble("parse_cancel")
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    assert world.state(grid) is State.KILLED


# Health


@pytest.fixture
def channel():
    batch = StandInBatch()
    return Channel(batch, 60.0, StandInClock(), batch)


BATCH = Batch("jim-cafe0001-1-1", "/s1/job.sh", "/s1", 1, Resources(), ())
ASKED = {
    "submit": lambda channel: channel.submit(BATCH),
    "query": lambda channel: channel.listing(),
    "find": lambda channel: channel.find("jim-cafe0001-1-1", 0.0),
}


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize(
    ("lie", "error"), [("lost after", Unclear), ("garbage", Unclear), ("down", BatchError), ("not started", BatchError)]
)
def test_what_is_no_answer_is_counted_until_there_is_one(channel, verb, lie, error):
    for times in (1, 2, 3):
        channel.adapter.lies = [Instead("", Answers(lie))]
        with pytest.raises(error):
            ASKED[verb](channel)
        assert (channel.health.failures, channel.health.open) == (times, times == 3)
    assert not channel.past.failures
    ASKED[verb](channel)
    assert (channel.health.failures, channel.health.trouble.words, bool(channel.health.seen)) == (0, "", True)


@pytest.mark.parametrize("error", [Refused, Full])
def test_a_refusal_and_a_limit_say_nothing_of_health(channel, monkeypatch, error):
    channel.adapter.lies = [Instead("", Answers.DOWN)]
    with pytest.raises(BatchError):
        channel.listing()
    channel.adapter.lies = [Instead("", Answers.REFUSE)]
    monkeypatch.setattr(StandInBatch, "trouble", lambda self, answer: error(answer.facts()))
    with pytest.raises(error):
        channel.submit(BATCH)
    assert channel.health.failures == 1


def test_the_history_has_a_health_of_its_own(channel):
    channel.adapter.lies = [Instead("", Answers.DOWN)]
    with pytest.raises(BatchError):
        channel.history(["1"])
    assert (channel.health.failures, channel.past.failures) == (0, 1)
    channel.history(["1"])
    assert channel.past.failures == 0


def test_what_is_told_counts_nothing(channel):
    """A cancel is told again until it is seen to be obeyed: whether it was answered says nothing more."""
    channel.adapter.lies = [Instead("", Answers.DOWN)] * 2
    for tell in (lambda: channel.cancel([("1", 1)]), lambda: channel.change("hold", [("1", 1)])):
        with pytest.raises(BatchError):
            tell()
    assert (channel.health.failures, channel.health.seen) == (0, "")


def test_a_command_that_could_not_be_started_is_told_from_one_that_was(channel):
    channel.adapter.lies = [Instead("", Answers.NOT_STARTED)]
    with pytest.raises(NotStarted):
        channel.submit(BATCH)


def test_commands_are_run_by_the_programs_of_the_channel_alone():
    asked = []

    class Programs:
        def run(self, command, *, limit, mark=""):
            asked.append((command, limit, mark))
            return Answer(tuple(command), 0, "12", "", 0.0)

        def end_marked(self, mark, id_variable):
            asked.append((mark, id_variable))
            return []

    channel = Channel(StandInBatch(), 7.0, StandInClock(), Programs())
    assert channel.submit(BATCH) == "12"
    channel.end_client(BATCH.mark)
    assert asked == [(["submit", BATCH.mark, "/s1", "1"], 7.0, BATCH.mark), (BATCH.mark, "B")]


@pytest.mark.parametrize("ask", ["query", "find", "history"])
@pytest.mark.parametrize("error", [Refused, Full])
def test_a_question_that_is_refused_is_no_answer(channel, monkeypatch, ask, error):
    """A refusal is an answer to a submission alone: who is told no listing knows nothing, and asks less and less."""
    channel.adapter.lies = [Instead("", Answers.REFUSE)]
    monkeypatch.setattr(StandInBatch, "parse_query", lambda self, answer: self.output(answer))
    monkeypatch.setattr(StandInBatch, "parse_find", lambda self, answer: self.output(answer))
    monkeypatch.setattr(StandInBatch, "parse_history", lambda self, answer: self.output(answer))
    monkeypatch.setattr(StandInBatch, "trouble", lambda self, answer: error(answer.facts()))
    with pytest.raises(error):
        channel.history(["1"]) if ask == "history" else ASKED[ask](channel)
    health = channel.past if ask == "history" else channel.health
    assert (health.failures, bool(health.trouble)) == (1, True)


@pytest.fixture
def asked(channel, monkeypatch):
    """Let the batch system have a command for why jobs wait; return its words, the answers, and the time limits."""
    words, answers, limits = {"": "it is full", "2": "no such host"}, [], []

    def run(command, *, limit, mark=""):
        limits.append(limit)
        answers.append(command)
        return Answer(tuple(command), 0, "", "", 0.1)

    monkeypatch.setattr(channel.adapter, "waits_command", lambda: ["why"], raising=False)
    monkeypatch.setattr(channel.adapter, "parse_waits", lambda _answer: words, raising=False)
    monkeypatch.setattr(channel.programs, "run", run)
    return words, answers, limits


def waiting(waits="", state=State.SUBMITTED):
    return Observation(state, "jim-1-1", waits=waits)


def test_why_jobs_wait_is_added_to_a_listing(channel, asked):
    listing = {("1", 1): waiting(), ("2", 1): waiting(), ("2", 2): waiting("its own word")}
    told = {key: seen.waits for key, seen in channel.with_waits(listing).items()}
    assert told == {("1", 1): "it is full", ("2", 1): "no such host", ("2", 2): "its own word"}
    assert asked[2] == [10.0]  # the time limit of other commands is a minute and more


def test_why_jobs_wait_is_not_asked_when_none_does(channel, asked):
    listing = {("1", 1): waiting(state=State.RUNNING)}
    assert channel.with_waits(listing) == listing
    assert asked[1] == []


@pytest.mark.parametrize("error", [Unclear("what?"), BatchError("down"), IndexError("0"), OSError("no memory")])
def test_a_listing_stays_as_it_is_when_nobody_says_why_jobs_wait(channel, asked, monkeypatch, error):
    def fails(_answer):
        raise error

    monkeypatch.setattr(channel.adapter, "parse_waits", fails)
    listing = {("1", 1): waiting()}
    assert channel.with_waits(listing) == listing
    assert channel.health.failures == 0
