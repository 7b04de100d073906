"""A site for each test, tried as by the program that an administrator calls, and where that matters, by it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from jim.cli import main
from jim.site.file import read as read_site

HOME = Path(__file__).parents[4]
QUICK = "slots = 8\nquery_seconds = 0.3\nvisible_seconds = 0.2\ntouch_seconds = 1\ncommand_seconds = 5\n"


class StandInSite:
    """A state directory with a site file, and `jim site test` in it."""

    def __init__(self, place: Path) -> None:
        self.state = place / "state"
        self.state.mkdir(mode=0o700)
        self.place = place
        self.write()

    def write(self, batch: str = "", more: str = "") -> None:
        """Write the site file, of a quick batch system unless it is said otherwise."""
        (self.state / "site.toml").write_text(f"[batch]\n{QUICK}{batch}\n{more}")

    def write_command(self, script: str) -> str:
        """Make a batch command that does what a shell is told, and give its path."""
        program = self.place / "command"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return str(program)

    def write_adapter(self, text: str) -> None:
        """Let the batch system be spoken to by an adapter of the site's own."""
        own = self.place / "own"
        (own / "mine").mkdir(parents=True)
        (own / "mine/broken.py").write_text(f"from jim.adapters.local import Local\n\n\n{text}\n")
        self.write('system = "mine.broken"', f'[site]\nhandlers = "{own}"\n')

    def _command(self, words: tuple[str, ...]) -> dict:
        environment = {"PATH": os.environ["PATH"], "JIM_STATE": str(self.state), "JIM_PYTHON": sys.executable}
        return {"args": [str(HOME / "shell/jim"), "site", *words], "env": environment, "text": True}

    def site(self, *words: str) -> subprocess.CompletedProcess:
        """Run `jim site` to its end, in this process: to load all of JIM takes longer than most levels."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setenv("JIM_STATE", str(self.state))
            patch.delenv("JIM_SITE", raising=False)
            code = main(["site", *words])
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def test(self, *words: str) -> subprocess.CompletedProcess:
        """Run `jim site test` likewise."""
        return self.site("test", *words)

    def program(self, *words: str) -> subprocess.CompletedProcess:
        """Run it to its end, as a program of its own."""
        return subprocess.run(**self._command(("test", *words)), capture_output=True, timeout=120, check=False)

    def start(self, *words: str) -> subprocess.Popen:
        """Start it."""
        return subprocess.Popen(**self._command(("test", *words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def leftovers(self) -> list[Path]:
        """List what site tests have left of their own."""
        return [each for each in (*self.state.iterdir(), *self.state.glob("work/*")) if "site-test-" in each.name]


@pytest.fixture
def tried(tmp_path):
    return StandInSite(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A site for tests that take no harm from each other."""
    return StandInSite(tmp_path_factory.mktemp("site"))


@pytest.fixture
def site(tried):
    return lambda: read_site(tried.state / "site.toml", tried.state)
