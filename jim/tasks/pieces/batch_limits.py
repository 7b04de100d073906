"""Says how many local jobs the grid jobs of a task may have in the batch system: retries keep to the throttle, too."""

from __future__ import annotations

from jim.jobs import GridJob
from jim.model import IN_BATCH, State
from jim.statusdb.task_rows import Task, TaskState
from jim.tasks.keeping import Keeper
from jim.tasks.throttle import next_probe
from jim.tasks.throttle_row import read

NEVER = float("inf")


class Budget:
    """What the waves of a task may have in the batch system together; the oldest come first.

    While most attempts fail, what has failed may not be tried again as fast as it fails: one attempt goes at a time, at
    the pace of the probes.
    """

    def __init__(self, keeper: Keeper, task: Task) -> None:
        self._keeper, self._task, self._row = keeper, task, read(task.throttle)
        sent = keeper.store.tasks.counts(task.id, "pieces").get("sent", 0)
        most = 0 if task.state is TaskState.PAUSED else self._row.allowance
        self._left = most if sent > most else None
        self._paced = bool(self._row.throttle.probes and most)
        self.due = NEVER  # when the next attempt may go, in seconds since boot

    def give(self, job: GridJob) -> None:
        """Give a grid job its room."""
        counts = self._keeper.store.counts(job.id)
        room = self._with_pauses(job, counts) if self._paced else self._of_the_rest(counts)
        if room != job.room:
            self._keeper.store.set_grid_job(job.id, room=room)

    def _of_the_rest(self, counts: dict[State, int]) -> int | None:
        """Return what is left of the room, as far as a grid job needs it; none: there is no bound."""
        if self._left is None:
            return None
        room = min(self._left, sum(count for state, count in counts.items() if not state.final))
        self._left -= room
        return room

    def _with_pauses(self, job: GridJob, counts: dict[State, int]) -> int | None:
        """Return the room in a bad time: for what was released in it and not tried yet, else now and then for one."""
        if not job.size:
            return None
        store, there = self._keeper.store, sum(counts.get(each, 0) for each in IN_BATCH)
        if not counts.get(State.WAITING, 0):
            return 0
        if store.journals.first_line(job.id) >= self._row.throttle.mark:
            new = [each for each in store.local_jobs(job.id, (State.WAITING,)) if not each.attempt]
            if new:
                return there + len(new)
        trial = f"{job.id}.{job.submissions}"
        return there + 1 if self._row.orders.trial == trial or self._may_probe(job, trial) else 0

    def _may_probe(self, job: GridJob, trial: str) -> bool:
        """Tell whether an attempt may go now; if so, the next one has to wait."""
        clock, store = self._keeper.clock, self._keeper.store
        if not has_due(self._keeper, job.id):
            self.due = min(self.due, clock.boot_at(store.seen.next_due(job.id)))
            return False
        may = self._next_probe() <= clock.boot()
        if may:
            throttle, orders = self._row.throttle, self._row.orders
            self._row = self._row._replace(
                throttle=throttle._replace(probed=clock.steady()), orders=orders._replace(trial=trial)
            )
            store.tasks.change(self._task.id, throttle=self._row.stored())
        self.due = min(self.due, self._next_probe())
        return may

    def _next_probe(self) -> float:
        """Return when the next probe may go, in seconds since boot."""
        return self._keeper.clock.boot_at(next_probe(self._row.throttle, self._row.limits, self._task.nonce))


def has_due(keeper: Keeper, grid: int) -> bool:
    """Tell whether a local job of a grid job waits to be sent, and could be sent now."""
    return bool(keeper.store.local_jobs(grid, (State.WAITING,), limit=1, due=keeper.clock.steady()))
