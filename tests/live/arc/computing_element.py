"""The lab's ARC CE with this JIM behind it, its clients, and what JIM keeps for the account."""

from __future__ import annotations

import json
import os
import pwd
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

LAB = LABS / "arc"
CONTROL = LAB / "control"
SHARE = Path("/usr/share/arc")
URL = "https://localhost:24443/arex"
SITE = f'[batch]\nsystem = "local"\nslots = 8\n{FAST}{KEPT}'
LONG = "while ! [ -e go ]; do sleep 0.2; done"


class ComputingElement:
    """The lab with this JIM behind it."""

    def __init__(self, place: Path, python: str) -> None:
        self.home = place / "jim"
        (self.home / "python").write_text(f"{python}\n")  # as `make install LIBRARIES=system` does
        self.account = Path(pwd.getpwnam(USER).pw_dir)
        self.state = self.account / ".local/state/jim"
        self.place = Path(tempfile.mkdtemp(prefix="arc-", dir=place))
        self.place.chmod(0o777)
        shutil.rmtree(self.state, ignore_errors=True)
        for each in (self.state.parents[1], self.state.parent, self.state):
            each.mkdir(exist_ok=True)
            self.own(each)
        self.state.chmod(0o700)
        self.site_file(SITE)
        self.count = 0
        self.urls: dict[str, str] = {}
        self.registered = self.as_root("arc", "register")

    def site_file(self, text: str) -> None:
        """Write the site file, and let the next keeper read it."""
        (self.state / "site.toml").write_text(text)
        self.own(self.state / "site.toml")
        self.kill(f"run_grid_job keeper {self.state}")

    def own(self, file: Path) -> Path:
        shutil.chown(file, USER, USER)
        return file

    # Commands

    def run(
        self, words: list[str], become: list[str], cwd: Path | str = "/", *, check: bool = True, given: str = ""
    ) -> str:
        done = subprocess.run(
            [*become, *words], input=given, capture_output=True, text=True, timeout=300, cwd=cwd, check=False
        )
        assert done.returncode == 0 or not check, (words, done.stdout, done.stderr)
        return done.stdout + ("" if check else done.stderr)

    def client(self, *words: str, cwd: Path | str = "/", check: bool = True) -> str:
        """Run a command of ARC's client as the grid user."""
        return self.run(list(words), [str(LAB / "client")], cwd, check=check)

    def jim(self, *words: str) -> str:
        clean = ["env", "-i", f"HOME={self.account}", "PATH=/usr/bin:/bin"]
        return self.run([*clean, str(self.home / "shell/jim"), *words], ["runuser", "-u", USER, "--"])

    def as_root(self, *words: str, given: str = "") -> str:
        clean = ["env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"ARC_CONFIG={LAB}/arc.conf"]
        return self.run([*clean, str(self.home / "shell/jim"), *words], [], given=given)

    def check(self) -> str:
        """Run `jim arc check`, with a job of the grid user."""
        words = [f"ARC_CONFIG={LAB}/arc.conf", str(self.home / "shell/jim"), "arc", "check"]
        return self.client("env", *words, check=False)

    def show(self, number: int) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.jim("show", "--json", str(number)))
        return shown

    def jobs(self) -> list[int]:
        """Number the grid jobs that JIM has."""
        return sorted(int(each.name) for each in (self.state / "answers").glob("[0-9]*"))

    # Jobs

    def directory(self) -> Path:
        """Make a directory for one job of the grid user."""
        self.count += 1
        made = self.place / f"job-{self.count}"
        made.mkdir()
        made.chmod(0o777)
        return made

    def program(self, place: Path, text: str, name: str = "program.sh") -> str:
        (place / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / name).chmod(0o755)
        return name

    def submit(self, place: Path, description: str) -> str:
        """Submit a job described in xRSL; give its id."""
        return self.submit_many(place, [description])[0]

    def submit_many(self, place: Path, descriptions: list[str]) -> list[str]:
        """Submit jobs; give their ids. This REST interface takes one job in a call."""
        files = [f"job-{n}.xrsl" for n in range(len(descriptions))]
        for name, text in zip(files, descriptions, strict=True):
            (place / name).write_text(f"&{text}\n")
        submit = f'arcsub -j jobs -C {URL} -T arcrest -Q NONE "$file" || exit'
        told = self.client("sh", "-c", f"for file do {submit}; done", "sh", *files, cwd=place)
        urls = [line.split()[-1] for line in told.splitlines() if URL in line]
        ids = [url.rpartition("/")[2] for url in urls]
        self.urls |= dict(zip(ids, urls, strict=True))
        assert len(ids) == len(descriptions), urls
        return ids

    def stat(self, place: Path, job: str) -> str:
        """Tell what its user sees of a job."""
        return self.client("arcstat", "-l", "-j", str(place / "jobs"), self.urls[job], cwd=place, check=False)

    def id_of(self, job: str) -> str:
        """Give the id by which A-REX asks for a job."""
        return f"{pwd.getpwnam(USER).pw_uid}.{self.number(job)}"

    def word(self, job: str) -> str:
        """Give A-REX's word for where a job is."""
        for where in ("processing", "finished", "accepting", "restarting"):
            with suppress(OSError):
                return (CONTROL / where / f"job.{job}.status").read_text().strip()
        return ""

    def until(self, job: str, word: str, limit: float = 120.0) -> None:
        until(lambda: self.word(job) == word, f"{job} is {word}, not {self.word(job)}", limit)

    def number(self, job: str) -> int:
        """Wait until A-REX has JIM's id of a job; give the grid job."""

        def told() -> str:
            with suppress(OSError):
                for line in (CONTROL / f"job.{job}.local").read_text().splitlines():
                    if line.startswith("localid="):
                        return line.rpartition(".")[2]
            return ""

        return int(until(told, f"{job} has an id"))

    def failure(self, job: str) -> str:
        """Give the reason that A-REX shows."""
        with suppress(FileNotFoundError):
            return (CONTROL / f"job.{job}.failed").read_text()
        return ""

    def log(self, job: str) -> str:
        """Give the log of a job, as `arccat -l` shows it."""
        with suppress(FileNotFoundError):
            return (CONTROL / f"job.{job}.errors").read_text(errors="replace")
        return ""

    def got(self, place: Path, job: str) -> Path:
        """Fetch a job's outputs, once A-REX's information says that it has ended; give their directory."""
        words = ["arcget", "-j", str(place / "jobs"), "-k", self.urls[job]]
        told = ""

        def fetched() -> bool:
            nonlocal told
            shutil.rmtree(place / job, ignore_errors=True)  # of a download that broke off
            done = subprocess.run(
                [str(LAB / "client"), *words], capture_output=True, text=True, timeout=300, cwd=place, check=False
            )
            told = done.stdout + done.stderr
            return done.returncode == 0 and (place / job).is_dir()

        try:
            until(fetched, "arcget brings the outputs of what has ended")
        except AssertionError as late:
            raise AssertionError(f"{late}; its last words: {told}") from late
        return place / job

    # What comes in between

    @contextmanager
    def after_the_answer(self, verb: str = "submit") -> Iterator[Path]:
        """Let a script wait, once, between JIM's answer and the line for A-REX: until the file that it made is gone."""
        script, held = SHARE / f"{verb}-jim-job", self.place / f"held-{verb}"
        real, calls = script.read_text(), self.place / f"calls-{verb}"
        calls.unlink(missing_ok=True)
        text = (
            f'#!/bin/sh\necho call >>{calls}\n"{self.home}/shell/arc/{verb}-jim-job" --again "$3" || exit\n'
            f"[ -e {held}.once ] || {{ : >{held}.once; : >{held}; while [ -e {held} ]; do sleep 0.1; done; }}\n"
            f'exec "{self.home}/shell/arc/{verb}-jim-job" "$@"\n'
        )
        self._replace(script, text)
        try:
            yield held
        finally:
            self._replace(script, real)
            for each in (held, Path(f"{held}.once")):
                each.unlink(missing_ok=True)

    @contextmanager
    def replaced(self, verb: str, text: str) -> Iterator[None]:
        """Replace a script that A-REX calls, for a while."""
        script = SHARE / f"{verb}-jim-job"
        real = script.read_text()
        self._replace(script, text)
        try:
            yield
        finally:
            self._replace(script, real)

    def calls(self, verb: str = "submit") -> int:
        return len((self.place / f"calls-{verb}").read_text().splitlines())

    def _replace(self, script: Path, text: str) -> None:
        draft = script.with_suffix(".new")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.rename(script)

    def arex(self) -> int:
        return int((LAB / "run/arex.pid").read_text())

    def kill_arex(self) -> None:
        os.kill(self.arex(), signal.SIGKILL)

    def start_arex(self) -> None:
        before = self.arex()
        subprocess.run(["sh", "-c", f"{LAB}/arex &"], stdin=subprocess.DEVNULL, timeout=60, check=True)
        until(lambda: self.arex() != before, "A-REX is up again")

    def keeper(self) -> int:
        return int((self.state / "keeper.lock").read_text())

    def close(self) -> None:
        self.as_root("arc", "unregister")
        self.kill(f"run_grid_job keeper {self.state}", f"jim.localbatch --area {self.state}")

    def kill(self, *words: str) -> None:
        """Kill the account's processes with these words in their command lines."""
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if any(word in line for word in words) and each.stat().st_uid == pwd.getpwnam(USER).pw_uid:
                    os.kill(int(each.name), signal.SIGKILL)


def pythia() -> str:
    """Give what a shell must source so that payloads find Pythia."""
    libraries = Path(sysconfig.get_paths()["purelib"])
    module = next(libraries.glob("pythia8mc.*"))
    return f"export PYTHONPATH={shlex.quote(str(module.parent))}\n"


def began(ce: ComputingElement, number: int) -> object:
    return ce.show(number)["counts"].get("running")


def waits_for(place: Path) -> str:
    return LONG.replace("go", str(place / "go"))


def submit(ce: ComputingElement, place: Path, text: str, more: str = "") -> str:
    program = ce.program(place, text)
    inputs = f'(inputfiles=("{program}" ""))'
    return ce.submit(place, f'(executable="{program}"){inputs}(stdout="out")(stderr="err"){more}')
