"""Publications: the last of a key counts, and nothing of an older attempt counts after it."""

from __future__ import annotations

from jim.model import State, Witness
from jim.statusdb.store import Store
from tests.unit.statusdb.grounds import add

HALF, WHOLE = (f'<phase name="sim" done="{done}" total="10" unit="events"/>' for done in (5, 10))


def test_the_last_publication_of_a_key_counts(store: Store) -> None:
    add(store)
    assert store.publications.publish(1, 0, "phase-sim", HALF, attempt=1)
    assert store.publications.publish(1, 0, "phase-sim", WHOLE, attempt=1)
    assert not store.publications.publish(1, 0, "phase-sim", WHOLE, attempt=1)  # changes only the time
    assert [each.content for each in store.publications.details(1)] == [WHOLE]


def test_an_older_attempt_replaces_nothing_of_a_newer_one(store: Store) -> None:
    add(store)
    store.publications.publish(1, 0, "phase-sim", HALF, attempt=2)
    assert not store.publications.publish(1, 0, "phase-sim", WHOLE, attempt=1)
    assert [(each.content, each.attempt) for each in store.publications.details(1)] == [(HALF, 2)]


def test_a_phase_that_becomes_something_else_leaves_the_sums(store: Store) -> None:
    add(store)
    for n in (0, 1):
        store.publications.publish(1, n, "phase-sim", HALF)
    [both] = store.publications.phases(1)
    store.publications.publish(1, 0, "phase-sim", "<other/>")
    [one] = store.publications.phases(1)
    assert ((both.done, both.total), (one.done, one.total)) == ((10, 20), (5, 10))


def test_refused_and_late_ones_are_counted_apart(store: Store) -> None:
    add(store)
    store.publications.count_refused(1, 0, refused=2)
    store.publications.count_refused(1, 0, dropped=3)
    assert tuple(store.publications.refused(1, 0)) == (2, 3)
    assert tuple(store.publications.refused(1, 1)) == (0, 0)


def test_an_answer_of_a_grammar_is_kept_with_what_it_is_about(store: Store) -> None:
    add(store)
    store.publications.publish(1, 0, "a", "<a/>", valid="?")
    asked = store.publications.unchecked(10)
    store.publications.publish(1, 0, "a", "<b/>", valid="?")  # replaced meanwhile
    store.publications.are_checked([(each, "wrong") for each in asked])
    assert [each.valid for each in store.publications.details(1)] == ["?"]
    store.publications.are_checked([(each, "wrong") for each in store.publications.unchecked(10)])
    assert [each.valid for each in store.publications.details(1)] == ["wrong"]


def test_details_of_one_local_job_are_its_own(store: Store) -> None:
    add(store)
    for n in (0, 1, 2):
        store.publications.publish(1, n, "a", f"<a n='{n}'/>")
    store.set_local_job(1, 1, state=State.KILLED, witness=Witness.USER)
    assert [each.content for each in store.publications.details(1, 1)] == ["<a n='1'/>"]
