"""The door of Globus GRAM: GRAM's scripts submit job descriptions and read lines for GRAM's job managers."""

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
    from jim.site.realm import Realm

NUMBERS = {
    Standing.ACCEPTED: protocol.UNSUBMITTED,
    Standing.PENDING: protocol.PENDING,
    Standing.ACTIVE: protocol.ACTIVE,
    Standing.SUSPENDED: protocol.SUSPENDED,
    Standing.DONE: protocol.DONE,
}
ERRORS = {Standing.FAILED: protocol.EXECUTION_FAILED, Standing.CANCELLED: protocol.USER_CANCELLED}


class Gram(Door):
    """The lines and numbers of GRAM. If GRAM does not poll, the keeper writes events for it."""

    usage: Mapping[str, str] = {
        "submit": "usage: jim-submit FILE (a request in TOML, JSON, JDF, JDL or RSL; prints the id of its grid job)",
        "cancel": "usage: jim-cancel G (a grid job, such as 12) or G.n (a local job of it, such as 12.3)",
        "deliver": "usage: jim-deliver G FILE (a grid job, and GRAM's description of it)",
        "staging": "usage: jim-staging FILE (GRAM's description of a job whose files it is to copy)",
    }
    _events: Events | None = None  # the keeper makes it in its first round

    def accepted(self, number: int) -> bytes:
        """Write the answer to a submission."""
        return protocol.job(number)

    def state(self, told: Told) -> bytes:
        """Return the lines of a poll."""
        if told.standing in ERRORS:
            return protocol.failure(told.reason, ERRORS[told.standing])
        return protocol.state(NUMBERS[told.standing])

    def is_final(self, answer: bytes) -> bool:
        """Tell whether the lines say that a job has ended."""
        return protocol.final_state(answer) is not None

    def cancelled(self, answer: bytes) -> bytes:
        """Return the final state if the job had already ended; GRAM calls a cancelled job failed."""
        return protocol.state(protocol.final_state(answer) or protocol.FAILED)

    def refused(self, verb: str, message: str, error: Exception) -> bytes:
        """Return the reason, and the error number that GRAM has for it."""
        return protocol.failure(message, protocol.number_of(verb, error))

    # Only gatekeepers submit job descriptions, so the modules that read them are loaded only then.

    def reads(self, asked: Mapping[str, Any]) -> bool:
        """Tell whether this is a job description, as GRAM's scripts write it."""
        return protocol.is_description(asked)

    def attributes(self, asked: Mapping[str, Any], own: str) -> dict[str, Any]:
        """Turn a job description into attributes."""
        from jim.doors.gram.request import attributes_of

        return attributes_of(asked, own)

    @contextmanager
    def in_its_words(self, asked: Mapping[str, Any]) -> Iterator[None]:
        """Make refusals raised inside use GRAM's attribute names."""
        from jim.doors.gram.request import in_its_words

        with in_its_words(asked):
            yield

    def realm(self, asked: Mapping[str, Any]) -> Realm:
        """Return the files that GRAM has made or fetched for the job."""
        from jim.doors.gram.request import realm_of

        return realm_of(asked)

    def require(self, asked: Mapping[str, Any], site: Site) -> None:
        """Refuse a job whose files would be files of JIM's own, or if GRAM could not learn of its end."""
        from jim.doors.gram.request import realm_of, require_end, require_foreign
        from jim.doors.gram.staging import require_foreign_files
        from jim.site.realm import opener_of

        opener = opener_of(site, realm_of(asked).text)
        require_foreign(asked, opener)
        require_foreign_files(asked, opener)
        require_end(asked, site.site.gram_events)

    def apart(self, asked: Mapping[str, Any]) -> Apart:
        """Return contacts, and paths that belong to one submission."""
        from jim.doors.gram.request import apart

        return apart(asked)

    def contact(self, asked: Mapping[str, Any]) -> str:
        """Return the job contact, which GRAM shows to its client."""
        from jim.doors.gram.request import contact

        return contact(asked)

    def do(self, verb: str, words: Sequence[str], site: Site) -> tuple[bytes, str]:
        """Deliver the results of a grid job, or tell whether GRAM may copy the files of a job; return what to print."""
        if verb == "staging":
            return self._staging(words, site)
        from jim.doors.gram.results import deliver  # this module writes files and is needed once for each grid job
        from jim.doors.inbox import target_of

        if len(words) != 2:
            raise BadRequest(self.usage[verb])
        description = self.read(Path(words[1]).absolute(), "")
        return deliver(site, target_of(words[0])[0], description), "the results of the grid job were delivered"

    def _staging(self, words: Sequence[str], site: Site) -> tuple[bytes, str]:
        """Refuse a job for which GRAM would copy files of JIM's own."""
        from jim.doors.gram.request import realm_of
        from jim.doors.gram.staging import require_foreign_files
        from jim.site.realm import opener_of

        if len(words) != 1:
            raise BadRequest(self.usage["staging"])
        description = self.read(Path(words[0]).absolute(), "")
        require_foreign_files(description, opener_of(site, realm_of(description).text))
        return b"", "GRAM may copy the files of the job"

    # Events, for a GRAM that does not poll

    def expect(self, site: Site, key: str, file: Path) -> None:
        """Store the description of a job that needs events."""
        if site.site.gram_events:
            from jim.doors.gram.day_files import expect

            expect(site.state, Path(site.site.gram_events), key, file)

    def tell(self, keeper: Keeper) -> None:
        """Write the events that are due."""
        if keeper.site.site.gram_events:
            from jim.doors.gram.events import Events

            self._events = self._events or Events()
            self._events.tell(keeper)

    def idle(self) -> bool:
        """Tell whether all events are written."""
        return self._events is None or self._events.all_told()

    def untold(self, state: Path) -> bool:
        """Tell whether the last event of some job is not written yet."""
        return any((state / "gram").rglob("request-*"))


DOOR = Gram
