"""The last check and test of a site are read from their files, failures first; the limits from its settings."""

import json
import shutil

import pytest

from jim.reading.site.site_state import limits, look_around, report
from jim.reading.view import View


@pytest.fixture
def view(home):
    return View(home.site, home.store)


def test_findings_stand_with_failures_first_and_are_counted(view, tmp_path):
    checks = [{"name": name, "level": level} for name, level in (("a", "ok"), ("b", "failed"), ("c", "warning"))]
    (tmp_path / "check.json").write_text(json.dumps({"at": "2026-01-31T12:00:00Z", "checks": checks}))
    found = report(view, tmp_path / "check.json")
    assert [each["name"] for each in found.checks] == ["b", "c", "a"]
    assert (found.count("failed"), found.count("skipped"), found.line) == (1, 0, "")


def test_a_level_of_a_later_version_is_no_result_rather_than_a_good_one(view, tmp_path):
    told = {"at": "2026-01-31T12:00:00Z", "checks": [{"name": "a", "level": "fatal"}]}
    (tmp_path / "check.json").write_text(json.dumps(told))
    assert report(view, tmp_path / "check.json") is None


def test_what_is_put_aside_is_counted_and_a_directory_that_is_away_is_unknown(view):
    (view.site.state / "inbox/.unreadable-wish-1").touch()
    (view.site.state / "inbox/wish-2").touch()
    assert (look_around(view).put_aside, look_around(view).rejected) == (1, 0)
    (view.site.work / "rejected/.removed").write_text("1234\n")
    (view.site.work / "rejected/ab-noise").touch()
    assert look_around(view).rejected == 1235
    shutil.rmtree(view.site.work / "rejected")
    assert look_around(view).rejected is None


def test_each_limit_has_its_meaning_and_its_value(home, view):
    told = {name: (meaning, value) for name, meaning, value in limits(view)["limits"]}
    assert told["attempts"][1] == home.site.limits.attempts
    assert all(meaning for meaning, _ in told.values())
