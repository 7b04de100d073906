"""New requests that a site refuses, whatever they ask for."""

import threading

import pytest

from jim.doors import inbox, welcome
from jim.doors.welcome import TooMany
from jim.jobs import Sender
from jim.model import Step
from jim.site.file import Limits, Site, make_state
from tests.unit.statusdb.grounds import REQUEST, Sqlite

ANN = "/DC=org/CN=Ann"


@pytest.fixture
def site(tmp_path):
    made = Site(state=tmp_path / "state", limits=Limits(grid_jobs_per_dn=2))
    make_state(made)
    return made


def hand_in(site, key, dn=ANN):
    sender = {"dn": dn, "fqans": [], "contact": ""} if dn else {}
    with welcome.one_by_one(site, sender):
        number = inbox.known(site.state, key, {}, {})
        if not number:
            welcome.require(site, sender)
        return number or inbox.deposit(site.state, key, {"job_type": "executable"}, {}, None, sender)


def take_in(site, number, dn=ANN):
    """Take a request into the store, and out of the inbox."""
    store = Sqlite(site.state).open()
    store.add_grid_job(number, f"stored-{number}", "me", "", REQUEST)
    store.senders.put(number, Sender(dn))
    store.close()
    for path in (site.state / "inbox").glob("request-*"):
        path.unlink()


def test_a_dn_has_no_more_unfinished_grid_jobs_than_the_site_allows(site):
    first = hand_in(site, "a")
    take_in(site, first)
    second = hand_in(site, "b")
    with pytest.raises(TooMany) as refused:
        hand_in(site, "c")
    assert str(refused.value) == (
        "/DC=org/CN=Ann has 2 grid jobs here that have not finished, and limits.grid_jobs_per_dn allows 2: submit "
        "again when one has finished"
    )
    assert hand_in(site, "b") == second  # a known key
    assert hand_in(site, "d", "/DC=org/CN=Anne") == 3
    assert hand_in(site, "e", "") == 4  # no proxy: by nobody
    store = Sqlite(site.state).open()
    store.set_grid_job(first, step=Step.FINISHED, outcome="killed")
    store.close()
    assert hand_in(site, "c") == 5


def test_what_the_keeper_takes_in_just_now_counts_once(site):
    number = hand_in(site, "a")
    store = Sqlite(site.state).open()
    store.add_grid_job(number, "a", "me", "", REQUEST)
    store.senders.put(number, Sender(ANN))
    store.close()
    assert hand_in(site, "b") == 2


def test_doors_at_the_same_moment_take_in_no_more_than_that(site):
    barrier, told = threading.Barrier(8), []

    def door(key):
        barrier.wait(10)
        try:
            told.append(hand_in(site, key))
        except TooMany:
            told.append(0)

    doors = [threading.Thread(target=door, args=(f"key-{n}",)) for n in range(8)]
    for each in doors:
        each.start()
    for each in doors:
        each.join(30)
    assert sorted(told) == [0] * 6 + [1, 2]


def test_a_store_that_cannot_be_read_just_now_refuses_nobody(site):
    (site.state / "status.db").write_bytes(b"not a database" * 500)
    assert [hand_in(site, key) for key in "ab"] == [1, 2]
    with pytest.raises(TooMany):
        hand_in(site, "c")


def test_without_a_limit_no_door_looks(site, monkeypatch):
    monkeypatch.setattr("jim.doors.welcome._require_few", None)
    for n in range(3):
        hand_in(site._replace(limits=Limits()), f"k{n}")
