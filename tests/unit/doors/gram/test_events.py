"""What GRAM is told without asking, and what it asks to be first."""

import json
import os
import stat
import time
from pathlib import Path

import pytest

from jim.cli import main
from jim.clock import Clock
from jim.doors import inbox
from jim.doors.gram.day_files import expect, file_of
from jim.files import replace
from jim.keeper.keeper import Keeper
from jim.keeper.looks import Looks
from jim.keeper.open_doors import OpenDoors
from jim.keeper.results.door_rounds import tell
from jim.keeper.rounds import Rounds
from jim.keeper.workers import Workers
from jim.site.file import Site
from jim.site.settings import General
from tests.gram.script import DONE, FAILED, PENDING, call, description, ended

# Events


@pytest.fixture
def telling(place):
    """A keeper whose site lets it tell GRAM how jobs are, in a directory that is there."""
    events = place.directory / "events"
    events.mkdir()
    keeper = Keeper(
        site=Site(place.state, site=General(gram_events=str(events))),
        store=place.store,
        channel=None,
        workers=Workers(Clock(), commands=1),
        hold=None,
        doors=OpenDoors(""),
        looks=Looks(Clock()),
    )
    yield keeper
    keeper.workers.stop()


def told(keeper):
    """Give today's events without their times, which must be now."""
    file = file_of(Path(keeper.site.site.gram_events), time.time())
    lines = [line.split(";") for line in file.read_text().splitlines()]
    assert all(each[0] == "1" and abs(int(each[1]) - time.time()) < 60 for each in lines)
    return [";".join(each[2:]) for each in lines]


def handed_in(keeper, place, answer):
    """Let GRAM hand in job 7, as a door does."""
    file = place.directory / "jim-description"
    file.write_text(json.dumps(description(place.directory)))
    expect(keeper.site.state, Path(keeper.site.site.gram_events), "173.72", file)
    replace(keeper.site.state / "keys" / inbox.request_name("173.72"), b'{"id": 7, "key": "173.72"}')
    says(keeper, answer)


def says(keeper, answer):
    """Let polls print something else, as the keeper does."""
    (keeper.site.state / "answers/7").write_bytes(answer)
    keeper.doors.changed.add(7)


def descriptions(place):
    return [path.name for path in (place.state / "gram").rglob("request-*")]


def finish(keeper):
    tell(keeper)
    while not keeper.workers.idle():
        keeper.workers.deliver(20)


def test_each_state_is_told_once_and_the_last_after_the_results(telling, place):
    handed_in(telling, place, b"GRAM_SCRIPT_JOB_STATE:32\n\n")
    for number in (32, 1, 1, 2, 16, 2, 2):
        says(telling, b"GRAM_SCRIPT_JOB_STATE:%d\n\n" % number)
        tell(telling)
    assert told(telling) == ["7;1;0", "7;2;0", "7;2;0"]
    ended(place, DONE)
    says(telling, DONE)
    place.store.set_grid_job(7, outcome="completed")
    finish(telling)
    assert told(telling)[3:] == ["7;8;0"]
    assert (place.directory / "out").read_bytes() == b"out"
    assert descriptions(place) == []
    finish(telling)
    assert len(told(telling)) == 4


@pytest.mark.parametrize(
    ("answer", "outcome", "event"),
    [
        (FAILED, "failed", "7;8;1"),
        (b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:cancelled\nGRAM_SCRIPT_ERROR:8\n\n", "killed", "7;4;0"),
    ],
)
def test_what_did_not_end_well_is_told(telling, place, answer, outcome, event):
    handed_in(telling, place, answer)
    ended(place, answer, size=3)
    place.store.set_grid_job(7, outcome=outcome)
    finish(telling)
    assert told(telling) == [event]


def test_days_are_made_ahead_and_old_ones_removed(telling):
    events = Path(telling.site.site.gram_events)
    (events / "20010101").touch()
    (events / "notes").touch()
    tell(telling)
    names = sorted(each.name for each in events.iterdir())
    day = 86_400
    assert names[0] == time.strftime("%Y%m%d", time.gmtime())
    assert {file_of(events, time.time() + day).name, "notes"} < set(names)
    assert stat.S_IMODE((events / names[0]).stat().st_mode) == 0o644


DAY = 86_400
MIDNIGHT = 1_796_169_600.0  # 2026-12-02, UTC


class Hands(Clock):
    """A clock that says one after another of these, and then the last one for ever."""

    def __init__(self, *seconds):
        self.seconds = list(seconds)

    def epoch(self):
        return self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]


def lines_of(keeper, day):
    return (Path(keeper.site.site.gram_events) / day).read_text().splitlines()


def test_tomorrow_is_there_before_midnight_and_after_it_the_keeper_goes_on_there(telling, place):
    events = Path(telling.site.site.gram_events)
    handed_in(telling, place, PENDING.encode())
    telling.store.clock = Hands(MIDNIGHT - 1)
    tell(telling)
    assert lines_of(telling, "20261201") == ["1;1796169599;7;1;0"]
    assert lines_of(telling, "20261202") == []
    says(telling, b"GRAM_SCRIPT_JOB_STATE:2\n\n")
    telling.store.clock = Hands(MIDNIGHT)
    tell(telling)
    assert lines_of(telling, "20261201") == ["1;1796169599;7;1;0"]
    assert lines_of(telling, "20261202") == ["1;1796169600;7;2;0"]
    assert (events / "20270101").exists()
    telling.store.clock = Hands(MIDNIGHT + 40 * DAY)
    tell(telling)
    assert sorted(each.name for each in events.iterdir())[0] > "20261202"


def test_what_midnight_overtakes_is_told_of_the_new_day_too(telling, place):
    """Readers have left the old file by then, and in the new one they pass over times of the day before."""
    handed_in(telling, place, PENDING.encode())
    telling.store.clock = Hands(MIDNIGHT - 1, MIDNIGHT - 1, MIDNIGHT)
    tell(telling)
    assert lines_of(telling, "20261201") == ["1;1796169599;7;1;0"]
    assert lines_of(telling, "20261202") == ["1;1796169600;7;1;0"]
    ended(place, DONE)
    says(telling, DONE)
    place.store.set_grid_job(7, outcome="completed")
    telling.store.clock = Hands(MIDNIGHT + DAY - 1, MIDNIGHT + DAY - 1, MIDNIGHT + DAY)
    finish(telling)
    assert lines_of(telling, "20261202")[1:] == ["1;1796255999;7;8;0"]
    assert lines_of(telling, "20261203") == ["1;1796256000;7;8;0"]


@pytest.mark.parametrize("left", ["1;1796;6;8", "\0\0\0\0"])
def test_half_a_line_is_cut_off_before_the_next(telling, place, left):
    handed_in(telling, place, PENDING.encode())
    file = Path(telling.site.site.gram_events) / "20261201"
    file.write_text(f"1;1796169598;6;2;0\n{left}")
    telling.store.clock = Hands(MIDNIGHT - 1)
    tell(telling)
    assert lines_of(telling, "20261201") == ["1;1796169598;6;2;0", "1;1796169599;7;1;0"]


def test_a_line_is_on_the_disk_before_its_job_is_forgotten(telling, place, monkeypatch):
    handed_in(telling, place, DONE)
    ended(place, DONE)
    place.store.set_grid_job(7, outcome="completed")
    forgotten = []
    monkeypatch.setattr("jim.doors.gram.day_files.os.fsync", lambda _: forgotten.append(descriptions(place) != []))
    finish(telling)
    assert told(telling) == ["7;8;0"]
    assert forgotten == [True]
    assert descriptions(place) == []


class Killed(KeyboardInterrupt):
    """What a kill leaves, seen from within: nothing is done any more."""


@pytest.mark.parametrize(
    "step",
    [
        *("doors.gram.events.Events._answer", "doors.gram.events.Events._end", "doors.gram.events.Events._forget"),
        *("doors.gram.day_files.make_days", "doors.gram.day_files.append", "doors.gram.day_files.append_whole"),
    ],
)
def test_a_keeper_killed_anywhere_on_the_way_loses_no_line(telling, place, monkeypatch, step):
    handed_in(telling, place, DONE)
    ended(place, DONE)
    place.store.set_grid_job(7, outcome="completed")
    monkeypatch.setattr(f"jim.{step}", _die)
    with pytest.raises(Killed):
        finish(telling)
    monkeypatch.undo()
    telling.doors = OpenDoors("")
    telling.workers.forget(("gram", 7))
    finish(telling)
    assert told(telling) == ["7;8;0"] * (2 if step.endswith("_forget") else 1)
    assert descriptions(place) == []


def _die(*_):
    raise Killed


def test_a_keeper_stays_and_is_started_for_what_is_not_told_yet(telling, place, monkeypatch, capsys):
    handed_in(telling, place, b"GRAM_SCRIPT_JOB_STATE:2\n\n")
    tell(telling)
    assert not Rounds(telling, ()).idle()
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    monkeypatch.setattr("jim.cli.keeper.runs", lambda _: False)
    monkeypatch.setenv("JIM_STATE", str(place.state))
    assert main(["keeper", "--all"]) == 0
    assert started == [place.state]
    says(telling, DONE)
    (place.state / "answers/7").unlink()
    tell(telling)
    assert Rounds(telling, ()).idle()
    assert main(["keeper", "--all"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def open_jobs(keeper, place, count):
    """Let GRAM hand in so many jobs, all of which wait in the queue."""
    file = place.directory / "jim-description"
    file.write_text(json.dumps(description(place.directory)))
    for number in range(1, count + 1):
        key = f"173.{number}"
        expect(keeper.site.state, Path(keeper.site.site.gram_events), key, file)
        replace(keeper.site.state / "keys" / inbox.request_name(key), json.dumps({"id": number}).encode())
        (keeper.site.state / f"answers/{number}").write_bytes(PENDING.encode())


def test_telling_costs_what_has_changed_and_not_what_is_open(telling, place, monkeypatch):
    open_jobs(telling, place, 9)
    tell(telling)
    assert sorted(told(telling)) == [f"{number};1;0" for number in range(1, 10)]
    read = []
    monkeypatch.setattr(inbox, "answer", lambda _, number: read.append(number) or b"GRAM_SCRIPT_JOB_STATE:2\n\n")
    tell(telling)
    assert read == []
    says(telling, b"GRAM_SCRIPT_JOB_STATE:2\n\n")
    tell(telling)
    assert (read, told(telling)[9:]) == ([7], ["7;2;0"])


def test_after_a_start_all_that_are_open_are_looked_at_in_parts(telling, place, monkeypatch):
    monkeypatch.setattr("jim.doors.gram.events.AT_ONCE", 2)
    open_jobs(telling, place, 5)
    for path in (place.state / "gram/new").iterdir():  # the keeper before this one has seen them
        path.rename(place.state / "gram" / path.name)
    sizes = []
    for _ in range(4):
        tell(telling)
        sizes.append(len(told(telling)))
        assert not Rounds(telling, ()).idle()
    assert sizes == [2, 4, 5, 5]


@pytest.mark.parametrize("where", ["gram/new", "gram"])
def test_a_job_is_told_of_once_the_keeper_knows_it(telling, place, where):
    """A door stores the description before the request. An older version of JIM put it beside those that are known."""
    handed_in(telling, place, PENDING.encode())
    (file,) = (place.state / "gram/new").iterdir()
    (key,) = (place.state / "keys").iterdir()
    known = key.read_bytes()
    key.unlink()
    file.rename(place.state / where / file.name)
    (place.state / "inbox" / file.name).touch()
    tell(telling)
    tell(telling)
    assert (told(telling), descriptions(place)) == ([], [file.name])
    key.write_bytes(known)
    tell(telling)
    assert told(telling) == ["7;1;0"]


def test_a_description_without_a_job_is_forgotten_after_a_day(telling, place):
    handed_in(telling, place, PENDING.encode())
    (key,) = (place.state / "keys").iterdir()
    key.unlink()
    tell(telling)
    (file,) = (place.state / "gram/new").iterdir()
    os.utime(file, (time.time() - DAY - 10,) * 2)
    tell(telling)
    assert descriptions(place) == []


def test_a_job_that_gram_hands_in_again_after_its_last_event_is_told_of_again(telling, place):
    """Its job manager was restarted, and has forgotten what it has read."""
    handed_in(telling, place, DONE)
    ended(place, DONE)
    place.store.set_grid_job(7, outcome="completed")
    finish(telling)
    handed_in(telling, place, DONE)
    telling.doors.changed.clear()  # nothing of the grid job has changed
    finish(telling)
    assert told(telling) == ["7;8;0", "7;8;0"]


def test_a_job_whose_time_was_over_is_forgotten(telling, place):
    handed_in(telling, place, DONE)
    (place.state / "answers/7").unlink()
    tell(telling)
    assert descriptions(place) == []
    assert telling.doors.by_name["gram"].idle()


def test_a_job_whose_answer_is_lost_for_a_moment_is_not_forgotten(telling, place):
    """After a power cut, the keeper writes it anew."""
    handed_in(telling, place, DONE)
    ended(place, DONE)
    (place.state / "answers/7").unlink()
    tell(telling)
    assert len(descriptions(place)) == 1


def test_events_that_cannot_be_told_stop_nothing(telling, place):
    handed_in(telling, place, PENDING.encode())
    directory = Path(telling.site.site.gram_events)
    directory.rmdir()
    tell(telling)
    directory.mkdir()
    tell(telling)
    assert told(telling) == ["7;1;0"]


def test_a_job_that_could_not_be_told_of_is_refused(place):
    (place.state / "site.toml").write_text('[site]\ngram_events = "/nowhere"\n')
    said = call(place, "submit")
    assert said.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:site.gram_events: cannot write into /nowhere")
    assert said.endswith("\nGRAM_SCRIPT_ERROR:3\n\n")
    assert not list((place.state / "inbox").glob("request-*"))


def test_who_was_told_by_events_hears_the_reason_last(place):
    place.add(7, answer=FAILED)
    said = call(place, "stage_out", jobid=["7"])
    assert said == f"{FAILED.decode()}"
    place.add(7, answer=DONE)
    assert call(place, "stage_out", jobid=["7"]) == "GRAM_SCRIPT_STAGED_OUT:a b\n\n"
