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
is returned as `Kind.UNKNOWN`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from jim.clock import Clock
from jim.jobs import (
    Alike,
    AtDoor,
    Attempt,
    Change,
    Compared,
    Ended,
    GridJob,
    Journal,
    Key,
    Live,
    LocalJob,
    Sender,
    Submission,
    Unaccounted,
    Used,
)
from jim.model import NOTHING, Piece, Reason, State, Step, SubmissionState, Witness
from jim.statusdb.asked import (
    AttemptSeen,
    Detail,
    GridJobOnHost,
    GridJobsAsked,
    HostSeen,
    HostTotal,
    LastLine,
    LocalJobsAsked,
    LocalJobSeen,
    Minute,
    PhaseSeen,
    Publisher,
    Query,
    QueueWords,
    Refused,
    Unchecked,
)
from jim.statusdb.task_contract import TaskStore


class Store(TaskStore, Protocol):
    """The status DB of one state directory.

    Opening refuses a format that is newer than this JIM knows. A writer updates an older format when it opens the
    store; readers do not change it.
    """

    clock: Clock

    def close(self) -> None:
        """Close the store."""

    def reader(self) -> Store:
        """Open the same store for another thread, to read."""

    def transaction(self) -> AbstractContextManager[None]:
        """Store all changes or none; inside a larger transaction, be a part of that transaction."""

    def part(self) -> AbstractContextManager[None]:
        """Store all changes of a part or none, inside a larger transaction that continues in either case.

        A `StoreError` may have undone the whole transaction, so a caller that catches errors of a part must let it
        pass.
        """

    def require_log(self) -> None:
        """Raise `LogLost` if what this store writes does not get into the status DB any more."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Read the store as of one moment, even while the keeper writes."""

    def changes(self) -> int:
        """Return a number that grows with every change that this store makes."""

    def changed(self) -> set[int]:
        """Return the grid jobs that this store has changed since the last call, and perhaps others.

        A change counts as soon as it is made, so that none is missed. After a start, use `left`.
        """

    def version(self, grid: int | None = None) -> int | None:
        """Return the version of a grid job, or of the whole store; None: it is not known.

        Each transaction that changes anything of a grid job, publications too, raises both by one.
        """

    def is_made(self) -> bool:
        """Tell whether the store has tables: a keeper that was killed while it made the store leaves an empty file."""

    def copy_to(self, file: Path) -> None:
        """Write the whole store, as of one moment, into a new file that can be opened as a store."""

    def look_for_damage(self, seconds: float) -> bool:
        """Check the store for this many seconds; tell whether the whole store was read.

        Raise `Damaged` if the store is damaged.
        """

    # Facts about the state directory

    def fact(self, name: str) -> str:
        """Return a fact; empty if it was never set.

        The serial is a fact: each `add_grid_job` and `intend` raises it.
        """

    def set_fact(self, name: str, value: str) -> None:
        """Record a fact."""

    def make_due(self, jump: float = 0.0) -> None:
        """Make everything due at once except `HELD` local jobs; reset the count of looks for lost submissions.

        By `jump` seconds the clock was set while this machine ran on: nothing has waited for that.
        """

    # Work on files after a transaction, which records it: a killed keeper finds it again

    def remove(self, job: GridJob) -> None:
        """Hide a grid job, free its key, and record that its files must be removed."""

    def removed(self) -> list[tuple[int, str]]:
        """Return the grid jobs that were removed, with the directories that may be left."""

    def files_are_gone(self, number: int) -> None:
        """Record that no file of a removed grid job is left."""

    def removed_at(self, number: int) -> str:
        """Return when a grid job was removed; empty if that is not known, or was more than 400 days ago."""

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
        by: str = "",
        realm: str = "",
    ) -> bool:
        """Add a grid job, at step accepted, submitted by somebody; a known key or number changes nothing."""

    def grid_job(self, number: int) -> GridJob:
        """Return one grid job, or raise `UnknownJob`."""

    def grid_jobs(self, *steps: Step, last: int = -1) -> list[GridJob]:
        """Return the grid jobs at these steps, or all, by number; at most the last `last`."""

    def finished(self, above: int, most: int) -> list[GridJob]:
        """Return the first `most` finished grid jobs with numbers above `above`."""

    def known_as(self, key: str) -> int:
        """Return the number of the grid job with a key; 0: there is none, or none any more."""

    def places(self) -> dict[int, str]:
        """Return the directories of grid jobs whose name is not the number."""

    def left(self) -> list[int]:
        """Return the grid jobs that are not finished, or whose last answer is not written yet."""

    def are_answered(self, numbers: Iterable[int]) -> None:
        """Record that the last answers of finished grid jobs are written."""

    def answered(self) -> list[int]:
        """Return the finished grid jobs whose last answer is written."""

    def answer_anew(self, numbers: Iterable[int]) -> None:
        """Have the last answers of finished grid jobs written again."""

    def any_grid_job(self, *steps: Step) -> bool:
        """Tell whether any grid job is at one of these steps."""

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

    def journal_in_parts(self, grid: int, last: int) -> Iterator[Journal]:
        """Yield the last lines about a grid job, oldest first, read in parts: a slow reader blocks nobody."""

    def requested(self, since: str) -> Iterator[Journal]:
        """Yield the lines of the journal that say who submitted or requested something, since a time."""

    def counts(self, grid: int) -> dict[State, int]:
        """Return a grid job's local jobs counted by state, without reading them; none before `end_split`."""

    def in_batch(self) -> int:
        """Count the local jobs that the batch system has or may have, of all grid jobs. To ask costs nothing."""

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
        self,
        grid: int,
        states: Sequence[State] = tuple(State),
        *,
        first: int = 0,
        limit: int = -1,
        due: float = math.inf,
    ) -> list[LocalJob]:
        """Return a grid job's local jobs in these states, in order, from `first` on, at most `limit`, due by `due`."""

    def completing(self) -> Iterator[tuple[int, int]]:
        """Return the local jobs of all grid jobs whose outputs are not verified yet."""

    def next_due(self, grid: int) -> float:
        """Return when the first waiting local job is due; `HELD` if none waits or all are held."""

    def reasons(self, grid: int, states: Sequence[State], limit: int) -> tuple[list[Alike], int]:
        """Return the most frequent reasons of the local jobs in these states, with counts, and their number.

        Reasons of the same words count as one; its kind is known if the kind of any of them is known.
        """

    def state(self, grid: int, n: int) -> State:
        """Return only the state of one local job."""

    def wishes(self, grid: int, n: int) -> tuple[str, str]:
        """Return the wishes for a grid job and for one of its local jobs."""

    def wished(self, grid: int) -> frozenset[int]:
        """Return the local jobs that someone wished to end and that have not ended."""

    def held(self, grid: int) -> list[LocalJob]:
        """Return the local jobs that JIM holds until a person decides."""

    def changed_local_jobs(self, grid: int) -> list[LocalJob]:
        """Return the local jobs whose further attempts have attributes of their own."""

    def change(self, changes: Iterable[Change]) -> None:
        """Change local jobs, all or none; skip those that are no longer where the evidence found them."""

    def set_local_job(self, grid: int, n: int, **columns: Any) -> None:
        """Change a local job; a new state is written to the journal, and counts."""

    def end_waiting(self, grid: int, reason: Reason, at_most: int) -> int:
        """Kill the first waiting local jobs, as someone wished; return the number."""

    # Submissions and attempts

    def intend(
        self,
        grid: int,
        k: int,
        mark: str,
        jobs: Sequence[LocalJob],
        seconds: int | None = None,
        asked: Mapping[str, Any] = NOTHING,
    ) -> None:
        """Record, before anything is done, that these waiting local jobs are submitted together as submission k."""

    def submissions(self, *states: SubmissionState, grid: int | None = None) -> list[Submission]:
        """Return the submissions in these states, of one grid job or of all."""

    def any_submission(self, *states: SubmissionState) -> bool:
        """Tell whether any submission is in one of these states."""

    def submission(self, grid: int, k: int) -> Submission | None:
        """Return one submission."""

    def set_submission(self, grid: int, k: int, **columns: Any) -> None:
        """Change a submission."""

    def submission_numbers(self, grid: int) -> set[int]:
        """Return the numbers of a grid job's submissions."""

    def forget_submission(self, grid: int, k: int) -> None:
        """Remove a never sent submission and its attempts."""

    def take_up(self, found: Submission, attempts: Mapping[int, tuple[int, int]]) -> None:
        """Store a found submission, with attempts at local jobs by index: n, attempt."""

    def end_submissions(self, grid: int) -> None:
        """Close the confirmed submissions of a grid job of which no attempt is live."""

    def attempt(self, grid: int, k: int, idx: int) -> Attempt | None:
        """Return one attempt by its place in a submission."""

    def attempts(self, grid: int, *, n: int | None = None, k: int | None = None) -> list[Attempt]:
        """Return the attempts of a grid job, of one local job, or of one submission, by local job and number."""

    def any_attempt(self, grid: int, k: int) -> bool:
        """Tell whether a submission has attempts."""

    def set_attempt(self, grid: int, k: int, idx: int, **columns: Any) -> None:
        """Change an attempt."""

    def set_attempts(self, told: Mapping[Key, Mapping[str, Any]]) -> None:
        """Change several attempts, all or none."""

    def compared(self, keys: Iterable[Key]) -> dict[Key, Compared]:
        """Return what arrived evidence of these attempts is compared with; unknown attempts are left out."""

    def claimed(self, jobs: Iterable[tuple[int, int]]) -> list[tuple[int, Ended]]:
        """Return the last attempts of these local jobs, each with its grid job."""

    def given_up(self) -> list[Attempt]:
        """Return the attempts that must end (`over`), and have no verdict yet."""

    def live(self, grid: int | None = None) -> Iterator[Live]:
        """Yield every live attempt, of one grid job or of all: the batch system has it or may have it.

        An attempt with a verdict is no longer live.
        """

    def rivals(self, pairs: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return which other live submissions have the batch ids of these pairs of batch id and mark, as such pairs."""

    def has_started_off(self, host: str) -> bool:
        """Tell whether any attempt has started on another host."""

    def ended(self, grid: int, *, records: bool = True) -> Iterator[Ended]:
        """Return how each local job ended, in order, read in parts: a slow reader blocks nobody.

        Without records, submissions and indices are left out, too.
        """

    def last_run(self, grid: int, n: int) -> Attempt | None:
        """Return the last attempt of a local job that has started; None if none has."""

    # Who sent grid jobs, and what is left to be accounted

    def set_sender(self, grid: int, sender: Sender) -> None:
        """Record who sent a grid job."""

    def sender(self, grid: int) -> Sender:
        """Return who sent a grid job; empty if that is not known, or not any more."""

    def sent_as(self, contact: str) -> int:
        """Return the latest grid job with a gatekeeper's contact; 0: there is none."""

    def unfinished_of(self, sender: str) -> set[int]:
        """Return the grid jobs of a sender (`Sender.counted_as`) that have not finished."""

    def in_batch_of_senders(self) -> list[tuple[int, str, int]]:
        """Count the local jobs that the batch system has or may have, of grid jobs with a DN: number, sender, count."""

    def old_senders(self, before: str, limit: int) -> list[tuple[int, str]]:
        """Return grid jobs with senders, and their keys, that finished before a time."""

    def forget_sender(self, grid: int) -> None:
        """Forget who sent a grid job."""

    def unaccounted(self, limit: int) -> list[Unaccounted]:
        """Return ended attempts whose line of the accounting may not be written yet, in the order of their ends.

        The transaction that gives an attempt its verdict puts the attempt here.
        """

    def is_unaccounted(self, grid: int) -> bool:
        """Tell whether a line about a grid job may not be written yet."""

    def are_accounted(self, last: int) -> None:
        """Record that the lines are written, up to the one with this number."""

    def in_vain(self) -> dict[Key, float]:
        """Return since when attempts can never start, in seconds since 1970."""

    def set_in_vain(self, begun: Mapping[Key, float], over: Iterable[Key]) -> None:
        """Record since when attempts can never start, and which may start again or have ended."""

    # What doors keep of grid jobs

    def at_door(self, grid: int) -> AtDoor:
        """Return what the door of a grid job keeps of it."""

    def set_at_door(self, grid: int, **columns: Any) -> None:
        """Change what the door of a grid job keeps of it."""

    def unplaced(self) -> bool:
        """Tell whether outputs of any finished grid job must still be placed for its gatekeeper."""

    # Attempts that do not count against their local jobs, as a host is to blame

    def set_left(self, key: Key, n: int, host: str) -> None:
        """Record that the wrapper of an attempt has left a host that JIM avoids; the attempt is to be fenced."""

    def to_fence(self, limit: int) -> dict[Key, str]:
        """Return the attempts to be fenced, with the hosts that their wrappers have left; at most `limit`."""

    def spare(self, key: Key, n: int, host: str) -> None:
        """Record that an attempt does not count; it is no longer to be fenced."""

    def count_in(self, key: Key) -> None:
        """Record that an attempt counts after all; it is no longer to be fenced."""

    def last_lines(self, grid: int) -> dict[str, LastLine]:
        """Return the last lines of a grid job's failed local jobs, by their reason."""

    def set_last_lines(self, grid: int, lines: Mapping[str, LastLine]) -> None:
        """Store last lines by reason. No move acts on them, so this causes no look."""

    def failed_after(self, grid: int, seq: int, limit: int) -> list[tuple[int, int]]:
        """Return local jobs that have failed after a line of the journal: the number of the line, and n."""

    def names(self, grids: Sequence[int], longest: int) -> dict[int, tuple[object, object]]:
        """Return the names and programs of grid jobs as their requests have them, unless these are longer."""

    def queue_words(self, grid: int) -> list[QueueWords]:
        """Return what the batch system says of the waiting jobs of a grid job, in groups."""

    def new_queue_words(self, seen: Mapping[tuple[int, int, str, str], int]) -> dict[tuple[int, int, str, str], int]:
        """Return which groups of all grid jobs differ from what is stored; 0: nothing says so any more.

        A group is a grid job, a submission, a state and words; it has a number of jobs.
        """

    def set_queue_words(self, new: Mapping[tuple[int, int, str, str], int]) -> None:
        """Store what differs. No move acts on it, so this causes no look."""

    def spared(self, grid: int, n: int) -> int:
        """Return how many attempts at a local job do not count."""

    def spared_among(self, keys: Iterable[Key]) -> set[Key]:
        """Return those of these attempts that do not count."""

    def left_since(self, since: str) -> set[str]:
        """Return the hosts that wrappers have left, and whose attempts were fenced since a time."""

    # What payloads and people publish. n is -1 in publications about the grid job itself

    def publish(
        self,
        grid: int,
        n: int,
        name: str,
        content: str,
        attempt: int | None = None,
        late: bool = False,
        valid: str = "",
    ) -> bool:
        """Store a publication in place of the last one under this name; tell whether it changes anything but the time.

        Nothing of an older attempt replaces what a newer one has published. Without an attempt, the latest one counts.
        """

    def publishers(self, keys: Iterable[Key]) -> dict[Key, Publisher]:
        """Return what decides how publications of these attempts are taken in; unknown attempts are left out."""

    def published_beside(self, grid: int, n: int, name: str) -> tuple[int, int]:
        """Return number and bytes of a local job's publications under other names."""

    def count_refused(self, grid: int, n: int, refused: int = 0, dropped: int = 0) -> None:
        """Count publications that are refused, or dropped because they came too late."""

    def refused(self, grid: int, n: int) -> Refused:
        """Return how many publications of a local job were refused, and how many came too late."""

    def details(self, grid: int, n: int | None = None) -> Iterator[Detail]:
        """Yield publications in order, read in parts."""

    def phases(self, grid: int) -> list[PhaseSeen]:
        """Add up the phases that the latest attempts of local jobs have begun."""

    def phases_of(self, grid: int, n: int) -> list[PhaseSeen]:
        """Return the phases of one local job, or those that were published for the grid job itself."""

    def events(self, grid: int) -> int:
        """Return the number of events of all local jobs, by their pieces."""

    def unchecked(self, limit: int) -> list[Unchecked]:
        """Return publications that are not yet compared with the grammar of their job type."""

    def are_checked(self, found: Iterable[tuple[Unchecked, str]]) -> None:
        """Record how publications differ from the grammar (empty: in nothing), unless they were replaced meanwhile."""

    # Parts of the store for people to browse, by a key, in bounded time

    def at_most(self, seconds: float) -> AbstractContextManager[None]:
        """Stop reads inside this block after so many seconds, with `TooLong`."""

    def grid_jobs_page(self, asked: GridJobsAsked, limit: int) -> list[GridJob]:
        """Return the next matching grid jobs, the newest first, without their requests."""

    def count_grid_jobs(self, asked: GridJobsAsked, at_most: int) -> int:
        """Count matching grid jobs on all pages; stop at one more than `at_most`."""

    def tallies(self, grids: Iterable[int]) -> dict[int, dict[State, int]]:
        """Count the local jobs of grid jobs by state."""

    def choices(self, limit: int) -> tuple[list[str], list[str]]:
        """Return the existing job types and owners, at most `limit` of each."""

    def carried_by(self, batch_id_or_mark: str) -> list[tuple[int, int]]:
        """Return the submissions with this batch id or mark, as grid job and number, the newest first."""

    def ran_on(self, host: str, limit: int) -> list[int]:
        """Return grid jobs with an attempt on this host, at most `limit`."""

    def local_jobs_page(self, grid: int, asked: LocalJobsAsked, limit: int) -> list[LocalJobSeen]:
        """Return the next matching local jobs, by number."""

    def count_local_jobs(self, grid: int, asked: LocalJobsAsked, at_most: int) -> int:
        """Count matching local jobs on all pages; stop at one more than `at_most`."""

    def states(self, grid: int, asked: LocalJobsAsked) -> Iterator[tuple[int, State]]:
        """Yield the state of each matching local job on all pages, by number."""

    def blocks(self, grid: int, size: int) -> Iterator[tuple[int, State, int]]:
        """Count the local jobs of each block of so many numbers by state: block, state, count."""

    def hosts(self, grid: int, limit: int) -> list[HostSeen]:
        """Return the hosts of a grid job's attempts, those with the most failures first."""

    def minutes(self, grid: int) -> list[Minute]:
        """Count by minute how local jobs of a grid job ended, and how many attempts started."""

    def lately(self, since: str) -> list[Minute]:
        """Count by minute how local jobs of the site ended since a time, and how many attempts started.

        Grid jobs that were removed count, too. What is older than two days is counted by the hour (`thin`).
        """

    def thin(self) -> None:
        """Count by the hour what `lately` counted by the minute more than two days ago.

        What is more than 400 days old is forgotten: these counts, and when grid jobs were removed.
        """

    # What is derived from other rows

    def wrong(self) -> dict[str, int]:
        """Recompute what is derived, as far as the rows are kept, and count differing rows by table."""

    def make_anew(self) -> None:
        """Make everything anew that is derived from other rows."""

    # Records

    def journal_end(self) -> int:
        """Return the number of the last line of the journal; 0: there is none."""

    def changes_of_local_jobs(self, after: int, last: int) -> dict[str, int]:
        """Count the new states of local jobs in the lines of the journal after one, up to another."""

    def steps(self) -> dict[Step, int]:
        """Count grid jobs by step."""

    def records_of_completed(self, grid: int, limit: int) -> list[str]:
        """Return exit records of completed attempts, at most `limit`."""

    def used(self, job_type: str, request_id: str, limit: int) -> list[Used]:
        """Return what completed local jobs of a job type and request id have used, the newest grid jobs first."""

    def records_of_all(self, grid: int) -> Iterator[tuple[int, int, str]]:
        """Yield the local job, the number and the exit record of each attempt that has left one."""

    # The attempts of all grid jobs, by host

    def host_totals(self, host: str = "") -> list[HostTotal]:
        """Count the attempts on each host, or on one, by result."""

    def host_reasons(self, limit: int, host: str = "") -> dict[str, list[Alike]]:
        """Return the most frequent reasons of failed attempts by host, or of one host; at most `limit` in all."""

    def tried_lately(self, since: str, limit: int) -> list[AttemptSeen]:
        """Return attempts on hosts that ended since a time, the latest first, and then attempts that run.

        There are at most `limit` of either.
        """

    def attempts_on(self, host: str, limit: int) -> list[AttemptSeen]:
        """Return the attempts on a host, the last changed first; at most `limit`."""

    def grid_jobs_on(self, host: str, limit: int) -> list[GridJobOnHost]:
        """Return the grid jobs with attempts on a host, the newest first; at most `limit`."""

    # Elements of documents

    def grid_job_numbers(self) -> list[int]:
        """Return the numbers of all grid jobs, in order."""

    def highest_number(self) -> int:
        """Return the highest number of a grid job, also of a removed one; 0: there was none."""

    def part_of_elements(self, name: str, grid: int, numbers: Sequence[int], *more: str) -> Iterator[Sequence[Any]]:
        """Yield, in the order of documents, the elements of some local jobs: n, further columns, attributes."""

    def published_of(self, grid: int, numbers: Sequence[int]) -> Iterator[Detail]:
        """Yield the publications of some local jobs in order."""

    def refused_of(self, grid: int, numbers: Sequence[int]) -> dict[int, Refused]:
        """Return how many publications of some local jobs were not stored."""

    def found(self, query: Query, *, strict: bool, limit: int = -1) -> Iterator[Sequence[Any]]:
        """Yield the rows of a query: the keys of an element, and the attribute if one is asked for."""
