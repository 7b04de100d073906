"""The contract of a store. tests/unit/statusdb/test_contract.py checks every store against it.

Only one process writes: the keeper, and in it only the loop. Any number of processes and threads read, each with a
store of its own. Every method is one transaction, or a part of an open one. A transaction is durable when it ends;
after a kill, all of it is stored, or nothing.

A method that cannot do its work raises a `StoreError`, and has changed nothing. `Busy`, `DiskFull` and `Away` may pass:
the keeper repeats the move. `Damaged` does not pass. `NotStorable` is about the value: the keeper puts the submitted
file aside. No caller concludes anything about a job from a `StoreError`.

Times for people are RFC 3339 text in UTC. Due times (`due`) are seconds since 1970, UTC; 0 means at once, and `HELD`
(infinite) means: not before a person decides.

If a local job, a submission or an attempt changes, `reason` is a `Reason`, or only words, as a person writes them. The
words, the kind and the facts are replaced together; a row has them as three fields. A kind that this JIM does not know
is returned as `Kind.UNKNOWN`; rows of an older format have that kind and no facts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from jim.clock import Clock
from jim.jobs import Alike, Attempt, Change, Ended, GridJob, Journal, Live, LocalJob, Submission
from jim.model import Piece, Reason, State, Step, SubmissionState, Witness


class Store(Protocol):
    """The status DB of one state directory.

    Opening refuses a format that is newer than this JIM knows. A writer updates an older format when it opens the
    store; readers read it as it is.
    """

    clock: Clock

    def close(self) -> None:
        """Close the store."""

    def reader(self) -> Store:
        """Open the same store for another thread, to read."""

    def transaction(self) -> AbstractContextManager[None]:
        """Do all of it or nothing; inside a larger transaction, it is a part of that."""

    def part(self) -> AbstractContextManager[None]:
        """Do all of it or nothing, inside a larger transaction that continues without it.

        A `StoreError` may have undone the whole transaction, so a caller that catches errors of a part must let it
        pass.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Read everything as it is at one moment, even while the keeper writes."""

    def changes(self) -> int:
        """Return a number that grows with every change that this store makes."""

    def is_made(self) -> bool:
        """Tell whether the store has tables: a keeper that was killed while it made the store leaves an empty file."""

    def look_for_damage(self, seconds: float) -> bool:
        """Read the store for this many seconds; tell whether that was all of it.

        Raise `Damaged` if it makes no sense.
        """

    # Facts about the state directory

    def fact(self, name: str) -> str:
        """Return a fact; empty if it was never set.

        The serial is a fact: each `add_grid_job` and `intend` raises it.
        """

    def set_fact(self, name: str, value: str) -> None:
        """Record a fact."""

    def make_due(self) -> None:
        """Make everything due at once, except what is `HELD`; count looks for lost submissions from the start again."""

    # Work on files after a transaction, which records it: a killed keeper finds it again

    def remove(self, job: GridJob) -> None:
        """Hide a grid job, free its key, and record that its files must be removed."""

    def removed(self) -> list[tuple[int, str]]:
        """Return the grid jobs that were removed, with the directories that may be left."""

    def files_are_gone(self, number: int) -> None:
        """Forget a removed grid job of which no file is left."""

    def fulfil(self, name: str) -> None:
        """Record, in the transaction of a wish's changes, that the wish is fulfilled and its file must be removed."""

    def fulfilled(self) -> set[str]:
        """Return the fulfilled wishes whose files may be left."""

    def wishes_are_gone(self, names: Iterable[str]) -> None:
        """Forget fulfilled wishes whose files are gone."""

    # Grid jobs

    def add_grid_job(
        self,
        number: int,
        key: str,
        owner: str,
        created: str,
        request: Mapping[str, Any],
        nonce: str = "",
        door: str = "",
    ) -> bool:
        """Add a grid job, at step accepted; a known key or number changes nothing."""

    def grid_job(self, number: int) -> GridJob:
        """Return one grid job, or raise `UnknownJob`."""

    def grid_jobs(self, *steps: Step) -> list[GridJob]:
        """Return the grid jobs at these steps, or all, by their numbers."""

    def known_as(self, key: str) -> int:
        """Return the number of the grid job with a key; 0: there is none, or none any more."""

    def places(self) -> dict[int, str]:
        """Return the directories of grid jobs whose name is not the number."""

    def unfinished(self) -> bool:
        """Tell whether any grid job is not finished."""

    def set_grid_job(self, number: int, **columns: Any) -> None:
        """Change a grid job, or its request, which is JSON.

        A new step is written to the journal, due at once, without tries.
        """

    def note(self, grid: int, what: str, witness: Witness, reason: str = "", n: int | None = None) -> None:
        """Add a line to the journal that is not a change of state. Lines never change."""

    def journal(self, grid: int, n: int | None = None, last: int = 1000) -> list[Journal]:
        """Return the last lines about a grid job, or about one of its local jobs, oldest first."""

    def own_journal(self, grid: int, last: int = 1000) -> list[Journal]:
        """Return the last lines about a grid job itself, without its local jobs, oldest first."""

    def counts(self, grid: int) -> dict[State, int]:
        """Return a grid job's local jobs counted by state, without reading them; none before `end_split`."""

    def in_batch(self) -> dict[int, int]:
        """Count, for each grid job, the local jobs that the batch system has or may have."""

    # Splitting

    def empty(self, grid: int) -> None:
        """Remove the local jobs of a split that did not end."""

    def add_pieces(self, grid: int, first: int, pieces: Iterable[Piece]) -> None:
        """Store a row of pieces as local jobs; they wait, or have failed (`Kind.NOT_MADE`) if the piece says why."""

    def end_split(self, grid: int, size: int) -> None:
        """Let the local jobs count: step split."""

    # Local jobs

    def local_job(self, grid: int, n: int) -> LocalJob:
        """Return one local job, or raise `UnknownJob`."""

    def local_jobs(
        self, grid: int, states: Sequence[State] = tuple(State), *, limit: int = -1, due: float = math.inf
    ) -> list[LocalJob]:
        """Return a grid job's local jobs in order, in these states, at most so many, due by then."""

    def reasons(self, grid: int, states: Sequence[State], limit: int) -> tuple[list[Alike], int]:
        """Return the most frequent reasons of the local jobs in these states, with counts, and their number.

        Reasons of the same words are one; its kind is known if that of any of them is.
        """

    def state(self, grid: int, n: int) -> State:
        """Return only the state of one local job."""

    def wishes(self, grid: int, n: int) -> tuple[str, str]:
        """Return the wishes for a grid job and for one of its local jobs."""

    def wished(self, grid: int) -> frozenset[int]:
        """Return the local jobs that someone wished to end and that have not ended."""

    def held(self, grid: int) -> list[LocalJob]:
        """Return the local jobs that JIM holds until a person decides."""

    def change(self, changes: Iterable[Change]) -> None:
        """Change local jobs, all or none; skip those that are no longer where the evidence found them."""

    def set_local_job(self, grid: int, n: int, **columns: Any) -> None:
        """Change a local job; a new state is written to the journal, and counts."""

    def end_waiting(self, grid: int, reason: Reason, at_most: int) -> int:
        """Kill the first waiting local jobs, as someone wished; return the number."""

    # Submissions and attempts

    def intend(self, grid: int, k: int, mark: str, jobs: Sequence[LocalJob], seconds: int | None = None) -> None:
        """Record, before anything is done, that these waiting local jobs are submitted together as submission k."""

    def submissions(self, *states: SubmissionState, grid: int | None = None) -> list[Submission]:
        """Return the submissions in these states, of one grid job or of all."""

    def submission(self, grid: int, k: int) -> Submission | None:
        """Return one submission."""

    def set_submission(self, grid: int, k: int, **columns: Any) -> None:
        """Change a submission."""

    def submission_numbers(self, grid: int) -> set[int]:
        """Return the numbers of a grid job's submissions."""

    def forget_submission(self, grid: int, k: int) -> None:
        """Remove a submission and its attempts that was never submitted."""

    def take_up(self, found: Submission, attempts: Mapping[int, tuple[int, int]]) -> None:
        """Store a found submission, with attempts at local jobs by index: n, attempt."""

    def end_submissions(self) -> None:
        """Close the confirmed submissions without a live attempt."""

    def attempt(self, grid: int, k: int, idx: int) -> Attempt | None:
        """Return one attempt by its place in a submission."""

    def attempts(self, grid: int, *, n: int | None = None, k: int | None = None) -> list[Attempt]:
        """Return the attempts of a grid job, of one local job, or of one submission, by local job and number."""

    def set_attempt(self, grid: int, k: int, idx: int, **columns: Any) -> None:
        """Change an attempt."""

    def given_up(self) -> list[Attempt]:
        """Return the attempts that must end (`over`), and have no verdict yet."""

    def live(self) -> Iterator[Live]:
        """Return every attempt without a verdict that the batch system has, by its answer or a listing."""

    def ended(self, grid: int) -> Iterator[Ended]:
        """Return how each local job ended, in order, read in parts: a slow reader blocks nobody."""

    # What payloads publish

    def publish(self, grid: int, n: int, name: str, content: str) -> None:
        """Store a publication of a payload; it replaces the last one under this name."""

    def details(self, grid: int, n: int | None = None) -> list[tuple[int, str, str, str]]:
        """Return publications: local job, name, content, time."""
