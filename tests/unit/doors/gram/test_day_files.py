"""The event files of GRAM, one for each day."""

from __future__ import annotations

import pytest

from jim.doors.gram.day_files import Event, append, expect, file_of, make_days
from jim.errors import BadSite
from tests.support.cli_home import SetClock

NOON = 1_769_860_800.0  # 2026-01-31, 12:00 UTC
DAY = 86_400.0


@pytest.fixture
def clock():
    clock = SetClock()
    clock.now = NOON
    return clock


def test_a_day_is_counted_in_utc(tmp_path):
    assert file_of(tmp_path, NOON).name == "20260131"
    assert file_of(tmp_path, NOON + DAY / 2).name == "20260201"


def test_files_of_coming_days_exist_early_and_old_ones_go(tmp_path):
    for old in ("20251201", "20260115", "notes"):
        (tmp_path / old).touch()
    make_days(tmp_path, NOON, keep_days=30.0)
    names = sorted(each.name for each in tmp_path.iterdir())
    assert "20251201" not in names
    assert {"20260115", "20260131", "20260201", "notes"} <= set(names)
    assert (tmp_path / "20260201").stat().st_mode & 0o777 == 0o644


def test_events_are_lines_with_their_time_behind_the_whole_lines_that_are_there(tmp_path, clock):
    file_of(tmp_path, NOON).write_bytes(b"1;1;7;1;0\n1;2;7;")  # the keeper was killed while it wrote
    append(tmp_path, clock, [Event(7, 2), Event(8, 8, 3)])
    assert file_of(tmp_path, NOON).read_bytes() == b"1;1;7;1;0\n1;1769860800;7;2;0\n1;1769860800;8;8;3\n"


def test_a_job_is_refused_if_nobody_could_write_its_events(tmp_path):
    file = tmp_path / "description.json"
    file.write_text('{"uniqid": ["1"]}')
    with pytest.raises(BadSite, match=r"cannot write into .*/missing; run `jim gram check`"):
        expect(tmp_path, tmp_path / "missing", "173.72", file)
    expect(tmp_path, tmp_path, "173.72", file)
    (kept,) = (tmp_path / "gram/new").iterdir()
    assert kept.read_text() == '{"uniqid": ["1"]}'


def test_a_plain_request_needs_no_events(tmp_path):
    file = tmp_path / "request.json"
    file.write_text('{"job_type": "executable"}')
    expect(tmp_path, tmp_path / "missing", "k", file)
    assert not (tmp_path / "gram").exists()
