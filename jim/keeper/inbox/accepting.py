"""Takes requests and wishes from the inbox into the store: each key makes one grid job; wishes are taken in order."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from jim.doors import generations, inbox
from jim.errors import JimError, Outdated, StoreError, UnknownJob, as_fault
from jim.evidence.transitions import FAMILY_VERBS, too_early_to_remove
from jim.jobs import GridJob, sender_of
from jim.keeper.attempts import publishing
from jim.keeper.inbox import wishes
from jim.keeper.inbox.refusing import put_aside, refuse
from jim.keeper.inbox.resplitting import Resplits
from jim.keeper.inbox.wish_targets import Slices, meet
from jim.keeper.keeper import Keeper
from jim.keeper.results.aging import is_going
from jim.keeper.unreadable import say_that_it_is_left
from jim.model import Step, Verb, Witness
from jim.tasks import wishes as task_wishes
from jim.tasks.effects import PREFIX
from jim.tasks.pieces.wave_wishes import refused_on_wave
from jim.tasks.results.following import unsettle

log = logging.getLogger(__name__)
PASSING = (StoreError, Outdated)  # these say nothing of a file
INBOX_SECONDS = 0.01  # of the loop, in one round
LONGEST_DETAIL = 500
FORGOTTEN_AT_ONCE = 500  # fulfilled wishes: about 10 ms of the loop; the next rounds forget the rest
Then = Callable[[], None]  # what to do with a file once its content is stored
Remove = Callable[[Keeper, GridJob], None]
# Errands that a wish for a grid job makes due at once, however often they have failed.
TRIED_AT_ONCE = ("split", "collect", "wish", "cancel")


def take_request(keeper: Keeper, path: Path, content: dict[str, Any]) -> Then | None:
    """Store a request; return what to do with its file then, None if it waits for its key to become free."""
    number, key = content["id"], content["key"]
    if content.get("after") and generations.is_behind(keeper.site.state, key):
        return None
    values = content["owner"], content["created"], content["request"], content.get("nonce", ""), content.get("door", "")
    new = keeper.store.add_grid_job(number, key, *values, content.get("by", ""), content.get("realm", ""))
    if new:
        _keep_beside(keeper, number, content)
    owner = keeper.store.numbers.of_key(key)
    if owner == number:
        log.info("%d: %s", number, "accepted" if new else "known already")
        return partial(inbox.keep, path, content)
    if not owner:
        raise ValueError(f"number {number} belongs to another grid job")
    if inbox.kept_id(keeper.site.state, path.name) == owner:  # so the door returned the owner's id
        log.info("%d: request dropped: its key belongs to grid job %d", number, owner)
        return partial(inbox.drop, path, number)
    if not is_going(keeper, keeper.store.grid_job(owner)) and keeper.workers.pace(("key", number)):
        log.warning("%d: request waits: its key still belongs to grid job %d", number, owner)
    return None


def _keep_beside(keeper: Keeper, number: int, content: Mapping[str, Any]) -> None:
    """Store who sent a request, and what its door keeps of the grid job."""
    if content.get("sender"):
        keeper.store.senders.put(number, sender_of(content["sender"]))
    if kept := {name: content[name] for name in ("after", "places") if content.get(name)}:
        keeper.store.at_doors.change(number, **kept)


def details(content: Mapping[str, Any]) -> Iterator[str]:
    """Return what a wish says besides verb, target and who asks: fields with a value, of a table only the names."""
    for name, value in content.items():
        if name not in ("verb", "target", "by", "door") and value not in (None, "", False):
            shown = (
                " ".join(value) if isinstance(value, dict) else value if isinstance(value, str) else json.dumps(value)
            )
            yield f"{name} {shown}"[:LONGEST_DETAIL]


class Wishes:
    """The wishes of one look into the inbox. Each is taken once, and after earlier wishes for the same local jobs."""

    def __init__(self, keeper: Keeper, resplits: Resplits, prepared: task_wishes.Prepared, remove: Remove) -> None:
        self.keeper, self.resplits, self.prepared, self.remove = keeper, resplits, prepared, remove
        self.tasks_waiting: set[str] = set()
        self.waiting: list[tuple[int, Slices]] = []
        self.unread: set[int] = set()  # grid jobs with a wish file that cannot be read at the moment
        self.fulfilled = keeper.store.fulfilled()
        gone = self.fulfilled.difference(inbox.names(keeper.site.state)) if self.fulfilled else set()
        if gone:
            keeper.store.wishes_are_gone(islice(gone, FORGOTTEN_AT_ONCE))

    def take(self, path: Path, content: dict[str, Any]) -> Then | None:
        """Record a wish; return what to do with its file then, None if it must wait in the inbox."""
        if path.name in self.fulfilled:  # by a keeper that was killed before it removed the file
            return partial(inbox.taken, path)
        if content["target"].startswith(PREFIX):
            return self._take_of_task(path, content)
        grid, slices = inbox.slices_of(content["target"])
        if content["verb"] == Verb.REMOVE and self.keeper.store.removals.at(grid):
            return partial(inbox.taken, path)
        job = self.keeper.store.grid_job(grid)
        if why := refused_on_wave(self.keeper, job, slices, content) if job.is_of_task else "":
            self.keeper.store.fulfil(path.name)
            self.keeper.store.note(grid, f"{content['verb']} changes nothing", Witness.KEEPER, why)
            return partial(inbox.taken, path)
        return self._take(path, content, job, slices)

    def _take_of_task(self, path: Path, content: dict[str, Any]) -> Then | None:
        """Record a wish for a task. A later wish for the same task waits for an earlier one."""
        waits = content["target"] in self.tasks_waiting
        if waits or task_wishes.must_wait(self.keeper, content, self.prepared):
            self.tasks_waiting.add(content["target"])
            return None
        self.keeper.store.fulfil(path.name)
        task_wishes.take(self.keeper, content, self.prepared)
        return partial(inbox.taken, path)

    def _take(self, path: Path, content: dict[str, Any], job: GridJob, slices: Slices) -> Then | None:
        keeper, grid, verb = self.keeper, job.id, content["verb"]
        if grid in self.unread or self._is_behind(grid, slices, verb) or self._must_wait(job, slices, content):
            self.waiting.append((grid, slices))
            return None
        if verb == Verb.REMOVE and not too_early_to_remove(job):
            self.remove(keeper, job)  # its wish stays in the inbox until it is gone
            return None
        keeper.store.fulfil(path.name)  # in the transaction of the changes
        if verb == Verb.PUBLISH:  # there may be very many: the journal tells of none
            publishing.of_grid_job(keeper, grid, content["name"], content["content"])
            return partial(inbox.taken, path)
        n = slices[0][0] if len(slices) == 1 and slices[0][0] == slices[0][1] else None
        several = content["target"] if slices and n is None else ""
        said = ", ".join(filter(None, (content.get("by", ""), several, *details(content))))
        keeper.store.note(grid, f"{verb} requested", Witness.USER, said, n)
        by_its_door = verb == Verb.CANCEL and not slices and content.get("door") == job.door
        if by_its_door and not keeper.doors.named(job.door).takes_cancelled:
            keeper.store.at_doors.change(grid, cancelled=True)
        wishes.take(keeper, job, verb, slices, content, self.resplits)
        if job.is_of_task:
            unsettle(keeper, job)
        for what in TRIED_AT_ONCE:
            keeper.workers.forget((what, grid))
        keeper.looks.add([grid])
        return partial(inbox.taken, path)

    def _is_behind(self, grid: int, slices: Slices, verb: str) -> bool:
        """Tell whether a wish waits for an earlier one. A wish for all waits only if it chooses local jobs."""
        if not slices and verb not in FAMILY_VERBS:
            return False
        return any(each == grid and meet(slices, others) for each, others in self.waiting)

    def _must_wait(self, job: GridJob, slices: Slices, content: dict[str, Any]) -> bool:
        """Tell whether a wish waits for the split, the tar, its own pieces, or the removal of its grid job."""
        verb = content["verb"]
        if (slices or verb == Verb.EDIT) and job.step in (Step.ACCEPTED, Step.RESOLVED) and not job.outcome:
            return True
        if verb in FAMILY_VERBS and job.step is Step.COLLECTING and not self._may_cure(job, verb):
            return True
        if self.keeper.workers.busy(("age", job.id)) or is_going(self.keeper, job):
            return True
        return verb == Verb.RESPLIT and not self.resplits.has_pieces(self.keeper, job, slices, content)

    def _may_cure(self, job: GridJob, verb: str) -> bool:
        """Tell whether a wish may be what lets a tar be made at last, or must not hold up another one that may.

        What a cancel would end at once waits for the tar.
        """
        failed = job.id in self.keeper.lost.spoilt or job.tries
        again = () if job.wish == Verb.CANCEL else (Verb.RETRY, Verb.REDO, Verb.RESPLIT)
        cures = (Verb.FORCE, Verb.EDIT, *again)
        return bool(failed) and verb in cures and not self.keeper.workers.busy(("collect", job.id))


class TakingInbox:
    """The move that takes requests and wishes into the store, many in one transaction, and then puts their files away.

    A keeper that is killed between the two finds the files again: the store knows the key of the request, and the name
    of the wish.
    """

    def __init__(self, remove: Remove) -> None:
        self.resplits, self.prepared, self.remove = Resplits(), task_wishes.Prepared(), remove
        self._taking: Iterator[Then | None] | None = None  # the rest of the inbox, which a round had no time for

    def __call__(self, keeper: Keeper) -> None:
        """Take in files of doors for a limited time; the next rounds take the rest."""
        taking, self._taking = self._taking or self._begin(keeper), None
        if taking:
            stored, more = _take_some(keeper, taking)
            for put_away in stored:
                put_away()
            if more:
                self._taking = taking
                keeper.workers.wake()

    def _begin(self, keeper: Keeper) -> Iterator[Then | None] | None:
        wishes = Wishes(keeper, self.resplits, self.prepared, self.remove)
        return _take_all(keeper, wishes) if inbox.names(keeper.site.state) else None


def _take_some(keeper: Keeper, taking: Iterator[Then | None]) -> tuple[list[Then], bool]:
    """Take in files in one transaction; return what to do once all is stored, and whether files may be left."""
    until, stored = keeper.clock.boot() + INBOX_SECONDS, []
    with keeper.store.transaction():
        for then in taking:
            if then:
                stored.append(then)
            if keeper.clock.boot() > until:
                return stored, True
    return stored, False


def _take_all(keeper: Keeper, wishes: Wishes) -> Iterator[Then | None]:
    waiting = False  # whether a request waits: an unknown grid job may be that request
    for path, content in inbox.arrived(keeper.site.state):
        is_request = path.name.startswith("request-")
        if isinstance(content, Exception):
            if inbox.is_out_of_reach(content):
                waiting |= is_request
                wishes.unread.add(inbox.wish_of(path.name))
                say_that_it_is_left(keeper, path, content)
            else:
                yield partial(put_aside, path, content)
            continue
        then = None
        try:
            with as_fault(), keeper.store.part():
                then = take_request(keeper, path, content) if is_request else wishes.take(path, content)
        except UnknownJob as error:
            if not waiting:
                log.warning("%s cannot be taken: %s", path.name, error)
                then = partial(inbox.taken, path)
        except JimError as error:
            if isinstance(error, PASSING):
                raise
            then = refuse(keeper, path, content, error)
        waiting |= is_request and then is None
        yield then
