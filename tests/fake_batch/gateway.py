"""JIM's side: a state directory whose keeper's rounds speak with a fake batch system through the real adapter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from jim.idealizer import cancel, lookup, query, settle, submit
from jim.model import Step
from jim.site import Batch, Limits, Site, make_state
from tests.fake_batch.dialect import Dialect
from tests.fake_batch.engine import Engine
from tests.fake_batch.far_node import FarNodes
from tests.fake_batch.kill import Kill, Killed
from tests.fake_batch.liar import Liar
from tests.fake_batch.node import TOUCH, Nodes
from tests.stand_ins import INSTANCE, StandInClock, World

VISIBLE = 30.0
ATTEMPTS = 3
WALL = 300  # some of what is said to be over its time limit in the histories has lived so long, some has not
BATCH = Batch(
    query_seconds=5.0, visible_seconds=VISIBLE, command_seconds=20.0, touch_seconds=int(TOUCH), wall_seconds=WALL
)
LIMITS = Limits(attempts=ATTEMPTS, per_submission=3)


class OneClock(StandInClock):
    """What people read goes on with the time of the nodes' files, whatever a boot does."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        super().__init__()
        self._elapsed = elapsed

    def utc(self) -> str:
        return datetime.fromtimestamp(self._elapsed(), UTC).isoformat()


class Gateway(World):
    """A head node, its keeper driven by hand; and the time, which passes for everyone."""

    def __init__(self, place: Path, monkeypatch, dialect: Dialect) -> None:
        self.site = Site(state=place / "state", batch=BATCH, limits=LIMITS)
        make_state(self.site)
        (self.site.state / "instance").write_text(INSTANCE)
        self.elapsed = 1.0  # no boot sets it back
        self.clock, self.batch = OneClock(lambda: self.elapsed), dialect.adapter
        self.engine = Engine(lambda: self.elapsed)
        nodes = Nodes if dialect.adapter.shared_work else FarNodes
        self.nodes = nodes(self.engine, dialect)
        self.liar = Liar(self.engine, dialect, self.nodes, self.wait)
        for module in (submit, lookup, query, settle, cancel):
            monkeypatch.setattr(module, "run", self.liar.run)
        monkeypatch.setattr(lookup, "end_marked", self.liar.end_marked)
        self.kill = Kill(monkeypatch)
        self.liar.tick = self.kill.tick
        self.restart()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.elapsed += seconds
        self.clock.now += seconds
        self.nodes.pass_time()

    def restart(self) -> None:
        """Be killed, and start again."""
        self.kill.left = 0
        if hasattr(self, "house"):
            self.store.db = getattr(self.store.db, "_db", self.store.db)
        super().restart()
        self.kill.wrap(self)

    def reboot(self) -> None:
        """Start the machine anew: its seconds count from another zero."""
        self.clock.now, self.clock.id = 7.0, f"boot-{self.elapsed}"
        self.restart()

    def go(self, rounds: int = 1, seconds: float = 0.0) -> None:
        """Make rounds, time passing after each; a keeper that was doomed dies on the way."""
        for _ in range(rounds):
            self.kill.armed = True
            try:
                super().go()
            except Killed:
                self.restart()
            finally:
                self.kill.armed = False
            self.wait(seconds)

    def grids(self, *steps: Step) -> list[int]:
        """Give the ids of the grid jobs at these steps, or all."""
        return [job.id for job in self.store.grid_jobs(*steps)]

    def all_finished(self) -> bool:
        """Tell whether nothing is left to do."""
        return not self.store.unfinished() and not list((self.site.state / "inbox").iterdir())
