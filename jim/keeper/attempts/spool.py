"""The directory in which wrappers report. Payloads can write there, and may put a link in its place at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jim.files import held, name_as_known, passes
from jim.jobs import Attempt, Key
from jim.keeper.keeper import SLOW_SECONDS, Keeper
from jim.model import Witness
from jim.workdir.submission import is_seen

SPOOL, PUBLICATION = "spool", "pub"
LONGEST_AT_ONCE = 8 * 1024 * 1024  # of exit records in memory; the wrapper may list very many outputs


@dataclass(frozen=True, slots=True)
class Arrival:
    """One file of the spool."""

    path: Path
    mark: str
    key: Key
    kind: str
    name: str
    version: tuple[int, int]  # a publication may be replaced at any time


@contextmanager
def opened(keeper: Keeper) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Hold the spool, and list it: whatever stands in its place meanwhile, each file is read and removed there.

    A round stops here if it fails, so here the absence of the file server is noted.
    """
    with ExitStack() as stack:
        began, away = keeper.clock.boot(), False
        try:
            place = stack.enter_context(held(keeper.site.work / SPOOL))
            entries = stack.enter_context(os.scandir(place))
        except OSError as error:
            away = passes(error) and not is_seen(keeper.site.work)
            raise
        finally:
            now = keeper.clock.boot()
            if away or now - began > SLOW_SECONDS:
                keeper.doubts.blind_at = now
        yield entries


def name(keeper: Keeper, path: Path, error: Exception) -> Path:
    """Return the path by which people know a file of the held spool, and let an error name that."""
    place = keeper.site.work / SPOOL
    name_as_known(error, str(path.parent), str(place))
    return place / path.name


def that_fit(found: list[tuple[int, Arrival]]) -> Iterator[Arrival]:
    """Yield publications, which are small, and the smallest reports that together fit into a round, one at least."""
    room = LONGEST_AT_ONCE
    for size, arrival in sorted(found, key=lambda each: each[0]):
        if arrival.kind == PUBLICATION:
            yield arrival
        elif size <= room or room == LONGEST_AT_ONCE:
            room -= size
            yield arrival


def note_once(keeper: Keeper, what: str, witness: Witness, attempt: Attempt, reason: str) -> None:
    """Note what a payload can repeat as often as it likes, for any attempt: the journal must not grow by that."""
    key = (what, attempt.grid, attempt.k, attempt.idx)
    if not keeper.workers.tries(key):
        keeper.workers.put_off(key)
        keeper.store.note(attempt.grid, what, witness, reason, attempt.n)
