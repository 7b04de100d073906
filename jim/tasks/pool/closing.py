"""Closes groups whose end files have shown: once no source that is open can bring more of them."""

from __future__ import annotations

from collections.abc import Sequence

from jim.statusdb.task_rows import NewItem, Source, Task
from jim.tasks.keeping import Keeper
from jim.tasks.pool import feeding, pooling
from jim.tasks.pool.concluding import close_group
from jim.tasks.sources import ALL, Found


class Ends:
    """The groups whose end the last good look at each directory has shown, until they are closed."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, int], set[str]] = {}
        self._empty: dict[tuple[int, int], Sequence[NewItem]] = {}  # files there at rest without content

    def see(self, task: int, k: int, found: Found) -> None:
        """Remember what a look has shown."""
        self._groups[task, k], self._empty[task, k] = set(found.ended - {ALL}), found.empty

    def close(self, keeper: Keeper, task: Task) -> None:
        """Close groups of which nothing more comes; what is empty then is left out."""
        sources = keeper.store.pools.sources(task.id)
        shown = [self._groups.get((task.id, each.k), set()) for each in sources]
        for grp in sorted(set().union(*shown)):
            group = keeper.store.pools.group(task.id, grp)
            is_closed = bool(group and group.closed)
            if not is_closed and not all(self._is_over(keeper, task, each, grp) for each in sources):
                continue
            with keeper.store.transaction():
                if not is_closed:
                    close_group(keeper, task, grp)
                empty = (each for source in sources for each in self._empty.get((task.id, source.k), ()))
                pooling.leave_out(keeper, task, [each for each in empty if each.grp == grp])
            for groups in shown:
                groups.discard(grp)

    def _is_over(self, keeper: Keeper, task: Task, source: Source, grp: str) -> bool:
        """Tell whether a source brings nothing more of a group."""
        if source.closed or grp in self._groups.get((task.id, source.k), ()):
            return True
        if source.upstream:
            return feeding.brings_no_more(keeper, task, source, grp)
        return bool(grp) and not task.spec.sources[source.k].group
