"""Ganga's rules for a grid job and its local jobs: statuses, submission, and what people may ask for."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.errors import UnknownJob
from jim.evidence import transitions
from jim.evidence.transitions import ENDED, MAY_BECOME, Family, NotPossible, may_become
from jim.model import FROZEN, State, roll_up

LETTERS = {
    "w": State.WAITING,
    "i": State.SUBMITTING,
    "s": State.SUBMITTED,
    "h": State.HELD,
    "u": State.SUSPENDED,
    "r": State.RUNNING,
    "g": State.COMPLETING,
    "c": State.COMPLETED,
    "f": State.FAILED,
    "k": State.KILLED,
    "n": State.NEW,
    "C": State.COMPLETED_FROZEN,
    "F": State.FAILED_FROZEN,
}


def states(letters: str) -> tuple[State, ...]:
    return tuple(LETTERS[each] for each in letters)


def a_family(text: str) -> Family:
    """Read `f:ccf`: a failed grid job with two completed local jobs and a failed one."""
    grid_job, _, local_jobs = text.partition(":")
    return Family(LETTERS[grid_job], states(local_jobs))


@pytest.mark.parametrize(
    ("letters", "status", "strict"),
    [
        ("", "n", "n"),
        ("n", "n", "n"),
        ("nCF", "n", "n"),
        ("w", "s", "s"),
        ("i", "s", "s"),
        ("h", "s", "s"),
        ("srgfckn", "s", "s"),
        ("rgfckn", "r", "r"),
        ("gfck", "r", "r"),
        ("ufck", "r", "r"),
        ("fckCn", "f", "f"),
        ("ckn", "c", "k"),
        ("kF", "k", "k"),
        ("cF", "c", "c"),
        ("kc", "c", "k"),
        ("k", "k", "k"),
    ],
)
def test_the_status_of_a_grid_job_is_that_of_its_local_jobs(letters, status, strict):
    counts = Counter(states(letters))
    assert roll_up(counts) is LETTERS[status]
    assert roll_up(counts, strict=True) is LETTERS[strict]


def test_a_count_of_none_is_no_local_job():
    assert roll_up({State.FAILED: 0, State.COMPLETED: 1}) is State.COMPLETED


def test_what_is_frozen_has_ended():
    assert all(state.final for state in FROZEN)


# The graph of statuses


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("new", "submitting", True),
        ("new", "submitted", False),
        ("new", "new", True),
        ("submitting", "new", True),
        ("submitted", "submitting", True),
        ("submitted", "new", False),
        ("running", "submitted", True),
        ("completing", "killed", False),
        ("completed", "running", False),
        ("completed", "killed", False),
        ("killed", "running", False),
        ("killed", "completed", False),
        ("killed", "failed_frozen", True),
        ("completed", "completed_frozen", True),
        ("completed_frozen", "completed", True),
        ("completed_frozen", "removed", False),
        ("failed_frozen", "failed", True),
        ("unknown", "removed", True),
        ("template", "new", False),
        ("removed", "new", False),
        ("removed", "removed", True),
    ],
)
def test_what_a_status_may_become(before, after, allowed):
    assert may_become(before, after) is allowed


def test_the_graph_leads_nowhere_outside_itself():
    assert all(after <= MAY_BECOME.keys() for after in MAY_BECOME.values())
    assert sum(len(after) - 1 for after in MAY_BECOME.values()) == 45


# Submission


@pytest.mark.parametrize(
    ("refused", "keep_going", "at_once", "after", "error"),
    [
        ("...", True, False, "s:sss", False),
        ("...", False, False, "s:sss", False),
        (".F.", True, False, "s:sns", False),
        (".F.", False, False, "s:snn", True),
        ("F..", False, False, "n:", True),
        ("F..", True, False, "s:nss", False),
        ("FFF", True, False, "n:", False),
        ("FFF", False, False, "n:", True),
        ("..F", False, False, "s:ssn", True),
        (".F.", True, True, "s:sfs", False),
        (".F.", False, True, "s:sff", True),
        ("F..", False, True, "f:fff", True),
        ("FFF", True, True, "f:fff", False),
        ("", True, False, "n:", True),
        ("", False, False, "n:", True),
    ],
)
def test_submission(refused, keep_going, at_once, after, error):
    marks = [each == "F" for each in refused]
    assert transitions.submission(marks, keep_going=keep_going, at_once=at_once) == (a_family(after), error)


# Resubmission


@pytest.mark.parametrize(
    ("before", "n", "after"),
    [
        ("f:cfc", None, "s:cwc"),
        ("f:ffkF", None, "s:wwkF"),
        ("c:ccc", None, "c:ccc"),
        ("k:ckk", None, "k:ckk"),
        ("f:cfc", 1, "s:cwc"),
        ("r:fcr", 0, "s:wcr"),
        ("r:fcr", 1, "s:fwr"),
        ("c:ckc", 1, "s:cwc"),
    ],
)
def test_resubmission(before, n, after):
    assert transitions.resubmit(a_family(before), n) == a_family(after)


def test_resubmission_of_all_that_has_ended():
    assert transitions.resubmit(a_family("f:cfkFn"), only_failed=False) == a_family("s:wwwFn")


@pytest.mark.parametrize(
    ("before", "n", "reason"),
    [
        ("n:", None, "the grid job is new: .*; submit it"),
        ("r:fcr", None, "the grid job is running: it cannot be resubmitted"),
        ("s:fcs", None, "the grid job is submitted"),
        ("r:fcr", 2, "local job 2 is running: it cannot be resubmitted"),
        ("s:cFs", 1, "local job 1 is failed_frozen"),
        ("s:cns", 1, "local job 1 is new"),
        ("r:cgr", 1, "local job 1 is completing"),
    ],
)
def test_what_cannot_be_resubmitted(before, n, reason):
    with pytest.raises(NotPossible, match=reason):
        transitions.resubmit(a_family(before), n)


@pytest.mark.parametrize("n", [-1, 3])
def test_a_local_job_that_there_is_not(n):
    with pytest.raises(UnknownJob, match=f"no local job {n}: there are 3"):
        transitions.resubmit(a_family("f:cfc"), n)


# Killing


@pytest.mark.parametrize(
    ("before", "n", "after"),
    [
        ("r:ccr", None, "k:cck"),
        ("s:wishuru", None, "k:kkkkkkk"),
        ("r:cfr", None, "f:cfk"),
        ("r:cFr", None, "f:cFk"),
        ("r:cgr", None, "k:cgk"),
        ("r:cnr", None, "k:cnk"),
        ("c:ccc", None, "c:ccc"),
        ("f:cfc", None, "f:cfc"),
        ("k:ckc", None, "k:ckc"),
        ("r:ccr", 2, "c:cck"),
        ("r:crr", 2, "r:crk"),
        ("r:ccr", 1, "r:ccr"),
        ("r:cFr", 1, "r:cFr"),
    ],
)
def test_killing(before, n, after):
    assert transitions.kill(a_family(before), n) == a_family(after)


@pytest.mark.parametrize(
    ("before", "n", "reason"),
    [
        ("n:", None, "the grid job is new: nothing of it is left"),
        ("r:cgc", None, "the grid job is running: nothing of it is left"),
        ("r:cgr", 1, "local job 1 is completing"),
        ("s:cns", 1, "local job 1 is new"),
    ],
)
def test_what_cannot_be_killed(before, n, reason):
    with pytest.raises(NotPossible, match=reason):
        transitions.kill(a_family(before), n)


# Forcing


@pytest.mark.parametrize(
    ("before", "to", "n", "after"),
    [
        ("c:ccc", "f", 1, "f:cfc"),
        ("r:ccr", "f", 2, "f:ccf"),
        ("c:ckc", "f", 1, "f:cfc"),
        ("r:cgc", "c", 1, "c:ccc"),
        ("f:cfc", "c", 1, "c:ccc"),
        ("f:ffc", "c", 1, "f:fcc"),
        ("f:cfc", "f", 1, "f:cfc"),
        ("r:ccr", "c", 0, "r:ccr"),
        ("f:cfc", "c", None, "c:cfc"),
        ("c:ccc", "f", None, "f:ccc"),
        ("r:crw", "f", None, "f:ckk"),
        ("r:cg", "f", None, "f:cg"),
    ],
)
def test_forcing(before, to, n, after):
    assert transitions.force(a_family(before), LETTERS[to], n) == a_family(after)


@pytest.mark.parametrize(
    ("before", "to", "n", "reason"),
    [
        ("r:ccr", "c", 2, "local job 2 is running: it cannot be forced to be completed"),
        ("k:ckc", "c", 1, "local job 1 is killed"),
        ("r:ccr", "k", 2, "nothing can be forced to be killed"),
        ("s:cns", "f", 1, "local job 1 is new"),
        ("c:cFc", "f", 1, "local job 1 is failed_frozen"),
        ("r:ccr", "c", None, "the grid job is running"),
    ],
)
def test_what_cannot_be_forced(before, to, n, reason):
    with pytest.raises(NotPossible, match=reason):
        transitions.force(a_family(before), LETTERS[to], n)


# Splitting again, copying, removing


@pytest.mark.parametrize(
    ("before", "n", "pieces", "after"),
    [
        ("f:cfc", 1, 2, "s:cFcww"),
        ("c:ccc", 0, 1, "s:Cccw"),
        ("k:ckc", 1, 2, "s:cFcww"),
        ("r:crf", 2, 1, "s:crFw"),
        ("f:cFcf", 3, 1, "s:cFcFw"),
    ],
)
def test_splitting_again(before, n, pieces, after):
    assert transitions.resplit(a_family(before), n, pieces) == a_family(after)


@pytest.mark.parametrize(
    ("before", "n", "pieces", "reason"),
    [
        ("r:ccr", 2, 2, "local job 2 is running: it cannot be split again"),
        ("s:cFs", 1, 2, "local job 1 is failed_frozen"),
        ("f:cfc", 1, 0, "that gives no pieces"),
    ],
)
def test_what_cannot_be_split_again(before, n, pieces, reason):
    with pytest.raises(NotPossible, match=reason):
        transitions.resplit(a_family(before), n, pieces)


def test_a_frozen_local_job_does_not_count():
    again = transitions.resplit(a_family("f:cfc"), 1, 2)
    done = (*again.local_jobs[:3], State.COMPLETED, State.COMPLETED)
    assert roll_up(Counter(done)) is State.COMPLETED


def test_a_copy_is_new():
    assert transitions.copy(a_family("c:ccc")) == a_family("n:")
    assert transitions.copy(a_family("c:ccc"), 2) == a_family("n:")
    with pytest.raises(UnknownJob):
        transitions.copy(a_family("c:ccc"), 3)


@pytest.mark.parametrize("before", ["n:", "c:ccc", "f:cfc", "k:ckc"])
def test_what_can_be_removed(before):
    transitions.check_removal(a_family(before))
    assert may_become(a_family(before).grid_job.value, "removed")


@pytest.mark.parametrize(
    ("before", "n", "reason"),
    [("c:ccc", 0, "local job 0 cannot be removed"), ("r:ccr", None, "running"), ("s:ccs", None, "submitted")],
)
def test_what_cannot_be_removed(before, n, reason):
    with pytest.raises(NotPossible, match=reason):
        transitions.check_removal(a_family(before), n)


# Whatever is asked for


SEEN_AS = {"waiting": "submitted", "held": "submitted", "suspended": "running"}
FAMILIES = st.lists(st.sampled_from(list(LETTERS.values())), min_size=1, max_size=6).map(
    lambda local_jobs: Family(roll_up(Counter(local_jobs)), tuple(local_jobs))
)
ASKED = st.one_of(
    st.none().map(lambda _: transitions.resubmit),
    st.none().map(lambda _: transitions.kill),
    st.sampled_from([State.COMPLETED, State.FAILED]).map(lambda to: lambda it, n: transitions.force(it, to, n)),
    st.integers(1, 3).map(lambda k: lambda it, n: transitions.resplit(it, 0 if n is None else n, k)),
)


@given(FAMILIES, ASKED, st.integers(0, 5) | st.none())
def test_local_jobs_move_along_the_graph_only(before, asked, n):
    """Beside a cancel before the batch system has it, which is JIM's own: it fences the claim."""
    try:
        after = asked(before, n)
    except (NotPossible, UnknownJob):
        return
    assert after.local_jobs[len(before.local_jobs) :] == (State.WAITING,) * (
        len(after.local_jobs) - len(before.local_jobs)
    )
    for was, now in zip(before.local_jobs, after.local_jobs, strict=False):
        seen = [SEEN_AS.get(each.value, each.value) for each in (was, now)]
        assert may_become(*seen) or (was, now) == (State.SUBMITTING, State.KILLED)


@given(FAMILIES, st.integers(0, 5))
def test_what_is_asked_of_one_changes_no_other(before, n):
    for asked in (transitions.resubmit, transitions.kill):
        try:
            after = asked(before, n)
        except (NotPossible, UnknownJob):
            continue
        assert [m for m, state in enumerate(before.local_jobs) if after.local_jobs[m] is not state] in ([], [n])


@given(FAMILIES)
def test_killing_twice_is_killing_once(before):
    try:
        after = transitions.kill(before)
    except NotPossible:
        return
    assert transitions.kill(after) == after
    assert after.grid_job in ENDED | FROZEN
