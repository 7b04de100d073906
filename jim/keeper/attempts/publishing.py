"""Takes in what payloads and people publish: the last publication of a name counts, and limits bound a flood."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from jim.clock import age_seconds
from jim.errors import JimError, StoreError
from jim.files import missed, read_regular
from jim.jobs import Key
from jim.keeper.attempts.spool import Arrival
from jim.keeper.keeper import Keeper
from jim.request.grammars import grammars_of
from jim.statusdb.list_filters import Publisher
from jim.statusdb.published import LONGEST, MOST, MOST_BYTES, OF_ALL, PHASE, PHASE_KEY, UNCHECKED, phase_element

log = logging.getLogger(__name__)
A_SECOND = 2000  # publications of one state directory
TAKING_SECONDS = 0.5  # of a round


# What becomes of the file of a publication. Empty: it is removed. Words: it is put aside, for that reason. An error: it
# cannot be read at the moment, and stays.
Taken = str | Exception


class OverLimit(JimError):
    """As many publications are kept as one local job may have."""


class Allowance:
    """How many publications may be taken in: so many a second, and no more than that at once."""

    def __init__(self) -> None:
        self._left, self._at = 0.0, 0.0

    def now(self, at: float) -> int:
        """Return the number at a time in seconds since boot."""
        self._left = min(A_SECOND, self._left + A_SECOND * max(0.0, at - self._at))
        self._at = at
        return int(self._left)

    def spend(self, taken: int) -> None:
        """Count publications that were taken in."""
        self._left -= taken


def take(keeper: Keeper, arrivals: Sequence[Arrival], just_ended: AbstractSet[Key]) -> list[Taken]:
    """Take in publications, as many as a round has time for: 64 KiB of XML may take 0.1 s to parse.

    Those that came together with the end of their attempt are not late.
    """
    known, until = (
        keeper.store.publications.publishers({each.key for each in arrivals}),
        keeper.clock.boot() + TAKING_SECONDS,
    )
    taken: list[Taken] = []
    for each in arrivals:
        taken.append(_take(keeper, each, known.get(each.key), ended=each.key not in just_ended))
        if keeper.clock.boot() > until:
            break
    return taken


def _take(keeper: Keeper, arrival: Arrival, by: Publisher | None, *, ended: bool) -> Taken:
    try:
        with keeper.store.part():
            if by is None or by.mark != arrival.mark:
                raise JimError("the report belongs to no submission of this state directory")
            _publish(keeper, arrival, by, late=ended and bool(by.verdict))
    except StoreError:  # the file is not at fault: the next round takes in all files again
        raise
    except (JimError, OSError, ValueError) as error:
        return error if missed(error) else _refuse(keeper, arrival, by, error)
    return ""


def _refuse(keeper: Keeper, arrival: Arrival, by: Publisher | None, error: Exception) -> str:
    """Count a publication that is refused. Of a grid job that was removed, and over the limits, nothing is kept."""
    if by is not None:
        keeper.store.publications.count_refused(by.grid, by.n, refused=1)
    if isinstance(error, OverLimit) or (by is None and keeper.store.removals.at(arrival.key[0])):
        return ""
    return str(error)


def _publish(keeper: Keeper, arrival: Arrival, by: Publisher, *, late: bool) -> None:
    visible = keeper.site.batch.visible_seconds
    if late and by.attempt == by.latest and age_seconds(by.ended, keeper.clock.utc()) > visible:
        keeper.store.publications.count_refused(by.grid, by.n, dropped=1)
        return
    _require_room(keeper, by.grid, by.n, arrival.name)  # before it is parsed
    content = element(arrival.name, read_regular(arrival.path, LONGEST).decode())
    _require_room(keeper, by.grid, by.n, arrival.name, content)
    validity = _validity(keeper, by.job_type, content)
    keeper.store.publications.publish(by.grid, by.n, arrival.name, content, by.attempt, late, validity)


def of_grid_job(keeper: Keeper, grid: int, name: str, text: str) -> None:
    """Take in a publication about a grid job itself, by a person or by its job type, or count that it is refused."""
    try:
        content = element(name, text)
        _require_room(keeper, grid, OF_ALL, name, content)
        validity = _validity(keeper, keeper.store.grid_job(grid).job_type, content)
        keeper.store.publications.publish(grid, OF_ALL, name, content, 0, False, validity)
    except StoreError:
        raise
    except JimError as error:
        keeper.store.publications.count_refused(grid, OF_ALL, refused=1)
        log.warning("%d: the publication %r is refused: %s", grid, name, error)


def _validity(keeper: Keeper, job_type: str, content: str) -> str:
    """Return the mark of an element that must be compared with a grammar of its job type (`Validating`)."""
    grammars = {} if content.startswith(PHASE) else grammars_of(job_type, keeper.site.site.handlers)
    if not grammars:
        return ""
    from jim.statusdb.documents.xml import namespace

    return UNCHECKED if namespace(content) in grammars else ""


def _require_room(keeper: Keeper, grid: int, n: int, name: str, content: str = "") -> None:
    count, size = keeper.store.publications.published_beside(grid, n, name)
    if count >= MOST or size + len(content.encode()) > MOST_BYTES:
        raise OverLimit(f"more than {MOST} names, or {MOST_BYTES:,} bytes, of one local job")


def element(name: str, text: str) -> str:
    """Return a publication as an element of XML; a phase needs no parser."""
    if phase := phase_element(text):
        return phase
    if name.startswith(PHASE_KEY):
        raise JimError(f"{name} is the name of a phase: publish XML under another name")
    from jim.statusdb.documents.xml import fragment  # imports lxml, which most keepers never need

    return fragment(text)
