"""A checkout without symbolic links, as git makes it on Windows, says so, whatever is started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
LINKS = ("adapters", "handlers", "shell")
WHAT_TO_DO = "clone JIM again with "
PROGRAMS = sorted(
    str(path.relative_to(HOME)).removesuffix("/__main__.py").removesuffix(".py").replace("/", ".")
    for path in (HOME / "jim").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text() or path.name == "__main__.py"
)
DOORS = ("jim-submit", "jim-cancel", "jim-deliver", "jim-staging")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    place = tmp_path_factory.mktemp("checkout")
    for name in ("jim", *LINKS):
        shutil.copytree(HOME / name, place / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in LINKS:
        link = place / "jim" / name
        text = str(link.readlink())
        link.unlink()
        link.write_text(text)
    return place


def call(checkout, *command):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JIM_", "PYTHON"))}
    variables = {**kept, "PYTHONPATH": str(checkout), "JIM_PYTHON": sys.executable, "JIM_STATE": "/nonexistent"}
    return subprocess.run(command, env=variables, cwd="/", capture_output=True, text=True, timeout=60, check=False)


def last_line(done):
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        *(("-m", name) for name in PROGRAMS),
        ("-c", "from jim.cli import main"),  # as the program has it that pip makes
        ("-c", "import jim.site.file"),
    ],
    ids=" ".join,
)
def test_python_ends_with_one_sentence(checkout, words):
    done = call(checkout, sys.executable, "-P", "-s", *words)
    said = last_line(done)
    assert done.returncode == 1
    assert said.startswith(f"ImportError: {checkout}/jim/adapters is not a symbolic link: {WHAT_TO_DO}")


def test_programs_are_found():
    assert {"jim.run_grid_job", "jim.localbatch"} <= set(PROGRAMS)


@pytest.mark.parametrize("door", ["jim", *DOORS])
def test_a_program_of_the_shell_says_no_more_than_that(checkout, door):
    done = call(checkout, str(checkout / "shell" / door), "12", "/nonexistent")
    reason = f"ImportError: {checkout}/jim has no symbolic links: {WHAT_TO_DO}'git clone -c core.symlinks=true'"
    assert (done.returncode, done.stderr) == (3, f"{door}: {reason}\n")
    answer = f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:3\n\n"
    assert done.stdout == (answer if door in ("jim-submit", "jim-cancel") else "")


def test_one_link_alone_is_not_enough(checkout, tmp_path):
    place = tmp_path / "half"
    shutil.copytree(checkout, place, symlinks=True)
    (place / "jim/adapters").unlink()
    (place / "jim/adapters").symlink_to("../adapters")
    assert "/jim/handlers is not a symbolic link: " in last_line(
        call(place, sys.executable, "-P", "-s", "-c", "import jim")
    )
    assert call(place, str(place / "shell/jim"), "status").returncode == 3
    (place / "jim/handlers").unlink()
    (place / "jim/handlers").symlink_to("../handlers")
    (place / "jim/shell").unlink()
    (place / "jim/shell").symlink_to("../shell")
    assert call(place, sys.executable, "-P", "-s", "-c", "import jim.cli").returncode == 0


@pytest.mark.parametrize("door", ["jim", *DOORS])
def test_without_the_links_at_all_a_program_of_the_shell_says_no_more_than_that(checkout, tmp_path, door):
    """Some tools that copy or unpack leave links out; a gatekeeper waits for its answer all the same."""
    place = tmp_path / "none"
    shutil.copytree(checkout, place, symlinks=True)
    for name in LINKS:
        (place / "jim" / name).unlink()
    done = call(place, str(place / "shell" / door), "12", "/nonexistent")
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1)
    assert done.stdout.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:") == (door in ("jim-submit", "jim-cancel"))
