"""Reasons are data: policies read kinds and facts, words are for people, and rows of before have words alone."""

from __future__ import annotations

import ast
import json

import pytest

from jim.adapters.slurm import Slurm
from jim.errors import Unclear
from jim.evidence import reasons, verdict
from jim.idealizer.reasons import LONGEST_SAID, reason_of
from jim.jobs import Change, whole_reason
from jim.keeper.attempts import deciding, ending, judging
from jim.model import NO_REASON, Answer, Kind, Observation, Reason, State, Witness
from jim.reading.job import waits
from jim.reading.view import View
from jim.site.file import Batch
from jim.statusdb.seen.record import failures
from jim.statusdb.store import Store
from tests.support import own_sentences
from tests.support.exit_records import record
from tests.support.stand_ins import Answers, Instead, World

SAID = "Site policy: jobs need a project code"
NO = Reason(Kind.NOT_ACCEPTED, {"cause": "unclear", "code": 1, "said": SAID}, "not accepted: hm")


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0, visible_seconds=1.0))


@pytest.fixture
def sent(world):
    """One local job, submitted."""
    world.submit(1)
    world.until(lambda: world.state(1) is State.SUBMITTED)
    return world.store


@pytest.fixture(params=["", "{told!r} {end!r}"], ids=["no words", "other words"])
def reworded(request, monkeypatch):
    """Say everything in other words, or in none."""
    for kind in reasons.WORDS:
        sentence = request.param.replace("{told!r}", "{told}" if "{told" in reasons.WORDS[kind] else "")
        monkeypatch.setitem(reasons.WORDS, kind, sentence)


# What is stored


def test_a_reason_is_stored_with_its_kind_and_facts(sent: Store) -> None:
    sent.set_local_job(1, 0, state=State.FAILED, witness=Witness.FENCE, reason=NO)
    sent.set_submission(1, 1, reason=NO)
    sent.set_attempt(1, 1, 1, verdict="failed", reason=NO)
    rows = sent.local_job(1, 0), sent.submission(1, 1), sent.attempt(1, 1, 1)
    assert [whole_reason(row) for row in rows if row] == [NO] * 3
    assert [row.reason for row in rows if row] == [NO.words] * 3
    assert sent.seen.reasons(1, (State.FAILED,), 3) == ([(NO, 1)], 1)


def test_another_reason_leaves_nothing_of_the_one_before(sent: Store) -> None:
    for after in ("words of a person", NO_REASON, Reason(Kind.LOST, words="lost")):
        sent.set_local_job(1, 0, reason=NO)
        sent.set_local_job(1, 0, reason=after)
        expected = Reason(words=after) if isinstance(after, str) else after
        assert whole_reason(sent.local_job(1, 0)) == expected
    change = Change(1, 1, State.SUBMITTED, State.RUNNING, Witness.CLAIM, [0])
    sent.change([change])
    assert whole_reason(sent.local_job(1, 0)) == NO_REASON


def test_a_kind_that_is_not_known_is_none(sent: Store) -> None:
    sent.db.execute("UPDATE local_job SET kind = 'of a later version', reason = 'hm'")
    assert whole_reason(sent.local_job(1, 0)) == Reason(words="hm")
    assert sent.seen.reasons(1, (State.SUBMITTED,), 1)[0][0].reason == Reason(words="hm")
    assert [each.kind for each in sent.live()] == [Kind.UNKNOWN]


def test_what_says_the_same_counts_together_whichever_version_said_it(world) -> None:
    world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 3)
    told = Reason(Kind.EXIT, {"code": 3}, "exit 3")
    for n, why in enumerate((told, "exit 3", told)):
        world.store.set_local_job(1, n, state=State.FAILED, witness=Witness.EXIT_RECORD, reason=why)
    assert world.store.seen.reasons(1, (State.FAILED,), 5) == ([(told, 3)], 1)
    assert failures(world.store, 1) == "exit 3"


def test_a_no_of_before_counts_as_none() -> None:
    """The safe way: such a local job is sent once more often before it is given up."""
    words = f"not accepted: {SAID} (exit 1 after 0.1 s: sbatch)"
    assert not deciding._is_no(Reason(words=words))
    assert deciding._is_no(NO)


@pytest.mark.parametrize(
    ("facts", "no"),
    [
        ({"cause": "unclear", "code": 1}, True),
        ({"cause": "unclear", "code": 0}, True),  # it printed no id
        ({"cause": "stumbled", "code": 1}, True),
        ({"cause": "refused", "code": 1}, True),  # for the wish to avoid a host
        ({"cause": "unclear", "code": None}, False),  # it did not return
        ({"cause": "unclear", "code": -9}, False),
        ({"cause": "no answer", "code": 1}, False),
        ({"cause": "not now", "code": 1}, False),
        ({"cause": "not listed"}, False),
        ({"code": 1}, False),
        ({}, False),
    ],
)
def test_what_is_a_no(facts, no) -> None:
    assert deciding._is_no(Reason(Kind.NOT_ACCEPTED, facts)) is no


def test_how_an_attempt_is_to_end_is_kept_with_its_kind() -> None:
    found = verdict.of_vanished(Observation(State.FAILED, "m", 1, reason="hm", kind=Kind.NODE), cancelled=False)
    assert ending._verdict(json.loads(json.dumps(judging._told(found)))) == found
    before = {each: told for each, told in judging._told(found).items() if each not in ("kind", "facts")}
    assert ending._verdict(before).reason == Reason(words="hm, exit 1")


# What batch commands and accounting say


def test_an_error_keeps_what_was_answered_but_not_all_of_it() -> None:
    error = Unclear("x")
    error.answer = Answer(("sbatch",), 1, "", "y" * 10_000, 0.1)
    assert reason_of(error).facts == {"code": 1, "said": "y" * LONGEST_SAID}


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("time limit", Kind.TIME_LIMIT),
        ("wall time", Kind.TIME_LIMIT),
        ("TERM_RUNLIMIT: job killed after reaching LSF run time limit", Kind.TIME_LIMIT),
        ("CPU time limit", Kind.CPU_LIMIT),
        ("TERM_CPULIMIT: job killed after reaching LSF CPU usage limit", Kind.UNKNOWN),
        ("time or memory limit", Kind.TIME_OR_MEMORY),
        ("the node failed", Kind.NODE),
        ("Error from slot1@node1: memory usage exceeded request_memory", Kind.MEMORY),
        ("out of memory", Kind.MEMORY),
        ("", Kind.UNKNOWN),
    ],
)
def test_what_accounting_says_is_read_by_the_adapter(said, kind) -> None:
    assert Slurm().kind_of(Observation(State.FAILED, "m", reason=said)) is kind
    assert Slurm().kind_of(Observation(State.RUNNING, "m", reason=said)) is Kind.UNKNOWN


def test_a_site_s_own_kind_goes_before_the_words(world, sent, monkeypatch) -> None:
    told = {("1", 1): Observation(State.FAILED, "m", reason="time limit", kind=Kind.NODE)}
    monkeypatch.setattr(world.batch, "parse_history", lambda answer: told)
    assert world.keeper.channel.history(["1"]) == told


# Nobody reads the words


def test_no_sentence_of_jim_s_own_is_parsed() -> None:
    """What a policy needs to know is a kind or a fact: docs/design/keeper.md, "Reasons"."""
    assert own_sentences.places() == []


def test_each_exception_to_that_is_needed() -> None:
    assert own_sentences.JUSTIFIED.keys() <= set(own_sentences.candidates())


@pytest.mark.parametrize(
    ("code", "parsed"),
    [
        ("'CPU' in found.reason", True),
        ("'CPU' not in reason.lower()", True),
        ("NO.search(verdict.reason)", True),
        ("NO.search(verdict.reason.words)", True),
        ("re.search(pattern, why, re.IGNORECASE)", True),
        ("re.match(r'\\w+', str(error))", True),
        ("re.sub('a', 'b', string=trouble)", True),
        ("local.reason.startswith(NEVER)", True),
        ("str(error).partition(':')", True),
        ("line.reason == 'retry'", True),
        ("reason != f'{NEVER}: x'", True),
        ("f'{error}'.split(':')", True),
        ("each.reason and each.reason == other.reason", False),
        ("f'{reason}: {said}'", False),
        ("reason.kind is Kind.NODE", False),
        ("reason.facts.get('code') == 1", False),
        ("isinstance(error, Refused)", False),
        ("' '.join(str(why).split())", False),
        ("line.startswith('file ')", False),
    ],
)
def test_parsing_is_found(code, parsed) -> None:
    assert any(map(own_sentences.is_parsed, ast.walk(ast.parse(code)))) is parsed


# Words decide nothing


@pytest.mark.usefixtures("reworded")
def test_in_other_words_a_plain_no_is_given_up_after_as_many_tries(world) -> None:
    world.batch.lies = [Instead("submit", Answers.ODD)] * 100
    world.submit(1)
    world.until(lambda: world.finished(1), seconds=60.0)
    assert [each.verdict for each in world.store.attempts(1, n=0)] == ["again"] * 11 + ["failed"]


@pytest.mark.usefixtures("reworded")
def test_in_other_words_a_lost_answer_is_no_no(world) -> None:
    world.batch.unclear = (r"site policy: jobs need",)
    world.batch.lies = [Instead("submit", Answers.ODD)] * 14
    world.submit(1)
    world.until(lambda: world.batch.tasks, seconds=60.0, rounds=2000)
    assert [each.verdict for each in world.store.attempts(1, n=0)] == ["again"] * 14 + [""]


@pytest.mark.usefixtures("reworded")
def test_in_other_words_limits_are_limits() -> None:
    def ended(kind: Kind, said: str) -> verdict.Verdict:
        return verdict.of_vanished(Observation(State.FAILED, "m", reason=said, kind=kind), cancelled=False)

    late, nodes, cpu = ended(Kind.TIME_LIMIT, "hm"), ended(Kind.NODE, "time limit"), ended(Kind.CPU_LIMIT, "hm")
    assert [each.again for each in (late, nodes, cpu)] == [False, True, False]
    assert verdict.before_its_time(late, 10, 3600).again
    assert not verdict.before_its_time(cpu, 10, 3600).again
    removed = verdict.of_removed(1, cancelled=False)
    assert verdict.before_its_time(removed, 10, 3600) == removed
    killed = verdict.of_exit_record(record(signal=9), cancelled=False)
    assert verdict.within_time(killed, record(signal=9), 0).reason.kind is Kind.OVER_TIME


@pytest.mark.usefixtures("reworded")
def test_in_other_words_what_waits_in_vain_is_told(world, monkeypatch) -> None:
    parse = world.batch.parse_query

    def listing(answer):
        return {key: each._replace(reason="PartitionTimeLimit") for key, each in parse(answer).items()}

    monkeypatch.setattr(world.batch, "parse_query", listing)
    world.submit(1)
    world.until(lambda: world.store.counts(1) and world.store.local_job(1, 0).kind is Kind.NEVER_STARTS)
    told = waits.of_local_job(View(world.site, world.store), world.store.grid_job(1), world.store.local_job(1, 0))
    assert any("jim cancel 1.0" in each.next for each in told)


def test_how_an_attempt_is_to_end_may_be_of_a_kind_of_a_later_version() -> None:
    """A kind is added without a new format of the status DB: then the version before must not stumble over it."""
    found = verdict.of_vanished(Observation(State.FAILED, "m", 1, reason="hm", kind=Kind.NODE), cancelled=False)
    later = {**judging._told(found), "kind": "of a later version"}
    assert ending._verdict(later).reason.kind is Kind.UNKNOWN
