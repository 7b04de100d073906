"""Groups that several sources fill: each closes once no source can bring more of it."""

from __future__ import annotations

import pytest

from tests.unit.tasks.ground import SH, Ground

DIRECTORY = """
[[task.source]]
directory = "{0}"
files = "*.raw"
every_seconds = 10
stable_seconds = 0
closed_by = "END.*"
{1}
"""
BY_RUN = "group = 'run(\\d+)_'"
OTHERS = {
    "list": '[[task.source]]\nlist = "names.txt"\nevery_seconds = 10\n{0}\n',
    "directory": DIRECTORY.replace("{0}", "b").replace("{1}", "{0}"),
    "unmarked": DIRECTORY.replace("{0}", "b").replace("{1}", "{0}").replace('closed_by = "END.*"', ""),
}
SPLIT = '[task.split]\nsplitter = "FileBased"\nparameters = { files_per_job = 10 }\n[task.release]\nevery_seconds = 0\n'


def begin(ground: Ground, other: str, group: str = BY_RUN) -> None:
    """Start a task with two sources: a directory, and another one; each has a file of run 1."""
    for name in ("a", "b"):
        (ground.place / name).mkdir()
        (ground.place / name / f"run1_{name}.raw").write_text("x")
    (ground.place / "names.txt").write_text("/data/run1_list\n")
    head = f'[[task]]\nname = "t"\n{SH}\n'
    ground.start(head + DIRECTORY.format("a", BY_RUN) + OTHERS[other].format(group) + SPLIT)
    wait(ground)


def wait(ground: Ground) -> None:
    """Let each source be looked at twice."""
    for _ in range(3):
        ground.go(3)
        ground.go(1, 11.0)
    ground.go(3)


def is_closed(ground: Ground, grp: str = "1") -> bool:
    group = ground.store.pools.group(ground.task().id, grp)
    return bool(group and group.closed)


@pytest.mark.parametrize("ends", [["a/END.1", "b/END.1"], ["a/END.1", "b/END.all"], ["b/END.all", "a/END.1"]])
def test_a_group_of_two_directories_closes_once_both_have_its_end(ground, ends):
    begin(ground, "directory")
    (ground.place / ends[0]).touch()
    wait(ground)
    assert not is_closed(ground)
    (ground.place / "a/run1_later.raw").write_text("x")  # a source that is open may bring more
    (ground.place / ends[1]).touch()
    wait(ground)
    assert is_closed(ground)
    assert set(ground.items().values()) == {"acquired"}
    (ground.place / "a/run1_late.raw").write_text("x")
    wait(ground)
    assert ground.items()[str(ground.place / "a/run1_late.raw")] == "late"


def test_a_list_that_is_open_keeps_a_group_open(ground):
    begin(ground, "list")
    (ground.place / "a/END.1").touch()
    wait(ground)
    assert not is_closed(ground)
    with (ground.place / "names.txt").open("a") as names:
        names.write("closed\n")
    wait(ground)
    assert is_closed(ground)


def test_a_source_that_has_no_such_group_does_not_matter(ground):
    begin(ground, "list", group="")
    (ground.place / "a/END.1").touch()
    wait(ground)
    assert is_closed(ground)
    assert not is_closed(ground, "")


def test_a_directory_that_nothing_closes_keeps_a_group_open_until_a_person_closes_it(ground):
    begin(ground, "unmarked")
    (ground.place / "a/END.1").touch()
    wait(ground)
    assert not is_closed(ground)
    ground.ask("close", group="1")
    assert is_closed(ground)


def test_the_end_that_one_directory_has_shown_is_known_again_after_a_kill(ground):
    begin(ground, "directory")
    (ground.place / "a/END.1").touch()
    wait(ground)
    ground.restart()
    (ground.place / "b/END.1").touch()
    wait(ground)
    assert is_closed(ground)


def test_an_empty_file_is_left_out_once_its_group_closes_and_not_before(ground):
    begin(ground, "directory")
    empty = ground.place / "a/run1_empty.raw"
    empty.touch()
    (ground.place / "a/END.1").touch()
    wait(ground)
    assert str(empty) not in ground.items()
    (ground.place / "b/END.1").touch()
    wait(ground)
    assert ground.items()[str(empty)] == "left out"


def test_a_group_of_an_empty_file_alone_stays_open_for_other_sources(ground):
    begin(ground, "directory")
    (ground.place / "a/run2_empty.raw").touch()
    (ground.place / "a/END.all").touch()
    wait(ground)
    assert ground.items()[str(ground.place / "a/run2_empty.raw")] == "left out"
    (ground.place / "b/run2_b.raw").write_text("x")
    wait(ground)
    assert ground.items()[str(ground.place / "b/run2_b.raw")] == "available"
    (ground.place / "b/END.all").touch()
    wait(ground)
    assert is_closed(ground, "2")
    assert ground.items()[str(ground.place / "b/run2_b.raw")] == "acquired"


def test_a_group_that_is_opened_again_stays_open_until_its_end_is_seen_again(ground):
    begin(ground, "directory")
    for each in ("a", "b"):
        (ground.place / each / "END.1").touch()
    wait(ground)
    assert is_closed(ground)
    (ground.place / "b/END.1").unlink()
    wait(ground)
    ground.ask("reopen", group="1")
    wait(ground)
    assert not is_closed(ground)
    (ground.place / "b/END.1").touch()
    wait(ground)
    (ground.place / "a/END.1").touch()
    (ground.place / "a/END.2").touch()  # the directory is listed anew
    wait(ground)
    assert is_closed(ground)
