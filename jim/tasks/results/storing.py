"""Stores what pieces have brought: a worker copies, verifies and names each file; only then the store tells of it.

A file gets its name by `link`, which never replaces another one. If the keeper is killed before it has recorded that,
the next one finds the same file there, by its checksum.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from jim.errand import Errand
from jim.errors import JimError, in_words
from jim.evidence import exit_record
from jim.files import open_regular, sync_directory
from jim.model import Kind
from jim.splitting.files_and_jobs import File
from jim.statusdb.task_rows import Ended, Output, PieceState, Task, TaskState, Todo
from jim.statusdb.task_spec import OutputSpec
from jim.statusdb.tasks.outputs import ASIDE, store_fact
from jim.tasks.counting import count_ends, end_of
from jim.tasks.damaged import Damage, Damaged, Spoil, damage_of, damaged, heed
from jim.tasks.file import streams
from jim.tasks.keeping import Keeper, ask_again
from jim.tasks.pieces.waves import place_in_store
from jim.tasks.results.brought_files import todo_of
from jim.tasks.sources.lists import NESTED
from jim.tasks.sources.mount_points import AnotherDirectory, identity, note
from jim.tasks.unexpected_errors import start
from jim.workdir.verified import verified

log = logging.getLogger(__name__)
NEVER = float("inf")
AT_ONCE = 50  # outputs
AGAIN_SECONDS, LONGEST_PAUSE = 10.0, 600.0
LONGEST_ABOUT = 16 * 1024 * 1024
KNOWN = ("events", "runs", "lumis", "parents")  # what is read of the file that describes an output


class Bad(JimError):
    """The file that describes an output makes no sense: its piece has failed."""


class Kept(NamedTuple):
    """What a worker has done with an output."""

    output: Output
    place: str = ""
    store: str = ""  # which directory that is in
    record: Mapping[str, Any] = {}
    trouble: str = ""  # it is tried again
    another: bool = False  # its store is another directory than before
    bad: str = ""  # its piece has failed
    damage: Damage | None = None  # to what the piece has left


def keep(keeper: Keeper, task: Task, spoil: Spoil) -> float:
    """Let a worker read or store what is due; return when to ask again."""
    key = ("task outputs", task.id)
    due = keeper.store.outputs.next_due(task.id)
    if due is None:
        return NEVER
    if keeper.workers.busy(key):
        return ask_again(keeper)
    if due > keeper.clock.steady():
        return keeper.clock.boot_at(due)
    outputs = keeper.store.outputs.to_do(task.id, keeper.clock.steady(), AT_ONCE)
    pools = {each.name: each for each in task.spec.outputs}
    stores = {name: keeper.store.fact(store_fact(task.id, name)) for name in pools}
    work = partial(_keep_all, pools, stores, task, outputs)
    return start(keeper, task, Errand(key, work, partial(_kept, keeper, task, spoil)))


def _keep_all(
    pools: Mapping[str, OutputSpec], stores: dict[str, str], task: Task, outputs: Sequence[Output]
) -> list[Kept]:
    """Read or store outputs. Runs in a worker."""
    return [_keep(pools[each.stream], stores, task, each) for each in outputs]


def _keep(stream: OutputSpec, stores: dict[str, str], task: Task, output: Output) -> Kept:
    try:
        if output.todo is Todo.READ:
            with _of_payload(output, output.place + stream.about):
                about = read_about(Path(output.place + stream.about))
            return Kept(output, record=about, bad=streams.too_many(stream, output.name, about))
        there = identity(Path(stream.store), stores[output.stream], f"store {stream.store}")
        if output.todo is Todo.WITHDRAW:
            return Kept(output, place=withdraw(output))
        stores[output.stream] = there
        return Kept(output, place=str(store(output, place_in_store(task, output), task.nonce)), store=there)
    except Damaged as error:
        return Kept(output, damage=error.damages[0])
    except Bad as error:
        return Kept(output, bad=f"{output.name}{stream.about}: {error}")
    except OSError as error:
        place = output.place + stream.about if output.todo is Todo.READ else stream.store
        return Kept(output, trouble=f"{place}: {in_words(error)}")
    except JimError as error:
        return Kept(output, trouble=str(error), another=isinstance(error, AnotherDirectory))


@contextmanager
def _of_payload(output: Output, path: str) -> Iterator[None]:
    """Tell what is wrong with a file that a piece has left from troubles of the store."""
    try:
        yield
    except (Damaged, Bad):
        raise
    except (JimError, OSError) as error:
        if damage := damage_of(output, path, error):
            raise Damaged([damage]) from error
        raise


def read_about(path: Path) -> dict[str, Any]:
    """Read what a payload says of an output: events, runs, lumis and parents, as splitters know them."""
    with os.fdopen(open_regular(path), "rb") as file:
        content = file.read(LONGEST_ABOUT + 1)
    if len(content) > LONGEST_ABOUT:
        raise Bad(f"longer than {LONGEST_ABOUT:,} bytes")
    try:
        return _facts(content, path.name)
    except RecursionError as error:
        raise Bad(NESTED) from error


def _facts(content: bytes, name: str) -> dict[str, Any]:
    """Return those facts about an output that JIM knows."""
    try:
        record = json.loads(content)
    except ValueError as error:
        raise Bad(f"no JSON: {error}") from error
    if not isinstance(record, dict):
        raise Bad("no table of facts")
    known = {name: record[name] for name in KNOWN if name in record}
    if isinstance(known.get("runs"), list):  # runs and lumis beside one another
        known["runs"] = {str(run): known.get("lumis", []) for run in known["runs"]}
    known.pop("lumis", None)
    try:
        File.from_record({"lfn": name, **known})
    except JimError as error:
        raise Bad(str(error)) from error
    return known


def store(output: Output, target: Path, nonce: str) -> Path:
    """Copy an output under a hidden name, verify it, and name it; return the path. Runs in a worker."""
    hidden = target.with_name(f".{target.name}.{nonce}")
    if _is_there(output, target):
        hidden.unlink(missing_ok=True)  # of a keeper that was killed before it did that
        return target
    hidden.unlink(missing_ok=True)
    try:
        with hidden.open("xb") as file:
            file.writelines(_content(output))
            os.fchmod(file.fileno(), _mode(output))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(hidden, target)
    finally:
        hidden.unlink(missing_ok=True)
    sync_directory(target.parent)
    if not _is_there(output, target):
        raise JimError(f"{target} could not be made")
    return target


def withdraw(output: Output) -> str:
    """Give a stored file the name that was recorded for it, and return that: nothing is deleted or else moved.

    A keeper that was killed has perhaps done a part of that. Empty: there is no such file. Runs in a worker.
    """
    place, target = Path(output.place), Path(output.record[ASIDE])
    if not os.path.lexists(place):
        return str(target) if os.path.lexists(target) else ""
    if wrong := damaged([output]):
        raise JimError(f"{wrong[0].problem}: somebody has changed it; move it away")
    with suppress(FileExistsError):
        os.link(place, target)
    if not target.samefile(place):
        raise JimError(f"{target} is there already; move it away")
    sync_directory(place.parent)
    place.unlink()
    sync_directory(place.parent)
    return str(target)


def _content(output: Output) -> Iterator[bytes]:
    """Yield what a piece has left; errors name that file, for others are about the store."""
    left = exit_record.Output(output.bytes, output.sha256, output.name)
    try:
        with _of_payload(output, output.place):
            yield from verified(Path(output.place.removesuffix(f"/{output.name}")), left)
    except OSError as error:
        raise JimError(f"{output.place}: {in_words(error)}") from error


def _mode(output: Output) -> int:
    """Return who may read or execute a file: whom its payload has let, and only its owner may write.

    Without that, the keeper makes files for its account alone.
    """
    with suppress(OSError):
        return Path(output.place).stat().st_mode & 0o755 | 0o600
    return 0o600


def _is_there(output: Output, target: Path) -> bool:
    """Tell whether a file is stored already; refuse another one of that name."""
    try:
        descriptor = open_regular(target)
    except FileNotFoundError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        same = os.fstat(file.fileno()).st_size == output.bytes
        if same and hashlib.file_digest(file, "sha256").hexdigest() == output.sha256:
            sync_directory(target.parent)
            return True
    raise JimError(f"{target} is there with other content")


def _kept(keeper: Keeper, task: Task, spoil: Spoil, kept: Sequence[Kept]) -> None:
    """Record what a worker has done, in one transaction with all that follows from it."""
    with keeper.store.transaction():
        for each in kept:
            now = [one for one in keeper.store.outputs.of_piece(task.id, each.output.p) if one.id == each.output.id]
            if now and now[0].todo is each.output.todo and each.damage is None:
                _record(keeper, task, each)
        heed(keeper, [each.damage for each in kept if each.damage], spoil)
        for p in {each.output.p for each in kept}:
            _follow(keeper, task, p)


def _record(keeper: Keeper, task: Task, kept: Kept) -> None:
    """Record what has become of one output."""
    output = kept.output
    if output.todo is Todo.STORE:
        note(keeper.store, task.id, output.stream, kept.another)
    if kept.trouble:
        _in_trouble(keeper, task, output, kept.trouble)
    elif kept.bad:
        _end(keeper, task, Ended(output.p, PieceState.FAILED, kept.bad, Kind.NOT_BROUGHT))
    elif output.todo is Todo.WITHDRAW:
        keeper.store.outputs.is_withdrawn(output)
        if kept.place:
            keeper.store.tasks.note(task.id, "moved aside", f"{output.place} is now {kept.place}")
    elif output.todo is Todo.STORE:
        keeper.store.outputs.is_stored(output, kept.place)
        if keeper.store.fact(store_fact(task.id, output.stream)) != kept.store:
            keeper.store.set_fact(store_fact(task.id, output.stream), kept.store)
    else:
        stream = next(each for each in task.spec.outputs if each.name == output.stream)
        keeper.store.outputs.change(
            output.id, record=kept.record, todo=todo_of(stream, is_read=True), reason="", tries=0
        )


def _end(keeper: Keeper, task: Task, ended: Ended) -> None:
    """End a piece of which a worker has read what it left; only now its attempt counts for the throttle."""
    piece = keeper.store.pieces.one(task.id, ended.p)
    if piece is not None and piece.state is PieceState.SENT:
        keeper.store.pieces.move(task.id, [ended])
        waves = [each for each in keeper.store.waves.live(task.id) if not each.t and each.w == piece.wave]
        count_ends(keeper, task.id, [end_of(keeper, each, piece.n, ended) for each in waves])


def _in_trouble(keeper: Keeper, task: Task, output: Output, why: str) -> None:
    """Try again later; nothing waits for a task that is being cancelled: the file stays where it is."""
    now = keeper.store.tasks.one(task.id)
    if now and now.state is TaskState.CANCELLING and output.todo is Todo.STORE:
        keeper.store.outputs.is_given_up(output, f"not stored: {why}")
        return
    tries = max(0, output.tries)
    pause = min(AGAIN_SECONDS * 2**tries, LONGEST_PAUSE)
    due = keeper.clock.steady() + pause
    keeper.store.outputs.change(output.id, reason=why, tries=tries + 1, due=due)
    if why != output.reason:
        log.warning("task %s: output %s of piece %d is not kept: %s", task.name, output.stream, output.p, why)


def _follow(keeper: Keeper, task: Task, p: int) -> None:
    """Let a piece be completed once all of it is read; once nothing is left to do, its wave is followed again."""
    piece, todo = keeper.store.pieces.one(task.id, p), {each.todo for each in keeper.store.outputs.of_piece(task.id, p)}
    if piece is None:
        return
    if not todo & {Todo.READ, Todo.WITHDRAW}:
        _end(keeper, task, Ended(p, PieceState.COMPLETED))
    if todo <= {Todo.NOTHING}:
        waves = [each for each in keeper.store.waves.live(task.id) if not each.t and each.w == piece.wave]
        if waves and not keeper.store.outputs.any_to_do(task.id, piece.wave):
            keeper.store.waves.change(waves[0], version=-1)
