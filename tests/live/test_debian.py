"""Debian's packages on a Debian with systemd: installed, upgraded under running jobs, half installed, removed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.debian import Machine, packages, said
from tests.live.site import copy_of_the_source, until

pytestmark = pytest.mark.long
TOOLS = (
    "debhelper",
    "dh-python",
    "lintian",
    "fakeroot",
    "python3-lxml",
    "python3-psutil",
    "python3-rich",
    "python3-tenacity",
)
OLD, NEW = "7.0.0", "7.0.1"
ACCOUNTS = ("mc", "cms")
WAITING = "until [ -e ~/go ]; do sleep 0.3; done; echo $0 >>~/ran"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The packages of two versions of this tree."""
    if subprocess.run(["dpkg", "-s", *TOOLS], capture_output=True, check=False).returncode:
        said("apt-get", "install", "--yes", "--no-install-recommends", *TOOLS)
    place = tmp_path_factory.mktemp("debian")
    return {version: packages(place, version) for version in (OLD, NEW)}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.close()


def test_lintian_finds_no_error(built: dict[str, list[Path]]) -> None:
    assert {path.name.partition("_")[0] for path in built[OLD]} == {"jim", "jim-pages"}
    told = said("lintian", "--allow-root", "--fail-on", "error", *built[OLD])
    assert not re.findall(r"^E: .*", told, re.MULTILINE)


def test_fedoras_package_has_the_same_files(built: dict[str, list[Path]], tmp_path: Path) -> None:
    """It is built, and read by rpmlint. It was never installed."""
    if subprocess.run(["which", "rpmbuild", "rpmlint"], capture_output=True, check=False).returncode:
        said("apt-get", "install", "--yes", "--no-install-recommends", "rpm", "rpmlint")
    sources = tmp_path / "SOURCES"
    sources.mkdir()
    copy_of_the_source(tmp_path / f"jim-{OLD}")
    said("tar", "-C", tmp_path, "-czf", sources / f"jim-{OLD}.tar.gz", f"jim-{OLD}")
    spec = tmp_path / f"jim-{OLD}/packaging/rpm/jim.spec"
    # The libraries that it needs are not known to rpm here.
    said("rpmbuild", "-bb", "--nodeps", "--define", f"_topdir {tmp_path}", "--define", f"jim_version {OLD}", spec)
    of_rpm, of_deb = set[str](), set[str]()
    for path in (tmp_path / "RPMS/noarch").iterdir():
        of_rpm |= set(said("rpm", "-qlp", path).split("\n"))
    for path in built[OLD]:
        of_deb |= {line.split(None, 5)[-1].removeprefix(".") for line in said("dpkg-deb", "-c", path).splitlines()}
    of_rpm, of_deb = ({_place(each) for each in names if not each.endswith("/")} - {""} for names in (of_rpm, of_deb))
    own = {
        each for each in of_deb if each.startswith(("/usr/share/doc/", "/usr/share/lintian/", "/usr/share/python3/"))
    }
    assert {each for each in of_deb - of_rpm - own if not each.startswith("/lib/")} == set()
    directories = {str(parent) for each in of_deb for parent in Path(each).parents}
    assert of_rpm - of_deb - directories == set()
    told = said("rpmlint", *(tmp_path / "RPMS/noarch").iterdir(), code=64)
    expected = {"zero-length", "no-signature", "no-packager-tag", "no-group-tag", "env-script-interpreter"}
    assert set(re.findall(r": E: (\S+)", told)) <= expected | {"incoherent-version-in-changelog"}


def _place(path: str) -> str:
    """Give the place of a file: Debian compresses manual pages, and Debian 12 has units in /lib."""
    path = path.partition(" -> ")[0].removesuffix(".gz")
    return path.replace("/lib/systemd", "/usr/lib/systemd", 1) if path.startswith("/lib/systemd") else path


def test_the_life_of_the_packages(built: dict[str, list[Path]], machine: Machine) -> None:
    for paths in built.values():
        for path in paths:
            shutil.copy(path, machine.root / "opt" / path.name)
    install = "apt-get install -y -q --allow-downgrades /opt/jim_{0}_all.deb /opt/jim-pages_{0}_all.deb"
    for account in ACCOUNTS:
        machine.run(f"useradd --create-home {account}")
    machine.run(install.format(OLD))
    assert machine.run("jim --version") == f"jim {OLD}\n"
    machine.run("jim site init --account mc --account cms")
    assert machine.run("systemctl is-active jim-keepers.timer") == "active\n"
    for account in ACCOUNTS:
        assert machine.run("jim run /bin/echo hello", account) == "hello\n"
        machine.run(
            f"for n in 1 2 3; do jim run --name w$n /bin/sh -c '{WAITING}' $n >/dev/null 2>&1 & done; sleep 1", account
        )
        until(lambda account=account: machine.run("jim status", account).count("running: 1 of 1") == 3, "they run")

    # The upgrade, the way back, and dpkg killed between: what runs goes on, and doors work all the time.
    machine.run(install.format(NEW))
    assert machine.run("jim --version") == f"jim {NEW}\n"
    assert _keepers(machine) == {f"jim-{OLD}.1"}
    machine.run("jim keeper --end --all")
    machine.run("systemctl start jim-keepers.service")
    until(lambda: _keepers(machine) == {f"jim-{NEW}.1"}, "keepers of the new version run")
    machine.run(install.format(OLD))
    assert machine.run("jim --version") == f"jim {OLD}\n"
    machine.run(f"dpkg --unpack /opt/jim_{NEW}_all.deb")
    assert machine.run("jim --version") == f"jim {OLD}\n", "unpacked, and not configured"
    assert machine.run("jim run /bin/echo still here", "mc") == "still here\n"
    machine.run("dpkg --configure -a", code=0)
    assert machine.run("jim --version") == f"jim {NEW}\n"

    # Removed with running jobs: they are adopted by what is installed later.
    told = machine.run("dpkg --remove jim-pages jim")
    assert "no longer" not in told
    assert _keepers(machine) == set()
    machine.run("jim --version", code=127)
    machine.run("touch ~mc/go ~cms/go")
    machine.run(install.format(NEW))
    machine.run("systemctl start jim-keepers.service")
    for account in ACCOUNTS:
        until(
            lambda account=account: machine.run("jim status", account).count("completed: 1 of 1") >= 4, "all have ended"
        )
        assert sorted(machine.run("cat ran", account).split()) == ["1", "2", "3"], "each ran once"
    told = machine.run("dpkg --purge jim-pages jim")
    assert "jim: /etc/jim stays" in told
    assert machine.run("ls /etc/jim/site.toml /var/lib/jim/mc/status.db").count("\n") == 2
    assert machine.run("systemctl list-unit-files 'jim*' --no-legend || :") == ""


def _keepers(machine: Machine) -> set[str]:
    """Name the trees from which keepers run."""
    found = set()
    for pid in machine.run("pgrep -f 'run_grid_job keeper' || :").split():
        environment = machine.run(f"tr '\\\\0' '\\n' </proc/{pid}/environ || :")
        found |= set(re.findall(r"PYTHONPATH=/usr/lib/jim/(\S+)", environment))
    return found
