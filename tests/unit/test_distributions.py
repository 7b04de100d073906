"""What `python -m build` makes: the source distribution is the project, the wheel all that JIM needs at run time."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.machine import DATA

HOME = Path(__file__).parents[2]
MADE = (".*", "__pycache__", "*.pyc", "build", "dist", "*.egg-info", "PKG-INFO", "setup.cfg")  # by whoever builds it
HIDDEN = (".ci", ".gitignore")


def paths(place):
    """Give all files and links of a tree, without going through links."""
    found = set()
    for directory, folders, names in os.walk(place):
        links = [each for each in folders if Path(directory, each).is_symlink()]
        found |= {str(Path(directory, each).relative_to(place)) for each in [*names, *links]}
    return found


def build(what, source, into):
    """Build as a front end does without isolation: nothing is fetched."""
    program = f"from setuptools import build_meta; print(build_meta.build_{what}({str(into)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return into / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    place = tmp_path_factory.mktemp("checkout") / "jim"
    shutil.copytree(HOME, place, symlinks=True, ignore=shutil.ignore_patterns(*MADE))
    for name in HIDDEN:
        (shutil.copytree if (HOME / name).is_dir() else shutil.copy)(HOME / name, place / name)
    return place


@pytest.fixture(scope="module")
def unpacked(checkout, tmp_path_factory):
    """The source distribution, where somebody has unpacked it."""
    place, before = tmp_path_factory.mktemp("sdist"), paths(checkout)
    with tarfile.open(build("sdist", checkout, place)) as tar:
        tar.extractall(place, **DATA)
    (found,) = (each for each in place.iterdir() if each.is_dir())
    assert {each for each in paths(checkout) - before if ".egg-info/" not in each} == set()
    return found, before


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """The wheel that comes of the source distribution."""
    with zipfile.ZipFile(build("wheel", unpacked[0], tmp_path_factory.mktemp("wheel"))) as file:
        place = tmp_path_factory.mktemp("installed")
        file.extractall(place)
    return place


def test_a_source_distribution_is_the_project(unpacked, checkout):
    place, project = unpacked
    found = {each for each in paths(place) if ".egg-info/" not in each}
    assert found - project == {"PKG-INFO", "setup.cfg"}
    assert project - found == set()
    assert {"Makefile", "tests/conftest.py", "tools/house.py", "docs/architecture.md", "share/cron/jim-keepers"} < found
    files = [each for each in project if not (checkout / each).is_symlink()]
    assert [each for each in files if not filecmp.cmp(checkout / each, place / each, shallow=False)] == []


def test_its_links_are_links_and_its_programs_can_be_started(unpacked, checkout):
    place, project = unpacked
    assert {each: str((place / each).readlink()) for each in project if (place / each).is_symlink()} == {
        "jim/adapters": "../adapters",
        "jim/handlers": "../handlers",
        "jim/shell": "../shell",
    }
    started = {each for each in project if os.access(checkout / each, os.X_OK)}
    assert {"shell/jim-poll", "shell/local-job", "packaging/install.sh"} < started
    assert {each for each in project if os.access(place / each, os.X_OK)} == started


@pytest.mark.torture
def test_its_tests_can_be_collected(unpacked):
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--collect-only", "tests/unit"]
    done = subprocess.run(command, cwd=unpacked[0], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout


def test_a_wheel_has_every_file_of_jim(wheel):
    wanted = {str(path.relative_to(HOME)) for path in (HOME / "jim").rglob("*") if path.is_file()}
    for name in ("adapters", "handlers", "shell"):  # which `rglob` does not follow in each Python
        wanted |= {f"jim/{path.relative_to(HOME)}" for path in (HOME / name).rglob("*") if path.is_file()}
    wanted = {each for each in wanted if "__pycache__" not in each}
    assert {"jim/statusdb/schema.sql", "jim/adapters/slurm.py", "jim/handlers/shared/sam.py", "jim/shell/jim"} < wanted
    found = {each for each in paths(wheel) if each.startswith("jim/")}
    assert found == wanted
    assert {each for each in found if (wheel / each).is_symlink()} == set()


def test_what_the_wheel_brings_works(wheel):
    program = "from jim.cli import main; main(['types', 'executable'])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": str(wheel), "JIM_STATE": str(wheel / "state")},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "executable" in done.stdout
