"""Has publications compared with the grammars of their job types, in a child process, many at once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from jim.errand import Errand
from jim.keeper.keeper import Keeper
from jim.request.grammars import grammars_of
from jim.statusdb.documents.validating import Found, compare
from jim.statusdb.list_filters import Unchecked

log = logging.getLogger(__name__)
AT_ONCE = 500
KEY = "validating"


class Validating:
    """The move that has publications compared. No local job suffers, whatever the comparison shows."""

    def __init__(self) -> None:
        self._most = AT_ONCE

    def __call__(self, keeper: Keeper) -> None:
        """Start a child for publications that are not compared yet."""
        if keeper.workers.ready(KEY) and (some := keeper.store.publications.unchecked(self._most)):
            own = keeper.site.site.handlers
            told = [(each.content, _files(each.job_type, own)) for each in some]
            done, failed = partial(self._compared, keeper, some), partial(self._not_compared, keeper, some)
            keeper.workers.start(Errand(KEY, partial(compare, told), done, failed))

    def _compared(self, keeper: Keeper, some: Sequence[Unchecked], found: Found) -> None:
        self._most = AT_ONCE
        for file, words in found.faults.items():
            if keeper.workers.pace(("grammar", file)):
                log.warning("the grammar %s cannot be used: %s", file, words)
        keeper.store.publications.are_checked(zip(some, found.differing, strict=True))

    def _not_compared(self, keeper: Keeper, some: Sequence[Unchecked], error: BaseException) -> None:
        """Look for the publication for which the child needs too much: try fewer, and give up a single one."""
        self._most = max(1, len(some) // 8)
        if len(some) == 1:
            keeper.store.publications.are_checked([(some[0], str(error))])


def _files(job_type: str, own: str) -> dict[str, str]:
    return {namespace: str(file) for namespace, file in grammars_of(job_type, own).items()}
