"""What an attempt's evidence means."""

from __future__ import annotations

import pytest

from jim.evidence import verdict
from jim.evidence.exit_record import ExitRecord
from jim.model import Kind, Observation, State, Witness
from tests.support.exit_records import record

WARNED = "signal TERM from the batch system"
IN_TIME, LIMIT = "warned 60 s before its time limit", "time limit: it ran for 0 s;"
OOM = "killed by signal 9: by the site or for want of memory"

KERNEL = "out of memory: the kernel has ended"
ODD = "; its recovery file begins with 'Recoverable', not with one of success, recoverable, hold, fatal"


def in_time(*end: int, **more: object) -> ExitRecord:
    """Give the record of a payload that was warned 60 s before its time limit."""
    return record(*end, reason=IN_TIME, **more)._replace(warned=60)


@pytest.mark.parametrize(
    ("ended", "state", "reason", "again"),
    [
        (record(0), State.COMPLETING, "", False),
        (record(3), State.FAILED, "exit 3", False),
        (record(126), State.FAILED, "exit 126, as of a program that may not be run", False),
        (record(127), State.FAILED, "exit 127, as of a program that is not found", False),
        (record(0, refused=("link a.dat",)), State.FAILED, "output not taken: link a.dat", False),
        # Its own failure: it would fail again.
        (record(signal=11), State.FAILED, "signal 11", False),
        (record(signal=6), State.FAILED, "signal 6", False),
        (record(signal=15), State.FAILED, "signal 15", False),
        # Killed by the site.
        (record(signal=9), State.FAILED, OOM, True),
        (record(signal=9)._replace(kills=1), State.FAILED, f"{KERNEL} 1 of its processes (signal 9)", True),
        (record(1)._replace(kills=2000), State.FAILED, f"{KERNEL} 2,000 of its processes (exit 1)", True),
        (record(0)._replace(kills=2), State.COMPLETING, "", False),
        (record(signal=9, reason=WARNED), State.FAILED, f"{WARNED} (signal 9)", True),
        (record(signal=15, reason=WARNED), State.FAILED, f"{WARNED} (signal 15)", True),
        (in_time(4), State.FAILED, f"{LIMIT} it was {IN_TIME} (exit 4)", False),
        (in_time(signal=9), State.FAILED, f"{LIMIT} it was {IN_TIME} (signal 9)", False),
        (in_time(3, recovery="recoverable -x"), State.FAILED, f"exit 3, recoverable ({IN_TIME})", True),
        (in_time(0), State.COMPLETING, "", False),
        (
            in_time(0, refused=("missing a",)),
            State.FAILED,
            f"{LIMIT} it was {IN_TIME} (output not taken: missing a)",
            False,
        ),
        (record(4, reason=WARNED), State.FAILED, f"{WARNED} (exit 4)", True),
        (record(0, reason=WARNED), State.COMPLETING, "", False),
        # The recovery file has the first word.
        (record(signal=9, recovery="fatal"), State.FAILED, "signal 9, and its recovery file says fatal", False),
        (record(signal=9, recovery="success"), State.COMPLETING, "", False),
        (record(3, recovery="recoverable -x"), State.FAILED, "exit 3, recoverable", True),
        (
            record(3, recovery="fatal no field"),
            State.FAILED,
            "exit 3, and its recovery file says fatal no field",
            False,
        ),
        (record(3, recovery="Recoverable -x"), State.FAILED, f"exit 3{ODD}", False),
        (record(0, recovery="Recoverable -x"), State.COMPLETING, "", False),
        (record(0, recovery="fatal"), State.FAILED, "exit 0, and its recovery file says fatal", False),
    ],
)
def test_an_attempt_is_judged_by_its_exit_record(ended: ExitRecord, state: State, reason: str, again: bool) -> None:
    found = verdict.of_exit_record(ended, cancelled=False)
    assert (found.state, found.reason.words, found.again) == (state, reason, again)
    assert (found.witness, found.spent) == (Witness.EXIT_RECORD, True)


@pytest.mark.parametrize("ended", [record(3), record(signal=9), record(signal=15, reason=WARNED)])
def test_what_was_cancelled_is_not_tried_again(ended: ExitRecord) -> None:
    found = verdict.of_exit_record(ended, cancelled=True)
    assert (found.state, found.again) == (State.KILLED, False)


@pytest.mark.parametrize(
    ("program", "more"),
    [
        ("sh", ": sh, or one that it calls"),
        ("./dos.sh", ": ./dos.sh, the interpreter in its first line, or one that it calls"),
        ("", ""),
    ],
)
def test_exit_127_of_a_file_may_mean_its_first_line_or_what_it_calls(program: str, more: str) -> None:
    found = verdict.of_exit_record(record(127), cancelled=False, program=program)
    assert found.reason.words == f"exit 127, as of a program that is not found{more}"


def test_a_time_limit_is_not_tried_again() -> None:
    hour = record(signal=15, reason=WARNED)._replace(ended="2026-01-31T13:00:00Z")
    found = verdict.of_exit_record(hour, cancelled=False)
    over = verdict.within_time(found, hour, 3600)
    assert (over.reason.words, over.again) == (f"time limit: it ran for 3,600 s; {WARNED} (signal 15)", False)
    assert verdict.within_time(found, hour, 3601) == found
    assert verdict.within_time(found, hour._replace(up=20.0), 3600) == found  # its node's clock was set meanwhile
    ended = Observation(State.FAILED, "jim-1-1-1", reason="time limit", word="TIMEOUT", kind=Kind.TIME_LIMIT)
    assert not verdict.of_vanished(ended, cancelled=False).again


def test_what_did_not_live_until_its_time_limit_is_tried_again_whatever_accounting_says() -> None:
    ended = Observation(State.FAILED, "jim-1-1-1", reason="time limit", word="TIMEOUT", kind=Kind.TIME_LIMIT)
    over = verdict.of_vanished(ended, cancelled=False)
    early = verdict.before_its_time(over, 3599, 3600)
    assert (early.reason.words, early.again) == ("time limit, but it did not live longer than 3,599 s", True)
    assert verdict.before_its_time(over, 3600, 3600) == over
    for kind in (Kind.CPU_LIMIT, Kind.TIME_LIMIT):  # the one may be used up by eight cores in an eighth of it
        told = verdict.of_vanished(Observation(State.FAILED, "m", reason="hm", kind=kind), cancelled=False)
        assert verdict.before_its_time(told, 500, 3600).again == (kind is Kind.TIME_LIMIT)
    killed = verdict.of_vanished(ended, cancelled=True)
    assert verdict.before_its_time(killed, 10, 3600) == killed


def test_a_good_end_whose_outputs_were_not_taken_is_tried_again_where_the_node_may_be_to_blame() -> None:
    found = verdict.of_exit_record(record(0, refused=("missing r.dat",)), cancelled=False)
    assert (found.state, found.reason.words, found.again) == (State.FAILED, "output not taken: missing r.dat", False)
    assert verdict.of_exit_record(record(0, refused=("link x", "failing r.dat")), cancelled=False).again
    # One that heeds a warning may exit 0 before it has written anything.
    warned = verdict.of_exit_record(record(0, reason=WARNED, refused=("missing r.dat",)), cancelled=False)
    assert (warned.state, warned.reason.words, warned.again) == (
        State.FAILED,
        f"{WARNED} (output not taken: missing r.dat)",
        True,
    )
    cancelled = verdict.of_exit_record(record(0, reason=WARNED, refused=("missing r.dat",)), cancelled=True)
    assert (cancelled.state, cancelled.reason.words) == (State.KILLED, "cancelled (exit 0)")


def test_arguments_of_a_recovery_file_are_kept_for_the_next_attempt() -> None:
    def left(line: str) -> tuple[str, ...]:
        return verdict.of_exit_record(record(1, recovery=line), cancelled=False).recovery

    assert left("recoverable") == ()
    assert left("recoverable --from '1 2' x") == ("--from", "1 2", "x")
    assert left("recoverable it's open") == ("it's", "open")


@pytest.mark.parametrize(
    ("told", "reason", "witness"),
    [
        (None, "vanished: it started, ended, and left no exit record", Witness.CLAIM),
        (Observation(State.FAILED, "m", signal=9), "signal 9", Witness.ACCOUNTING),
        (Observation(State.FAILED, "m", code=1, reason="out of memory"), "out of memory, exit 1", Witness.ACCOUNTING),
        (
            Observation(State.FAILED, "m", code=72),
            "exit 72: trouble of the wrapper itself, such as a full disk",
            Witness.ACCOUNTING,
        ),
        (
            Observation(State.RUNNING, "m", word="RUN"),
            "vanished: it started, ended, and left no exit record",
            Witness.CLAIM,
        ),
    ],
)
def test_a_death_without_a_record_is_tried_again(told: Observation | None, reason: str, witness: Witness) -> None:
    found = verdict.of_vanished(told, cancelled=False)
    assert (found.state, found.reason.words, found.witness, found.again) == (State.FAILED, reason, witness, True)


def test_what_was_put_back_into_the_queue_is_told_whatever_accounting_says() -> None:
    told = Observation(State.FAILED, "m", reason="time limit", kind=Kind.TIME_LIMIT)
    found = verdict.of_vanished(told, back=True, cancelled=False)
    assert found.reason.words.startswith("put back into the queue by the batch system after it had started")
    assert (found.state, found.witness, found.again) == (State.FAILED, Witness.QUEUE, True)


@pytest.mark.parametrize(
    ("told", "stuck", "reason"),
    [
        (
            Observation(State.FAILED, "m", code=72),
            "",
            "lost: exit 72: trouble of the wrapper itself, such as a full disk",
        ),
        (Observation(State.FAILED, "m", reason="no such directory"), "Eqw: see there", "lost: no such directory"),
        (Observation(State.RUNNING, "m", word="RUN"), "Eqw: see there", "lost: Eqw: see there"),
        (None, "", "lost: left the queue without starting"),
    ],
)
def test_why_an_attempt_never_started(told: Observation | None, stuck: str, reason: str) -> None:
    found = verdict.of_lost(told, stuck, cancelled=False)
    assert (found.state, found.reason.words, found.witness, found.again) == (State.FAILED, reason, Witness.FENCE, True)
