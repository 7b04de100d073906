"""A state directory of the test's own on the site's real batch system, its keeper's rounds made by hand."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jim import inbox, request
from jim.errors import JimError, UnknownJob
from jim.model import State, Step
from jim.opening import open_house
from jim.run_grid_job import Rounds
from jim.site import Site, make_state
from jim.statusdb.rows import GridJob, LocalJob

CLEANING_SECONDS = 60.0
ROUND_SECONDS = 0.1


class Ground:
    """Grid jobs of a test, from submission to the end, and nothing left behind."""

    def __init__(self, site: Site, **batch: Any) -> None:
        make_state(site)
        place = Path(tempfile.mkdtemp(prefix="site-test-", dir=site.state))
        self.site = site._replace(state=place, managed=False, batch=site.batch._replace(**batch))
        self.rounds = Rounds(open_house(self.site))
        self.store = self.rounds.house.store
        self.ledger = self.site.work / "ledger"
        self.ledger.mkdir()

    def __enter__(self) -> Ground:
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what is not finished, wait for it, and remove every file."""
        for job in self._unfinished():
            inbox.wish(self.site.state, "cancel", str(job.id))
        with suppress(JimError):
            self.until(lambda: not self._unfinished(), CLEANING_SECONDS)
        while not self.rounds.house.workers.idle():  # a command under way would make its files again
            self.rounds.deliver(ROUND_SECONDS)
        self.rounds.close()
        for place in (self.site.work, self.site.state):
            if place.exists():
                gone = place.rename(place.with_name(f".{place.name}"))  # nobody makes a file there any more
                shutil.rmtree(gone, ignore_errors=True)

    def precede(self, *words: str) -> None:
        """Put a command before every batch command; it gets the verb, then the real words."""
        adapter = self.rounds.house.adapter
        adapter.commands = {verb: (*words, verb, *real) for verb, real in adapter.commands.items()}

    def _unfinished(self) -> list[GridJob]:
        return self.store.grid_jobs(*(step for step in Step if step is not Step.FINISHED))

    # What is handed in

    def submit(self, name: str, script: str, **attributes: Any) -> int:
        """Hand in a shell script as one local job."""
        shell = {"job_type": "executable", "executable": "/bin/sh", "arguments": ["-c", self._noted(script)]}
        return self._deposit(name, shell | attributes)

    def submit_many(self, name: str, script: str, pieces: int, **attributes: Any) -> int:
        """Hand in a shell script as so many local jobs, each with its number as $1."""
        sets = [["-c", self._noted(script), "sh", str(n)] for n in range(pieces)]
        return self._deposit(
            name, {"job_type": "parametric", "executable": "/bin/sh", "argument_sets": sets} | attributes
        )

    def _deposit(self, name: str, attributes: dict[str, Any]) -> int:
        _, checked = request.check(attributes)
        return inbox.deposit(self.site.state, name, checked | {"key": name})

    def _noted(self, script: str) -> str:
        """Let a script leave a file for each time it is started: grid job, local job, attempt, process."""
        return f': >"$LEDGER/$JIM_GRID_JOB.$JIM_LOCAL_JOB.$JIM_ATTEMPT.$(uname -n).$$"; {script}'

    @property
    def environment(self) -> dict[str, str]:
        """What the scripts need to keep the ledger."""
        return {"LEDGER": str(self.ledger)}

    # What comes of it

    def until(self, true: Callable[[], bool], limit: float) -> bool:
        """Make rounds until something holds; tell whether it did within so many seconds."""
        deadline = time.monotonic() + limit
        while not true():
            if time.monotonic() > deadline:
                return False
            self.rounds.round()
            if self.rounds.deliver(ROUND_SECONDS):
                while self.rounds.deliver(0):
                    pass
        return True

    def finished(self, *jobs: int) -> bool:
        """Tell whether these grid jobs are finished."""
        try:
            return all(self.store.grid_job(job).step is Step.FINISHED for job in jobs)
        except UnknownJob:
            return False

    def local_job(self, job: int, n: int = 0) -> LocalJob:
        """Give a local job as it is known now."""
        return self.store.local_job(job, n)

    def starts(self, job: int) -> list[str]:
        """Give the starts of a grid job's payloads, as the payloads themselves noted them."""
        return sorted(each.name for each in self.ledger.iterdir() if each.name.startswith(f"{job}."))

    def story(self, job: int) -> str:
        """Tell where a grid job is, and the last words about it."""
        try:
            counts = ", ".join(f"{count} {state.value}" for state, count in self.store.counts(job).items())
            last = [f"{each.now} ({each.witness}) {each.reason}".strip() for each in self.store.journal(job)[-3:]]
        except UnknownJob:
            return "it was never taken in"
        trouble = self.rounds.house.health.trouble
        return "; ".join(filter(None, (counts, *last, trouble and f"the batch system: {trouble}")))

    def completed(self, job: int) -> bool:
        """Tell whether all of a grid job completed."""
        counts = self.store.counts(job)
        return self.finished(job) and set(counts) == {State.COMPLETED}
