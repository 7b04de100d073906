"""Tells which batch ids may be another's now: after a crash a batch system gives ids out again, also among our jobs.

Only a listing tells by the names whose a job is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from jim.errors import JimError
from jim.jobs import Live
from jim.keeper.keeper import Keeper
from jim.keeper.unlisted_attempts import Listed

Pair = tuple[str, str]  # a batch id with a mark
Rivals = Callable[[Iterable[Pair]], frozenset[Pair]]


@dataclass(frozen=True)
class Others:
    """The batch ids that JIM says nothing about: they are another's, or a later listing tells whose they are."""

    listed: Listed
    width: int  # characters of a mark that listings show
    doubted: frozenset[Pair] = field(default_factory=frozenset)
    taken: frozenset[Pair] = field(default_factory=frozenset)

    def have(self, pair: Pair) -> bool:
        """Tell whether a batch id may be another's. A later listing shows jobs that one listing omitted by mistake."""
        return not self.listed.at or pair in self.listed.unseen or pair in self.doubted or pair in self.taken

    def doubt(self, pairs: Iterable[Pair], rivals: Rivals) -> frozenset[Pair]:
        """Return pairs whose batch id another live submission has, too, unless the last listing showed whose it is.

        A listing that omits the other one proves nothing: it may have omitted all.
        """
        mine = frozenset(pair for pair in pairs if not self.have(pair))
        there = rivals(mine) if mine else frozenset()
        return frozenset(pair for pair in mine if any(self._is_open(pair, rival) for rival in there))

    def shown_as_others(self, pairs: Iterable[Pair]) -> frozenset[Pair]:
        """Return pairs whose batch id the last listing shows under other names only."""
        ids = {id_ for id_, _ in self.listed.shown}
        return frozenset(pair for pair in pairs if pair[0] in ids and not self._shows(pair))

    def _is_open(self, mine: Pair, rival: Pair) -> bool:
        if mine[0] != rival[0] or mine[1] == rival[1]:
            return False
        return rival not in self.listed.unseen or not self._shows(mine)

    def _shows(self, pair: Pair) -> bool:
        return (pair[0], pair[1][: self.width]) in self.listed.shown


def others_of(keeper: Keeper, live: Sequence[Live]) -> Others:
    """Return which batch ids of these attempts may be another's now."""
    others = Others(keeper.doubts.listed, keeper.adapter.name_length)
    pairs = {(each.batch_id, each.mark) for each in live}
    return replace(others, doubted=others.doubt(pairs, keeper.store.rivals))


def also_of(keeper: Keeper, others: Others, held: Iterable[Pair]) -> Others:
    """Return also which batch ids that claims tell of may be another's now. Runs in a worker.

    Nothing waits for an id that is not the stored one, and that a listing shows as another's.
    """
    with closing(keeper.store.reader()) as store:
        doubted = others.doubt(held, store.rivals)
    taken = others.shown_as_others(doubted)
    return replace(others, doubted=others.doubted | (doubted - taken), taken=taken)


def require_no_doubt(others: Others) -> None:
    """Raise an error that tells people which batch ids were left out until a listing tells whose they are."""
    ids = sorted({id_ for id_, _ in others.doubted})
    if ids:
        more = f" and {len(ids) - 1:,} more" if len(ids) > 1 else ""
        raise JimError(
            f"another submission has got batch job {ids[0]}{more}, too, so JIM waits until the queue shows whose it is "
            "or the other one is over"
        )
