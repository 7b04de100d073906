"""Worker nodes that do not see the work directory: what ends there comes back before it leaves the queue, or never."""

from __future__ import annotations

from pathlib import Path

from tests.fake_batch.engine import Task
from tests.fake_batch.node import TROUBLE, Nodes, Run


class FarNodes(Nodes):
    """No claim keeps a second start from running here, and none is touched."""

    def _claim(self, task: Task, directory: Path, index: int, told: str, host: str) -> Run | None:
        self.wrappers += 1
        if not (directory.parent / "local-job").exists():
            # The grid job was removed, a restore has brought it back, and somebody has tried it anew.
            self.engine.end(task, TROUBLE)
            return None
        luggage = {each.name for each in (directory / "luggage").iterdir() if each.exists()}
        assert {"remote-job", "local-job", "jobs"} <= luggage, "it cannot run without what it needs"
        return self._run(task, directory, index, f"{self.wrappers:032x}", told, host)

    def leave(self, task: Task, *, reported: bool) -> None:
        """Nothing tells them which hosts to avoid."""

    def _begin_outputs(self, run: Run) -> None:
        pass

    def report(self, run: Run) -> None:
        pass

    def finish(
        self, run: Run, code: int = 0, *, signal: int | None = None, reported: bool = True, lag: float = 0.0
    ) -> None:
        """End a payload; of what is removed nothing comes back, and nothing comes late.

        Where the grid job was removed, as after a restore that knows nothing of the payload, it has nowhere to come to.
        """
        if run.task.why or not run.directory.exists():
            self.die(run)
        else:
            super().finish(run, code, signal=signal, reported=False)

    def _touch(self, run: Run) -> None:
        pass
