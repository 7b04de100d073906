"""One screen of a site, as lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.cli.live_screen import Line, _shares, fitted, lines
from jim.cli.text import width_of
from jim.model import State
from jim.reading.groups import Group
from jim.reading.keeper_life import Heart
from jim.reading.site.at_a_glance import Glance, OneGridJob, OneTask
from jim.statusdb.list_filters import HostTotal
from jim.statusdb.task_rows import TaskState
from tests.support.cli_home import EVIL, EVIL_SHOWN

WORKS = Heart(True, "keeper 4711, last heartbeat 2 s ago")
ENDED = Heart(False, "no keeper is running")


def grid_job(number, name="fit", failed=0):
    return OneGridJob(number, name, "parametric", "submitted", "running: 2 of 9", failed, 1200, 5400.0, "3 h")


def seen(**more):
    usual = Glance(
        *("2026-01-31T12:00:00.000Z", "here", "slurm", 2.4, WORKS, [], 0),
        {"submitted": 40},
        {State.RUNNING: 98, State.COMPLETED: 1580},
        {"completed": 186, "started": 213},
        [grid_job(number, failed=number % 2) for number in range(40, 0, -1)],
        [Group("exit 139: Segmentation fault", 4, 1), Group("node failure on *", 2, 2)],
        [HostTotal(f"wn{n:03d}", 9, n % 2, 1, 30 - n, "", "") for n in range(12)],
        *(68, ["wn000", "wn077"]),
        [OneTask("mc", TaskState.PAUSED, {"completed": 7, "sent": 2, "failed": 1}, "too many failures", True)],
    )
    return usual._replace(**more)


def shown(glance, columns=79, rows=24, problem=""):
    return [fitted(each.text, columns, "utf-8") for each in lines(glance, "newest first", columns, rows, problem)]


def test_a_screen_of_24_lines_has_something_of_everything(zone):
    zone("UTC")
    screen = shown(seen())
    assert len(screen) == 24
    assert screen[:6] == [
        "JIM at here  2026-01-31 12:00:00 UTC  slurm: seen 2 s ago",
        "keeper 4711, last heartbeat 2 s ago",
        "40 unfinished grid jobs: 40 submitted",
        "local jobs: 1,580 completed, 98 running",
        "last hour: 213 started, 186 completed",
        "ID  NAME  PACE     LEFT  AGE  LOCAL JOBS  (32 more)",
    ]
    assert screen[6] == "40  fit   1,200/h  1 h   3 h  running: 2 of 9"
    assert "FAILED in the last hour: 6 attempts" in screen
    assert "      4  exit 139: Segmentation fault" in screen
    assert "HOSTS: 68, 12 with failures, JIM avoids 2: wn000, wn077  (9 more)" in screen
    assert "     30  of 31 attempts failed on wn000, avoided" in screen
    assert "     29  of 30 attempts failed on wn001, 1 running" in screen
    assert "mc  paused  7 of 10 pieces completed, 1 failed: too many failures" in screen
    assert screen[-1] == "q quits  s sorts: newest first"


def test_a_larger_screen_has_more_of_all_and_room_between(zone):
    zone("UTC")
    screen = shown(seen(), 131, 70)
    assert len(screen) == 70
    assert "parametric" in screen[7]
    assert screen.count("") >= 4
    assert sum(" attempts failed on " in line for line in screen) == 12
    assert sum("running: 2 of 9" in line for line in screen) > 30


def test_what_is_wrong_stands_above_and_in_colour():
    screen = lines(seen(heart=ENDED, troubles=["the disk is full"]), "newest first", 79, 24, "shown is what was so")
    assert screen[1] == Line("no keeper is running; a poll, a wish or `jim keeper` starts one", "1;31")
    assert [each.text for each in screen[2:4]] == ["shown is what was so", "the disk is full"]
    assert {each.code for each in screen[2:4]} == {"1;31"}
    long = lines(seen(troubles=["the disk is full " * 20]), "newest first", 79, 24)
    assert [len(each.text) > 60 for each in long[2:4]] == [True, True]
    assert long[4].text.startswith("40 unfinished")
    rest = lines(seen(heart=ENDED, statuses={}, tasks=[]), "newest first", 79, 24)
    assert rest[1].code == "", "a keeper at rest is no trouble"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_what_users_have_written_commands_no_terminal(encoding):
    glance = seen(
        site=EVIL,
        troubles=[EVIL],
        grid_jobs=[grid_job(1, EVIL), grid_job(2, "名前" * 40)],
        failures=[Group(EVIL, 1, 1), Group("é" * 200, 1, 1)],
        hosts=[HostTotal(EVIL, 1, 0, 0, 1, "", "")],
        avoided=[EVIL],
        tasks=[OneTask("mc", TaskState.PAUSED, {}, EVIL, True)],
    )
    for columns, rows in ((79, 24), (19, 4), (200, 60)):
        for line in lines(glance, "newest first", columns, rows):
            text = fitted(line.text, columns, encoding)
            assert text.isprintable()
            assert width_of(text) <= columns
            assert text.encode(encoding).decode(encoding) == text
    assert EVIL_SHOWN in shown(glance, 200, 60)[2]


@given(st.text(max_size=60), st.integers(1, 30), st.sampled_from(["utf-8", "ascii", "latin-1"]))
def test_any_text_fits(text, columns, encoding):
    told = fitted(text, columns, encoding)
    assert told.isprintable()
    assert width_of(told) <= columns
    assert told.encode(encoding).decode(encoding) == told


@given(st.lists(st.integers(1, 50), max_size=5), st.integers(-3, 80))
def test_rows_are_shared_out_whole_and_to_all(wanted, room):
    given_ = _shares(wanted, room)
    assert all(0 <= each <= most for each, most in zip(given_, wanted, strict=True))
    assert sum(given_) == min(max(0, room), sum(wanted))
    if room >= 2 * len(wanted):
        assert all(given_)


@pytest.mark.parametrize("rows", range(1, 30))
def test_a_screen_of_any_height_is_filled_and_no_more(rows):
    assert len(shown(seen(), 40, rows)) == rows
    assert len(shown(seen(grid_jobs=[], hosts=[], failures=[], tasks=[], avoided=[]), 40, rows)) == rows
