"""A state directory made by hand, and the people's verbs run in it."""

import json
import os
import time

from jim import cli
from jim.clock import Clock
from jim.model import Piece, State, Step, Witness
from jim.site.file import Site, make_state
from jim.statusdb.store import Store
from tests.support.exit_records import exit_record
from tests.support.new_store import make_new

PHASE = '<phase name="{}" done="{}" total="{}" unit="{}"/>'
EVIL = "\x1b[2Jgone\x07 \x9b31m [bold]x[/] :smile:\u202e"
EVIL_SHOWN = "\\x1b[2Jgone\\x07 \\x9b31m [bold]x[/] :smile:\\u202e"
# What every record in JSON has, in this order.
RECORD_NAMES = ["id", "key", "type", "owner", "step", "status", "herd"]
RECORD_NAMES += ["MasterJobId", "JobSplitType", "came_from", "counts", "reason", "witness", "seen"]
RECORD_NAMES += ["age_s", "created", "updated"]


class SetClock(Clock):
    """A clock that is set by hand."""

    now, wall = 1000.0, "2026-01-31T12:00:00.000Z"

    def boot(self):
        return self.now

    def boot_id(self):
        return "boot-1"

    def epoch(self):
        return self.now

    def utc(self):
        return self.wall


class Home:
    """A state directory, and the verbs run in it."""

    def __init__(self, state, capsys, monkeypatch):
        self.site, self.clock, self.capsys = Site(state=state), SetClock(), capsys
        make_state(self.site)
        self.woken = []
        self._store = None
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        monkeypatch.setenv("JIM_STATE", str(state))
        monkeypatch.delenv("JIM_SITE", raising=False)
        monkeypatch.setattr("jim.reading.view.Clock", lambda: self.clock)
        monkeypatch.setattr("jim.keeper.waking.wake", self.woken.append)

    def close(self):
        if self._store:
            self._store.close()

    @property
    def store(self):
        if self._store is None:
            self._store = Store(make_new(self.site.state / "status.db"), self.clock, write=True)
        return self._store

    def add(self, number=1, size=4, **more):
        """Add a grid job that was split: local jobs wait."""
        request = {"job_type": "executable", "key": f"key-{number}", **more}
        self.store.add_grid_job(number, f"key-{number}", "alice", "2026-01-31T11:00:00.000Z", request)
        (self.site.state / "answers" / str(number)).write_text("")
        if size:
            self.store.set_grid_job(number, step=Step.RESOLVED, events_per_job=250, why="events_per_job of the request")
            self.store.add_pieces(number, 0, [Piece(n * 250 + 1, 250) for n in range(size)])
            self.store.end_split(number, size)

    def move(self, n, state, witness=Witness.QUEUE, reason="", **columns):
        self.store.set_local_job(1, n, state=state, witness=witness, reason=reason, **columns)

    def send(self, *numbers, **columns):
        """Record submission 1 of grid job 1, with these local jobs."""
        self.store.intend(1, 1, "jim-cafe-1-1", [self.store.local_job(1, n) for n in numbers])
        if columns:
            self.store.set_submission(1, 1, **columns)

    def finish(self, outcome="completed", reason="", **result):
        self.store.set_grid_job(1, step=Step.FINISHED, outcome=outcome, reason=reason, result=result)

    def beat(self, ago=3):
        (self.site.state / "heartbeat").write_text(f"boot-1 {1000 - ago}\n")
        (self.site.state / "keeper.lock").write_text(f"{os.getpid()}\n")

    def later(self, wall, now=1000.0):
        self.clock.wall, self.clock.now = wall, now

    def run(self, *words):
        """Run a verb; give its exit code, stdout and stderr."""
        code = cli.main(list(words))
        out, err = self.capsys.readouterr()
        return code, out, err

    def out(self, *words):
        code, out, err = self.run(*words)
        assert (code, err) == (0, "")
        return out

    def json(self, *words):
        return json.loads(self.out(*words, "--json"))


def sent(home):
    """Grid job 1: one local job runs, one is held, one failed, one waits."""
    home.beat()
    home.add()
    home.send(0, 1, 2, state="confirmed", batch_id="4711")
    home.move(0, State.RUNNING, Witness.CLAIM)
    home.move(1, State.HELD, Witness.QUEUE, EVIL)
    home.move(2, State.FAILED, Witness.EXIT_RECORD, "exit 3")
    home.store.set_attempt(1, 1, 1, host="node7", started="2026-01-31T11:00:00.000Z")
    home.store.set_attempt(1, 1, 3, record=exit_record("jim-cafe-1-1", hour=11), verdict="failed", reason="exit 3")
    home.store.publications.publish(1, 0, "generate", PHASE.format("generate", 117, 250, "events"))
    home.store.set_fact("seen", "2026-01-31T11:59:57.000Z")


def explained(home, target):
    """Explain, without the first line."""
    return home.out("explain", target).partition("\n")[2]
