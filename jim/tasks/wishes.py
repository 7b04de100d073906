"""Takes the wishes of people for tasks into the store, in the transaction that records that they are fulfilled."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set
from functools import partial
from typing import Any

from jim.errand import Errand
from jim.errors import JimError, StoreError, UnknownJob
from jim.statusdb.task_rows import Task, TaskState
from jim.statusdb.task_spec import Spec
from jim.statusdb.tasks.outputs import store_fact
from jim.tasks.effects import (
    PREFIX,
    TaskVerb,
    in_another_store,
    need_new,
    not_kept_in_words,
    paused_by_itself,
    pool_of,
    refusal,
    to_retry,
    written,
)
from jim.tasks.file import sent_along
from jim.tasks.file.connecting import in_order
from jim.tasks.file.requests import checked
from jim.tasks.file.wish_checks import unfit
from jim.tasks.file.words import THROTTLE
from jim.tasks.keeping import Keeper
from jim.tasks.pieces import redoing
from jim.tasks.pieces.recovering import Recoveries
from jim.tasks.pieces.redoing import Redos
from jim.tasks.pieces.waves import fixed
from jim.tasks.pool import lost_items, pool_wishes
from jim.tasks.release_room import Place
from jim.tasks.results.ending import prefer
from jim.tasks.results.following import BY_CANCEL, BY_PAUSE
from jim.tasks.throttle import Limits, resumed
from jim.tasks.throttle_row import ThrottleRow, read
from jim.work.own_values import CUT_BY, KNOWN_BY

log = logging.getLogger(__name__)
FIXED = CUT_BY | KNOWN_BY | {"inputs", "stdin"}  # attributes of a request that stay as they are
CHANGES = {TaskVerb.FIX: ("changes", FIXED), TaskVerb.RECOVER: ("attributes", CUT_BY | KNOWN_BY)}


class Prepared:
    """What workers prepare for wishes that wait."""

    def __init__(self) -> None:
        self.recoveries, self.redos = Recoveries(), Redos()


def must_wait(keeper: Keeper, content: Mapping[str, Any], prepared: Prepared) -> bool:
    """Tell whether a wish waits for what a worker prepares for it."""
    if content["verb"] not in (TaskVerb.RECOVER, TaskVerb.RETRY, TaskVerb.REDO):
        return False
    try:
        task = keeper.store.tasks.named(content["target"].removeprefix(PREFIX))
    except UnknownJob:
        return False
    if _refused(keeper, task, content) or _is_as_it_was(keeper, task, content):
        return False
    if content["verb"] == TaskVerb.REDO:
        return not prepared.redos.are_checked(keeper, task, content)
    return not prepared.recoveries.has_pieces(keeper, task, content)


def _refused(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> str:
    """Return why a wish changes nothing; empty: it does."""
    verb = content["verb"]
    why = unfit(verb, content) or refusal(task, verb, content, pool_of(keeper.store, task))
    if verb == TaskVerb.REDO and not why:
        return redoing.refusal(keeper.store, task, content)
    if why or verb not in CHANGES:
        return why
    name, fixed_names = CHANGES[TaskVerb(verb)]
    return _refused_changes(keeper, task, content.get(name, {}), fixed_names)


def _refused_changes(of: Place, task: Task, changes: Mapping[str, Any], fixed_names: Set[str]) -> str:
    """Return why a task cannot run with changes of its request; empty: it can."""
    if not changes:
        return ""
    if stays := fixed_names & changes.keys():
        return f"{min(stays)}: stays as it is"
    spec = fixed(task.spec, [*of.store.tasks.fixes(task.id).values(), changes])
    try:
        checked(spec, of.site, events=spec.events)
    except StoreError:
        raise
    except JimError as error:
        return str(error)
    return ""


def _is_as_it_was(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> bool:
    """Tell whether a wish only tries again what grid jobs still have; what else it means becomes new pieces."""
    return content["verb"] == TaskVerb.RETRY and not need_new(keeper.store, task, to_retry(keeper.store, task, content))


def take(keeper: Keeper, content: Mapping[str, Any], prepared: Prepared) -> None:
    """Fulfil a wish for a task, or note why it changes nothing."""
    verb, name, by = content["verb"], content["target"].removeprefix(PREFIX), str(content.get("by", ""))
    if verb == TaskVerb.CREATE:
        _create(keeper, content, by)
        return
    try:
        task = keeper.store.tasks.named(name)
    except UnknownJob as error:
        log.warning("%s changes nothing: %s", verb, error)
        return
    keeper.store.tasks.note(task.id, f"{verb} requested", ", ".join(filter(None, (by, _told(content)))))
    if why := _refused(keeper, task, content):
        keeper.store.tasks.note(task.id, f"{verb} changes nothing", why)
        return
    if verb == TaskVerb.RECOVER:
        lost = lost_items.lose(keeper, task)
        keeper.store.tasks.note(
            task.id, "recover", lost_items.with_lost(prepared.recoveries.recover(keeper, task), lost)
        )
        return
    if verb == TaskVerb.RETRY:
        _try_again(keeper, task, content, prepared.recoveries)
        return
    if verb == TaskVerb.REDO:
        keeper.store.tasks.note(task.id, *prepared.redos.redo(keeper, task, content))
        return
    if verb in OF_POOL:
        said = OF_POOL[TaskVerb(verb)](keeper, task, content)
        keeper.store.tasks.note(task.id, verb, said)
        return
    FULFIL[TaskVerb(verb)](keeper, task, content)


def _try_again(keeper: Keeper, task: Task, content: Mapping[str, Any], recoveries: Recoveries) -> None:
    """Try failed pieces again as they are; new pieces do the work of those of which something is not kept."""
    numbers = to_retry(keeper.store, task, content)
    old = need_new(keeper.store, task, numbers)
    lost = lost_items.lose(keeper, task)
    if lost and not numbers:
        keeper.store.tasks.note(task.id, "retry", f"nothing is tried again: {not_kept_in_words(lost)}")
        return
    if old:
        keeper.store.tasks.note(task.id, "recover", lost_items.with_lost(recoveries.recover(keeper, task), lost))
        task = keeper.store.tasks.named(task.name)
        content = {**content, "most": content["most"] - len(old)} if content.get("most") else content
    elif lost:
        keeper.store.tasks.note(task.id, "retry", not_kept_in_words(lost))
    _retry(keeper, task, content)


def _told(content: Mapping[str, Any]) -> str:
    said = {name: value for name, value in content.items() if name not in ("verb", "target", "by")}
    more = ((name, value) for name, value in said.items() if value or (value == 0 and value is not False))
    return ", ".join(name if value is True else f"{name} {written(value)}" for name, value in more)[:500]


def _create(keeper: Keeper, content: Mapping[str, Any], by: str) -> None:
    """Store all tasks of a file, or none of them."""
    with keeper.store.part():
        named = {each["name"]: each for each in content["tasks"]}
        for spec in in_order([Spec.from_record(each["spec"]) for each in content["tasks"]]):
            each = named[spec.name]
            limits = {name: getattr(spec.release, name) for name in (*THROTTLE, "probe_seconds")}
            throttle = ThrottleRow(Limits(**limits)).stored()
            values = (each["name"], each["nonce"], content["owner"], spec, each["digest"])
            if not keeper.store.tasks.add(*values, throttle, by):
                log.warning("task %s: created already, with the same or with other content", each["name"])


def _test(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> None:
    if content.get("pieces"):
        test = task.spec.test._replace(pieces=int(content["pieces"]))
        keeper.store.tasks.set_spec(task.id, task.spec._replace(test=test))
    number = task.tests + 1
    if task.state is TaskState.RUNNING:
        keeper.store.tasks.change(task.id, tests=number, throttle={**task.throttle, "trying": number})
    else:
        keeper.store.tasks.change(task.id, state=TaskState.TESTING, tests=number, reason="")


def _start(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> None:
    """Let a task begin; if it could not be tested yet, its first pieces go alone."""
    tested = content.get("untested") or task.tested == task.spec.to_test
    throttle = {**task.throttle, "alone_first": 0 if tested else task.spec.test.pieces}
    keeper.store.tasks.change(task.id, state=TaskState.RUNNING, reason="", throttle=throttle)


def _pause(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> None:
    """Pause a task; at once, or with all that is on the way. A pause by itself keeps its reason."""
    reason = task.reason if paused_by_itself(task) else ""
    suspended = bool(content.get("suspend") or task.throttle.get("suspend"))  # until resume lets its waves go on
    throttle = {**task.throttle, "suspend": int(suspended)}
    keeper.store.tasks.change(task.id, state=TaskState.PAUSED, reason=reason, throttle=throttle)
    if content.get("kill"):
        _end_waves(keeper, task, BY_PAUSE)


def _end_waves(keeper: Keeper, task: Task, ending: str) -> None:
    for wave in keeper.store.waves.live(task.id):
        if wave.ending != BY_CANCEL:
            keeper.store.waves.change(wave, ending=ending)


def _resume(keeper: Keeper, task: Task, _content: Mapping[str, Any]) -> None:
    """Let a task go on; its allowance begins anew. Of one that runs, accept the directory that its store is now."""
    if task.state is TaskState.RUNNING:
        _accept_stores(keeper, task)
        return
    row = read(task.throttle)
    keeper.store.tasks.change(
        task.id, state=TaskState.RUNNING, reason="", throttle=row._replace(throttle=resumed(row.throttle)).stored()
    )


def _accept_stores(keeper: Keeper, task: Task) -> None:
    """Store into the directories that are there now, as a person who was told of them wants it."""
    for each in in_another_store(keeper.store, task, most=-1):
        keeper.store.set_fact(store_fact(task.id, each.stream), "")
        keeper.store.outputs.change(each.id, reason="", tries=0, due=0)


def _throttle(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> None:
    given = {name: int(content[name]) for name in THROTTLE if name in content}
    keeper.store.tasks.change(task.id, throttle={**task.throttle, **given})


def _retry(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> None:
    """Let failed pieces be tried again in their waves, those with some words in their reason, or all."""
    keeper.store.pieces.want_again(task.id, to_retry(keeper.store, task, content))
    state = {"state": TaskState.RUNNING, "outcome": ""} if task.state is TaskState.FINISHED else {}
    keeper.store.tasks.change(task.id, throttle={**task.throttle, "retry": 1}, **state)


def _fix(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> None:
    number = keeper.store.tasks.add_fix(task.id, content["changes"])
    words = ", ".join(f"{name} {written(value)}" for name, value in content["changes"].items())
    keeper.store.tasks.note(task.id, f"fix {number}", words)
    if task.state in (TaskState.CONFIGURED, TaskState.READY) and task.tested:
        keeper.store.tasks.change(
            task.id, state=TaskState.CONFIGURED, tested="", reason=f"fix {number} is not tested yet"
        )


def _priority(keeper: Keeper, task: Task, content: Mapping[str, Any]) -> None:
    prefer(keeper, task, int(content["priority"]))


def _cancel(keeper: Keeper, task: Task, _content: Mapping[str, Any]) -> None:
    """Let a task end; what could not be stored is tried once more, and then given up."""
    for each in keeper.store.outputs.in_trouble(task.id, -1):
        keeper.store.outputs.change(each.id, due=0)
    keeper.store.tasks.change(task.id, state=TaskState.CANCELLING, outcome="", reason="")
    _end_waves(keeper, task, BY_CANCEL)


def _remove(keeper: Keeper, task: Task, _content: Mapping[str, Any]) -> None:
    """Forget a task; then its copies go. If they stay after a kill, they are swept a day later."""
    keeper.store.tasks.remove(task.id)
    work = partial(sent_along.forget, keeper.site.state, task.name, task.nonce)
    keeper.workers.start(Errand(("task copies", task.nonce), work, lambda _: None, lambda _: None))


OF_POOL = {
    TaskVerb.ADD: pool_wishes.add,
    TaskVerb.CLOSE: pool_wishes.close,
    TaskVerb.REOPEN: pool_wishes.reopen,
    TaskVerb.FLUSH: pool_wishes.flush,
    TaskVerb.DROP: pool_wishes.drop,
}
FULFIL = {
    TaskVerb.TEST: _test,
    TaskVerb.START: _start,
    TaskVerb.PAUSE: _pause,
    TaskVerb.RESUME: _resume,
    TaskVerb.THROTTLE: _throttle,
    TaskVerb.PRIORITY: _priority,
    TaskVerb.FIX: _fix,
    TaskVerb.CANCEL: _cancel,
    TaskVerb.REMOVE: _remove,
}
