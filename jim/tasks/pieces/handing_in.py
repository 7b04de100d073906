"""Hands in waves through the inbox, as doors do: a key makes one grid job, however often it is handed in."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from functools import partial
from typing import Any

from jim.doors import inbox
from jim.errand import Errand
from jim.errors import JimError
from jim.site.realm import CREDENTIALS, Realm
from jim.statusdb.task_rows import USED, Item, ItemState, Output, Task, TaskState, Wave, WaveState
from jim.tasks.damaged import Damaged, Spoil, are_sure, damaged, heed
from jim.tasks.effects import OLDER
from jim.tasks.file import sent_along
from jim.tasks.keeping import Keeper, ask_again
from jim.tasks.pieces.waves import Load, key_of, loads_of, request_of
from jim.tasks.unexpected_errors import in_words, start

log = logging.getLogger(__name__)
NEVER = float("inf")


class Older(JimError):
    """The key of a wave belongs to other pieces: the store has been restored."""


def hand_in(keeper: Keeper, task: Task, spoil: Spoil) -> float:
    """Hand in the intended waves; return when to ask again."""
    intended = (each for each in keeper.store.waves.live(task.id) if each.state is WaveState.INTENDED)
    waves = [each for each in intended if each.reason != OLDER]
    return min((_hand_in(keeper, task, each, spoil) for each in waves), default=NEVER)


def _hand_in(keeper: Keeper, task: Task, wave: Wave, spoil: Spoil) -> float:
    key = ("task wave", task.id, wave.t, wave.w)
    if keeper.workers.busy(key):
        return ask_again(keeper)
    loads = tried(wave) if wave.t else loads_of(keeper, wave)
    fed = [] if wave.t else [each for each in _fed(keeper, loads) if each.tries != USED]
    fixes = list(keeper.store.tasks.fixes(task.id, wave.fix).values())
    work = partial(_deposit, keeper, task, wave, loads, fixes, fed)
    done, failed = partial(_handed_in, keeper, task, wave, fed), partial(_failed, keeper, task, wave, spoil)
    return start(keeper, task, Errand(key, work, done, failed, heeds=(BaseException,)))


def _fed(keeper: Keeper, loads: Iterable[Load]) -> list[Output]:
    """Return what other tasks have brought for some pieces."""
    return keeper.store.chains.outputs_by_id({i.output for each in loads for i in each.items.values() if i.output > 0})


def tried(wave: Wave) -> list[Load]:
    """Return the pieces of a test, which belong to no pool."""
    return [_load(each) for each in json.loads(wave.pieces)]


def stored(loads: list[Load]) -> str:
    """Return the pieces of a test as the store keeps them."""
    return json.dumps([[each.p, each.grp, 0, each.record, [*map(list, each.items.values())]] for each in loads])


def _load(told: list[Any]) -> Load:
    p, grp, attempts, record, items = told
    read = [Item(*each)._replace(state=ItemState(each[4])) for each in items]
    return Load(p, grp, attempts, record, {each.id: each for each in read})


def _deposit(
    keeper: Keeper, task: Task, wave: Wave, loads: list[Load], fixes: list[dict[str, Any]], fed: list[Output]
) -> int:
    """Store the request of a wave in the inbox, unless it is there; return its grid job's id. Runs in a worker."""
    state, key = keeper.site.state, key_of(task, wave)
    known = inbox.request_of(state, key)
    if not known and (damages := damaged(fed)):
        raise Damaged(damages)
    if known and known["task"]["sha256"] != wave.sha256:
        raise Older(OLDER)
    request = known or request_of(task, wave, loads, keeper.site, fixes)
    copies, named = str(sent_along.directory(state, task.name, task.nonce)), [request.get(kind) for kind in CREDENTIALS]
    realm = Realm((copies,), tuple(filter(None, named)))  # whatever a text of the task may become
    return inbox.deposit(state, key, request, by=f"{task.owner}, by task {task.name}", realm=realm.text)


def _handed_in(keeper: Keeper, task: Task, wave: Wave, fed: list[Output], grid: int) -> None:
    with keeper.store.transaction():
        for each in [each for each in fed if each.tries]:  # its file is back
            keeper.store.outputs.change(each.id, tries=0, reason="")
        keeper.store.waves.change(wave, state=WaveState.HANDED_IN, grid=grid, reason="")
        keeper.store.tasks.note(
            task.id, f"handed in as {grid}", f"wave {wave.w}, {wave.size} piece{'s' * (wave.size != 1)}" * (not wave.t)
        )
    log.info("task %s: wave %d is grid job %d", task.name, wave.w, grid)


def _failed(keeper: Keeper, task: Task, wave: Wave, spoil: Spoil, error: BaseException) -> None:
    if not isinstance(error, Damaged):
        _refused(keeper, task, wave, error)
        return
    with keeper.store.transaction():
        if are_sure(keeper, error.damages):
            keeper.store.waves.change(wave, state=WaveState.REFUSED, reason=str(error))
            pieces = keeper.store.pieces.of_wave(task.id, wave.w)
            keeper.store.pieces.ready_again(task.id, {each.p: 0 for each in pieces}, "")
        else:
            keeper.store.waves.change(wave, reason=str(error))
        heed(keeper, error.damages, spoil)


def _refused(keeper: Keeper, task: Task, wave: Wave, error: BaseException) -> None:
    """Pause a task whose request is refused; its pieces are ready again. A full disk is waited for."""
    words = in_words(task, error)
    log.error("task %s: wave %d cannot be handed in: %s", task.name, wave.w, words)
    if isinstance(error, OSError):
        keeper.store.waves.change(wave, reason=words)
        return
    with keeper.store.transaction():
        if isinstance(error, Older):
            keeper.store.waves.change(wave, reason=words)
        else:
            keeper.store.waves.change(wave, state=WaveState.REFUSED, reason=words)
            pieces = keeper.store.pieces.of_wave(task.id, wave.w) if not wave.t else []
            keeper.store.pieces.ready_again(task.id, {each.p: 0 for each in pieces}, "")
        now = keeper.store.tasks.one(task.id)
        if now and now.state is TaskState.RUNNING and not wave.t:  # a test changes nothing of a task that runs
            keeper.store.tasks.change(task.id, state=TaskState.PAUSED, reason=words)
