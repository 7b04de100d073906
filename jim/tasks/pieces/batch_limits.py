"""Says how many local jobs the grid jobs of a task may have in the batch system: retries keep to the throttle, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jim.jobs import GridJob
from jim.model import IN_BATCH, State
from jim.statusdb.task_rows import Task, TaskState, Wave
from jim.tasks.keeping import Keeper
from jim.tasks.throttle import next_probe, read

NEVER = float("inf")


class Budget:
    """What the waves of a task may have in the batch system together; the oldest come first.

    While most attempts fail, and the allowance is one or used up, what is on the way may not be tried again as fast as
    it fails: one attempt goes at a time, at the pace of the probes.
    """

    def __init__(self, keeper: Keeper, task: Task, waves: Iterable[Wave]) -> None:
        self._keeper, self._task, self._throttle = keeper, task, read(task.throttle)
        sent = keeper.store.tasks.counts(task.id, "pieces").get("sent", 0)
        most = 0 if task.state is TaskState.PAUSED else self._throttle.allowance
        self._left = most if sent > most else None
        there = sum(_in_batch(keeper.store.counts(each.grid)) for each in waves if not each.t)
        self._paced = bool(self._throttle.probes and most) and (most == 1 or there >= most)
        self.due = NEVER  # when the next attempt may go, in seconds since boot

    def give(self, wave: Wave, job: GridJob) -> None:
        """Give a grid job its room."""
        counts = self._keeper.store.counts(job.id)
        room = self._with_pauses(wave, job, counts) if self._paced else self._of_the_rest(counts)
        if room != job.room:
            self._keeper.store.set_grid_job(job.id, room=room)

    def _of_the_rest(self, counts: dict[State, int]) -> int | None:
        """Return what is left of the room, as far as a grid job needs it; none: there is no bound."""
        if self._left is None:
            return None
        room = min(self._left, sum(count for state, count in counts.items() if not state.final))
        self._left -= room
        return room

    def _with_pauses(self, wave: Wave, job: GridJob, counts: dict[State, int]) -> int | None:
        """Return the room in a bad time: for what was released in it and not tried yet, else now and then for one."""
        if not job.size:
            return None
        there, waiting = _in_batch(counts), counts.get(State.WAITING, 0)
        if wave.w >= self._throttle.shrunk and waiting:
            new = [each for each in self._keeper.store.local_jobs(job.id, (State.WAITING,)) if not each.attempt]
            if new:
                return there + len(new)
        if not waiting:
            return 0
        trial = f"{job.id}.{job.submissions}"
        return there + 1 if self._throttle.trial == trial or self._may_probe(trial) else 0

    def _may_probe(self, trial: str) -> bool:
        """Tell whether an attempt may go now; if so, the next one has to wait."""
        clock = self._keeper.clock
        due = clock.boot_at(next_probe(self._throttle, self._task.nonce))
        if due <= clock.boot():
            self._throttle = self._throttle._replace(probed=clock.steady(), trial=trial)
            self._keeper.store.tasks.change(self._task.id, throttle=self._throttle._asdict())
            self.due = clock.boot_at(next_probe(self._throttle, self._task.nonce))
            return True
        self.due = due
        return False


def _in_batch(counts: Mapping[State, int]) -> int:
    return sum(counts.get(each, 0) for each in IN_BATCH)
