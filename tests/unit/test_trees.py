"""packaging/trees.sh, by which packages put a version in use: killed anywhere, a whole version is in use."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging/trees.sh"
CALLED = ("mkdir", "cp", "ln", "mv", "rm", "readlink", "sed", "flock")
FRONT = """#!/bin/sh
echo "$0" >>{calls}
[ "$(grep -c . {calls})" != {at} ] || {{ [ {after} = no ] || {real} "$@"; kill -KILL $PPID; exit 1; }}
exec {real} "$@"
"""
# Nobody runs from any: who does is tests/unit/test_install.py's matter, and to look takes long on a busy machine.
USE = "trees='{0}'; . '{1}'; users_of() {{ :; }}; use_dist"
FILES = {"jim/__init__.py": '__version__ = "{0}"\n', "jim/shell": "the doors of {0}\n", "python": "/usr/bin/python3\n"}


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """Where a package has put its first version."""
    place = tmp_path / "trees"
    unpack(place, "1.0")
    use_dist(place)
    return place


def unpack(trees: Path, version: str) -> None:
    """Replace the files of dist, as dpkg does: by new ones."""
    shutil.rmtree(trees / "dist", ignore_errors=True)
    (trees / "dist/jim").mkdir(parents=True)
    for name, text in FILES.items():
        (trees / "dist" / name).write_text(text.format(version))


def use_dist(trees: Path, path: str = os.environ["PATH"]) -> int:
    words = ["sh", "-ec", USE.format(trees, SCRIPT)]
    return subprocess.run(words, env={"PATH": path}, capture_output=True, timeout=60, check=False).returncode


def in_use(trees: Path) -> str:
    """Return the version that doors find; all of its files must be there."""
    version = (trees / "jim/jim/__init__.py").read_text().split('"')[1]
    for name, text in FILES.items():
        assert (trees / "jim" / name).read_text() == text.format(version)
    return version


def killed(trees: Path, place: Path, at: int, after: str) -> bool:
    """Kill the script when it has called so many programs; tell whether it called as many."""
    place.mkdir()
    for name in CALLED:
        words = {"calls": place / "calls", "at": at, "after": after, "real": shutil.which(name)}
        (place / name).write_text(FRONT.format(**words))
        (place / name).chmod(0o755)
    return use_dist(trees, f"{place}:{os.environ['PATH']}") != 0


@pytest.mark.parametrize("after", ["no", "yes"])
def test_a_script_that_is_killed_anywhere_leaves_a_whole_version(trees: Path, tmp_path: Path, after: str) -> None:
    for at in range(1, 100):
        unpack(trees, "2.0")
        was_killed = killed(trees, tmp_path / f"{at}", at, after)
        assert in_use(trees) in ("1.0", "2.0")
        assert was_killed or at > 7
        assert use_dist(trees) == 0  # dpkg --configure -a
        assert in_use(trees) == "2.0"
        assert len(list(trees.glob("jim-*"))) <= 2, "what it had begun is gone"
        if not was_killed:
            return
        unpack(trees, "1.0")
        assert use_dist(trees) == 0
    raise AssertionError("it never comes to its end")


def test_two_scripts_wait_for_one_another(trees: Path) -> None:
    unpack(trees, "2.0")
    words = ["sh", "-ec", USE.format(trees, SCRIPT)]
    started = [subprocess.Popen(words) for _ in range(8)]
    assert [each.wait(60) for each in started] == [0] * 8
    assert in_use(trees) == "2.0"
    assert len(list(trees.glob("jim-*"))) == 2


def test_a_place_that_cannot_be_written_to_is_told() -> None:
    words = {"PREFIX": "/proc/self", "DESTDIR": "", "LIBRARIES": "own", "PYTHON": "python3"}
    done = subprocess.run(
        [SCRIPT.with_name("install.sh"), "install"],
        env={"PATH": os.environ["PATH"], **words},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.endswith("make: cannot write into /proc/self/libexec\n")


def test_a_package_goes_also_where_its_script_is_missing(tmp_path):
    """As dpkg or rpm leave it after they were killed, or a hand has: that ends no removal."""
    packaging = SCRIPT.parent
    of_rpm = (packaging / "rpm/jim.spec").read_text().partition("%preun\n")[2].partition("\n%files")[0]
    of_debian = (packaging / "debian/jim.prerm").read_text()
    for script, word in ((of_rpm.replace("%{trees}", str(tmp_path)), "0"), (of_debian, "remove")):
        script = script.replace("/usr/lib/jim", str(tmp_path)).replace("/usr/bin/systemctl", ":")
        done = subprocess.run(["sh", "-c", script, "sh", word], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
