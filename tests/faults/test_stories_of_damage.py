"""Stories of files that are gone before they are used, and of pieces that are poisoned, with keepers killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.real import LIMIT

POISONED, GOOD = 30, 300


def made_but_not_fed(story, kills):
    """Let gen be made, whose files stay in the work directory, while reco releases nothing; return these files."""
    told = story(settings='[limits]\nretry_delay = "PT1S"\nattempts = 2\n')
    told.chain(events=12, stored=("reco", "merge"), held=("reco",))
    told.work(lambda: len(told.runs("end", "gen")) == 6 and told.states()["gen"] == "finished", "gen is made", kills)
    files = {}
    for path in sorted(told.at.site.work.glob("*/s*/run.*/gen.dat")):
        files[int(path.read_text().split()[0])] = path
    assert sorted(files) == [1, 3, 5, 7, 9, 11]
    return told, files


def gone(path: Path) -> None:
    path.unlink()


def changed(path: Path) -> None:
    path.write_text(path.read_text().replace("right", "wrong"))


@pytest.mark.torture
@pytest.mark.parametrize("damage", [gone, changed])
def test_one_file_that_is_damaged_before_it_is_fed_is_made_again_by_itself(story, damage):
    told, files = made_but_not_fed(story, 2)
    damage(files[5])
    told.ask("task", "throttle", "reco", "at_once=100", kills=3)
    told.finish(4)
    told.hold(12)
    assert {event for event, times in told.times("gen").items() if times == 2} == {5, 6}
    assert set(told.times("reco").values()) == {1}
    assert not told.runs("unread")


@pytest.mark.torture
@pytest.mark.parametrize("damage", [gone, changed])
@pytest.mark.parametrize("cure", [("retry",), ("recover", "events_per_piece=1")])
def test_many_files_that_are_damaged_before_they_are_fed_wait_for_a_person(story, damage, cure):
    told, files = made_but_not_fed(story, 1)
    for first in (1, 5, 7, 11):
        damage(files[first])
    told.ask("task", "throttle", "reco", "at_once=100", kills=2)
    told.work(lambda: told.counts("gen").get("failed", 0) == 4, "they have failed", 3)
    assert set(told.times("gen").values()) == {1}, told.told()
    verb, *words = cure
    told.ask("task", verb, "gen", *words, kills=3)
    told.finish(4)
    told.hold(12)
    again = {1, 2, 5, 6, 7, 8, 11, 12}
    assert {event for event, times in told.times("gen").items() if times == 2} == again
    assert set(told.times("reco").values()) == {1}
    assert not told.runs("unread")


@pytest.mark.torture
def test_poisoned_pieces_before_good_ones_cost_one_resume_at_most_and_are_set_aside(story):
    told = story(slots=20, settings='[limits]\nattempts = 1\nretry_delay = "PT1S"\n')
    told.say("nap", "0.6")
    for p in range(POISONED):
        told.say(f"nap.gen.{p:07}", "0")
        told.say(f"bad.gen.{p:07}", "yes")
    source = f"events = {POISONED + GOOD}\nevents_per_piece = 1"
    release = "first = 5\nat_once = 20\nprobe_seconds = 1.0"
    given = '"$FirstEvent", "$LastEvent"'
    told.start(told.task("gen", source, given=given, release=release), ["gen"])
    resumes, kills = 0, 5
    while not told.rests():
        told.work(lambda: told.rests() or told.states()["gen"] == "paused", "it ends or pauses", kills, 3 * LIMIT)
        kills = 2
        if told.states()["gen"] == "paused":
            resumes += 1
            assert resumes <= 1, told.told()
            told.ask("task", "resume", "gen", kills=2)
    told.calm()
    times = told.times("gen")
    assert [times[event] for event in range(POISONED + 1, POISONED + GOOD + 1)] == [1] * GOOD
    assert sorted(told.lines("gen")) == list(range(POISONED + 1, POISONED + GOOD + 1))
    assert max(times.values()) <= 3, times
    (once_more,) = [line for line in told.told().splitlines() if " tried again: " in line]
    assert once_more.endswith(f"{POISONED} failed pieces (exit 3): the bad time is over")
    print(f"{resumes} resumes")
    assert told.counts("gen")["failed"] == POISONED
    assert "exit 3" in told.jim("task", "status", "gen")
