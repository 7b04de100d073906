"""JIM's own files, replaced under a keeper as pip and the like do it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from jim.errors import BadRequest, Replaced
from jim.files.own_files import OwnFiles
from jim.keeper.workers import Workers
from jim.request import handler_of
from tests.support.stand_ins import World


@pytest.fixture
def package(tmp_path: Path) -> Path:
    place = tmp_path / "jim"
    (place / "keeper").mkdir(parents=True)
    (place / "__init__.py").write_text("")
    (place / "keeper/loop.py").write_text("1")
    (tmp_path / "shell").mkdir()
    (tmp_path / "shell/local-job").write_text("2")
    (place / "shell").symlink_to("../shell")
    return place


def replaced(file: Path, text: str) -> None:
    """Replace a file as installers do."""
    new = file.with_name("new")
    new.write_text(text)
    new.rename(file)


@pytest.mark.parametrize("name", ["__init__.py", "keeper/loop.py", "shell/local-job"])
def test_a_file_that_was_replaced_by_its_like_is_seen(package: Path, name: str) -> None:
    own = OwnFiles(package)
    own.require_folders()
    replaced(package / name, (package / name).read_text())
    with pytest.raises(Replaced, match=name):
        own.require_folders()
    with pytest.raises(Replaced, match=name):
        own.require_files()


def test_a_package_that_is_gone_is_seen(package: Path) -> None:
    own = OwnFiles(package)
    shutil.rmtree(package)
    with pytest.raises(Replaced):
        own.require_folders()


def test_what_python_compiles_changes_nothing(package: Path) -> None:
    own = OwnFiles(package)
    (package / "keeper/__pycache__").mkdir()
    (package / "keeper/__pycache__/loop.cpython-311.pyc").write_text("")
    own.require_folders()
    own.require_files()


def test_it_is_waited_for_until_nothing_has_changed_for_three_seconds(package: Path) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) <= 4:  # an upgrade, which takes two seconds
            replaced(package / "keeper/loop.py", str(len(pauses)))

    OwnFiles(package).wait(pause)
    assert sum(pauses) == pytest.approx(2.0 + 3.0)


def test_it_is_not_waited_for_without_end(package: Path) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        os.utime(package / "__init__.py", (0, len(pauses)))

    OwnFiles(package).wait(pause)
    assert sum(pauses) == 120


def test_no_grid_job_fails_for_files_that_are_missing(
    world: World, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What splits is gone, or of another version, when it is called: a moment after the last look."""
    own = world.keeper.workers.own_files = OwnFiles(package)
    monkeypatch.setattr(own, "require_folders", lambda: None)

    def split(*_: object) -> None:
        replaced(package / "keeper/loop.py", "2")
        raise BadRequest("unknown job type 'parametric'", "job_type")

    monkeypatch.setattr("jim.keeper.queue.dividing._Pieces.chunk", split)
    grid = world.submit(3)
    with pytest.raises(Replaced):
        world.go(5)
    assert world.store.grid_job(grid).outcome == ""


def test_a_round_begins_with_a_look(world: World, package: Path) -> None:
    world.keeper.workers.own_files = OwnFiles(package)
    world.go(1)
    replaced(package / "__init__.py", "")
    world.submit(1)
    with pytest.raises(Replaced):
        world.go(1)
    assert world.store.grid_jobs() == []


def test_a_job_type_that_was_loaded_needs_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    handler_of("parametric")
    monkeypatch.setattr("jim.request.HANDLERS", tmp_path)
    assert type(handler_of("parametric")).__name__ == "Parametric"
    with pytest.raises(BadRequest):
        handler_of("nothing")


def test_workers_alone_have_no_files_that_could_change(world: World) -> None:
    Workers(world.clock).own_files.require_files()
    Workers(world.clock).own_files.require_folders()
