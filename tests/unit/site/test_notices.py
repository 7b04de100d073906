"""What an administrator tells all doors of a site: until when, and why."""

import fcntl
import math
import os
from contextlib import ExitStack

import pytest

from jim.errors import BadRequest, BadSite
from jim.files import locked
from jim.site import bans, notices
from jim.site.file import Site
from jim.site.notices import Notice
from jim.trust.plugins import within

NOW = 1_769_860_800.0  # 2026-01-31T12:00:00Z


@pytest.fixture(autouse=True)
def _set_clock(monkeypatch):
    monkeypatch.setattr("jim.site.notices.time.time", lambda: NOW)


@pytest.mark.parametrize(
    ("until", "then"),
    [
        ("", math.inf),
        ("30m", NOW + 1800),
        ("8h", NOW + 28_800),
        ("2d", NOW + 172_800),
        ("1w", NOW + 604_800),
        ("2026-01-31T13:00Z", NOW + 3600),
        ("2026-01-31T13:00", NOW + 3600),
        ("2026-01-31T13:00+01:00", None),
        ("2026-02-01", NOW + 43_200),
        ("soon", None),
        ("999999w", None),
        ("9999-12-31T23:59Z", 253_402_300_740.0),
        ("0m", None),
        ("2026-01-31T12:00Z", None),
    ],
)
def test_a_notice_holds_until_a_time_to_come(until, then):
    if then is None:
        with pytest.raises(BadRequest, match=r"^until: .* is (no time|over already)"):
            notices.new(until, "")
        return
    made = notices.new(until, "disks are exchanged")
    assert made == Notice(NOW, then, "disks are exchanged")
    assert notices.read(made.told()) == made
    assert notices.holds(made)


@pytest.mark.parametrize("reason", ["x" * 501, "two\nlines", "\x1b[2J"])
def test_a_reason_is_one_line(reason):
    with pytest.raises(BadRequest, match=r"^reason: expected one line of at most 500 characters"):
        notices.new("", reason)


@pytest.mark.parametrize("managed", [False, True])
def test_who_may_not_write_is_told_who_may(tmp_path, managed):
    site = Site(state=tmp_path / "state", managed=managed)
    who = "; on a site of several accounts, only root may do this" if managed else ""
    with pytest.raises(BadSite) as refused:
        notices.write(site, tmp_path / "none/file", {})
    assert str(refused.value) == f"{tmp_path}/none/file cannot be changed: No such file or directory{who}"


@pytest.mark.parametrize(
    "told",
    [
        {"since": math.inf, "until": None, "reason": ""},
        {"since": math.nan, "until": None, "reason": ""},
        {"since": -1, "until": None, "reason": ""},
        {"since": 1e15, "until": None, "reason": ""},
        {"since": 0, "until": 1e300, "reason": ""},
        {"since": 0, "until": math.nan, "reason": ""},
        {"since": 0, "until": 10**400, "reason": ""},
        {"since": "now", "until": None, "reason": ""},
    ],
)
def test_a_time_that_no_calendar_has_makes_no_sense(told):
    with pytest.raises(ValueError, match=r"no calendar|could not convert"):
        notices.read(told)


def test_words_that_cannot_be_printed_or_are_too_long_hold_up_nothing():
    read = notices.read({"since": NOW, "until": None, "reason": "\ud800" + "x" * 9999})
    assert read.reason == "?" + "x" * 499


@pytest.mark.parametrize("managed", [False, True])
def test_nobody_who_may_read_the_directory_can_hold_up_who_changes_a_notice(tmp_path, managed):
    """A lock on the directory, or on any file that others may read, is one that others can take."""
    site = Site(state=tmp_path / "state", managed=managed)
    site.state.mkdir()
    bans.ban(site, ["dzero"])
    with ExitStack() as held:
        for place in (tmp_path, site.state, site.bans):
            descriptor = os.open(place, os.O_RDONLY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with within(2):
            bans.ban(site, ["cdf"])
    assert [*bans.banned(site)] == ["dzero", "cdf"]
    (lock,) = site.bans.parent.glob("*notices.lock")
    assert (lock.is_symlink(), lock.stat().st_mode & 0o777) == (False, 0o600)


def test_changes_by_several_at_once_exclude_each_other(tmp_path):
    site = Site(state=tmp_path / "state", managed=True)
    with notices.alone(site, site.bans), pytest.raises(BlockingIOError), locked(tmp_path / ".notices.lock", wait=False):
        pass


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    site = Site(state=tmp_path / "state", managed=True)
    (tmp_path / ".notices.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadSite, match=r"\.bans cannot be changed: "), notices.alone(site, site.bans):
        pass
    assert not (tmp_path / "elsewhere").exists()
