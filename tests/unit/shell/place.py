"""A state directory whose doors are called as a gatekeeper does."""

import fcntl
import json
import re
import subprocess
import sys
from pathlib import Path

from jim.clock import Clock
from jim.model import Piece, Step
from jim.site.file import Site, make_state
from jim.statusdb.store import Store
from tests.support.new_store import make_new

HOME = Path(__file__).parents[3]
PROTOCOL = re.compile(r"(GRAM_SCRIPT_\w+:[^\n]*\n)+\n")


class Place:
    """A state directory, and the doors called there. It holds the keeper's lock, so that no keeper starts."""

    def __init__(self, directory):
        self.directory, self.state = directory, directory / "state"
        self.site = Site(state=self.state)
        make_state(self.site)
        self.lock = (self.state / "keeper.lock").open("a")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.store = Store(make_new(self.state / "status.db"), Clock(), write=True)

    def close(self):
        self.store.close()
        self.lock.close()

    def door(self, name, *words, program=(), **variables):
        """Call a door as a gatekeeper does; give its exit code, stdout and stderr."""
        environment = {"PATH": "/usr/bin:/bin", "JIM_STATE": str(self.state), "JIM_PYTHON": sys.executable, **variables}
        command = program or [str(HOME / "shell" / name), *words]
        done = subprocess.run(
            command, env=environment, cwd=self.directory, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def unheard(self, name, *words, to=">/dev/full"):
        """Call a door whose stdout cannot be written; give its exit code and stderr."""
        command = ("/bin/sh", "-c", f'"$@" {to}', "sh", str(HOME / "shell" / name), *words)
        code, out, err = self.door(name, program=command)
        assert out == ""
        return code, err

    def request(self, text='job_type = "executable"\nexecutable = "/bin/true"\n'):
        (self.directory / "request.toml").write_text(text)
        return self.directory / "request.toml"

    def add(self, number, size=0, answer=b"GRAM_SCRIPT_JOB_STATE:2\n\n"):
        """Store a grid job; with a size, one that was split."""
        (self.state / "answers" / str(number)).write_bytes(answer)
        self.store.add_grid_job(number, f"k{number}", "me", self.store.clock.utc(), {"job_type": "executable"})
        if size:
            self.store.set_grid_job(number, step=Step.RESOLVED)
            self.store.add_pieces(number, 0, [Piece()] * size)
            self.store.end_split(number, size)

    def left(self):
        """Give the wishes that were left, and the names of all else in the inbox."""
        files = sorted((self.state / "inbox").iterdir())
        wishes = [json.loads(file.read_text()) for file in files if file.name.startswith("wish-")]
        return [(wish["verb"], wish["target"]) for wish in wishes], [
            file.name for file in files if not file.name.startswith("wish-")
        ]

    def beat(self, ago):
        clock = Clock()
        (self.state / "heartbeat").write_text(f"{clock.boot_id()} {int(clock.boot()) - ago}\n")
