"""JIM's side: a state directory whose keeper's rounds speak with a fake batch system through the real adapter."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from jim.errors import Outdated
from jim.files import append_whole
from jim.idealizer.channel import Programs
from jim.keeper.loop import FAILURES
from jim.keeper.results import accounting
from jim.model import Step
from jim.site.file import Batch, Keep, Limits, Site, make_state
from jim.site.settings import General
from jim.statusdb.store import Store
from tests.fake_batch.dialect import Dialect
from tests.fake_batch.engine import Engine
from tests.fake_batch.far_node import FarNodes
from tests.fake_batch.kill import Kill, Killed
from tests.fake_batch.liar import Liar, Listing
from tests.fake_batch.node import TOUCH, Nodes, Run
from tests.support.stand_ins import INSTANCE, StandInClock, World

VISIBLE = 30.0
ATTEMPTS = 3
WALL = 300  # some of what is said to be over its time limit in the histories has lived so long, some has not
BATCH = Batch(
    query_seconds=5.0, visible_seconds=VISIBLE, command_seconds=20.0, touch_seconds=int(TOUCH), wall_seconds=WALL
)
LIMITS = Limits(attempts=ATTEMPTS, per_submission=3)
KEPT_DAYS = 1.0
BEGAN = 2.0**31  # by the clock of the head node


class OneClock(StandInClock):
    """What people read goes on with the time of the nodes' files, whatever a boot does."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        super().__init__()
        self._elapsed = elapsed

    def epoch(self) -> float:
        return BEGAN + self._elapsed() + self.jumped

    def utc(self) -> str:
        return datetime.fromtimestamp(self._elapsed(), UTC).isoformat()


class Gateway(World):
    """A head node, its keeper driven by hand; and the time, which passes for everyone."""

    def __init__(self, place: Path, monkeypatch, dialect: Dialect, nodes: type[Nodes] = Nodes) -> None:
        self.place, self.shared, self.disk = place, place / "shared", place / "disk"
        self.disk.mkdir()
        self.shared.symlink_to(self.disk)  # how the head node sees the work directory; the others see the disk
        general, keep = General(work=str(self.shared)), Keep(finished_days=KEPT_DAYS)
        self.site = Site(state=place / "state", site=general, batch=BATCH, limits=LIMITS, keep=keep)
        make_state(self.site)
        (self.site.state / "instance").write_text(INSTANCE)
        self.elapsed = 1.0  # no boot sets it back
        self.clock, self.batch = OneClock(lambda: self.elapsed), dialect.adapter
        query = self.batch.query_command
        monkeypatch.setattr(self.batch, "query_command", lambda: Listing(query()))  # some adapters look for a mark so
        self.engine = Engine(lambda: self.elapsed)
        nodes = nodes if dialect.adapter.shared_work else FarNodes
        self.nodes = nodes(self.engine, dialect, seen_as=(str(self.shared), str(self.disk)))
        self.liar = Liar(self.engine, dialect, self.nodes, self.wait)
        self.kill = Kill(monkeypatch)
        self.liar.tick = self.kill.tick
        self.dooms_accounting = (False, False)  # whether the keeper dies when it writes next, and amid a line
        monkeypatch.setattr(accounting, "append_whole", self._append)
        self.away = False  # the head node does not see the work directory just now
        self.shaken = 0  # so many rounds may still fail, for it was away
        self.stopped = ""  # why no keeper can be opened just now
        self.may_be_outdated = False  # the state directory was put back, copied or moved, and nobody has said so yet
        self.restores = 0
        self.doubled = False  # a state directory was put back or copied: the accounting may be of another past
        self.superseded: set[tuple[str, int]] = set()  # what a restore has told to end
        self.restart()

    def told_to_end(self, run: Run) -> bool:
        """Tell whether a restore has told a run to end, for its attempt counts no more."""
        return (run.task.mark, run.index) in self.superseded

    def programs(self) -> Programs:
        """Let the batch system that lies answer."""
        return self.liar

    def _append(self, file: Path, lines: bytes, mode: int) -> None:
        """Append lines of the accounting; the keeper may die of that."""
        (dies, half), self.dooms_accounting = self.dooms_accounting, (False, False)
        append_whole(file, lines, mode)
        if dies and half and lines:
            os.truncate(file, file.stat().st_size - 5)
        if dies:
            raise Killed

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.elapsed += seconds
        self.clock.now += seconds
        self.nodes.pass_time()

    def restart(self, steps: int = 0) -> None:
        """Be killed, and start again; if so many steps are given, be killed at that one while starting, and again."""
        self.kill.left, self.kill.instead, self.kill.armed = steps, None, bool(steps)
        if hasattr(self, "keeper"):
            self.store.db = getattr(self.store.db, "_db", self.store.db)
        try:
            super().restart()
        except Killed:
            self.restart()
        except FAILURES as error:
            self.cannot_be_opened(error)
        else:
            self.stopped, self.may_be_outdated = "", False
            self.kill.left, self.kill.armed = 0, False
            self.kill.wrap(self)

    def cannot_be_opened(self, error: Exception) -> None:
        """Have no keeper for now; what is stored can be read all the same."""
        if not (self.may_be_outdated if isinstance(error, Outdated) else self.away):
            raise error
        self.stopped = str(error)
        self.keeper.store.close()
        self.keeper.store = Store(self.site.state / "status.db", self.clock)

    def reboot(self) -> None:
        """Start the machine anew: its seconds count from another zero."""
        self.clock.now, self.clock.id = 7.0, f"boot-{self.elapsed}"
        self.restart()

    def set_clock(self, seconds: float) -> None:
        """Set the clock of the head node forth or back; its files, and the nodes, have the file server's."""
        self.clock.jumped += seconds

    def go(self, rounds: int = 1, seconds: float = 0.0) -> None:
        """Make rounds, time passing after each; a keeper that was doomed dies on the way."""
        for _ in range(rounds):
            if self.stopped:
                self.restart()
            if not self.stopped:
                self._round()
            self.wait(seconds)

    def _round(self) -> None:
        self.shaken -= bool(self.shaken)
        self.kill.armed = True
        try:
            super().go()
        except Killed:
            self.restart()
        except FAILURES as error:
            if isinstance(error, Outdated) or not (self.away or self.shaken):
                raise
        finally:
            self.kill.armed = False

    def lose_sight(self, *, empty: bool, nodes: bool) -> None:
        """Let the work directory be away: nothing is in its place, or an empty directory where it is to be mounted."""
        self.away, self.nodes.away = True, nodes or not self.batch.shared_work
        self.shared.unlink()
        if empty:
            (self.shared / "state").mkdir(parents=True)

    def see_again(self) -> None:
        """Let it be back, as it was; what was put into the empty directory lies below."""
        if self.away:
            self.away = self.nodes.away = False
            self.shaken = 3
            if self.shared.exists():
                self.shared.rename(self.place / f"below{self.elapsed}")
            self.shared.symlink_to(self.disk)

    def grids(self, *steps: Step) -> list[int]:
        """Give the ids of the grid jobs at these steps, or all."""
        return [job.id for job in self.store.grid_jobs(*steps)]

    def all_finished(self) -> bool:
        """Tell whether nothing is left to do."""
        inbox = [each for each in (self.site.state / "inbox").iterdir() if not each.name.startswith(".")]
        return not self.store.unfinished() and not inbox
