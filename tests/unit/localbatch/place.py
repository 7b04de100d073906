"""An area of the local batch system with real daemons, for its tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil

from jim.clock import Clock
from jim.localbatch import __main__ as command_line
from jim.localbatch import area, daemon, processes
from jim.localbatch.books import Books
from jim.localbatch.queue import Order, Queue

CHECKOUT = str(Path(__file__).parents[3])
PYTHON = (sys.executable, "-P", "-s")
WAIT_FOR_GO = 'while [ ! -e "$(dirname "$0")/go" ]; do sleep 0.02; done\n'


def until(condition, seconds=10.0):
    """Wait for a condition, and return what it gave."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, "waited in vain"
        threading.Event().wait(0.01)
    return result


def living(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Place:
    """An area, the daemons that serve it, and short ways to ask it."""

    def __init__(self, directory):
        self.home, self.directory, self.daemons = directory, directory / "area", []
        self.queue = Queue(area.connect(self.directory), Clock())
        self.queue.configure(slots=2, grace=0.2, idle=60)

    def command(self, *words, **environment):
        return subprocess.run(
            [*PYTHON, "-m", "jim.localbatch", "--area", str(self.directory), *map(str, words)],
            env={**os.environ, "PYTHONPATH": CHECKOUT, **environment},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    def serve(self, before=""):
        """Start a daemon; `before` is Python that it runs first."""
        code = f"import sys\n{before}\nfrom jim.localbatch.__main__ import main\nsys.exit(main(sys.argv[1:]))"
        words = [*PYTHON, "-c", code, "--area", str(self.directory), "serve"]
        self.daemons.append(subprocess.Popen(words, env={**os.environ, "PYTHONPATH": CHECKOUT}, cwd="/"))
        return self.daemons[-1]

    def until_served(self):
        """Wait until the lock's file names the last daemon; to try the lock could make it give way."""
        file = self.directory / area.LOCK_FILE
        until(lambda: file.exists() and file.read_text() == f"{self.daemons[-1].pid}\n")

    def kill_daemon(self):
        self.daemons[-1].kill()
        self.daemons[-1].wait()

    def script(self, text, name="script"):
        file = self.home / name
        file.write_text(f'#!/bin/sh\ncd "{self.home}"\n{text}')
        file.chmod(0o755)
        return str(file)

    def submit(self, text, size=1, name="mark", **more):
        return self.queue.submit(Order(name, self.script(text, f"script-{time.monotonic_ns()}"), size, **more))

    def states(self):
        return {(job, index): state for job, index, state, _ in self.queue.live()}

    def history(self, job):
        return {row[1]: row[2:6] for row in self.queue.history([(job, 0)])}

    def ended(self, job, size=1):
        return until(lambda: len(self.history(job)) == size and self.history(job))

    def events(self, *words):
        return [(event, job, index) for _, _, event, job, index, _, _ in self.queue.ledger() if event in words]

    def pid(self, job, index=1):
        rows = "SELECT pid FROM tasks WHERE job = ? AND idx = ? AND pid IS NOT NULL"
        return until(lambda: self.queue.db.execute(rows, (job, index)).fetchone())[0]

    def number(self, name):
        """Wait for a payload to write a number into a file."""
        file = self.home / name
        return int(until(lambda: file.exists() and file.read_text().endswith("\n") and file.read_text()))

    def go(self):
        (self.home / "go").touch()

    def close(self):
        for each in self.daemons:
            if each.poll() is None:
                each.kill()
            each.wait()
        on_demand = (self.directory / area.LOCK_FILE).read_text() if (self.directory / area.LOCK_FILE).exists() else ""
        with suppress(psutil.Error, ValueError):
            server = psutil.Process(int(on_demand))
            if str(self.directory) in server.cmdline():
                server.kill()
                until(lambda: not living(server.pid))
        identity = self.queue.settings().identity
        until(lambda: not processes.strike([each for each, _ in processes.marked(identity)], signal.SIGKILL) and
              not processes.marked(identity))  # fmt: skip
        self.queue.db.close()


def in_process(place, clock=None, **more):
    """Make a daemon that this process drives."""
    return daemon.Daemon(Books(place.queue.db, clock or Clock()), **more)


def main_without_daemon(place, monkeypatch, *words):
    monkeypatch.setattr(command_line, "wake", lambda _: None)
    return command_line.main(["--area", str(place.directory), *words])
