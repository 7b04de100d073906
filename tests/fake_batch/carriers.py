"""Histories in which carriers, batch jobs that run several attempts, are one more thing that goes wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jim.keeper.attempts import asked_for
from jim.keeper.queue import handing_over, sending
from jim.work.bundles import Bundle
from tests.fake_batch.engine import Phase, Task
from tests.fake_batch.histories import Glitches, Troubles
from tests.fake_batch.node import HOLE, NODE, TROUBLE, Nodes, Run
from tests.fake_batch.people import People
from tests.fake_batch.restores import Restores

EACH = 2  # attempts for a carrier
MOST_BAD = 3
# What the ledger says of a carrier, and so of what it runs, or would have run.
OF_ALL = {"begun", "cancelled", "put back", "limit", "node", "declared dead", "forgotten", "denied"}


class Carriers(Nodes):
    """Nodes on which a batch job takes one attempt after another: its own share first, then those of others."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.bad: dict[int, int] = defaultdict(int)  # by what identifies a task: bad ends on a host, one after another

    def start(self, task: Task, host: str = NODE) -> Run | None:
        place = self._place(task)
        return self._next(task, *place, host) if place else None

    def leave(self, task: Task, *, reported: bool) -> None:
        """A carrier that is told to avoid its host begins nothing, and tells nothing."""
        if self._place(task):
            self.engine.end(task, 0)

    def _next(self, task: Task, directory: Path, carrier: int, told: str, host: str) -> Run | None:
        """Claim the next attempt; end the batch job if there is none, or nothing is to be begun."""
        if not self.away and (directory / "job.sh").exists() and not (directory / "stop").exists():
            for index in self._unclaimed(directory, carrier):
                if run := self._claim(task, directory, index, told, host):
                    return run
        if not self.of(task):
            self.engine.end(task, TROUBLE if self.away else 0)
        return None

    def _unclaimed(self, directory: Path, carrier: int) -> Iterator[int]:
        told = [line.split(" ") for line in (directory / "jobs").read_text().splitlines()]
        size = sum(words[-1] == "end" and len(words) == 2 for words in told)
        carriers = next(int(words[2]) for words in told if words[:2] == ["*", "carriers"])
        own = list(range(carrier, size + 1, carriers))
        yield from (index for index in own if not (directory / f"claim.{index}").exists())
        others = [index for index in range(size, 0, -1) if index not in own]
        yield from (index for index in others if not (directory / f"claim.{index}").exists())

    def _claim(self, task: Task, directory: Path, index: int, told: str, host: str) -> Run | None:
        """Win a claim; a race that is lost tells nothing."""
        notice = self._notice(told, host) + f"carrier {task.index}\n"
        nonce = notice.split()[1]
        own, claim = directory / f"c.{nonce}", directory / f"claim.{index}"
        own.write_text(notice)
        if claim.exists():
            return None
        claim.hardlink_to(own)
        return self._run(task, directory, index, nonce, told, host)

    def may_run(self, task: Task, index: int) -> bool:
        return True

    def leave_batch_job(self, run: Run) -> None:
        """Go on with the next one, unless the batch system has ended the carrier, or its host seems to be bad."""
        task = run.task
        self.bad[id(task)] = self.bad[id(task)] + 1 if run.code and run.host == HOLE else 0
        if task.phase is Phase.ENDED or self.of(task):
            return
        if run.signal or self.bad[id(task)] >= MOST_BAD:
            self.engine.end(task, 0)
        elif task.phase is not Phase.PENDING:
            self._next(task, run.directory, task.index, run.told, run.host)

    def end_given_up(self, run: Run) -> None:
        super().end_given_up(run)
        self.leave_batch_job(run)


class Carrying:
    """All grid jobs are bundled, whatever their requests say."""

    at_work = Carriers

    def set_out(self) -> None:
        super().set_out()  # type: ignore[misc]
        for room in (asked_for, handing_over):
            self.patch.setattr(room, "bundle_of", lambda _: Bundle(EACH))  # type: ignore[attr-defined]
        self.patch.setattr(sending, "per_batch_job", lambda _: EACH)  # type: ignore[attr-defined]
        self.oracle.happened = self.happened  # type: ignore[attr-defined]

    def happened(self) -> dict[tuple[str, int], set[str]]:
        """Give what the ledger says of each attempt, with what it says of the carrier, or of all if none had it."""
        of_attempts: dict[tuple[str, int], set[str]] = defaultdict(set)
        of_carriers: dict[tuple[str, int], set[str]] = defaultdict(set)
        for entry in self.engine.ledger:  # type: ignore[attr-defined]
            said = {entry.event, entry.note} if entry.note else {entry.event}
            about = of_carriers if OF_ALL & said or entry.event == "ended" else of_attempts
            about[entry.mark, entry.index] |= said
        carried = {(run.task.mark, run.index): run.task.index for run in self.nodes.ever}  # type: ignore[attr-defined]
        for grid in self.gateway.grids():  # type: ignore[attr-defined]
            for attempt in self.gateway.store.attempts(grid):  # type: ignore[attr-defined]
                key = self.oracle.key_of(attempt)  # type: ignore[attr-defined]
                mine = [carried[key]] if key in carried else [index for mark, index in of_carriers if mark == key[0]]
                for index in mine:
                    of_attempts[key] |= of_carriers[key[0], index] & OF_ALL
        return of_attempts

    def settle(self, task: Task) -> None:
        if not self.nodes.of(task):  # type: ignore[attr-defined]
            super().settle(task)  # type: ignore[misc]


class CarriedGlitches(Carrying, Glitches):
    """Glitches of carriers."""


class CarriedTroubles(Carrying, Troubles):
    """Troubles of carriers."""


class CarriedPeople(Carrying, People):
    """People with carriers."""


class CarriedRestores(Carrying, Restores):
    """Restores with carriers."""
