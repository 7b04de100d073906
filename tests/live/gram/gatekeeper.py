"""The lab's gatekeeper with JIM behind it, and its real clients."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.live.site import FAST, KEPT, LABS, USER, Daemon
from tests.live.site import until as patiently

LAB = LABS / "gram"
SLOTS = 8
QUERY_SECONDS = 1.0  # as FAST has it
PROXY, OTHER_PROXY, OTHER = LAB / "user/proxy.pem", LAB / "other/proxy.pem", "gridother"
GATEKEEPER = Daemon(LAB / "gatekeeper.pid", (str(LAB / "gatekeeper"),))
EVENTS = Path("/var/lib/globus/globus-seg-samgrid")
SITE = f'[batch]\nsystem = "local"\nslots = {SLOTS}\n{FAST}{KEPT}'
SAMGRID = "localhost/jobmanager-samgrid"
CUT_SHORT = "uniqid: missing; no value of a description may hold an empty line"


def until(true: Callable[[], Any], what: str) -> Any:
    """Wait for what a gatekeeper tells, which polls every 10 s."""
    return patiently(true, what, 45)


class Gatekeeper:
    """The lab's gatekeeper with this JIM behind it, its grid user's clients, and what JIM keeps for the account."""

    def __init__(self, place: Path, python: str) -> None:
        self.home, self.python, self.payloads = place / "jim", python, place / "payloads"
        self.payloads.mkdir(mode=0o755)
        self.uids = {pwd.getpwnam(name).pw_uid for name in (USER, OTHER)}
        self.account = Path(pwd.getpwnam(USER).pw_dir)
        self.client = Path(pwd.getpwnam("gridclient").pw_dir)
        self.state, self.settings = self.account / ".local/state/jim", place / "site.toml"
        for each in (self.state, self.client / "ours"):  # what a run before has left would be taken for its own
            shutil.rmtree(each, ignore_errors=True)
        for each in (self.state.parents[1], self.state.parent, self.state):
            each.mkdir(exist_ok=True)
            shutil.chown(each, USER, USER)
        self.state.chmod(0o700)
        self.site_file(SITE)
        self.end("globus-job-manager ")  # one that lives on has read the module of another JIM
        self.jim("gram", "register")

    def let_tell(self) -> None:
        """Let job managers wait for what the account's keeper tells."""
        self.end("globus-job-manager ", "run_grid_job keeper")
        self.jim("gram", "register", "--events", USER)
        self.site_file(f'{SITE}\n[site]\ngram_events = "{EVENTS}"\n')

    def let_poll(self, site: str = "") -> None:
        """Let job managers ask again; with a site file, by its settings."""
        self.end("globus-job-manager ", "run_grid_job keeper")
        self.jim("gram", "unregister")
        self.site_file(site or SITE)
        self.jim("gram", "register")

    def site_file(self, text: str) -> None:
        """Write the site file, for the account and for root, who obeys none of an account's."""
        self.settings.write_text(text)
        (self.state / "site.toml").write_text(text)
        shutil.chown(self.state / "site.toml", USER, USER)

    def jim(self, *words: str, account: str = "") -> str:
        """Call the people's door, as root or as the account."""
        become = ["runuser", "-u", account, "--"] if account else []
        home = pwd.getpwnam(account or "root").pw_dir
        command = [*become, "env", "-i", f"HOME={home}", f"JIM_PYTHON={self.python}", f"PATH={os.environ['PATH']}"]
        command += [] if account else [f"JIM_SITE={self.settings}"]
        done = subprocess.run(
            [*command, str(self.home / "shell/jim"), *words], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def run(self, *words: str, proxy: Path = PROXY) -> tuple[int, str, str]:
        """Run a client; give its exit code, and what it wrote."""
        done = self.raw(*words, proxy=proxy)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def raw(self, *words: str, proxy: Path = PROXY) -> subprocess.CompletedProcess[bytes]:
        command = ["env", f"X509_USER_PROXY={proxy}", str(LAB / "client"), *words]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)

    def start(self, *words: str, proxy: Path = PROXY) -> subprocess.Popen[str]:
        """Start a client, and do not wait for it."""
        command = ["env", f"X509_USER_PROXY={proxy}", str(LAB / "client"), *words]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def submit(self, rsl: str, *, proxy: Path = PROXY) -> tuple[str, int]:
        """Hand in a job and leave; give its contact, and its number once JIM has it."""
        before = set(self.jobs())
        code, out, err = self.run("globusrun", "-b", "-F", "-r", SAMGRID, rsl, proxy=proxy)
        found = re.search(r"https://\S+", out)
        assert found, (code, out, err)
        return found[0], until(lambda: set(self.jobs()) - before, "JIM has it").pop()

    def status(self, contact: str) -> str:
        return self.run("globusrun", "-status", contact)[1].strip()

    def jobs(self) -> list[int]:
        """Number the grid jobs that JIM has."""
        return sorted(int(each.name) for each in (self.state / "answers").glob("[0-9]*"))

    def show(self, job: int) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.jim("show", "--json", str(job), account=USER))
        return shown

    def has_keeper(self) -> bool:
        """Tell whether a keeper that lives has the lock."""
        with suppress(OSError, ValueError):
            return int((self.state / "keeper.lock").read_text()) in self.pids("run_grid_job keeper")
        return False

    def answer(self, job: int) -> str:
        return (self.state / f"answers/{job}").read_text()

    def tar(self, job: int) -> bytes:
        return (self.state / f"work/{job}/result/{job}.tar").read_bytes()

    def pids(self, words: str) -> list[int]:
        """Find processes of the account by words of their command line."""
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if words in line and each.stat().st_uid in self.uids:
                    found.append(int(each.name))
        return found

    def proxy(self, name: str, valid: str) -> Path:
        """Make a proxy that is good for so many hours:minutes."""
        user, proxy = LAB / "user", self.ours() / name
        words = ("-cert", str(user / "certificate.pem"), "-key", str(user / "key.pem"), "-out", str(proxy))
        code, *said = self.run("grid-proxy-init", "-q", "-bits", "2048", "-valid", valid, *words)
        assert code == 0, said
        return proxy

    def ours(self) -> Path:
        """Make a directory of the grid user's."""
        place = self.client / "ours"
        place.mkdir(exist_ok=True)
        shutil.chown(place, "gridclient", "gridclient")
        return place

    def script(self, text: str) -> Path:
        """Make a program that the account may run."""
        file = self.payloads / f"{len(list(self.payloads.iterdir()))}.sh"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def close(self) -> None:
        self.jim("gram", "unregister")
        self.end("globus-job-manager ", "run_grid_job keeper", "jim.localbatch --area", "sleep 600")
        self.end(str(self.payloads), f"{self.state}/work")  # what a test that failed has left
        for name in (USER, OTHER):
            shutil.rmtree(Path(pwd.getpwnam(name).pw_dir) / ".local/state/jim", ignore_errors=True)

    def end(self, *words: str) -> None:
        for pid in (pid for each in words for pid in self.pids(each)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
