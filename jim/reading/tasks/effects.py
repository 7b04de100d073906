"""Tells what a wish for a task will do, in words and in numbers: the same for the command line and the pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from jim.doors import inbox
from jim.reading.quantities import how_many
from jim.reading.tasks.task import Facts, facts
from jim.reading.tasks.unfinished_work import unprintable
from jim.reading.tasks.words import noun_of_items
from jim.reading.view import View
from jim.statusdb.task_rows import ItemState, OutputState, PieceState, Task, TaskState
from jim.statusdb.tasks.outputs import pool_of as pool_of_output
from jim.tasks.effects import ENDED, TaskVerb, hangs_on, lost, need_new, not_kept_in_words, pool_of, refusal, to_retry
from jim.tasks.throttle_row import read

SHOWN = 5  # pieces that are named
Content = Mapping[str, Any]
Told = tuple[str, dict[str, Any]]


class Known(NamedTuple):
    """What is known of a task before a wish is fulfilled."""

    view: View
    task: Task
    facts: Facts

    def pieces(self, state: PieceState) -> int:
        """Count the pieces in a state."""
        return self.facts.pieces.get(state, 0)


def follow(task: Task) -> str:
    """Return how to see what becomes of a wish."""
    return f"`jim task explain {task.name}` shows the progress"


def _at_first(task: Task) -> str:
    limits = read(task.throttle).limits
    first = min(limits.first, limits.at_once)
    return f"at most {how_many(first, 'piece')} {'is' if first == 1 else 'are'} on the way at first"


def _test(known: Known, _: Content) -> Told:
    number = known.task.tests + 1
    beside = " beside what runs, and changes nothing of it" if known.task.state is TaskState.RUNNING else ""
    return f"test {number} begins{beside}; {follow(known.task)}", {"test": number}


def _start(known: Known, content: Content) -> Told:
    row, first = read(known.task.throttle), known.task.spec.test.pieces
    if not content.get("untested") and known.task.tested != known.task.spec.to_test:
        itself = f"tries itself out with its first {'piece' if first == 1 else f'{first} pieces'}"
        words = f"starts, and {itself}; others follow once {'it has' if first == 1 else 'they have'} passed"
        return f"{words}; {follow(known.task)}", {"allowance": row.allowance}
    more = (
        f", and more while they end well, up to {row.limits.at_once:,}" if row.limits.at_once > row.limits.first else ""
    )
    words = f"starts; {_at_first(known.task)}{more}; `jim task status {known.task.name}` shows the progress"
    return words, {"allowance": row.allowance}


def _pause(known: Known, content: Content) -> Told:
    sent = known.pieces(PieceState.SENT)
    becomes, they = ": what the batch system has goes on", "it is" if sent == 1 else "they are"
    if content.get("kill"):
        becomes = f": {they} ended, and released again after `jim task resume`"
    elif content.get("suspend"):
        becomes = f": {they} suspended"
    return f"pauses; {how_many(sent, 'piece')} on the way{becomes if sent else ''}", {}


def _resume(known: Known, _: Content) -> Told:
    if known.task.state is TaskState.RUNNING:
        return "stores into the directory that is there now", {}
    words = f"goes on; {how_many(known.pieces(PieceState.READY), 'piece')} ready; {_at_first(known.task)}"
    return words, {"allowance": min(known.task.throttle["first"], known.task.throttle["at_once"])}


def _throttle(known: Known, content: Content) -> Told:
    before = {name: known.task.throttle[name] for name in content}
    return ", ".join(f"{name} {before[name]:,} → {value:,}" for name, value in content.items()), {"before": before}


def _retry(known: Known, content: Content) -> Told:
    numbers, failed = to_retry(known.view.store, known.task, content), known.pieces(PieceState.FAILED)
    named = ", ".join(f"{known.task.name}/{p}" for p in numbers[:SHOWN]) + ", …" * (len(numbers) > SHOWN)
    verb = "is" if len(numbers) == 1 or failed == 1 else "are"
    words = f"{len(numbers):,} of {how_many(failed, 'failed piece')} {verb} tried again"
    old = len(need_new(known.view.store, known.task, numbers))
    more = f"; new pieces do the work of {old:,} whose grid jobs are no longer kept" if old else ""
    items = len(lost(known.view.store, known.task))
    more += f"; {not_kept_in_words(items)}" if items else ""
    return f"{words}{f': {named}' if named else ''}{more}", {"pieces": numbers}


def _priority(known: Known, content: Content) -> Told:
    before = known.task.priority
    return f"priority {before} → {content['priority']}", {"before": before}


def _cancel(known: Known, _: Content) -> Told:
    sent = how_many(known.pieces(PieceState.SENT), "piece")
    waits = {name: count for name, count in _waiting(known) if count}
    told = "".join(
        f"; {name} waits for {how_many(n, 'promise')} that will not be fulfilled" for name, n in waits.items()
    )
    told += "".join(f"; {name} gets no more of it" for name in _fed_else(known))
    return f"is cancelled, with {sent} on the way{told}; {follow(known.task)}", {"waits": waits} if waits else {}


def _fed_else(known: Known) -> list[str]:
    """Return the tasks that a task feeds without promises, and that have not ended."""
    sources = [(each, known.view.store.tasks.one(each.task)) for each in known.view.store.chains.fed_by(known.task.id)]
    fed = [task for each, task in sources if task and not task.spec.sources[each.k].promises]
    return list(dict.fromkeys(task.name for task in fed if task.state not in ENDED))


def _waiting(known: Known) -> Iterator[tuple[str, int]]:
    """Yield the tasks that wait for promises of a task, and for how many."""
    for source in known.view.store.chains.fed_by(known.task.id):
        fed = known.view.store.tasks.one(source.task)
        if fed and fed.spec.sources[source.k].promises and fed.state not in ENDED:
            counts = known.view.store.tasks.counts(known.task.id, pool_of_output(source.stream))
            yield fed.name, sum(counts.get(each, 0) for each in (OutputState.PROMISED, OutputState.BROKEN))


def _remove(known: Known, _: Content) -> Told:
    items, pieces = sum(known.facts.items.values()), known.task.next_piece
    noun = noun_of_items(campaigns=known.task.spec.makes_events)
    words = f"is forgotten: {how_many(items, noun)}, {how_many(pieces, 'piece')}"
    return words, {"items": items, "pieces": pieces}


def _pool(verb: TaskVerb) -> Callable[[Known, Content], Told]:
    return lambda known, content: _of_pool(known, verb, content)


def _is_open(known: Known, content: Content) -> bool:
    """Tell whether more may come: of a group, or of any."""
    store, task = known.view.store, known.task.id
    if "group" in content:
        group = store.pools.group(task, content["group"])
        return not (group and group.closed)
    return not all(each.closed for each in store.pools.sources(task))


def _of_pool(known: Known, verb: TaskVerb, content: Content) -> Told:
    counts = known.view.store.tasks.counts(known.task.id, "items", content.get("group"))
    waiting, late = counts.get(ItemState.AVAILABLE, 0), counts.get(ItemState.LATE, 0)
    named = f"group {content['group']} " if "group" in content else ""
    if verb is TaskVerb.REOPEN:
        return f"{named}is open again; {how_many(late, 'late item')}", {"late": late}
    words = "is closed" if verb is TaskVerb.CLOSE else "stays open" if _is_open(known, content) else "is closed already"
    planned = f"{how_many(waiting, 'item')} waited, and {'is' if waiting == 1 else 'are'} planned"
    left = _not_at_rest(known) if verb is TaskVerb.CLOSE and not named else ""
    return f"{named}{words}; {planned}{left}", {"waited": waiting}


def _not_at_rest(known: Known) -> str:
    """Tell how many files could not be taken at the last look: they are left out if nothing more may come."""
    sources = [each for each in known.view.store.pools.sources(known.task.id) if each.waits and not each.closed]
    odd = sum(unprintable(each)[0] for each in sources)
    files = sum(json.loads(each.waits)["count"] for each in sources) - odd
    has, them, verb = ("has", "it", "is") if files == 1 else ("have", "them", "are")
    told = f"; {how_many(files, 'file')} {has} not come to rest, and {verb} left out"
    told = f"{told}; `jim task reopen {known.task.name}` takes {them}" if files else ""
    return told + _unprintable(known.task, odd)


def _unprintable(task: Task, files: int) -> str:
    """Tell how many files are never taken as they are called."""
    is_, its, name, it = ("is", "its", "name", "it") if files == 1 else ("are", "their", "names", "them")
    told = f"; {how_many(files, 'file')} {is_} not taken, as {its} {name} cannot be printed"
    return f"{told}: rename {it}, then `jim task reopen {task.name}` takes {it}" if files else ""


TOLD: dict[TaskVerb, Callable[[Known, Content], Told]] = {
    TaskVerb.TEST: _test,
    TaskVerb.START: _start,
    TaskVerb.PAUSE: _pause,
    TaskVerb.RESUME: _resume,
    TaskVerb.THROTTLE: _throttle,
    TaskVerb.RETRY: _retry,
    TaskVerb.PRIORITY: _priority,
    TaskVerb.CANCEL: _cancel,
    TaskVerb.REMOVE: _remove,
    TaskVerb.CLOSE: _pool(TaskVerb.CLOSE),
    TaskVerb.REOPEN: _pool(TaskVerb.REOPEN),
    TaskVerb.FLUSH: _pool(TaskVerb.FLUSH),
}
OFFERED = (  # by pages: each needs no more than a few numbers
    *(TaskVerb.TEST, TaskVerb.START, TaskVerb.PAUSE, TaskVerb.RESUME, TaskVerb.THROTTLE, TaskVerb.PRIORITY),
    *(TaskVerb.RETRY, TaskVerb.FLUSH, TaskVerb.CLOSE, TaskVerb.REOPEN, TaskVerb.CANCEL),
)


class TaskEffect(NamedTuple):
    """What a wish for a task would do: why nothing; else how much it concerns, by what, and words."""

    late: str
    hit: Mapping[str, int]
    words: str


def after_others(task: Task) -> str:
    """Tell that a wish is fulfilled later: nobody knows yet how the task is then."""
    return f"fulfilled after the wishes for it that still wait; `jim task show {task.name}` tells what became of it"


def effect(view: View, verb: TaskVerb, task: Task, content: Content) -> TaskEffect:
    """Return what a wish would do now."""
    wished = inbox.wished(view.site.state).get(task.name, set())
    task = view.store.tasks.named(task.name)  # after these: it shows what those have done that no longer wait
    late = refusal(task, verb, content, pool_of(view.store, task))
    if late and hangs_on(task, verb, content, wished):
        return TaskEffect("", {}, after_others(task))
    if late:
        return TaskEffect(late, {}, "")
    known = Known(view, task, facts(view, task))
    words, numbers = TOLD[verb](known, content)
    hit = {"on the way": known.pieces(PieceState.SENT)} if verb in (TaskVerb.PAUSE, TaskVerb.CANCEL) else {}
    if verb is TaskVerb.RETRY:
        hit = {"tried again": len(numbers["pieces"])}
    return TaskEffect("", hit, words)


def offered(view: View, task: Task) -> list[TaskVerb]:
    """Return the wishes for a task that may change something, also once those that wait are fulfilled."""
    pool, any_content = pool_of(view.store, task), {"untested": True, "kill": True, "suspend": True}
    wished: Set[str] = inbox.wished(view.site.state).get(task.name, set())
    fitting = [
        verb
        for verb in OFFERED
        if not refusal(task, verb, any_content, pool) or hangs_on(task, verb, any_content, wished)
    ]
    if not pool.closed:
        fitting = [verb for verb in fitting if verb is not TaskVerb.REOPEN]
    return fitting
