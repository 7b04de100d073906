"""Machines within this one for tests: a Debian 12 of its own with systemd, and a copy of this machine to be changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.live.accounts import have
from tests.live.site import copy_of_the_source, until

BASE = Path("/var/cache/jim-live/debian-12")  # made once: it takes a minute and a half
LIBRARIES = ("python3-lxml", "python3-psutil", "python3-rich", "python3-tenacity")
OF_PAGES = ("python3-flask", "python3-waitress")
PACKAGES = ("systemd", "systemd-sysv", "dbus", "procps", "sudo", "ca-certificates")
TOOLS = ("debhelper", "dh-python", "fakeroot", *LIBRARIES)
CONTROL = next(
    Path(line.split()[1]) for line in Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"
)
NAMESPACES = ("mount", "pid", "uts", "ipc", "net")
# Its root is that of its mounts: systemd makes namespaces of its own for units.
BOOT = """
set -e
cd "$1"
mount -t overlay -o lowerdir="$2",upperdir=own,workdir=work overlay root
cd root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for place in run tmp dev; do mount -t tmpfs tmpfs "$place"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for name in null zero full random urandom tty; do
    mknod -m 666 "dev/$name" c $(stat -c '0x%t 0x%T' "/dev/$name")
done
pivot_root . mnt
umount --lazy mnt
exec env -i container=jim-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd systemd.unit=multi-user.target
"""

# What changes is in memory, and nowhere else. The first process has nothing to do but to bury what others leave.
BEGIN = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
cd /mnt
mkdir root own work
mount -t overlay -o lowerdir=/,upperdir=own,workdir=work overlay root
cd root
mount -t proc proc proc
mount --rbind /dev dev
for place in run tmp; do mount -t tmpfs -o mode=1777 tmpfs "$place"; done
chmod 755 run
pivot_root . mnt
umount --lazy mnt
rm -rf /etc/jim /var/lib/jim /usr/lib/jim /usr/local/libexec/jim* /usr/local/bin/jim*
: >run/begun
while :; do sleep 1; done
"""


def said(*words: object, limit: float = 600, code: int = 0) -> str:
    """Run a program on this machine, and give what it printed on both streams."""
    command = [str(each) for each in words]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit, env=quiet, check=False
    )
    assert done.returncode == code, (command, done.returncode, done.stdout[-3000:])
    return done.stdout


def packages(place: Path, version: str) -> list[Path]:
    """Build the packages of this tree as a version, without the documents."""
    have(*TOOLS)
    source = copy_of_the_source(place / f"jim-{version}")
    init = source / "jim/__init__.py"
    before, _, after = init.read_text().partition('__version__ = "')
    init.write_text(f'{before}__version__ = "{version}"{after.partition(chr(34))[2]}')
    shutil.copytree(source / "packaging/debian", source / "debian")
    entry = f"jim ({version}) unstable; urgency=medium\n\n  * For a test.\n\n"
    date = "Sat, 31 Jan 2026 12:00:00 +0000"
    (source / "debian/changelog").write_text(f"{entry} -- A Test <test@users.noreply.github.com>  {date}\n")
    build = f"cd '{source}' && dpkg-buildpackage --build=binary --no-sign --build-profiles=nodoc"
    said("sh", "-ec", build)
    return sorted(place.glob(f"*_{version}_all.deb"))


class Inside:
    """A machine within this one: what runs there sees neither files nor processes of this one."""

    namespaces = NAMESPACES
    process: subprocess.Popen[bytes]

    def begin(self, *words: object, before: str = ":") -> None:
        """Start its first process, by a shell script with words."""
        unshared = [*(f"--{each}" for each in self.namespaces), "--fork", "--kill-child"]
        command = ["sh", "-ec", f'{before}; exec "$@"', "sh", "unshare", *unshared, "sh", *map(str, words)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @property
    def init(self) -> int:
        """Return the pid that the first process of that machine has on this one; 0: there is none."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return next(map(int, children), 0)

    @property
    def root(self) -> Path:
        """Return where its files are, as this machine sees them."""
        return Path(f"/proc/{self.init}/root")

    def words(self, script: str, account: str = "root") -> list[str]:
        """Return the command that runs a shell line there."""
        entered = ["nsenter", "--target", str(self.init), *(f"--{each}" for each in self.namespaces)]
        path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
        quiet = ("DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
        become = [] if account == "root" else ["runuser", "-u", account, "--"]
        home = f"/home/{account}" if account != "root" else "/root"
        return [*entered, *become, "env", "-i", path, *quiet, f"HOME={home}", "sh", "-ec", f"cd ~; {script}"]

    def run(self, script: str, account: str = "root", code: int = 0) -> str:
        """Run a shell line there, and give what it printed on both streams."""
        return said(*self.words(script, account), code=code)

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.init or self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()


class Copy(Inside):
    """This machine without systemd, whose packages, accounts and files may be changed: none of that lasts."""

    def __init__(self, place: Path) -> None:
        (place / "begin").write_text(BEGIN)
        self.begin(place / "begin")
        until(lambda: (self.root / "run/begun").exists(), "it has begun")


class Machine(Inside):
    """That Debian, booted, with what it writes beside."""

    namespaces = (*NAMESPACES, "cgroup")

    def __init__(self, place: Path) -> None:
        _make_base()
        # On a disk: what tests have in memory is small.
        self.place = Path(tempfile.mkdtemp(prefix="debian-", dir=BASE.parent))
        for name in ("root", "own", "work"):
            (self.place / name).mkdir()
        (place / "boot").write_text(BOOT)
        # A control group of its own: systemd takes all processes of its own one for its own.
        self.group = CONTROL / self.place.name
        self.group.mkdir()
        self.begin(place / "boot", self.place, BASE, before=f"echo $$ >'{self.group}/cgroup.procs'")
        until(lambda: "systemd" in self._first_command(), "systemd has begun")
        until(lambda: "running" in self.state() or "degraded" in self.state(), "it has booted")

    def _first_command(self) -> str:
        return Path(f"/proc/{self.init}/comm").read_text() if self.init else ""

    def state(self) -> str:
        return subprocess.run(
            self.words("systemctl is-system-running"), capture_output=True, text=True, timeout=60, check=False
        ).stdout

    def close(self) -> None:
        super().close()
        until(lambda: "populated 0" in (self.group / "cgroup.events").read_text(), "all its processes have ended")
        for group, _, _ in os.walk(self.group, topdown=False):
            Path(group).rmdir()
        shutil.rmtree(self.place, ignore_errors=True)


def _make_base() -> None:
    if BASE.is_dir():
        return
    have("debootstrap")
    new = BASE.with_name("new")
    shutil.rmtree(new, ignore_errors=True)
    new.parent.mkdir(parents=True, exist_ok=True)
    said("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "bookworm", new)
    # As this machine has it: where packages come from, and how to get there.
    shutil.rmtree(new / "etc/apt")
    shutil.copytree("/etc/apt", new / "etc/apt", symlinks=True)
    for file in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(Path("/", file), new / file)
    wanted = " ".join((*LIBRARIES, *OF_PAGES))
    said("chroot", new, "sh", "-ec", f"apt-get update -q && apt-get install -y -q {wanted}")
    new.rename(BASE)
