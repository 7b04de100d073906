"""Decides what a verb does to a task: the same decisions for the command line and for the keeper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import UnknownJob
from jim.evidence.transitions import has_words
from jim.model import Kind, State, Verb
from jim.statusdb.store import Store
from jim.statusdb.task_rows import (
    CHANGING,
    NOT_KEPT,
    Item,
    ItemState,
    Output,
    PieceRow,
    PieceState,
    Task,
    TaskState,
    Todo,
    Wave,
)
from jim.statusdb.tasks.outputs import another_fact


class TaskVerb(StrEnum):
    """The wishes for tasks."""

    CREATE = "create"
    TEST = "test"
    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    THROTTLE = "throttle"
    ADD = "add"
    CLOSE = "close"
    REOPEN = "reopen"
    FLUSH = "flush"
    DROP = "drop"
    RETRY = "retry"
    RECOVER = "recover"
    REDO = "redo"
    PRIORITY = "priority"
    FIX = "fix"
    CANCEL = "cancel"
    REMOVE = "remove"


POOL_VERBS = (TaskVerb.ADD, TaskVerb.CLOSE, TaskVerb.REOPEN, TaskVerb.FLUSH, TaskVerb.DROP)
# Verbs that a wish before them may make possible: what decides about them now is not what will decide then.
MADE_POSSIBLE_BY: Mapping[str, Set[str]] = {
    TaskVerb.PAUSE: {TaskVerb.START, TaskVerb.RESUME, TaskVerb.RETRY, TaskVerb.RECOVER},
    TaskVerb.RESUME: {TaskVerb.PAUSE},
    TaskVerb.TEST: {TaskVerb.START, TaskVerb.RESUME, TaskVerb.RETRY, TaskVerb.RECOVER},
    **{verb: {TaskVerb.REOPEN, TaskVerb.ADD} for verb in POOL_VERBS},
}
LOOKED_AT = 1_000  # outputs that wait
PREFIX = "task:"  # of the target of a wish for a task
OVER = (TaskState.CANCELLING, TaskState.CANCELLED)
ENDED = (TaskState.FINISHED, TaskState.CANCELLED)
PASSED, FAILED = "passed", "failed"  # what the journal of a task that runs says of a test
OLDER = "the status DB is older than its requests"
# Verbs that change nothing of a task in these states, as it is already so, or ended meanwhile.
SO_ALREADY: Mapping[str, Set[TaskState]] = {
    TaskVerb.START: {TaskState.RUNNING, TaskState.FINISHED},
    TaskVerb.PAUSE: {TaskState.PAUSED, *ENDED, *OVER},
    TaskVerb.RESUME: {TaskState.RUNNING, TaskState.FINISHED},
    TaskVerb.CANCEL: {*OVER},
}
# What a person does instead, who has asked for what is not possible in these states.
NEXT_STEPS = {
    TaskState.CONFIGURED: "; 'jim task test {}' comes first",
    TaskState.TESTING: "; 'jim task explain {}' tells how far its test is",
    TaskState.READY: "; 'jim task start {}' begins it",
    TaskState.PAUSED: "; 'jim task resume {}' lets it go on",
}


class Pool(NamedTuple):
    """What decides what a verb does, besides the task."""

    sent: int  # pieces that are on the way
    closed: str  # since when nothing more comes; empty: more may come
    failed: int  # pieces
    groups: frozenset[str]
    feeds: tuple[str, ...] = ()  # tasks that have not ended
    another_store: bool = False  # its store is another directory than before, and people were told
    proves_itself: bool = False  # a fed task that nobody has tested, or that has nothing to test yet


def pool_of(store: Store, task: Task) -> Pool:
    """Return what decides what a verb does to a task."""
    closed = [each.closed for each in store.pools.sources(task.id)]
    counts = store.tasks.counts(task.id, "pieces")
    sent, failed = counts.get(PieceState.SENT, 0), counts.get(PieceState.FAILED, 0)
    groups, feeds = frozenset(each.grp for each in store.pools.groups(task.id)), tuple(_fed_unfinished(store, task))
    nothing = not store.tasks.counts(task.id, "items").get(ItemState.AVAILABLE)
    is_fed = any(each.upstream for each in store.pools.sources(task.id))
    proves = is_fed and (nothing or not task.tests)
    another = bool(in_another_store(store, task))
    return Pool(sent, max(closed) if all(closed) else "", failed, groups, feeds, another, proves)


def _fed_unfinished(store: Store, task: Task) -> Iterator[str]:
    """Yield the tasks that a task feeds and that have not ended.

    Behind one that has finished with failures, too: what that could still do with the files of the first one may be
    what the others wait for.
    """
    looked, fed = {task.id}, store.chains.fed_tasks([task.id])
    while fed:
        tasks = [each for each in map(store.tasks.one, sorted(fed)) if each]
        yield from (each.name for each in tasks if each.state not in ENDED)
        looked |= fed
        mendable = [each.id for each in tasks if each.state is TaskState.FINISHED and _can_be_mended(store, each, task)]
        fed = store.chains.fed_tasks(mendable) - looked if mendable else set()


def _can_be_mended(store: Store, task: Task, first: Task) -> bool:
    """Tell whether failed pieces of a task may be done once more; none brings what a cancelled task has promised."""
    failed = store.pieces.failed(task.id)
    return any(each.kind is not Kind.BROKEN or first.state is not TaskState.CANCELLED for each in failed)


def coming_to_rest(store: Store, task: Task, grp: str | None = None) -> list[Item]:
    """Return the items, of one group or of all, that wait for their files to come to rest again."""
    return _gone_with(store, task, CHANGING, grp)


def gone_for_good(store: Store, task: Task) -> list[Item]:
    """Return the items of a task that went with the grid jobs that had brought them."""
    return _gone_with(store, task, NOT_KEPT)


def _gone_with(store: Store, task: Task, note: str, grp: str | None = None) -> list[Item]:
    if not store.tasks.counts(task.id, "items", *([] if grp is None else [grp])).get(ItemState.GONE):
        return []
    found = store.pools.find_items(task.id, "*", ItemState.GONE, -1)
    return [each for each in found if each.note == note and grp in (None, each.grp)]


def in_another_store(store: Store, task: Task, most: int = LOOKED_AT) -> list[Output]:
    """Return outputs that wait because their store is another directory than before."""
    waiting = store.outputs.in_trouble(task.id, most) if task.spec.outputs else []
    return [each for each in waiting if each.todo is Todo.STORE and store.fact(another_fact(task.id, each.stream))]


def paused_by_itself(task: Task) -> bool:
    """Tell whether a task has paused by itself; a pause that a person asks for has no reason."""
    return task.state is TaskState.PAUSED and bool(task.reason)


def is_older(task: Task) -> bool:
    """Tell whether waves of a task were handed in that the status DB has forgotten: nothing more may be sent."""
    return task.state is TaskState.PAUSED and task.reason == OLDER


def is_tried(task: Task) -> bool:
    """Tell whether a test of a task is under way: also one of a task that runs, of which it changes nothing."""
    return task.state is TaskState.TESTING or (bool(task.throttle.get("trying")) and task.state not in OVER)


def to_retry(store: Store, task: Task, content: Mapping[str, Any]) -> list[int]:
    """Return the failed pieces that a retry means: those with some words in their reason, or all.

    Nothing is tried again of a piece whose items a person has given up, or whose files are no longer kept.
    """
    words, failed = content.get("reason", ""), store.pieces.failed(task.id)
    meant = [each for each in failed if not words or has_words(words, each.reason)]
    return [each.p for each in meant if not is_given_up(store, task, each)][: content.get("most")]


def gone(store: Store, task: Task, numbers: Iterable[int]) -> list[int]:
    """Return those of some failed pieces whose grid jobs are no longer kept: only new pieces can do their work."""
    grids = {each.w: each.grid for each in store.waves.all(task.id) if not each.t and each.grid}
    pieces = (store.pieces.one(task.id, p) for p in numbers)
    sent = {each.p: grids[each.wave] for each in pieces if each and each.wave in grids}
    kept = {grid for grid in set(sent.values()) if _is_kept(store, grid)}
    return [p for p, grid in sent.items() if grid not in kept]


def need_new(store: Store, task: Task, numbers: Sequence[int]) -> list[int]:
    """Return those of some failed pieces whose work only new pieces can do: also of those with a file less."""
    old = set(gone(store, task, numbers))
    pieces = ((p, store.pieces.one(task.id, p)) for p in numbers if p not in old)
    old |= {p for p, piece in pieces if piece and lacks_files(store, piece)}
    return [p for p in numbers if p in old]


def lacks_files(store: Store, piece: PieceRow) -> bool:
    """Tell whether a file of a piece is no longer kept: as it is, the piece is never sent again."""
    return bool(not_kept(store, _items(store, piece)))


def _is_kept(store: Store, grid: int) -> bool:
    try:
        store.grid_job(grid)
    except UnknownJob:
        return False
    return True


def is_given_up(store: Store, task: Task, piece: PieceRow) -> bool:
    """Tell whether a person has given up all items of a piece, or they are not kept: nothing tries it again."""
    items = _items(store, piece)
    return bool(items) and given_up(store, piece, items) == items.keys()


def given_up(store: Store, piece: PieceRow, items: Mapping[int, Item]) -> set[int]:
    """Return the items of a failed piece that no new one gets.

    Events are counted over all files of a piece: without one of its files, nothing of the piece can be done.
    """
    lost = not_kept(store, items)
    if lost and "first_event" in piece.record.get("mask", {}):
        return set(items)
    return lost | {each.id for each in items.values() if each.state is ItemState.DROPPED}


def not_kept(store: Store, items: Mapping[int, Item]) -> set[int]:
    """Return the items whose files went with their grid jobs, also if the task that made them was removed since."""
    gone = {each.id for each in items.values() if each.state is ItemState.GONE and each.note == NOT_KEPT}
    fed = [each.id for each in items.values() if each.output > 0]
    return gone | (store.promises.not_kept(fed) if fed else set())


def lost(store: Store, task: Task) -> dict[int, Item]:
    """Return the items of failed pieces whose files are no longer kept."""
    found: dict[int, Item] = {}
    for piece in store.pieces.failed(task.id):
        items = _items(store, piece)
        found |= {each: items[each] for each in not_kept(store, items)}
    return found


def not_kept_in_words(items: int, of: str = "") -> str:
    """Tell that files of items went with their grid jobs."""
    return (
        f"the file of 1 item{of} is no longer kept"
        if items == 1
        else f"the files of {items:,} items{of} are no longer kept"
    )


def _items(store: Store, piece: PieceRow) -> Mapping[int, Item]:
    return store.pools.items(piece.task, piece.record.get("files", ()))


def written(value: Any) -> str:
    """Write a value of a wish as a person would."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={written(each)}" for name, each in value.items())
    if value is None:
        return "none"
    return ", ".join(map(written, value)) if isinstance(value, list | tuple) else str(value)


def as_named(program: str) -> str:
    """Return how people know a program: of a kept copy the name alone, for the rest of its path says nothing."""
    path = Path(program)
    return path.name if path.parent.name == "check" and path.parent.parent.parent.name == "tasks" else program


def refusal(task: Task, verb: str, content: Mapping[str, Any], pool: Pool) -> str:
    """Return why a verb changes nothing; empty: it does."""
    name, state = task.name, task.state
    if task.reason == OLDER and verb not in (TaskVerb.CANCEL, TaskVerb.REMOVE):
        return f"{name}: {OLDER}; only 'jim task cancel {name}' is possible"
    if verb == TaskVerb.REMOVE:
        return _too_early_to_remove(task, pool)
    if state in OVER:
        return f"{name} is {state.value}"
    needed = {
        TaskVerb.START: (TaskState.CONFIGURED, TaskState.READY),
        TaskVerb.TEST: (TaskState.CONFIGURED, TaskState.READY, TaskState.RUNNING),
        TaskVerb.PAUSE: (TaskState.RUNNING, TaskState.PAUSED),
        TaskVerb.RESUME: (TaskState.PAUSED, *((TaskState.RUNNING,) if pool.another_store else ())),
    }
    as_it_is = verb == TaskVerb.PAUSE and state is TaskState.PAUSED and not _pauses_more(task, content, pool)
    if as_it_is or (verb in needed and state not in needed[TaskVerb(verb)]):
        then = "" if as_it_is else NEXT_STEPS.get(state, "").format(name)
        return f"{name} is {state.value}{then}"
    tested = task.tested == task.spec.to_test or content.get("untested") or pool.proves_itself
    if verb == TaskVerb.START and not tested:
        return f"{name} has not been tested as it is now; 'jim task test {name}', or start --untested"
    if verb in (TaskVerb.RETRY, TaskVerb.RECOVER) and not pool.failed:
        return f"{name}: no piece has failed"
    return _about_pool(task, verb, content, pool) if verb in POOL_VERBS else ""


def _pauses_more(task: Task, content: Mapping[str, Any], pool: Pool) -> bool:
    """Tell whether a pause does something to what a paused task has on the way."""
    suspends = content.get("suspend") and not task.throttle.get("suspend")
    return bool(suspends or (content.get("kill") and pool.sent))


def changes_nothing(task: Task, verb: str, pool: Pool) -> bool:
    """Tell whether a verb is refused only because there is nothing to do: whoever asks again and again is content."""
    if task.reason == OLDER:
        return False
    if verb in SO_ALREADY:
        return task.state in SO_ALREADY[TaskVerb(verb)]
    is_so = pool.closed if verb == TaskVerb.CLOSE else verb in (TaskVerb.RETRY, TaskVerb.RECOVER) and not pool.failed
    return bool(is_so) and task.state not in OVER


def hangs_on(task: Task, verb: str, content: Mapping[str, Any], wished: Set[str]) -> bool:
    """Tell whether a refusal may no longer hold once the wishes that wait for a task, of these verbs, are fulfilled."""
    if task.state in OVER or task.reason == OLDER or not MADE_POSSIBLE_BY.get(verb, set()) & wished:
        return False
    return verb not in POOL_VERBS or not _against_file(task, verb, content)


def _against_file(task: Task, verb: str, content: Mapping[str, Any]) -> str:
    """Return what in the file of a task forbids a change of its pool."""
    if task.spec.makes_events:
        return f"{task.name} makes events: its pool is what its file says"
    return next(_brought(task, content.get("items", ())), "") if verb == TaskVerb.ADD else ""


def _about_pool(task: Task, verb: str, content: Mapping[str, Any], pool: Pool) -> str:
    """Return why nothing changes in the pool of a task."""
    if forbidden := _against_file(task, verb, content):
        return forbidden
    if "group" in content and content["group"] not in pool.groups:
        return f"{task.name} has no group {content['group']!r}"
    closed = f"{task.name} is closed since {pool.closed[:16].replace('T', ' ')} UTC"
    if verb == TaskVerb.ADD and pool.closed and not content.get("reopen"):
        return f"{closed}; 'jim task add --reopen' opens it again"
    return closed if verb == TaskVerb.CLOSE and pool.closed else ""


def _brought(task: Task, names: Iterable[str]) -> Iterator[str]:
    """Say which names are those of items that another task brings: under its name nothing else may come before it."""
    streams = {each.output: each.task for each in task.spec.connectors}
    for name in names:
        stream, _, number = name.partition("/")
        if stream in streams and number[:1].isdigit():
            yield f"{name} is what task {streams[stream]} brings: it comes by itself"


def _too_early_to_remove(task: Task, pool: Pool) -> str:
    if pool.sent:
        then = "remove it once they have ended" if task.state is TaskState.CANCELLING else "cancel it first"
        return f"{task.name} has {pool.sent:,} piece{'s' * (pool.sent != 1)} on the way; {then}"
    if pool.feeds:
        return f"{task.name} feeds {pool.feeds[0]!r}, which is not finished; finish or cancel that first"
    if task.state in (TaskState.FINISHED, TaskState.CANCELLED, TaskState.CONFIGURED, TaskState.READY):
        return ""
    then = "remove it once it is cancelled" if task.state is TaskState.CANCELLING else "cancel it first"
    return f"{task.name} is {task.state.value}; {then}"


def fix_of(store: Store, wave: Wave, n: int) -> int:
    """Return the last fix that a local job was sent with, as what has been sent stays as it was; 0: none.

    Only fixes edit a wave, each of them once, and one after the other.
    """
    asked = f"{Verb.EDIT} requested"
    edits = (
        [each for each in store.journals.of_itself(wave.grid) if each.now == asked] if wave.fix and wave.grid else []
    )
    sent = [each.seq for each in store.journals.of(wave.grid, n) if each.now == State.SUBMITTING.value] if edits else []
    return wave.fix - sum(each.seq > sent[-1] for each in edits if sent)
