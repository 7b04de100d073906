"""The channel to a batch system: runs an adapter's commands with a time limit, and interprets the answers.

No other module runs batch commands. An answer that the adapter cannot read proves nothing and raises `Unclear`.
Submitting, listing, finding and asking for the history count in the health of the batch system or of its history;
nothing else does. Several threads may run commands at once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from jim import command
from jim.clock import Clock
from jim.errors import BatchError, Full, JimError, NotStarted, Refused, Unclear
from jim.idealizer.health import Health, history
from jim.idealizer.starts import Starts
from jim.model import Answer, Batch, Kind, Listing, Observation, State
from jim.trust.plugins import foreign

if TYPE_CHECKING:
    from jim.adapters.base import Adapter
    from jim.adapters.capacity import Capacity

T = TypeVar("T")
log = logging.getLogger(__name__)
WAITS_SECONDS = 10.0  # nothing is done with why jobs wait, so nothing waits long for it
IDS_AT_ONCE = 1000  # the kernel limits an argument list, and a single argument to 128 KiB
Ids = Sequence[tuple[str, int]]  # batch ids, each with an index


class Programs(Protocol):
    """Runs batch commands: `jim.command`, or a test's replacement."""

    def run(self, command: Sequence[str], *, limit: float, mark: str = "") -> Answer:
        """Run a command; return its answer."""

    def end_marked(self, mark: str, id_variable: str) -> list[int]:
        """End the commands of this mark that still run."""


class Channel:
    """A batch system, as the keeper talks to it."""

    def __init__(self, adapter: Adapter, limit: float, clock: Clock, programs: Programs = command) -> None:
        self.adapter, self._limit, self._clock, self.programs = adapter, limit, clock, programs
        self.health, self.past, self.starts = Health(clock), history(clock), Starts()
        self._looking = threading.Lock()
        self._looked: tuple[float, Listing] = (-1.0, {})  # the time and the result of the last full listing for `find`

    def submit(self, batch: Batch) -> str:
        """Submit local jobs; return the batch id."""
        with _heard(self.health, Refused, Full):
            return self._read(self._batch_id, self._run(self.adapter.submit_command(batch), mark=batch.mark))

    def _batch_id(self, answer: Answer) -> str:
        if not answer.started:
            raise NotStarted(answer.facts())
        if answer.code != 0:
            raise self.adapter.trouble(answer)
        return self.adapter.parse_submit(answer)

    def end_client(self, mark: str) -> None:
        """End the batch command of this mark: otherwise it may sleep and submit hours later."""
        self.programs.end_marked(mark, self.adapter.id_variable)

    def listing(self) -> Listing:
        """List all jobs in the queue."""
        with _heard(self.health):
            return self._read(self.adapter.parse_query, self._run(self.adapter.query_command()))

    def with_waits(self, listing: Listing) -> Listing:
        """Add why jobs wait, where a command of its own tells it. What it cannot tell stays out, and harms nothing."""
        words = self._waits() if any(seen.state is State.SUBMITTED for seen in listing.values()) else {}
        others = words.get("", "")
        waits = {key: seen.waits or words.get(key[0], others) for key, seen in listing.items()} if words else {}
        return {key: seen._replace(waits=waits[key]) for key, seen in listing.items()} if waits else listing

    def _waits(self) -> Mapping[str, str]:
        try:
            with foreign("its adapter cannot ask why jobs wait"):
                command = self.adapter.waits_command()
            if command is None:
                return {}
            answer = self.programs.run(command, limit=min(self._limit, WAITS_SECONDS))
            return self._read(self.adapter.parse_waits, answer)
        except (JimError, OSError) as error:
            log.info("why jobs wait is not known now: %s", error)
            return {}

    def answers(self) -> bool:
        """Tell whether the batch system answers at all."""
        return self._run(self.adapter.ping_command()).code == 0

    def capacity(self) -> Capacity:
        """Ask how much room the batch system has. What a command cannot tell stays unknown, and harms nothing."""
        with foreign(f"the adapter {self.adapter.name!r} cannot tell how much room there is"):
            answers = {name: self._run(words) for name, words in self.adapter.capacity_commands().items()}
            return self.adapter.parse_capacity(answers)

    def find(self, mark: str, since: float) -> str:
        """Find the batch id of the submission with this mark; empty: not found. Older listings do not count."""
        with _heard(self.health):
            found = self._carrier(self._listing(self.adapter.find_command(mark), mark, since), mark)
            ended = None if found else self.adapter.find_ended_command(mark)
            return self._carrier(self._read(self.adapter.parse_history, self._run(ended)), mark) if ended else found

    def _listing(self, command: Sequence[str], mark: str, since: float) -> Listing:
        """Query jobs by a mark. If only all jobs can be listed, callers since the last listing share one."""
        if any(mark in word for word in command):
            return self._read(self.adapter.parse_find, self._run(command))
        with self._looking:
            began, listing = self._looked
            if began < since:
                began = self._clock.boot()
                listing = self._read(self.adapter.parse_find, self._run(command))
                self._looked = began, listing
            return listing

    def _carrier(self, listing: Listing, mark: str) -> str:
        width = self.adapter.name_length
        return next((id_ for (id_, _), seen in listing.items() if seen.mark[:width] == mark[:width]), "")

    def history(self, batch_ids: Sequence[str]) -> dict[tuple[str, int], Observation]:
        """Ask how these batch jobs ended."""
        found: dict[tuple[str, int], Observation] = {}
        with _heard(self.past):
            for chunk in _chunks(batch_ids, self.adapter.most_asked):
                found |= self._read(self._ends, self._run(self.adapter.history_command(chunk)))
        return found

    def _ends(self, answer: Answer) -> dict[tuple[str, int], Observation]:
        told = self.adapter.parse_history(answer)
        return {key: seen._replace(kind=seen.kind or self.adapter.kind_of(seen)) for key, seen in told.items()}

    def cancel(self, ids: Ids) -> None:
        """Cancel these batch jobs."""
        for chunk in _chunks(ids, IDS_AT_ONCE):
            self._read(self.adapter.parse_cancel, self._run(self.adapter.cancel_command(chunk)))

    def change(self, verb: str, ids: Ids) -> None:
        """Hold, release, suspend or resume these batch jobs, if the batch system has a command for that."""
        for chunk in _chunks(ids, IDS_AT_ONCE):
            command = self.adapter.change_command(verb, chunk)
            if command is not None:
                self._read(self.adapter.parse_cancel, self._run(command))

    def _run(self, command: Sequence[str], mark: str = "") -> Answer:
        return self.programs.run(command, limit=self._limit, mark=mark)

    def _read(self, parse: Callable[[Answer], T], answer: Answer) -> T:
        """Let the adapter read an answer; if the adapter raises an error, the answer proves nothing."""
        try:
            with foreign("its adapter cannot read an answer"):
                return parse(answer)
        except BatchError as error:
            error.answer = answer
            raise
        except JimError as error:
            unclear = Unclear(f"{error}: {answer.facts()}", Kind.STUMBLED)
            unclear.answer = answer
            raise unclear from error


@contextmanager
def _heard(health: Health, *apart: type[BatchError]) -> Iterator[None]:
    """Count an answer as good or bad. A refused or too large submission does not count."""
    try:
        yield
    except (BatchError, OSError) as error:
        if not isinstance(error, apart):
            health.failed(error)
        raise
    health.good()


def _chunks(ids: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (ids[at : at + most] for at in range(0, len(ids), most))
