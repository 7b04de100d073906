"""Work directories on a file server as NFS shows it, with two clients: the keeper on one, local jobs on the other."""

from __future__ import annotations

import pytest

from tests.live.faults import Counts
from tests.live.nfslike import BOTH, CACHE, HEAD, NODE, SharedPlace, faults_made, faulty, take_down


@pytest.fixture(scope="module", autouse=True)
def clients(lab):
    lab("nfslike")
    yield
    take_down()


@pytest.fixture
def place(tmp_path):
    place = SharedPlace(tmp_path)
    yield place
    place.close()


def test_caches_alone(place):
    assert place.through(60) == Counts(60, 0, 0, 0, 0)


# What is lost, refused or late


LOST = [
    (clients, answer, rate)
    for clients in (HEAD, NODE, BOTH)
    for answer in ("EIO", "ETIMEDOUT", "again", "any")
    for rate in (0.1, 0.3)
]


@pytest.mark.parametrize(("clients", "answer", "rate"), LOST, ids=lambda each: each if isinstance(each, str) else "")
def test_answers_get_lost(place, clients, answer, rate):
    """Of link, rename and mkdir: done, and the client told otherwise."""
    before = faults_made()
    with faulty(clients, lost=rate, answer=answer):
        assert place.through(24) == Counts(24, 0, 0, 0, 0)
    assert faults_made() - before > 3


@pytest.mark.parametrize("clients", [HEAD, NODE, BOTH], ids="-".join)
@pytest.mark.parametrize("ops", ["link,rename,mkdir", "open", "read", "write,create", "list"])
def test_calls_fail(place, clients, ops):
    with faulty(clients, refuse=0.05, ops=ops):
        assert place.through(24) == Counts(24, 0, 0, 0, 0)
