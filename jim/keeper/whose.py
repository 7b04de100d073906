"""Tells which batch ids may be another's now: after a crash a batch system gives ids out again, also among our jobs.

Only a listing tells by the names whose a job is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from jim.errors import JimError
from jim.jobs import Live
from jim.keeper.doubts import Listed
from jim.keeper.keeper import Keeper

Pair = tuple[str, str]  # a batch id with a mark
Rivals = Callable[[Iterable[Pair]], frozenset[Pair]]


@dataclass(frozen=True)
class Others:
    """The batch ids that JIM says nothing about: they are another's, or the next listing tells whose they are."""

    listed: Listed
    doubted: frozenset[Pair] = field(default_factory=frozenset)

    def have(self, pair: Pair) -> bool:
        """Tell whether a batch id may be another's. A later listing shows jobs that one listing omitted by mistake."""
        return not self.listed.at or pair in self.listed.unseen or pair in self.doubted

    def doubt(self, pairs: Iterable[Pair], rivals: Rivals) -> frozenset[Pair]:
        """Return pairs whose batch id another live submission has, too, unless the last listing showed it not there."""
        mine = frozenset(pair for pair in pairs if not self.have(pair))
        there = [(id_, mark) for id_, mark in rivals(mine) - self.listed.unseen] if mine else []
        return frozenset(pair for pair in mine if any(pair[0] == id_ and pair[1] != mark for id_, mark in there))


def others_of(keeper: Keeper, live: Sequence[Live]) -> Others:
    """Return which batch ids of these attempts may be another's now."""
    others = Others(keeper.doubts.listed)
    pairs = {(each.batch_id, each.mark) for each in live}
    return Others(others.listed, others.doubt(pairs, keeper.store.rivals))


def also_of(keeper: Keeper, others: Others, held: Iterable[Pair]) -> Others:
    """Return also which batch ids that claims tell of may be another's now. Runs in a worker."""
    with closing(keeper.store.reader()) as store:
        return Others(others.listed, others.doubted | others.doubt(held, store.rivals))


def require_no_doubt(others: Others) -> None:
    """Raise an error that tells people which batch ids were left out until a listing tells whose they are."""
    ids = sorted({id_ for id_, _ in others.doubted})
    if ids:
        more = f" and {len(ids) - 1:,} more" if len(ids) > 1 else ""
        raise JimError(
            f"another submission has got batch job {ids[0]}{more}, too, so JIM waits until the queue shows whose it is"
        )
