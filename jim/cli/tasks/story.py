"""jim task items --story: what became of items, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jim.cli.text import plain, say, say_json_list, with_local_times
from jim.reading.tasks.story import Step, story
from jim.reading.view import View
from jim.statusdb.task_rows import Item, Task

NO_ITEM = "no item fits"
GAP = 2
WIDEST = 24  # columns of names: a longer one has a line of its own


def tell(view: View, task: Task, items: Iterable[Item], *, as_json: bool) -> None:
    """Print the stories of items."""
    if as_json:
        stories = ((each, [step.record() for step in story(view, task, each)]) for each in items)
        say_json_list({"task": task.name, "item": each.name, "id": each.id, "steps": steps} for each, steps in stories)
        return
    told = 0
    for each in items:
        if told:
            say()
        _tell(list(story(view, task, each)))
        told += 1
    if not told:
        say(NO_ITEM)


def _tell(steps: Sequence[Step]) -> None:
    names = [plain(each.name) for each in steps]
    width = max(len(each) for each in names if len(each) <= WIDEST or each == names[-1])
    margin = min(width, WIDEST) + GAP
    for name, step in zip(names, steps, strict=True):
        if len(name) > WIDEST:
            say(name)
            name = ""
        say(with_local_times(plain(step.words())), name.ljust(margin))
