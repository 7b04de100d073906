"""Creates tasks: reads a task file, keeps what is sent along, and leaves its tasks in the inbox, all or none."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from jim.clock import Clock
from jim.doors import inbox
from jim.errors import JimError, UnknownJob
from jim.files import locked, read_regular
from jim.site.file import Site
from jim.statusdb import is_there, open_store
from jim.statusdb.task_rows import Task, TaskState
from jim.statusdb.task_spec import Spec
from jim.tasks.effects import PREFIX, TaskVerb
from jim.tasks.file import reading as task_file
from jim.tasks.file import sent_along
from jim.tasks.file.faults import wrong

NOTHING, NEW = "known", "configured"


class Created(NamedTuple):
    """What became of one task of a file."""

    spec: Spec
    what: str  # known: it is there already; configured: it is new, or in place of one that was not started


class Taken(NamedTuple):
    """What became of a task file, and the file in the inbox, which is gone once the keeper has taken it."""

    tasks: list[Created]
    file: Path | None


def create(file: Path, site: Site, by: str, holes: Mapping[str, str] | None = None) -> Taken:
    """Leave the tasks of a file for the keeper, those of a model with values for its holes.

    The file is refused if any of its names is taken.
    """
    with _one_by_one(site.state):
        specs = task_file.read(file, site, holes, known(site.state))
        text = hashlib.sha256(read_regular(file.resolve(), task_file.LONGEST)).hexdigest()
        found = [(each._replace(file_sha256=text), sent_along.digest(each)) for each in specs]
        new = [(spec, digest) for spec, digest in found if not is_known(site, spec, digest)]
        kept = [_kept(site, spec, digest) for spec, digest in new]
        left = _leave(site, kept, by) if kept else None
    return Taken([Created(spec, NEW if (spec, digest) in new else NOTHING) for spec, digest in found], left)


def _kept(site: Site, spec: Spec, digest: str) -> dict[str, Any]:
    """Keep what a task sends along; return the task as the keeper stores it."""
    nonce, to_test = os.urandom(8).hex(), sent_along.digest(spec, tested=True)
    whole = sent_along.keep(site.state, spec, nonce)._replace(to_test=to_test)
    return {"name": spec.name, "nonce": nonce, "spec": whole.to_record(), "digest": digest}


def _leave(site: Site, kept: list[dict[str, Any]], by: str) -> Path:
    owner = inbox.account()
    return inbox.task_wish(site.state, TaskVerb.CREATE, kept[0]["name"], tasks=kept, owner=owner, by=by)


@contextmanager
def _one_by_one(state: Path) -> Iterator[None]:
    """Let people create tasks one after the other: no name is taken twice between a look and the inbox."""
    with locked(state / "tasks.lock"):
        yield


def is_known(site: Site, spec: Spec, digest: str) -> bool:
    """Tell whether a task with this name and content is there; refuse another one that was started."""
    waiting = _in_inbox(site.state)
    if spec.name in waiting:
        left = waiting[spec.name]
        return bool(left and left["digest"] == digest)
    task = stored(site.state, spec.name)
    if task is None:
        return False
    if task.digest == digest:
        _refuse_cancelled(task)
        return True
    if task.state not in (TaskState.CONFIGURED, TaskState.READY):
        name, begun = (
            spec.name,
            f"runs since {task.created}" if task.state is TaskState.RUNNING else f"is {task.state}",
        )
        verb = "remove" if task.state in (TaskState.FINISHED, TaskState.CANCELLED) else "cancel"
        words = f"task {name!r} {begun} with other content; choose another name, or 'jim task {verb} {name}'"
        raise wrong("task.name", words)
    return False


def _refuse_cancelled(task: Task) -> None:
    """Refuse a task that is there and does nothing any more: who creates it wants it to begin."""
    then = f"'jim task remove {task.name}' forgets it, then create makes it anew"
    if task.state is TaskState.CANCELLED:
        raise wrong("task.name", f"task {task.name!r} was cancelled; {then}")
    if task.state is TaskState.CANCELLING:
        raise wrong("task.name", f"task {task.name!r} is being cancelled; once that is done, {then}")


def known(state: Path) -> dict[str, Spec]:
    """Return all tasks by name, also those that the keeper has not taken yet; a cancelled one reads nothing more."""
    found: dict[str, Spec] = {}
    if is_there(state):
        with closing(open_store(state, Clock())) as store:
            over = (TaskState.CANCELLING, TaskState.CANCELLED)
            found = {
                each.name: each.spec._replace(sources=()) if each.state in over else each.spec
                for each in store.tasks.all()
            }
    waiting = _in_inbox(state)
    return {name: each for name, each in found.items() if name not in waiting} | {
        name: Spec.from_record(each["spec"]) for name, each in waiting.items() if each
    }


def _in_inbox(state: Path) -> dict[str, dict[str, Any] | None]:
    """Return the tasks that the keeper has not taken from the inbox yet; none for one that it will forget."""
    found: dict[str, dict[str, Any] | None] = {}
    for path in sorted((state / "inbox").glob("wish-*-task-*")):
        with suppress(OSError, ValueError, KeyError, JimError):
            content = json.loads(read_regular(path, inbox.LONGEST))
            if content["verb"] == TaskVerb.CREATE:
                found |= {each["name"]: each for each in content["tasks"]}
            elif content["verb"] == TaskVerb.REMOVE:
                found[content["target"].removeprefix(PREFIX)] = None
    return found


def stored(state: Path, name: str) -> Task | None:
    """Return a task that the keeper knows."""
    if not is_there(state):
        return None
    with closing(open_store(state, Clock())) as store, suppress(UnknownJob):
        return store.tasks.named(name)
    return None
