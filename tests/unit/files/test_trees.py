"""Directories go, whatever payloads have made in them."""

from __future__ import annotations

import os

import pytest

from jim.files.trees import DEEPEST, remove_tree
from jim.workdir.submission import remove_grid_directory


def nested(place, levels, name="d"):
    """Make directories in one another, deeper than a path can tell."""
    at = os.open(place, os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("file", os.O_CREAT, dir_fd=at))
    os.close(at)


@pytest.mark.parametrize("levels", [0, 1, DEEPEST - 1, DEEPEST, DEEPEST + 1, 2 * DEEPEST + 1, 3000])
def test_however_deep_they_are(tmp_path, levels):
    (tmp_path / "place").mkdir()
    nested(tmp_path / "place", levels)
    nested(tmp_path / "place", levels, "e" * 255)
    remove_tree(tmp_path / "place")
    assert not list(tmp_path.iterdir())


def test_what_a_link_leads_to_stays(tmp_path):
    (tmp_path / "theirs/x").mkdir(parents=True)
    (tmp_path / "place/s1").mkdir(parents=True)
    (tmp_path / "place/s1/link").symlink_to(tmp_path / "theirs")
    remove_tree(tmp_path / "place")
    assert (tmp_path / "theirs/x").is_dir()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    with pytest.raises(NotADirectoryError):
        remove_tree(tmp_path / "link")


def test_as_much_goes_as_can_go_and_the_reason_is_told(tmp_path, monkeypatch):
    for each in ("a/stuck", "b/c"):
        (tmp_path / "place" / each).mkdir(parents=True)
    rmdir, stuck = os.rmdir, PermissionError(13, "Permission denied", "stuck")

    def refuse(name, **where):
        if name == "stuck":
            raise stuck
        rmdir(name, **where)

    monkeypatch.setattr(os, "rmdir", refuse)
    with pytest.raises(PermissionError) as refused:
        remove_tree(tmp_path / "place")
    assert refused.value.filename == str(tmp_path / "place/a/stuck")
    assert [each.name for each in (tmp_path / "place").iterdir()] == ["a"]


def test_a_grid_job_of_which_a_payload_has_nested_directories_is_removed(world):
    """Python gives up at some thousand levels, and the keeper would end, and so would the next one."""
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.run_all(grid)
    nested(world.site.work / "1/s1/run.1", 2000)
    world.wish("remove", str(grid))
    world.until(lambda: not (world.site.work / "1").exists())
    assert not list(world.site.work.glob(".removed*"))


def test_a_directory_that_is_not_there_is_no_matter(tmp_path):
    remove_grid_directory(tmp_path / "5")
