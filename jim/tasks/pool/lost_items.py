"""Lets items be gone for good whose files went with the grid jobs that had made them: no new piece gets such a file."""

from __future__ import annotations

from jim.statusdb.task_rows import NOT_KEPT, ItemState, Task, TaskState
from jim.tasks.effects import lost, not_kept_in_words
from jim.tasks.keeping import Keeper
from jim.tasks.pool.feeding import cut_short

NOTHING = "nothing has failed"  # of which new pieces can be made


def lose(keeper: Keeper, task: Task) -> int:
    """Let the items of failed pieces be gone whose files are no longer kept; return how many are so."""
    items = lost(keeper.store, task)
    new = [each.id for each in items.values() if each.state not in (ItemState.GONE, ItemState.DROPPED)]
    if new:
        keeper.store.pools.move_items(task.id, new, ItemState.GONE, note=NOT_KEPT)
    if new and task.state is TaskState.FINISHED:
        keeper.store.tasks.change(task.id, reason=cut_short(keeper, task))
    return len(items)


def with_lost(said: str, items: int) -> str:
    """Add to what was recovered that files are no longer kept."""
    if not items:
        return said
    return (
        f"nothing is recovered: {not_kept_in_words(items)}"
        if said == NOTHING
        else f"{said}; {not_kept_in_words(items)}"
    )
