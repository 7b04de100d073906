"""Senders, marks of the accounting and what waits in vain, in a store and in one of the format before."""

from __future__ import annotations

from jim.clock import Clock
from jim.jobs import Sender
from jim.model import Piece, State, Step, Witness
from jim.statusdb.store import Store

SENDER = Sender("/CN=A", ("/dteam/Role=NULL", "/dteam"), "https://gk/1/")


def of(tmp_path) -> Store:
    store = Store(tmp_path / "status.db", Clock(), write=True)
    store.add_grid_job(1, "key", "me", "", {"job_type": "executable"})
    return store


def test_a_sender_is_found_by_the_contact_and_goes_with_the_grid_job(tmp_path):
    store = of(tmp_path)
    assert (store.senders.of(1), store.senders.sent_as("https://gk/1/"), store.senders.sent_as("")) == (Sender(), 0, 0)
    store.senders.put(1, SENDER)
    assert (store.senders.of(1), store.senders.of(1).vo, store.senders.sent_as("https://gk/1/")) == (SENDER, "dteam", 1)
    store.senders.set_in_vain({(1, 1, 1): 7.0, (1, 1, 2): 8.0}, [])
    store.senders.set_in_vain({}, [(1, 1, 2)])
    assert store.senders.in_vain() == {(1, 1, 1): 7.0}
    store.removals.remove(store.grid_job(1))
    assert (store.senders.of(1), store.senders.sent_as("https://gk/1/"), store.senders.in_vain()) == (Sender(), 0, {})
    store.close()


def test_grid_jobs_and_local_jobs_are_counted_by_dn_while_they_are_open(tmp_path):
    store = of(tmp_path)
    for number, dn, step in ((2, "/CN=A", Step.ACTIVE), (3, "/CN=A", Step.FINISHED), (4, "/CN=B", Step.ACTIVE)):
        store.add_grid_job(number, f"key-{number}", "me", "", {"job_type": "executable"})
        store.set_grid_job(number, step=Step.RESOLVED)
        store.add_pieces(number, 0, [Piece()] * 3)
        store.end_split(number, 3)
        store.senders.put(number, Sender(dn))
        for n, state in enumerate((State.RUNNING, State.SUBMITTING)):
            store.set_local_job(number, n, state=state, witness=Witness.QUEUE)
        store.set_grid_job(number, step=step)
    store.senders.put(1, Sender("/CN=A"))  # not split yet
    assert (
        store.senders.unfinished_of("/CN=A"),
        store.senders.unfinished_of("/CN=B"),
        store.senders.unfinished_of("/CN=C"),
    ) == (
        {1, 2},
        {4},
        set(),
    )
    assert store.senders.in_batch_of_senders() == [(2, "/CN=A", 2), (4, "/CN=B", 2)]
    store.close()
