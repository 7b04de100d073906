"""Attempts that do not count, in a store and in one of the format before."""

from __future__ import annotations

from jim.clock import Clock
from jim.model import Kind, Piece, Reason
from jim.statusdb.store import Store


def of(tmp_path) -> Store:
    store = Store(tmp_path / "status.db", Clock(), write=True)
    store.add_grid_job(1, "key", "me", "", {"job_type": "executable"})
    return store


def test_an_attempt_whose_wrapper_has_left_is_to_be_fenced_until_it_counts_or_does_not(tmp_path):
    store = of(tmp_path)
    for idx in (1, 2, 3):
        store.spared.set_left((1, 1, idx), 7, "wn1")
    assert store.spared.to_fence(2) == {(1, 1, 1): "wn1", (1, 1, 2): "wn1"}
    assert (store.spared.count(1, 7), store.spared.among([(1, 1, 1)])) == (0, set())
    store.spared.spare((1, 1, 1), 7, "wn1")
    store.spared.set_left((1, 1, 1), 7, "wn1")  # told twice
    store.spared.count_in((1, 1, 2))
    assert store.spared.to_fence(9) == {(1, 1, 3): "wn1"}
    assert (store.spared.count(1, 7), store.spared.count(1, 8)) == (1, 0)
    assert store.spared.among([(1, 1, 1), (1, 1, 2), (1, 1, 3), (9, 9, 9)]) == {(1, 1, 1)}
    store.removals.remove(store.grid_job(1))
    assert (store.spared.to_fence(9), store.spared.count(1, 7)) == ({}, 0)
    store.close()


def test_hosts_that_wrappers_have_left_are_known_once_their_attempts_are_fenced(tmp_path):
    store = of(tmp_path)
    store.add_pieces(1, 0, [Piece(), Piece()])
    store.end_split(1, 2)
    store.intend(1, 1, "jim-1-1", store.local_jobs(1))
    for idx, host in ((1, "wn1"), (2, "wn2")):
        store.spared.set_left((1, 1, idx), idx - 1, host)
    assert store.spared.left_since("") == set()
    store.spared.spare((1, 1, 1), 0, "wn1")
    store.set_attempt(1, 1, 1, verdict="again", reason=Reason(Kind.AVOIDED, {"host": "wn1"}, "left wn1"))
    assert (store.spared.left_since("2000"), store.spared.left_since("2999")) == ({"wn1"}, set())
    store.close()
