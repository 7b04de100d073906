"""What no wrapper can have written: the first of it is kept, and of a flood only a count."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from jim.keeper import rejecting
from jim.keeper.attempts import arrivals
from jim.keeper.rejecting import FLOOD, REMOVED, Rejected, Why, removed
from jim.model import State
from tests.support.stand_ins import World


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work directory in which few files are kept."""
    monkeypatch.setattr(rejecting, "MOST", 3)
    for name in ("spool", "rejected"):
        (tmp_path / name).mkdir()
    return tmp_path


def _flood(work: Path, rejected: Rejected, number: int, *, now: float = 0.0, first: int = 0) -> None:
    for n in range(first, first + number):
        path = work / "spool" / f"noise{n}"
        path.touch()
        rejected.put_aside(work, path, lambda errand: errand.done(errand.work()))
        rejected.note(Why.NAME, path.name, "", now)


def _names(work: Path) -> list[str]:
    return sorted(each.name.partition("-")[2] for each in (work / "rejected").iterdir() if each.name[0] != ".")


def test_the_first_are_kept_and_the_rest_is_counted(work: Path) -> None:
    rejected = Rejected()
    _flood(work, rejected, 10)
    assert _names(work) == ["noise0", "noise1", "noise2"]
    assert list((work / "spool").iterdir()) == []
    rejected.tell(work, 61.0)
    assert removed(work / "rejected" / REMOVED) == 7
    _flood(work, Rejected(), 1)  # the next keeper
    assert _names(work) == ["noise0", "noise1", "noise2"]


def test_once_people_have_cleaned_up_more_is_kept(work: Path) -> None:
    rejected = Rejected()
    rejected.tell(work, 0.0)
    _flood(work, rejected, 4)
    for each in (work / "rejected").iterdir():
        each.unlink()
    _flood(work, rejected, 1, now=59.0, first=10)
    assert _names(work) == []
    rejected.tell(work, 61.0)
    _flood(work, rejected, 1, now=61.0, first=20)
    assert _names(work) == ["noise20"]


def test_directories_of_a_flood_go_by_an_errand(work: Path) -> None:
    rejected, errands = Rejected(), []
    _flood(work, rejected, 3)
    for n in range(2):
        place = work / "spool" / f"tree{n}"
        (place / "deep").mkdir(parents=True)
        place.chmod(0)
        rejected.put_aside(work, place, errands.append)
    (work / "spool/link").symlink_to("/etc")
    rejected.put_aside(work, work / "spool/link", errands.append)
    assert list((work / "spool").iterdir()) == []
    assert {each.key for each in errands} == {("rejected", FLOOD)}
    errands[0].work()
    assert not (work / "rejected" / FLOOD).exists()
    assert Path("/etc/passwd").exists()


def test_a_warning_of_each_kind_comes_once_a_minute_and_says_how_many(
    work: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rejected = Rejected()
    with caplog.at_level(logging.WARNING):
        _flood(work, rejected, 1000)
        rejected.note(Why.CONTENT, "odd", "no nonce", 1.0)
        assert len(caplog.records) == 2
        rejected.tell(work, 59.0)
        assert len(caplog.records) == 2
        rejected.tell(work, 60.0)
        rejected.tell(work, 61.0)
    first, content, rest = (each.getMessage() for each in caplog.records)
    assert first.startswith("spool: 'noise0' is not a valid report of a wrapper; ")
    assert content.startswith("spool: 'odd' makes no sense: no nonce; ")
    assert rest.startswith("spool: 'noise999' is not a valid report of a wrapper; 998 more files like this since ")


def test_names_of_strangers_fill_no_memory(work: Path) -> None:
    rejected = Rejected()
    _flood(work, rejected, 50)
    assert len(rejected._told) == 1


def test_a_number_that_nobody_can_read_is_none(work: Path) -> None:
    (work / "rejected" / REMOVED).write_text("many")
    assert removed(work / "rejected" / REMOVED) == 0
    (work / "rejected" / REMOVED).unlink()
    assert removed(work / "rejected" / REMOVED) == 0


def test_a_pipe_in_the_place_of_the_count_stops_no_keeper(work: Path) -> None:
    os.mkfifo(work / "rejected" / REMOVED)
    assert removed(work / "rejected" / REMOVED) == 0
    rejected = Rejected()
    _flood(work, rejected, 5)
    rejected.tell(work, 61.0)
    assert removed(work / "rejected" / REMOVED) == 2


@pytest.mark.parametrize("linked", ["spool", "rejected"])
def test_a_link_in_the_place_of_a_directory_of_the_work_directory_moves_nothing(work: Path, linked: str) -> None:
    home = work / "home"
    home.mkdir()
    (home / "own").touch()
    (work / linked).rmdir()
    (work / linked).symlink_to(home)
    (work / "spool/noise").touch()
    with pytest.raises(OSError, match=f"{linked} is a link"):
        Rejected().put_aside(work, work / "spool" / ("own" if linked == "spool" else "noise"), lambda _: None)
    assert (home / "own").exists()
    assert (work / "spool/noise").exists()


def test_a_link_that_comes_after_the_look_changes_no_rights_elsewhere(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A payload replaces its directory by a link once JIM has seen that it is none."""
    (work / "home").mkdir(mode=0o711)
    (work / "home").chmod(0o711)
    (work / "spool/noise").symlink_to(work / "home")
    monkeypatch.setattr(Path, "is_symlink", lambda _: False)
    Rejected().put_aside(work, work / "spool/noise", lambda _: None)
    assert stat.S_IMODE((work / "home").stat().st_mode) == 0o711
    assert [each.is_dir() for each in (work / "rejected").iterdir()] == [True]


def test_a_link_in_the_place_of_the_spool_after_it_was_listed_is_not_followed(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The keeper takes in and removes what it has listed, and nothing of the same name elsewhere."""
    world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 3)
    task, listed, home, spool = next(iter(world.batch.tasks.values())), arrivals._arrivals, *_places(world)
    world.batch.start(1, 1)
    name = f"{task.mark}.1.start"
    names = name, f"{task.mark}.2.start", f"{task.mark}.3.pub.key"
    (spool / names[1]).write_text("no sense")
    (spool / names[2]).write_text("no sense")
    for each in names:
        (home / each).write_text("mine")

    def then_linked(*arguments):
        found = listed(*arguments)
        spool.rename(spool.with_name("aside"))
        spool.symlink_to(home)
        return found

    monkeypatch.setattr(arrivals, "_arrivals", then_linked)
    arrivals.take_spool(world.keeper)
    assert world.state(1) is State.RUNNING
    assert sorted(each.name for each in home.iterdir()) == sorted(names)
    assert list((world.site.work / "aside").iterdir()) == []
    assert len(list((world.site.work / "rejected").iterdir())) == 2
    assert "/proc/" not in caplog.text


def _places(world: World) -> tuple[Path, Path]:
    (world.site.work / "home").mkdir()
    return world.site.work / "home", world.site.work / "spool"
