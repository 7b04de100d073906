"""The lab's HTCondor-CE with this JIM behind it, its clients, and what JIM keeps for the account."""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.live.site import FAST, KEPT, LABS, USER, until

LAB = LABS / "condor-ce"
SCRIPTS = LAB / "blahp/libexec/blahp"
SLOTS = 8
SITE = f'[batch]\nsystem = "local"\nslots = {SLOTS}\n{FAST}{KEPT}'
IDLE, RUNNING, REMOVED, COMPLETED, HELD = "12345"
SPOOLING = "16"  # a job is held while its files come in
NO_LONGER_HELD = "undefined"  # it was released between two questions
LONG = "while ! [ -e go ]; do sleep 0.2; done"


class ComputingElement:
    """The lab with this JIM behind it."""

    def __init__(self, place: Path, python: str) -> None:
        self.home, self.python = place / "jim", python
        (self.home / "python").write_text(f"{python}\n")  # as `make install LIBRARIES=system` does
        self.account = Path(pwd.getpwnam(USER).pw_dir)
        self.state = self.account / ".local/state/jim"
        self.place = Path(tempfile.mkdtemp(prefix="ce-", dir=place))
        self.own(self.place)
        shutil.rmtree(self.state, ignore_errors=True)
        for each in (self.state.parents[1], self.state.parent, self.state):
            each.mkdir(exist_ok=True)
            self.own(each)
        self.state.chmod(0o700)
        self.site_file(SITE)
        self.count = 0
        self.jim("ce", "register", as_root=True)
        self.run("condor_reconfig", as_root=True)
        self.kill("condor_gridmanager", "blahpd")  # one that lives on goes by what blah.config said before

    def own(self, file: Path) -> Path:
        shutil.chown(file, USER, USER)
        return file

    def site_file(self, text: str) -> None:
        """Write the site file, which opens the directories of jobs: most are submitted on this machine."""
        (self.state / "site.toml").write_text(f'{text}[site]\ninputs_below = ["{self.place}"]\n')
        self.own(self.state / "site.toml")

    # Commands

    def run(self, *words: str, as_root: bool = False, cwd: Path | None = None, check: bool = True) -> str:
        """Run a command of HTCondor or JIM; give its stdout."""
        become = [] if as_root else ["runuser", "-u", USER, "--"]
        home = "/root" if as_root else str(self.account)
        clean = ["env", "-i", f"HOME={home}", f"PATH={LAB}/bin:{os.environ['PATH']}"]
        done = subprocess.run(
            [*become, *clean, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            cwd=cwd or "/",
            check=False,
        )
        assert done.returncode == 0 or not check, (words, done.stdout, done.stderr)
        return done.stdout

    def jim(self, *words: str, as_root: bool = False) -> str:
        return self.run(str(self.home / "shell/jim"), *words, as_root=as_root)

    def show(self, number: int) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.jim("show", "--json", str(number)))
        return shown

    def jobs(self) -> list[int]:
        """Number the grid jobs that JIM has."""
        return sorted(int(each.name) for each in (self.state / "answers").glob("[0-9]*"))

    def attribute(self, job: str, name: str) -> str:
        """Ask for an attribute of a job, also of one that has left the queue."""
        told = self.run("condor_q", job, "-af", name).strip()
        return told or self.run("condor_history", job, "-match", "1", "-af", name).strip()

    # Jobs

    def directory(self) -> Path:
        """Make a directory for one job."""
        self.count += 1
        made = self.place / f"job-{self.count}"
        made.mkdir(mode=0o755)
        return self.own(made)

    def program(self, place: Path, text: str, name: str = "program.sh") -> str:
        (place / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / name).chmod(0o755)
        self.own(place / name)
        return name

    def submit(self, place: Path, *options: str, copies: int = 1, **lines: str) -> str:
        """Submit a routed job; with `universe = grid`, one that needs no route. Names of lines have _ for +."""
        asked = {"universe": "vanilla", "output": "out", "error": "err", "log": "log", **lines}
        if asked["universe"] == "grid":
            asked["grid_resource"] = "batch jim"
        text = "".join(f"{re.sub('^_', '+', name)} = {value}\n" for name, value in asked.items())
        (place / "job.sub").write_text(f"{text}queue {copies}\n")
        self.own(place / "job.sub")
        told = self.run("condor_submit", "-terse", *options, "job.sub", cwd=place)
        return told.split()[0]

    def ended(self, job: str, limit: float = 180.0) -> int:
        """Wait until a job has ended; give its exit code."""

        def end() -> str:
            told = self.attribute(job, "JobStatus")
            if told == HELD and self.attribute(job, "HoldReasonCode") in (SPOOLING, NO_LONGER_HELD):
                return ""
            return told if told in (COMPLETED, HELD, REMOVED) else ""

        told = until(end, f"job {job} has ended", limit)
        assert told == COMPLETED, (told, self.attribute(job, "HoldReason"))
        return int(self.attribute(job, "ExitCode"))

    def number(self, job: str) -> int:
        """Wait until HTCondor has JIM's id of a job for the grid universe."""
        found = until(lambda: re.search(r"jim/\d+/(\d+)", self.attribute(job, "GridJobId")), f"{job} has an id")
        return int(found[1])

    def new(self, before: list[int]) -> int:
        """Wait until JIM has one more grid job."""
        (number,) = until(lambda: set(self.jobs()) - set(before), "JIM has it")
        return int(number)

    # What comes in between

    @contextmanager
    def after_the_answer(self, verb: str = "submit") -> Iterator[Path]:
        """Let a script wait, once, between JIM's answer and its own: until the file that it made is gone."""
        script, held = SCRIPTS / f"jim_{verb}.sh", self.place / f"held-{verb}"
        real = script.read_text()
        calls = self.place / f"calls-{verb}"
        calls.unlink(missing_ok=True)
        text = (
            f'#!/bin/sh\necho call >>{calls}\nanswer=$({self.home}/shell/condor/jim_{verb}.sh "$@") || exit\n'
            f"[ -e {held}.once ] || {{ : >{held}.once; : >{held}; while [ -e {held} ]; do sleep 0.1; done; }}\n"
            'printf "%s\\n" "$answer"\n'
        )
        self._replace(script, text)
        try:
            yield held
        finally:
            self._replace(script, real)
            for each in (held, Path(f"{held}.once")):
                each.unlink(missing_ok=True)

    def calls(self, verb: str = "submit") -> int:
        return len((self.place / f"calls-{verb}").read_text().splitlines())

    def _replace(self, script: Path, text: str) -> None:
        draft = script.with_suffix(".new")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.rename(script)

    def pids(self, *names: str) -> list[int]:
        """Find the lab's processes of these names, and the account's with these words in their command lines."""
        found = []
        uid = pwd.getpwnam(USER).pw_uid
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                ours = f"JIM_LAB={LAB}".encode() in (each / "environ").read_bytes().split(b"\0")
                if any(
                    (ours and Path(line.split(" ")[0]).name == name) or (each.stat().st_uid == uid and name in line)
                    for name in names
                ):
                    found.append(int(each.name))
        return found

    def kill(self, *names: str) -> list[int]:
        pids = self.pids(*names)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return pids

    def keeper(self) -> int:
        return int((self.state / "keeper.lock").read_text())

    def close(self) -> None:
        self.run("condor_rm", "-all", as_root=True, check=False)
        self.jim("ce", "unregister", as_root=True)
        self.kill(f"run_grid_job keeper {self.state}", f"jim.localbatch --area {self.state}", str(self.state / "work"))


def quoted(*words: str) -> str:
    """Give arguments as a submit description has them."""
    return '"' + " ".join("'" + word.replace("'", "''").replace('"', '""') + "'" for word in words) + '"'


def pythia() -> str:
    """Give what a shell must source so that payloads find Pythia."""
    libraries = Path(sysconfig.get_paths()["purelib"])
    module = next(libraries.glob("pythia8mc.*"))
    return f"export PYTHONPATH={shlex.quote(str(module.parent))}\n"


def began(ce: ComputingElement, number: int) -> object:
    return ce.show(number)["counts"].get("running")
