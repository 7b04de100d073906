"""The door of Globus GRAM: its scripts hand in descriptions, and read the lines that GRAM's job managers read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim.doors.contract import Door, Told
from jim.doors.gram import protocol
from jim.errors import BadRequest
from jim.model import Standing

if TYPE_CHECKING:
    from jim.doors.gram.events import Events
    from jim.doors.identity import Apart
    from jim.doors.keeping import Keeper
    from jim.site.file import Site

NUMBERS = {
    Standing.ACCEPTED: protocol.UNSUBMITTED,
    Standing.PENDING: protocol.PENDING,
    Standing.ACTIVE: protocol.ACTIVE,
    Standing.SUSPENDED: protocol.SUSPENDED,
    Standing.DONE: protocol.DONE,
}
ERRORS = {Standing.FAILED: protocol.EXECUTION_FAILED, Standing.CANCELLED: protocol.USER_CANCELLED}


class Gram(Door):
    """The lines and numbers of GRAM; where it does not poll, the keeper tells it by events."""

    usage: Mapping[str, str] = {
        "submit": "usage: jim-submit FILE (a request in TOML, JSON, JDF or RSL; prints the id of its grid job)",
        "cancel": "usage: jim-cancel G (a grid job, such as 12) or G.n (a local job of it, such as 12.3)",
        "deliver": "usage: jim-deliver G FILE (a grid job, and GRAM's description of it)",
    }
    _events: Events | None = None  # made by the keeper

    def accepted(self, number: int) -> bytes:
        """Write the answer to a submission."""
        return protocol.job(number)

    def state(self, told: Told) -> bytes:
        """Write the lines that a poll prints."""
        if told.standing in ERRORS:
            return protocol.failure(told.reason, ERRORS[told.standing])
        return protocol.state(NUMBERS[told.standing])

    def is_final(self, answer: bytes) -> bool:
        """Tell whether the lines say that a job has ended."""
        return protocol.final_state(answer) is not None

    def cancelled(self, answer: bytes) -> bytes:
        """Tell the final state if a job had ended already; of what is cancelled GRAM says that it failed."""
        return protocol.state(protocol.final_state(answer) or protocol.FAILED)

    def refused(self, verb: str, message: str, error: Exception) -> bytes:
        """Write the reason, and the number that GRAM has for it."""
        return protocol.failure(message, protocol.number_of(verb, error))

    # What only a gatekeeper hands in is read by modules that nobody else loads.

    def reads(self, asked: Mapping[str, Any]) -> bool:
        """Tell whether this is a job's description, as GRAM's scripts write it."""
        return protocol.is_description(asked)

    def attributes(self, asked: Mapping[str, Any], own: str) -> dict[str, Any]:
        """Make attributes of a description."""
        from jim.doors.gram.request import attributes_of

        return attributes_of(asked, own)

    @contextmanager
    def in_its_words(self, asked: Mapping[str, Any]) -> Iterator[None]:
        """Let a refusal name an attribute by GRAM's word for it."""
        from jim.doors.gram.request import in_its_words

        with in_its_words(asked):
            yield

    def require(self, asked: Mapping[str, Any], site: Site) -> None:
        """Refuse a job of whose end GRAM could not hear."""
        from jim.doors.gram.request import require_end

        require_end(asked, site.site.gram_events)

    def apart(self, asked: Mapping[str, Any]) -> Apart:
        """Name contacts, and what lies in places of one submission alone."""
        from jim.doors.gram.request import apart

        return apart(asked)

    def do(self, verb: str, words: Sequence[str], site: Site) -> tuple[bytes, str]:
        """Deliver what a grid job leaves where GRAM expects it; print what its poll says then."""
        from jim.doors.gram.results import deliver  # what makes files is loaded once for each grid job
        from jim.doors.inbox import target_of

        if len(words) != 2:
            raise BadRequest(self.usage[verb])
        description = self.read(Path(words[1]).absolute(), "")
        return deliver(site.state, target_of(words[0])[0], description), "what the grid job leaves was delivered"

    # Where GRAM does not poll

    def expect(self, site: Site, key: str, file: Path) -> None:
        """Keep the description of a job whose events are to be told."""
        if site.site.gram_events:
            from jim.doors.gram.day_files import expect

            expect(site.state, Path(site.site.gram_events), key, file)

    def tell(self, keeper: Keeper) -> None:
        """Tell job managers how their jobs are."""
        if keeper.site.site.gram_events:
            from jim.doors.gram.events import Events

            self._events = self._events or Events()
            self._events.tell(keeper)

    def idle(self) -> bool:
        """Tell whether all was told."""
        return not (self._events and self._events.jobs)

    def untold(self, state: Path) -> bool:
        """Tell whether the last event of some job was not told yet."""
        return any((state / "gram").glob("request-*"))


DOOR = Gram
