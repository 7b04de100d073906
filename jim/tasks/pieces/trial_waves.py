"""Tries a task out: the first pieces that would be planned become grid jobs of their own, whose ends decide."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from jim.command import run
from jim.errand import Errand
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.jobs import GridJob
from jim.model import State
from jim.statusdb.task_rows import Item, ItemState, NewPiece, PieceState, Task, TaskState, Wave, WaveState
from jim.tasks.effects import FAILED, PASSED, as_named, is_tried
from jim.tasks.file import streams
from jim.tasks.keeping import Keeper, ask_again
from jim.tasks.pieces.cutting import Pool, cut, ranges
from jim.tasks.pieces.handing_in import stored
from jim.tasks.pieces.waves import Load, sha256_of
from jim.tasks.pool.concluding import is_over
from jim.tasks.release_room import released
from jim.tasks.unexpected_errors import in_words, start
from jim.work.sizing import TEST_EVENTS
from jim.workdir.submission import submission_directory

log = logging.getLogger(__name__)
NEVER = float("inf")
CHECK_SECONDS = 600.0
SHOWN_ITEMS = 1_000


class Tried(NamedTuple):
    """What is known of one piece of a test."""

    grid: int
    trouble: str  # empty: it is good so far
    outputs: tuple[str, ...] = ()


def go_on(keeper: Keeper, task: Task, looked: bool) -> float:
    """Begin a test once the sources were looked at, or judge it once its grid jobs have ended."""
    waves = [each for each in keeper.store.waves.all(task.id) if each.t == task.tests]
    key = ("task test", task.id)
    if keeper.workers.busy(key):
        return ask_again(keeper)
    if not waves and not looked:
        return NEVER
    if not waves:
        return _begin(keeper, task)
    if any(each.state in (WaveState.INTENDED, WaveState.HANDED_IN) for each in waves):
        return NEVER
    tried = [_tried(keeper, task, each) for each in waves]
    check = task.spec.test.check
    if any(each.trouble for each in tried) or not check:
        _judge(keeper, task, [each.trouble for each in tried if each.trouble])
        return NEVER
    work, done = partial(_checked, check, tried), partial(_judge, keeper, task)
    return start(keeper, task, Errand(key, work, done, partial(_not_checked, keeper, task), heeds=(Exception,)))


def _begin(keeper: Keeper, task: Task) -> float:
    """Make the pieces of a test. Nothing is acquired, and no piece is planned."""
    groups = [grp for grp, _ in keeper.store.pools.oldest_available(task.id)]
    items = [each for grp in sorted(groups)[:1] for each in keeper.store.pools.available(task.id, grp, SHOWN_ITEMS)]
    items = [each for each in items if each.there > 0] or _of_running(keeper, task)
    if not items and any(each.waits and not each.closed for each in keeper.store.pools.sources(task.id)):
        return NEVER  # the next look may find that files have come to rest
    if not items:
        _judge(keeper, task, ["there is nothing to test yet: no source has an item"])
        return NEVER
    work, done = partial(_first, keeper, task, items), partial(_store, keeper, task)
    failed = partial(_not_checked, keeper, task)
    return start(keeper, task, Errand(("task test", task.id), work, done, failed, heeds=(Exception,)))


def _of_running(keeper: Keeper, task: Task) -> list[Item]:
    """Return the first items of a task that runs and has all of them in pieces already."""
    if task.state is not TaskState.RUNNING:
        return []
    some = keeper.store.pools.find_items(task.id, "*", "", SHOWN_ITEMS)
    some = [each for each in some if each.there > 0 and each.state is not ItemState.GONE]
    return [each for each in some if each.grp == some[0].grp]


def _first(keeper: Keeper, task: Task, items: Sequence[Item]) -> list[Load]:
    """Return the first pieces, those of events with a few events alone. Runs in a worker."""
    most, known = task.spec.test.pieces, {each.id: each for each in items}
    pieces: list[NewPiece] = []
    if "per_piece" in items[0].record:
        small = items[0]._replace(
            record={**items[0].record, "per_piece": min(TEST_EVENTS, items[0].record["per_piece"])}
        )
        pieces = list(ranges(small._replace(upto=0), most))
    else:
        for is_open in (True, False):
            pool = Pool(is_open, 0, keeper.clock.steady())
            pieces = pieces or cut(task.spec.split, items, pool, keeper.site).pieces
    named = ({n: known[n] for n in each.record.get("files", ())} for each in pieces[:most])
    return [Load(p, each.grp, 0, each.record, own) for p, (each, own) in enumerate(zip(pieces, named, strict=False))]


def _store(keeper: Keeper, task: Task, loads: list[Load]) -> None:
    now = keeper.store.tasks.one(task.id)
    if now is None or not is_tried(now) or now.tests != task.tests:
        return
    if not loads:
        _judge(keeper, task, ["there is nothing to test yet: no piece comes of the items that are there"])
        return
    with keeper.store.transaction():
        for k, each in enumerate(loads, 1):
            keeper.store.waves.add(task.id, task.tests, k, 1, sha256_of([each]), stored([each]))
        keeper.store.tasks.note(task.id, "test", f"{len(loads)} piece{'s' * (len(loads) != 1)}")


def _tried(keeper: Keeper, task: Task, wave: Wave) -> Tried:
    """Return how the grid job of a test has ended."""
    if wave.state is WaveState.REFUSED:
        return Tried(0, f"the request is refused: {wave.reason}")
    job = keeper.store.grid_job(wave.grid)
    if not job.size:
        return Tried(job.id, f"{job.id}: {job.reason or job.outcome}")
    return _tried_as(keeper, task, job, 0)


def _tried_as(keeper: Keeper, task: Task, job: GridJob, n: int) -> Tried:
    """Return how a local job has ended, and whether that meets what a test asks for."""
    local = keeper.store.local_job(job.id, n)
    if local.state is not State.COMPLETED:
        return Tried(job.id, f"{job.id}.{n} {local.state.value}: {local.reason}")
    last = keeper.store.last_run(job.id, n)
    record = read_exit_record(last.record) if last else None
    most, seconds = task.spec.test.most_seconds, record.seconds if record else None
    if most and seconds is not None and seconds > most:
        return Tried(job.id, f"{job.id}.{n} took {seconds:,.0f} s, more than {most:g} s (test.most_seconds)")
    if last is None or record is None:
        return Tried(job.id, "")
    if why := streams.missing(task.spec.outputs, _names(record)):
        return Tried(job.id, f"{job.id}.{n}: {why}")
    place = submission_directory(keeper.site.work / (job.place or str(job.id)), last.k) / f"run.{last.idx}"
    return Tried(job.id, "", tuple(str(place / name) for name in streams.shown(task.spec.outputs, _names(record))))


def _names(record: ExitRecord) -> list[str]:
    return [each.name for each in record.files]


def _checked(check: Sequence[str], tried: Sequence[Tried]) -> list[str]:
    """Run the program that looks at outputs; return what it finds wrong. Runs in a worker."""
    answer = run([*check, *(path for each in tried for path in each.outputs)], limit=CHECK_SECONDS)
    return [] if answer.code == 0 else [f"check {as_named(check[0])}: {answer.facts()}"]


def _not_checked(keeper: Keeper, task: Task, error: BaseException) -> None:
    _judge(keeper, task, [in_words(task, error)])


def _judge(keeper: Keeper, task: Task, troubles: list[str]) -> None:
    """Let a task be ready, or configured again; of one that runs nothing changes."""
    now = keeper.store.tasks.one(task.id)
    if now is None or now.tests != task.tests or not is_tried(now):
        return
    if now.state is not TaskState.TESTING:
        with keeper.store.transaction():
            keeper.store.tasks.change(task.id, throttle={**now.throttle, "trying": 0})
            keeper.store.tasks.note(
                task.id, f"test {task.tests} {FAILED if troubles else PASSED}", "".join(troubles[:1])
            )
    elif troubles:
        keeper.store.tasks.change(
            task.id, state=TaskState.CONFIGURED, reason=f"test {task.tests} failed: {troubles[0]}"
        )
    elif fix := _fix_since(keeper, task):
        keeper.store.tasks.change(task.id, state=TaskState.CONFIGURED, reason=f"fix {fix} is not tested yet")
    else:
        keeper.store.tasks.change(task.id, state=TaskState.READY, reason="", tested=task.spec.to_test)
    log.info("task %s: test %d: %s", task.name, task.tests, "; ".join(troubles) or "passed")


def _fix_since(keeper: Keeper, task: Task) -> int:
    """Return the last fix if it was made after the pieces of a test; 0: they have all fixes."""
    last = max(keeper.store.tasks.fixes(task.id), default=0)
    waves = [each for each in keeper.store.waves.all(task.id) if each.t == task.tests]
    return last if any(each.fix < last for each in waves) else 0


# The first pieces of a task that could not be tested before it was started: real work, and no test


def go_on_alone(keeper: Keeper, task: Task) -> float:
    """Judge the first pieces once they have ended: others follow, or the task pauses."""
    most, key = int(task.throttle.get("alone_first", 0)), ("task first", task.id)
    if not most:
        return NEVER
    if keeper.workers.busy(key):
        return ask_again(keeper)
    waves = {each.w: each.grid for each in keeper.store.waves.all(task.id) if not each.t and each.grid}
    pieces = released(keeper.store, task.id)[:most]
    bad = [f"{task.name}/{each.p}: {each.reason}" for each in pieces if each.state is PieceState.FAILED]
    done = [each for each in pieces if each.state is PieceState.COMPLETED]
    if bad or not done or (len(done) < most and not is_over(keeper, task)):
        if bad:
            _judge_alone(keeper, task, bad)
        return NEVER
    tried = [_tried_as(keeper, task, keeper.store.grid_job(waves[each.wave]), each.n) for each in done]
    check, troubles = task.spec.test.check, [each.trouble for each in tried if each.trouble]
    if troubles or not check:
        _judge_alone(keeper, task, troubles)
        return NEVER
    work, judge = partial(_checked, check, tried), partial(_judge_alone, keeper, task)
    return start(keeper, task, Errand(key, work, judge, lambda error: judge([str(error)]), source=True))


def _judge_alone(keeper: Keeper, task: Task, troubles: list[str]) -> None:
    now = keeper.store.tasks.one(task.id)
    if now is None or now.state is not TaskState.RUNNING:
        return
    throttle = {**now.throttle, "alone_first": 0}
    if troubles:
        why = f"by itself: its first pieces have not passed: {troubles[0]}"
        keeper.store.tasks.change(task.id, state=TaskState.PAUSED, reason=why, throttle=throttle)
    else:
        keeper.store.tasks.change(task.id, throttle=throttle)
        keeper.store.tasks.note(task.id, "its first pieces have passed")
