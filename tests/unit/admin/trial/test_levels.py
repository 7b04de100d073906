"""How long a site test waits for what, and what it advises."""

from __future__ import annotations

import re
from functools import partial

import pytest

from jim.adapters.local import Local
from jim.admin.trial import glitch, levels, trial_site
from jim.admin.trial.trial_site import TrialSite
from jim.evidence import verdict
from jim.model import NO_REASON, Kind, Reason, State, Witness
from jim.site.file import read as read_site
from tests.unit.admin.trial.tried import SITE, change


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(trial_site, "PATIENCE_SECONDS", 2.0)  # on a busy machine a command takes a second
    monkeypatch.setattr(trial_site, "CLEANING_SECONDS", 2.0)


def the_only(found):
    (one,) = found
    return one


@pytest.mark.parametrize("again", ["", "sleep 60"])  # it waits for the next attempt, or is about to be sent again
def test_a_batch_system_that_takes_nothing_is_not_waited_for(tried, site, hasty, again):
    seen = tried.place / "seen"
    command = tried.write_command(f"[ ! -e {seen} ] || {again or ':'}; touch {seen}; echo something odd >&2; exit 1")
    tried.write(more=f'[batch.commands]\nsubmit = ["{command}"]\n')
    change(tried, "command_seconds = 5", "command_seconds = 3")
    with TrialSite(site()) as own:
        found = the_only(levels.batch(own))
    assert found.level == "failed"
    assert found.said.startswith("not finished after ")
    assert found.said.count("something odd") == 1
    assert "batch.commands.submit (set)" in found.todo


def test_a_batch_system_that_cannot_be_asked_is_not_waited_for(tried, site, hasty):
    command = tried.write_command("echo no such controller >&2; exit 1")
    # Lost on the way out, so that it must be asked whether it has the job.
    tried.write(
        more=f'[batch.commands]\nsubmit = ["/bin/true"]\nfind = ["{command}"]\n',
    )
    with TrialSite(site()) as own:
        found = the_only(levels.batch(own))
    assert found.level == "failed"
    assert found.said.count("no such controller") == 1
    assert found.todo.startswith("run that command as this account until it answers")
    (left,) = own.remains
    mark = f"jim-{own.rounds.keeper.hold.instance}-1-1"
    assert (left.level, left.said) == ("warning", f"after 2 s these may still exist: {mark}")
    assert left.todo == f"find them: {command} {mark}"


def test_a_long_queue_is_waited_for_and_no_failure(tried, site, hasty, monkeypatch):
    monkeypatch.setattr(levels, "LIMIT_SECONDS", 3.0)  # longer than patience with who does not answer
    monkeypatch.setattr(trial_site, "CLEANING_SECONDS", 60.0)  # a batch system that answers is waited for
    change(tried, "slots = 8", "slots = 1")
    change(tried, "query_seconds = 0.3", "query_seconds = 0.8")
    monkeypatch.setattr(trial_site, "TELL_SECONDS", 0.5)
    told = []
    with TrialSite(site(), waits=told.append) as own:

        def parse_query(answer):
            seen = Local.parse_query(own.adapter, answer)
            return {key: each._replace(waits="Nodes required for job are DOWN") for key, each in seen.items()}

        monkeypatch.setattr(own.adapter, "parse_query", parse_query)
        first = own.submit("first", "sleep 60")
        assert own.until(lambda: own.starts(first), 30)
        found = the_only(levels.batch(own))
        last = told[-1]
    words = r"for local jobs \(1 running, 1 submitted\), for \d s now; the batch system says: "
    words += "Nodes required for job are DOWN"
    assert re.fullmatch(words, last), "a test must not be silent"
    assert found.level == "warning"
    assert found.said.startswith("still waits in the queue after ")
    assert found.todo.startswith("try again when there are free slots")
    assert own.remains == []


@pytest.fixture(scope="module")
def in_vain(shared):
    """A batch system with one slot, which is taken, that says of what waits that it can never start."""

    def parse_query(answer):
        seen = Local.parse_query(own.adapter, answer)
        waits = {key: each for key, each in seen.items() if each.state is State.SUBMITTED}
        return seen | {key: each._replace(reason="PartitionTimeLimit") for key, each in waits.items()}

    change(shared, "slots = 8", "slots = 1")
    site = read_site(shared.state / "site.toml", shared.state)
    with pytest.MonkeyPatch.context() as patch, TrialSite(site) as own:
        first = own.submit("first", "sleep 3600")
        assert own.until(lambda: own.starts(first), 30)
        patch.setattr(own.adapter, "parse_query", parse_query)
        yield own


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(levels.batch, id="batch"),
        # They wait for their outcome as the first one does.
        pytest.param(levels.roundtrip, id="roundtrip", marks=pytest.mark.torture),
        pytest.param(levels.array, id="array", marks=pytest.mark.torture),
        pytest.param(partial(levels.load, pieces=3), id="load", marks=pytest.mark.torture),
        pytest.param(glitch.glitch, id="glitch"),
    ],
)
def test_what_can_never_start_is_not_waited_for(in_vain, level, monkeypatch):
    for module in (levels, glitch):  # what is waited for all the same only gives a warning
        monkeypatch.setattr(module, "LIMIT_SECONDS", 20.0)
    monkeypatch.setattr(glitch, "GLITCHES", (("obeyed", {}),))
    found = list(level(in_vain))
    assert {each.level for each in found} == {"failed"}
    for each in found:
        assert "can never start as it was asked for: PartitionTimeLimit" in each.said
        assert "; batch job " in each.said
        for key in (
            "batch.wall_seconds (86,400)",
            "batch.queue (not set)",
            "batch.account (not set)",
            "cores and memory",
        ):
            assert key in each.todo


@pytest.mark.torture
def test_while_jobs_go_through_a_limit_begins_anew(tried, site, monkeypatch):
    monkeypatch.setattr(trial_site, "PATIENCE_SECONDS", 1.0)
    change(tried, "slots = 8", "slots = 1")
    change(tried, "query_seconds = 0.3", "query_seconds = 0.8")
    monkeypatch.setattr(levels, "LIMIT_SECONDS", 5.0)
    with TrialSite(site()) as own:
        job = own.submit_many("many", "sleep 1", 6)
        assert levels.outcome(own, "many", job, 0.0).level == "ok"


def test_batch_jobs_are_named_where_a_job_of_theirs_failed(tried, site):
    with TrialSite(site()) as own:
        found = the_only(levels.batch(own))
        assert (found.level, own.batch_jobs(1)) == ("ok", ["1"])
        lost = verdict.of_lost(None, cancelled=False).reason
        own.store.set_local_job(1, 0, state=State.FAILED, witness=Witness.FENCE, reason=lost)
        told = levels.failed(own, "one job", 1, "lost: left the queue without starting")
    assert told.said == "lost: left the queue without starting; batch job 1"
    assert "the logs of local say where that batch job went" in told.todo


class StandInGround:
    """A trial site on which one job has ended."""

    site, silent = SITE, False

    def batch_jobs(self, job):
        return [str(id_) for id_ in range(10, 10 + job)]

    def __init__(self, state, reason=NO_REASON):
        self.state, self.why = state, reason
        self.kind, self.facts, self.reason = reason

    def local_job(self, job):
        return self

    def reasons(self, job):
        return [self.why]

    def story(self, job):
        return f"1 {self.state.value}; {self.reason}"


@pytest.mark.parametrize(
    ("state", "reason", "level"),
    [
        (State.FAILED, Reason(Kind.OVER_TIME), "ok"),
        (State.FAILED, Reason(Kind.TIME_LIMIT), "ok"),
        (State.FAILED, Reason(Kind.CPU_LIMIT), "ok"),
        (State.FAILED, Reason(Kind.TIME_OR_MEMORY), "ok"),  # Grid Engine
        (State.FAILED, Reason(Kind.WARNED, {"signal": 24}), "ok"),
        (State.FAILED, Reason(Kind.LOST, {"cause": "time limit"}), "ok"),
        (State.FAILED, Reason(Kind.LOST), "failed"),
        (State.FAILED, Reason(Kind.EXIT, {"code": 1}, "time limit"), "failed"),
        (State.KILLED, Reason(Kind.CANCELLED), "failed"),
        (State.COMPLETED, NO_REASON, "failed"),
    ],
)
def test_only_a_time_limit_is_a_time_limit(state, reason, level):
    assert levels._limited(StandInGround(state, reason), "time limit", 5).level == level


def test_a_time_limit_that_is_none_is_told_as_that():
    found = levels._limited(StandInGround(State.COMPLETED), "time limit", 5)
    assert found.said == "a job with a limit of 60 s ran to its end after 300 s; batch job 10, 11, 12, 13, 14"
    assert found.todo.startswith("have the batch system end jobs that exceed their limit")


def test_of_very_many_batch_jobs_only_some_are_named():
    found = levels.failed(StandInGround(State.FAILED), "load", 7, "exit 1")
    assert found.said == "exit 1; batch job 10, 11, 12, 13, 14, …"


def test_an_end_is_the_right_one_by_its_reason():
    def ended(kind, **facts):
        return levels._ended(StandInGround(State.FAILED, Reason(kind, facts, "exit 13")), "exit 1", 2, levels.EXIT_1)

    assert ended(Kind.EXIT, code=1, more="yes").level == "ok"
    said = "expected a failure with 'exit 1', found 1 failed; exit 13; batch job 10, 11"
    assert ended(Kind.EXIT, code=13).said == ended(Kind.WARNED, code=1).said == said
