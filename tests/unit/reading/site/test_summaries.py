"""Summaries of keepers, as any account may write them: what makes no sense is refused, and ends no reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as any_of

from jim.admin import advertise
from jim.cli.advertise import classad
from jim.clock import age_seconds
from jim.model import State
from jim.reading.site import summaries
from jim.reading.site.accounts import Accounts
from jim.site.file import Site
from tests.support.publishing import AT, publish
from tests.support.publishing import summary as written

NOW = "2026-01-31T12:00:00.000Z"
NUMBERS = any_of.one_of(
    any_of.integers(),
    any_of.floats(),
    any_of.sampled_from([1e308, 10**9, 10**9 + 1, 10**400, -1, True, float("inf"), float("nan")]),
)
TIMES = any_of.one_of(
    any_of.datetimes().map(lambda each: each.isoformat()),
    any_of.sampled_from(
        [
            "2026-01-31T11:59:00",
            "2026-01-31",
            "0001-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59-23:59",
            "1970-01-01T00:00Z",
        ]
    ),
)
WORDS = any_of.one_of(any_of.text(), any_of.sampled_from(["\ud800", "\x1b[2J", "running", "x" * 5000]), TIMES)
VALUES = any_of.recursive(
    any_of.one_of(any_of.none(), NUMBERS, WORDS),
    lambda inner: any_of.one_of(any_of.lists(inner, max_size=3), any_of.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=5,
)
PLACES = (["at"], ["seen"], ["trouble"], ["waits"], ["jobs"], ["jobs", 0], ["jobs", 0, "status"])
PLACES += (["jobs", 0, "counts"], ["jobs", 0, "counts", "running"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site of two accounts, of which one publishes what it likes."""
    place = tmp_path_factory.mktemp("site")
    (place / ".published").mkdir()
    made = Site(state=place / "me", managed=True)
    publish(made, "good", written())
    publish(made, "odd", "")
    return made


def _changed(changes: list[tuple[list[Any], Any]]) -> str:
    content = json.loads(written(waits=[1, 2]))
    for place, value in changes:
        inner = content
        try:
            for step in place[:-1]:
                inner = inner[step]
            inner[place[-1]] = value
        except (LookupError, TypeError):  # an earlier change has removed the place
            continue
    return json.dumps(content)


@settings(max_examples=30)
@given(any_of.lists(any_of.tuples(any_of.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_whatever_an_account_publishes_the_others_are_read(site: Site, changes: list[tuple[list[Any], Any]]) -> None:
    (site.state.parent / ".published/odd/summary.json").write_text(_changed(changes))
    good, odd = sorted(Accounts(site, lambda: NOW).all(), key=lambda each: each.name)
    assert (good.problem, good.counts[State.RUNNING]) == ("", 5)
    told = advertise._live(site)
    assert told["unread"] == bool(odd.problem)
    assert 5 <= told["counts"]["running"] <= 5 + summaries.MOST
    assert all("\n" not in line for line in classad({"site": "s", "host": "h"} | told))
    "\n".join(classad({"site": "s", "host": "h"} | told)).encode()
    if not odd.problem:
        assert all(0 <= number <= summaries.MOST for number in odd.counts.values())
        assert age_seconds(odd.at, NOW) >= 0.0
        assert len(odd.trouble) <= summaries.LONGEST_TROUBLE


@settings(max_examples=30)
@given(any_of.dictionaries(any_of.sampled_from(["at", "status", "line", "more"]), VALUES))
def test_whatever_an_account_says_of_a_test_it_ends_no_advertisement(site: Site, report: dict[str, Any]) -> None:
    tested = {"at": "2026-01-31T11:00:00Z", "status": "ok", "line": "fine"} | report
    (site.state.parent / ".published/odd/site-test.json").write_text(json.dumps(tested))
    told = advertise._last_test(site)
    "\n".join(classad({"site": "s", "host": "h", "site_test": told})).encode()


@pytest.mark.parametrize(
    "odd",
    [
        '"running": 1e999',
        '"running": 1000000001',
        '"running": -1',
        '"running": true',
        '"running": "5"',
        '"running": NaN',
        f'"running": {"9" * 5000}',
    ],
)
def test_what_is_no_number_of_jobs_is_refused(tmp_path: Path, odd: str) -> None:
    file = tmp_path / "summary.json"
    file.write_text(f'{{"at": "{AT}", "trouble": "", "jobs": [{{"counts": {{{odd}}}}}]}}')
    with pytest.raises(summaries.ODD):
        summaries.summary(file)


def test_many_grid_jobs_together_have_no_more_local_jobs_than_a_site_has(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(written(jobs=[{"counts": {"running": 10**9}}] * 2))
    with pytest.raises(ValueError, match="more than 1,000,000,000 local jobs"):
        summaries.summary(tmp_path / "summary.json")


def test_a_file_of_more_than_eight_mebibytes_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(written(filler="x" * 8 * 1024 * 1024))
    with pytest.raises(summaries.JimError, match="larger than 8,388,608 bytes"):
        summaries.summary(tmp_path / "summary.json")


@pytest.mark.parametrize(
    ("time", "utc"),
    [
        ("2026-01-31T11:59:00.000Z", "2026-01-31T11:59:00.000Z"),
        ("2026-01-31T12:59:00+01:00", "2026-01-31T11:59:00.000Z"),
        ("2026-01-31T11:59:00", None),
        ("2026-01-31", None),
        ("1969-12-31T23:59:59Z", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("9999-12-31T23:59:59-23:59", None),
        ("soon", None),
        (1769860740, None),
    ],
)
def test_a_time_has_a_zone_and_stands_in_a_calendar(time: object, utc: str | None) -> None:
    if utc is None:
        with pytest.raises(summaries.ODD):
            summaries.moment(time)
    else:
        assert summaries.moment(time) == utc
