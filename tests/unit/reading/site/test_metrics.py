"""The numbers that monitoring needs: what they say, that they are few, and that no stranger's words are in them."""

import json

import pytest

from jim.evidence.avoiding import FACT, Avoided, to_store
from jim.evidence.hosts import BlackHole
from jim.model import Kind, Reason, State
from jim.reading.exposition import text_of
from jim.reading.site.metrics import DECLARED, READABLE, checked, families, numbers_of, readable
from jim.reading.slow_disks import Patience
from jim.reading.view import View
from jim.site.settings import Disk
from tests.support.cli_home import EVIL
from tests.support.documents import text_of as page
from tests.support.new_store import make_new


@pytest.fixture
def view(home):
    return View(home.site, home.store)


def failed(home, *reasons):
    """Let the local jobs of grid job 1 fail, each for one of these reasons, just now."""
    home.add(size=len(reasons))
    home.send(*range(len(reasons)), state="confirmed")
    for n, reason in enumerate(reasons):
        home.store.set_attempt(1, 1, n + 1, host="wn1", verdict="failed", reason=reason)


def test_failures_of_the_last_hour_are_counted_by_kind(home, view):
    failed(home, Reason(Kind.EXIT, {}, "exit 3"), Reason(Kind.EXIT, {}, "exit 4"), Reason(Kind.NODE, {}, "down"), EVIL)
    assert numbers_of(view)["jim_attempts_failed_last_hour"] == {"exit": 2, "node": 1, "other": 1}
    home.later("2026-01-31T13:00:01.000Z")
    assert "jim_attempts_failed_last_hour" not in numbers_of(view)


def test_what_started_and_ended_is_counted_for_an_hour(home, view):
    home.add()
    home.send(0, 1, state="confirmed")
    home.store.set_attempt(1, 1, 1, started="2026-01-31T11:59:00.000Z")
    home.move(0, State.COMPLETED)
    home.move(1, State.FAILED)
    found = numbers_of(view)["jim_local_job_changes_last_hour"]
    assert found == {"started": 1, "completed": 1, "failed": 1, "killed": 0}
    home.later("2026-01-31T13:30:00.000Z")
    assert set(numbers_of(view)["jim_local_job_changes_last_hour"].values()) == {0}


def test_the_signs_of_keeper_and_batch_system_are_told(home, view):
    home.add()
    home.beat(ago=3)
    home.store.set_fact("seen", "2026-01-31T11:58:30.000Z")
    home.site.summary.write_text(json.dumps({"trouble": "down", "failures": 7, "history": {"failures": 2}}))
    found = numbers_of(view)
    one = {name: found[f"jim_{name}"][""] for name in ("keeper_at_work", "keeper_refuses", "unfinished")}
    assert one == {"keeper_at_work": True, "keeper_refuses": False, "unfinished": True}
    assert found["jim_keeper_heartbeat_age_seconds"] == {"": 3}
    assert found["jim_batch_answer_age_seconds"] == {"": 90}
    assert found["jim_batch_in_trouble"] == {"batch system": True, "history": False}
    assert found["jim_batch_failures_in_a_row"] == {"batch system": 7, "history": 2}
    assert found["jim_read_timestamp_seconds"] == {"": 1000}


def test_what_is_not_known_has_no_number(home, view):
    (home.site.state / "heartbeat").write_text("boot-1 idle\n")
    found = numbers_of(view)
    assert found["jim_keeper_at_work"] == {"": False}
    assert not {"jim_keeper_heartbeat_age_seconds", "jim_batch_answer_age_seconds"} & found.keys()


def test_rooms_stand_beside_the_thresholds_of_the_site(home):
    site = home.site._replace(disk=Disk(state_warn_mb=7, state_stop_mb=3))
    found = numbers_of(View(site, home.store))
    for disk in ("state", "work"):
        assert 0 < found["jim_disk_free_bytes"][disk] <= found["jim_disk_size_bytes"][disk]
    assert found["jim_disk_warn_bytes"]["state"] == 7_000_000
    assert found["jim_disk_stop_bytes"]["state"] == 3_000_000
    assert found["jim_disk_readable"] == {"state": 1, "work": 1}


def test_a_file_server_that_does_not_answer_hides_no_other_number(home, monkeypatch):
    def hangs(place):
        if place == home.site.work:
            raise TimeoutError
        return 5, 9

    monkeypatch.setattr("jim.reading.site.metrics.room", hangs)
    found = numbers_of(View(home.site, home.store, Patience()))
    assert found["jim_disk_readable"] == {"state": 1, "work": 0}
    assert found["jim_disk_free_bytes"] == {"state": 5}


def test_avoided_hosts_are_counted_by_who_says_so(home, view):
    hole = BlackHole("wn1", 9, 9, 0.0, 1.0, 1.0, 3, 9)
    there = [Avoided("wn1", 1.0, times=1, hole=hole), Avoided("wn2", 1.0, reason=EVIL), Avoided("wn3", 1.0)]
    home.store.set_fact(FACT, to_store(there))
    assert numbers_of(view)["jim_hosts_avoided"] == {"jim": 1, "administrator": 2}


def test_proxies_that_have_ended_or_end_soon_are_counted(home, view, monkeypatch, tmp_path):
    ends = {"a": 999.0, "b": 1000.0 + 3600, "c": 1000.0 + 86_400}
    for name in ends:
        (tmp_path / name).write_text(name)
    monkeypatch.setattr("jim.workdir.credentials.ends", lambda kind, content: ends[content.decode()])
    for number, name in enumerate("abbc", 1):
        home.add(number, proxy=str(tmp_path / name))
    home.add(5, token=str(tmp_path / "a"))
    found = numbers_of(view)
    assert found["jim_credentials_ended"] == {"proxy": 1, "token": 1}
    assert found["jim_credentials_ending_soon"] == {"proxy": 2, "token": 0}


def test_they_are_few_and_name_nobody(home, view):
    failed(home, EVIL, Reason(Kind.EXIT, {}, EVIL))
    home.site.summary.write_text(json.dumps({"trouble": EVIL, "failures": 1}))
    told = text_of(families({"mc": numbers_of(view)}))
    assert told.isascii()
    for word in ("gone", "alice", "key-1", "wn1", str(home.site.state)):
        assert word not in told
    # With every kind of failure, an account has at most so many lines.
    assert sum(len(each.values) for each in DECLARED.values()) < 150
    assert all(found.keys() <= {*DECLARED[name].values} for name, found in numbers_of(view).items())


def test_what_another_account_says_is_checked(home, view):
    found = numbers_of(view)
    assert checked(json.loads(json.dumps(found))) == found
    for wrong in (
        {"node_load1": {"": 1}},
        {"jim_unfinished": {"}\n": 1}},
        {"jim_unfinished": {"": "1"}},
        {"jim_unfinished": {"": float("nan")}},
        {"jim_unfinished": 1},
        [],
    ):
        with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
            checked(wrong)


def test_accounts_stand_beside_each_other(home, view):
    known = {"mc": numbers_of(view), "cms": numbers_of(view)}
    told = text_of([*families(known), readable(["atlas", "cms", "mc"], known)])
    assert 'jim_unfinished{account="mc"} 0' in told
    assert 'jim_local_jobs{account="cms",state="waiting"} 0' in told
    assert f'{READABLE}{{account="atlas"}} 0' in told
    assert told.count("# TYPE jim_unfinished gauge") == 1


def test_every_number_is_described():
    described = page("docs/pages.md") + page("docs/operating.md")
    assert [name for name in (*DECLARED, READABLE) if name not in described] == []


def test_a_state_directory_without_a_store_has_numbers_too(home, tmp_path):
    make_new(tmp_path / "empty.db")
    found = numbers_of(View(home.site._replace(state=tmp_path / "gone"), home.store))
    assert found["jim_disk_readable"] == {"state": 1, "work": 1}
