"""What the accounts of a site publish: whatever one of them leaves there, the others are shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from jim.model import State
from jim.reading.site import accounts
from jim.reading.site.accounts import Account, Accounts
from jim.site.file import Site
from tests.support.publishing import AT, publish, summary


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / ".published").mkdir()
    return Site(state=tmp_path / "me", managed=True)


def test_each_account_is_shown_with_its_numbers(site: Site) -> None:
    publish(site, "bob", summary(jobs=[], trouble="squeue: timed out"))
    publish(site, "alice", summary())
    publish(site, "carol")  # has no grid jobs yet
    alice, bob = Accounts(site).all()
    counts = {State.RUNNING: 5, State.FAILED: 1}
    assert alice == Account("alice", AT, AT, "", {"running": 2, "submitted": 1}, counts)
    assert (bob.name, bob.trouble, bob.counts) == ("bob", "squeue: timed out", {})
    assert (alice.is_in_trouble, bob.is_in_trouble) == (True, True)


def test_what_is_no_summary_is_named_and_hides_no_other(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(summary())
    publish(site, "a").symlink_to(tmp_path / "secret")
    os.mkfifo(publish(site, "b"))
    publish(site, "c").mkdir()
    for name, text in (("d", "nonsense"), ("e", "[]"), ("f", '{"jobs": 1}'), ("g", "[" * 100_000)):
        publish(site, name, text)
    publish(site, "h", summary(jobs=[{"counts": {"odd": 1}}]))
    publish(site, "i", summary(at="yesterday"))
    (tmp_path / ".published" / "j").symlink_to(tmp_path)
    publish(site, "z", summary())
    found = Accounts(site).all()
    assert [each.name for each in found] == [*"abcdefghiz"]
    assert [each.name for each in found if not each.problem] == ["z"]
    assert all(each.is_in_trouble and not each.counts for each in found[:-1])


def test_a_file_is_read_again_only_after_a_change(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    read, summary_of = [], accounts.summary
    monkeypatch.setattr(accounts, "summary", lambda file: read.append(file) or summary_of(file))
    file = publish(site, "alice", summary())
    known = Accounts(site)
    assert known.all() == known.all()
    assert read == [file]
    file.write_text(summary(jobs=[]))
    assert known.all()[0].grid_jobs == {}
    assert len(read) == 2


def test_one_that_hangs_holds_up_the_others_only_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(site, "alice", summary())
    slow = publish(site, "bob", summary())
    version = accounts._version
    monkeypatch.setattr(accounts, "READ_SECONDS", 0.05)
    monkeypatch.setattr(accounts, "_version", lambda file: time.sleep(0.6) if file == slow else version(file))
    known = Accounts(site)
    alice, bob = known.all()
    assert (alice.problem, "does not answer" in bob.problem) == ("", True)
    began = time.monotonic()
    assert known.all() == [alice, bob]
    assert time.monotonic() - began < 0.5


def test_elsewhere_it_is_the_own_account(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(summary())
    (only,) = Accounts(Site(state=tmp_path)).all()
    assert only.counts[State.RUNNING] == 5
