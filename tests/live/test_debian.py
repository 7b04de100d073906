"""Debian's packages on a Debian with systemd: installed, upgraded under running jobs, half installed, removed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.accounts import have
from tests.live.debian import Machine, packages, said
from tests.live.site import copy_of_the_source, until

pytestmark = pytest.mark.long
OLD, NEW = "7.0.0", "7.0.1"
ACCOUNTS = ("mc", "cms")
PIDS = "pgrep -f 'jim[.]run_grid_job keeper'"  # of keepers, and not of who asks
WAITING = "until [ -e ~/go ]; do sleep 0.3; done; echo $0 >>~/ran"
INSTALL = "apt-get install -y -q --allow-downgrades /opt/jim_{0}_all.deb /opt/jim-pages_{0}_all.deb"
# A gatekeeper that asks again and again, and writes down what it could not ask.
KNOCK = """while [ ! -e /root/enough ]; do
setpriv --reuid mc --regid mc --init-groups jim-poll 1 >/tmp/answer 2>&1 && grep -q STATE:8 /tmp/answer ||
cat /tmp/answer >>/root/refused
sleep 0.2; done"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The packages of two versions of this tree."""
    have("lintian")
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
    have("rpm", "rpmlint")
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
            shutil.copy(path, machine.root / "opt")
    machine.run(INSTALL.format(OLD))
    assert machine.run("jim --version") == f"jim {OLD}\n"
    _two_accounts_run_jobs(machine)
    keepers = _keepers(machine)
    assert set(keepers.values()) == {OLD}
    machine.run(f"{KNOCK} >/dev/null 2>&1 &")

    # The upgrade, and the way back: who runs goes on with the files that it began with.
    machine.run(INSTALL.format(NEW))
    assert machine.run("jim --version") == f"jim {NEW}\n"
    assert _keepers(machine) == keepers
    _keepers_begin_anew(machine, NEW)
    machine.run(INSTALL.format(OLD))
    assert machine.run("jim --version") == f"jim {OLD}\n"
    assert set(_keepers(machine).values()) == {NEW}
    _keepers_begin_anew(machine, OLD)
    _nothing_is_lost_by_what_is_wrong(machine)
    _an_account_goes(machine)
    _dpkg_is_killed(machine)
    assert machine.run("cat /root/refused 2>/dev/null || :") == "", "doors work all the time"
    machine.run("touch /root/enough")
    _removed_with_running_jobs(machine)


def _removed_with_running_jobs(machine: Machine) -> None:
    """Remove the packages: jobs go on, and what is installed later adopts them. A purge leaves what people have."""
    told = machine.run("dpkg --remove jim-pages jim")
    assert "stays, because processes still run from it" in told, "the batch systems of the accounts"
    assert _keepers(machine) == {}
    machine.run("jim --version", code=127)
    assert machine.run("systemctl is-active jim-keepers.timer || :") == "inactive\n"
    machine.run("touch ~mc/go ~cms/go")
    machine.run(INSTALL.format(NEW))
    assert machine.run("systemctl is-active jim-keepers.timer") == "active\n"
    for account in ACCOUNTS:
        until(lambda account=account: "running" not in machine.run("jim status", account), "all have ended")
        assert sorted(machine.run("cat ran", account).split()) == ["1", "2", "3"], "each ran once"
    told = machine.run("dpkg --purge jim-pages jim")
    assert "jim: /etc/jim stays" in told
    assert "jim: /var/lib/jim stays" in told
    assert machine.run("ls /etc/jim/site.toml /var/lib/jim/mc/status.db").count("\n") == 2
    assert machine.run("systemctl list-unit-files 'jim*' --no-legend || :") == ""


def _two_accounts_run_jobs(machine: Machine) -> None:
    """Make a site of two accounts; each has three running jobs, and a keeper that the timer has started."""
    for account in ACCOUNTS:
        machine.run(f"useradd --create-home {account}")
    machine.run("jim site init --account mc --account cms")
    machine.run("sed -i 's/^# slots = 0/slots = 4/' /etc/jim/site.toml")
    assert machine.run("systemctl is-active jim-keepers.timer") == "active\n"
    for account in ACCOUNTS:
        assert machine.run("jim run /bin/echo hello", account).endswith("\nhello\n")
        for n in 1, 2, 3:
            _submit(machine, account, n)
    # What doors have started is ended; what the timer starts lies in control groups of its own.
    machine.run("jim keeper --end --all")
    for account in ACCOUNTS:
        until(
            lambda account=account: f"/jim-keeper@{account}.service\n" in _groups(machine), "the timer starts keepers"
        )
        until(lambda account=account: machine.run("jim status", account).count("running: 1 of 1") == 3, "they run")


def _submit(machine: Machine, account: str, n: int) -> None:
    """Hand in a job that runs until the account is told to go on, and then writes its number down."""
    words = json.dumps({"job_type": "executable", "executable": "/bin/sh", "arguments": ["-c", WAITING, str(n)]})
    machine.run(f"echo '{words}' >request.json; jim submit request.json", account)


def _keepers_begin_anew(machine: Machine, version: str) -> None:
    """End the keepers, as one does after an upgrade; what the timer starts each minute is started at once."""
    machine.run("jim keeper --end --all; systemctl start jim-keepers.service")
    until(
        lambda: (
            list(_keepers(machine).values()) == [version] * len(ACCOUNTS)
            and machine.run("jim keeper --list").count("last heartbeat") == len(ACCOUNTS)
        ),
        f"keepers of {version} run",
    )


def _nothing_is_lost_by_what_is_wrong(machine: Machine) -> None:
    """Leave a setting that only the newer version knows, let both work on one state directory, and hurt the machine."""
    machine.run("cp -p /etc/jim/site.toml /root; printf '[newer]\\nwish = 1\\n' >>/etc/jim/site.toml")
    told = machine.run("jim submit request.json", "mc", code=3)
    assert "unknown section [newer]" in told
    assert f"this is JIM {OLD}" in told
    machine.run("cp -p /root/site.toml /etc/jim/")
    _keepers_begin_anew(machine, OLD)
    told = machine.run(f"/usr/lib/jim/jim-{NEW}.1/shell/jim keeper", "mc", code=1)
    assert "/var/lib/jim/mc has a keeper already (pid " in told

    machine.run("mount --bind /usr /usr; mount -o remount,bind,ro /usr")
    told = machine.run(f"dpkg -i /opt/jim_{NEW}_all.deb", code=1)
    assert "Read-only file system" in told
    assert machine.run("jim run /bin/echo read-only", "mc").endswith("\nread-only\n")
    machine.run("mount -o remount,bind,rw /usr; dpkg --configure -a")


def _an_account_goes(machine: Machine) -> None:
    """Remove an account while its keeper and its job run: the job ends, and its door says what is wrong."""
    machine.run("useradd --create-home gone; jim site init --account gone")
    _submit(machine, "gone", 1)
    until(lambda: "running: 1 of 1" in machine.run("jim status", "gone"), "it runs")
    as_uid = "env -i HOME=/ setpriv --reuid $(stat -c %u /home/gone) --regid $(stat -c %g /home/gone) --clear-groups"
    machine.run(f"userdel --force gone; {as_uid} touch /home/gone/go")
    until(lambda: "completed: 1 of 1" in machine.run(f"{as_uid} env JIM_STATE=/var/lib/jim/gone jim status"), "it ends")
    told = machine.run(f"{as_uid} jim status", code=3)
    assert "this machine has no account with uid" in told
    machine.run(f"{as_uid} env JIM_STATE=/var/lib/jim/gone jim keeper --end")


def _dpkg_is_killed(machine: Machine) -> None:
    """Kill dpkg between unpacking and configuring, and at other moments: JIM is always whole, of either version."""
    machine.run(f"dpkg --unpack /opt/jim_{NEW}_all.deb")
    assert machine.run("jim --version") == f"jim {OLD}\n", "unpacked, and not configured"
    machine.run("pkill -KILL -f 'jim[.]run_grid_job keeper'")
    assert machine.run("jim run /bin/echo still here", "mc").endswith("\nstill here\n")
    machine.run("dpkg --configure -a")
    assert machine.run("jim --version") == f"jim {NEW}\n"
    limit, done = 0.1, False
    while not done:
        limit *= 2
        # As the power does, which ends all; or dpkg alone, so that what it has started goes on.
        alone = "--foreground" if limit in (0.2, 0.8, 3.2) else ""
        words = f"timeout {alone} -s KILL {limit} dpkg -i /opt/jim_{OLD}_all.deb /opt/jim-pages_{OLD}_all.deb"
        done = machine.run(f"{words} >/dev/null 2>&1 && echo done || :") == "done\n"
        assert machine.run("jim --version") in (f"jim {OLD}\n", f"jim {NEW}\n")
    assert machine.run("jim --version") == f"jim {OLD}\n"


def _keepers(machine: Machine) -> dict[int, str]:
    """Give the version that each keeper runs: its tree has a number, too, as each install gets a new one."""
    found = {}
    for pid in machine.run(f"{PIDS} || :").split():
        environment = machine.run(f"tr '\\0' '\\n' </proc/{pid}/environ || :")
        found |= {int(pid): each for each in re.findall(r"PYTHONPATH=/usr/lib/jim/jim-(\S+)\.\d+", environment)}
    return found


def _groups(machine: Machine) -> str:
    """Give the control groups of keepers."""
    return machine.run(f"for pid in $({PIDS}); do grep ^0: /proc/$pid/cgroup || :; done")
