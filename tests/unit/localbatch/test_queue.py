"""The queue for its verbs: the ledger only grows, and a verb costs what its tasks cost."""

from __future__ import annotations

import sqlite3

import pytest


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE ledger SET event = 'x'",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger (seq, time, event, job, idx, name) VALUES (1, '', 'x', 1, 1, '')",
    ],
)
def test_the_ledger_is_append_only(place, forgery):
    place.submit("")
    before = place.queue.ledger()
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        place.queue.db.execute(forgery)
    assert place.queue.ledger() == before


def test_the_opposite_verb_takes_a_wish_back_but_not_a_cancel(place):
    job = place.submit("")
    place.queue.db.execute("UPDATE tasks SET state = 'running'")
    wishes = []
    for verb in ("suspend", "resume", "suspend", "cancel", "resume"):
        place.queue.change(verb, [(job, 0)])
        wishes.append(place.queue.db.execute("SELECT wish FROM tasks").fetchone()[0])
    assert wishes == ["suspend", None, "suspend", "cancel", "cancel"]


def test_what_a_verb_costs_for_a_task_does_not_depend_on_its_array(place):
    """A cancel of a large array read all of it for each task, and kept other verbs waiting longer than they do."""
    steps = []

    def cost(size):
        job = place.submit("", size=size)
        place.queue.db.set_progress_handler(lambda: steps.append(0), 10)
        steps.clear()
        place.queue.change("cancel", [(job, size)])
        assert len(place.queue.history([(job, size)])) == 1
        place.queue.db.set_progress_handler(None, 0)
        return len(steps)

    assert cost(4000) < 3 * cost(4)
