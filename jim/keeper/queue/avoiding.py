"""Finds black holes, has wrappers and the batch system avoid them, and spares local jobs what those have eaten.

A worker judges the hosts after each failure of an attempt, and before a grid job with failures ends; the loop stores
what it has found. The order of the steps is free: the file `avoid` and the exclusion of hosts only decide where
attempts run, and every attempt that a wrapper has left is fenced before the next one (`left_hosts.py`). A keeper that
was killed judges anew when it starts.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from typing import NamedTuple

from jim.clock import seconds_of
from jim.errand import Errand
from jim.errors import BadSite, JimError
from jim.evidence import avoiding, hosts
from jim.evidence.avoiding import FACT, SPARED_AT_MOST, Avoided
from jim.jobs import Attempt, Key, LocalJob
from jim.keeper import reasons
from jim.keeper.attempts import judging
from jim.keeper.attempts.left_hosts import leave
from jim.keeper.keeper import Keeper
from jim.keeper.looks import JUDGED
from jim.model import State, Step, Witness
from jim.site.avoid import HOST, Order, ordered
from jim.statusdb.grid.host_evidence import left_lately, tried_lately
from jim.statusdb.store import Store
from jim.tasks.counting import has_been_eaten
from jim.workdir import avoid

log = logging.getLogger(__name__)
KEY = "hosts"  # of the errand
EVERY_SECONDS = 10.0  # people's orders are read
AFTER_FAILURE_SECONDS = 3600.0  # evidence may come as late
AT_ONCE = 500  # attempts that are spared
REST = 10  # times the duration of a judgement


class Judged(NamedTuple):
    """What a worker has found."""

    avoided: Mapping[str, Avoided]
    excluded: tuple[str, ...]  # those that a batch system may be told
    eaten: Mapping[Key, str]  # attempts that black holes have eaten, with the hosts
    asked: int  # the latest question that this answers
    seconds: float  # that this took
    trouble: str = ""


class Avoiding:
    """The move that judges hosts: after failures, before grid jobs with failures end, and for an hour now and then."""

    def __init__(self) -> None:
        self._known: Mapping[str, Avoided] | None = None  # as stored
        self._next, self._judge_until = 0.0, 0.0

    def __call__(self, keeper: Keeper) -> None:
        """Fence attempts whose wrappers have left a host; let a worker judge the hosts, if it is time."""
        leave(keeper)
        if self._known is None:
            self._known = avoiding.stored(keeper.store.fact(FACT))
            self._judge_until = keeper.clock.boot() + AFTER_FAILURE_SECONDS
            keeper.hosts.avoided = _excluded(keeper.store, self._known)
        now, new = keeper.clock.boot(), keeper.hosts.asked > keeper.hosts.judged
        if not keeper.workers.ready(KEY) or (now < self._next and not new):
            return
        if new:
            self._judge_until = now + AFTER_FAILURE_SECONDS
        work = partial(_judge, keeper, self._known, keeper.hosts.asked, evidence=now <= self._judge_until)
        done, failed = partial(self._judged, keeper), partial(self._not_judged, keeper)
        keeper.workers.start(Errand(KEY, work, done, failed, watches=True, heeds=(Exception,)))

    def _judged(self, keeper: Keeper, found: Judged) -> None:
        with keeper.store.transaction():
            if (text := avoiding.to_store(found.avoided.values())) != keeper.store.fact(FACT):
                keeper.store.set_fact(FACT, text)
            for key, host in islice(found.eaten.items(), AT_ONCE):
                spare(keeper, key, host)
        self._say(self._known or {}, found)
        self._known, keeper.hosts.avoided = found.avoided, found.excluded
        keeper.workers.wait(KEY, REST * found.seconds)
        if len(found.eaten) > AT_ONCE:  # the next judgement spares more, and no grid job of theirs ends before
            return
        self._next = keeper.clock.boot() + EVERY_SECONDS
        self._let_end(keeper, found.asked)

    def _not_judged(self, keeper: Keeper, error: BaseException) -> None:
        """Hold up no end for ever: failures are then what they would be without a judgement."""
        log.warning("the hosts cannot be judged just now: %s", error)
        self._let_end(keeper, keeper.hosts.asked)

    def _let_end(self, keeper: Keeper, asked: int) -> None:
        keeper.hosts.judged = asked
        keeper.looks.wake(JUDGED)

    def _say(self, before: Mapping[str, Avoided], found: Judged) -> None:
        if found.trouble:
            log.warning("hosts to avoid: %s", found.trouble)
        for host in found.avoided.keys() - before.keys():
            why = "a person has named it" if found.avoided[host].is_named else "it is a black hole"
            log.warning("%s is avoided: %s", host, why)
        for host in before.keys() - found.avoided.keys():
            log.info("%s is no longer avoided", host)


def _judge(keeper: Keeper, known: Mapping[str, Avoided], asked: int, *, evidence: bool) -> Judged:
    """Judge all hosts, and have wrappers avoid the condemned ones. Runs in a worker, with its own reader."""
    began, now, trouble = keeper.clock.boot(), seconds_of(keeper.clock.utc()) or 0.0, ""
    orders: list[Order] = []
    try:
        orders = ordered(keeper.site)
    except BadSite as error:
        trouble = str(error)
    if not evidence and not known and not orders:
        avoid.write(keeper.site.work, ())
        return Judged({}, (), {}, asked, 0.0, trouble)
    with closing(keeper.store.reader()) as store:
        tried = tried_lately(store, now)
        ordering = avoid.orders_of(orders, {each.host for each in tried})
        tried = [each for each in hosts.heeded(tried, ordering.trust) if HOST.fullmatch(each.host)]
        holes = hosts.black_holes(tried)
        # Where nothing but avoided hosts takes jobs, one of them is used.
        there = set() if tried or not ordering.avoid else left_lately(store, now)
        found = avoiding.avoided(known, ordering, tried, holes, now, there)
        eaten = {key: hole.host for hole in holes if hole.host in found for key in hole.eaten}
        spared, excluded = store.spared.among(eaten), _excluded(store, found)
    try:
        avoid.write(keeper.site.work, found.values())
    except (OSError, JimError) as error:  # the batch system is told all the same
        trouble = f"wrappers cannot be told: {error}"
    left = {key: host for key, host in eaten.items() if key not in spared}
    return Judged(found, excluded, left, asked, keeper.clock.boot() - began, trouble)


def _excluded(store: Store, found: Mapping[str, Avoided]) -> tuple[str, ...]:
    """Return the hosts that submissions exclude: known ones, for a batch system refuses names that it does not know.

    A host on trial is not excluded: the first attempt that comes there tries it.
    """
    return tuple(sorted(host for host, each in found.items() if not each.trial and store.hosts.totals(host)))


def spare(keeper: Keeper, key: Key, host: str) -> None:
    """Let an attempt that a black hole has eaten not count; try its local job again, unless its grid job has ended."""
    store, attempt = keeper.store, keeper.store.attempt(*key)
    if attempt is None or not attempt.verdict or store.spared.count(attempt.grid, attempt.n) >= SPARED_AT_MOST:
        return
    store.spared.spare(key, attempt.n, host)
    local = store.local_job(attempt.grid, attempt.n)
    spent = max(0, local.spent - 1)
    if _again(keeper, attempt, local):
        reason = reasons.eaten(attempt, host)
        store.set_local_job(
            local.grid, local.n, state=State.WAITING, witness=Witness.KEEPER, reason=reason, spent=spent, due=0.0
        )
    elif not local.state.final:
        store.set_local_job(local.grid, local.n, spent=spent)
    ended = store.grid_job(local.grid).step not in (Step.SPLIT, Step.ACTIVE)
    alone = ended and local.state is State.FAILED and _by_it(keeper, attempt, local)
    has_been_eaten(keeper, attempt, alone=alone)


def _again(keeper: Keeper, attempt: Attempt, local: LocalJob) -> bool:
    """Tell whether a local job has failed by this attempt, or waits because of it, and may be tried at once."""
    if keeper.store.grid_job(local.grid).step not in (Step.SPLIT, Step.ACTIVE):
        return False
    return _by_it(keeper, attempt, local)


def _by_it(keeper: Keeper, attempt: Attempt, local: LocalJob) -> bool:
    """Tell whether a local job is as it is by this attempt, and not by a person."""
    if attempt.attempt != local.attempt or local.held or local.witness == Witness.USER.value:
        return False
    if judging.cancelled(keeper, local.grid, local.n):
        return False
    return local.state in (State.FAILED, State.WAITING)
