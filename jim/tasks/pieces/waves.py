"""Makes the requests of waves: the pieces of a task become those of a grid job."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import JimError
from jim.handlers.base import SPLITTING, Attributes, Handler
from jim.jobs import OF_TASK
from jim.model import NOTHING, Piece
from jim.site.file import Site
from jim.splitting.files_and_jobs import SplitJob, events_mask
from jim.statusdb.pieces import as_json, pieces_as_lists
from jim.statusdb.task_rows import Item, Output, PieceRow, Task, Wave
from jim.statusdb.task_spec import Spec, Split
from jim.tasks.file.requests import sample
from jim.tasks.file.streams import name_in_store
from jim.tasks.keeping import Keeper
from jim.tasks.pieces.cutting import file_of, job_of, lfn_of
from jim.work.parts import steps_around
from jim.work.pieces import of_task, within_limits
from jim.work.site_steps import OfEach, take

LARGEST_PIECE = 3_500_000  # bytes; the inbox reads 4 MB
SHOWN, LONGEST_SHOWN = 20, 1_000  # files and variables of a piece that is too large, and characters of each
DIGITS = 7
FIXED = ("events", "splitter", "input_files")  # what steps must leave as it is: the pieces are planned


class Load(NamedTuple):
    """One piece with all that its local job is made of."""

    p: int
    grp: str
    attempts: int  # in earlier waves
    record: Mapping[str, Any]
    items: Mapping[int, Item]


def sha256_of(loads: Iterable[Load]) -> str:
    """Return a checksum of the pieces of a wave, and of the intent: after a restore, the same pieces have another."""
    facts = [[each.p, each.attempts, each.record, sorted(map(_facts, each.items.values()))] for each in loads]
    facts.append([os.urandom(8).hex()])
    return hashlib.sha256(as_json(facts).encode()).hexdigest()


def _facts(item: Item) -> list[Any]:
    return [item.name, item.size, json.dumps(dict(item.record), sort_keys=True)]


def weight(load: Load) -> int:
    """Return about how many bytes a piece takes in a request."""
    items = (3 * len(as_json(each.name)) + len(as_json(dict(each.record))) for each in load.items.values())
    return 300 + len(as_json(dict(load.record))) + sum(items)


def key_of(task: Task, wave: Wave) -> str:
    """Return the request key of a wave, or of a test: it is never given to other pieces."""
    return f"{OF_TASK}{task.nonce}:{f'test:{wave.t}:' if wave.t else ''}{wave.w}"


def fixed(spec: Spec, fixes: Iterable[Mapping[str, Any]]) -> Spec:
    """Return a task whose request has the changes of these fixes; nothing in place of a value removes it."""
    request = dict(spec.request)
    for changes in fixes:
        request |= changes
    return spec._replace(request={name: value for name, value in request.items() if value is not None})


def request_of(
    task: Task, wave: Wave, loads: Sequence[Load], site: Site, fixes: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the checked request of a wave, with its pieces."""
    events = sum(each.record["events"][1] for each in loads if "events" in each.record)
    handler, asked = sample(fixed(task.spec, fixes), site, events=events)
    checked = stepped({**asked, "key": key_of(task, wave)}, loads, task.spec.split, site)
    pieces = list(made(task.name, handler, checked, loads, task.spec.split, site))
    named = {"name": task.name, "nonce": task.nonce, "wave": wave.w, "sha256": wave.sha256}
    named |= {"analyser": task.spec.analyser} if task.spec.analyser else {}
    more = {"test": "yes" if wave.t else "no", "task": named}
    if (
        not wave.t
        and task.spec.outputs
        and all(each.store for each in task.spec.outputs)
        and "tar" not in task.spec.request
    ):
        more["tar"] = "summary"  # what is stored does not lie on the disk once more
    more["name"] = checked.get("name") or f"{task.name}:{f'test {wave.t}.' if wave.t else ''}{wave.w}"
    return {**checked, **more, "pieces": pieces_as_lists(pieces)}


def stepped(request: Attributes, loads: Sequence[Load], split: Split, site: Site) -> dict[str, Any]:
    """Pass the request of a wave through the site's steps before the split, as if it were to be split."""
    before, _ = steps_around(split.splitter, site.site)
    if not before:
        return dict(request)
    given = _to_split(request, loads, split, site)
    taken = take(given, before, site.site.handlers)
    for name in FIXED:
        if taken.get(name) != given.get(name):
            raise JimError(f"the steps {', '.join(before)} must not change {name} of a task: its pieces are planned")
    return {**taken, **{name: request[name] for name in SPLITTING & request.keys()}}


def _to_split(request: Attributes, loads: Sequence[Load], split: Split, site: Site) -> dict[str, Any]:
    """Return the request of a wave with its files and the splitter of the task, as steps know requests."""
    if split.splitter is None:
        return dict(request)
    here = frozenset((site.site.name,))
    files = {
        item.name: file_of(item, lfn_of(item), here, 0.0).to_record() for each in loads for item in each.items.values()
    }
    attributes = {"splitter": split.splitter, "splitter_parameters": deepcopy(dict(split.parameters))}
    return {**request, **attributes, "input_files": list(files.values())}


def made(
    task: str, handler: Handler, request: Attributes, loads: Sequence[Load], split: Split, site: Site
) -> Iterable[Piece]:
    """Make the pieces of local jobs, and pass each through the site's steps after the split.

    What is too large for a request becomes a piece that has failed on its creation.
    """
    jobs = [(each.p, _job(task, each, site)) for each in loads]
    pieces = of_task(handler, request, jobs, task, site.site)
    _, later = steps_around(split.splitter, site.site)
    if later:
        pieces = map(OfEach(handler, _to_split(request, loads, split, site), later, site.site.handlers), pieces)
    pieces = within_limits(pieces, handler, request, site)
    for load, piece in zip(loads, pieces, strict=True):
        events = load.record.get("events")
        whole = piece._replace(first_event=events[0], events=events[1], mask=NOTHING) if events else piece
        if load.record.get("changes"):
            whole = whole._replace(attributes={**whole.attributes, **load.record["changes"]})
        yield whole if len(json.dumps(whole)) <= LARGEST_PIECE else _too_large(piece)


def _too_large(piece: Piece) -> Piece:
    """Return a piece that has failed on its creation, with what people may want to see of it."""
    files = tuple(each for each in piece.files[:SHOWN] if len(each) <= LONGEST_SHOWN)
    variables = {name: value for name, value in piece.variables.items() if len(f"{name}{value}") <= LONGEST_SHOWN}
    why = f"it takes more than {LARGEST_PIECE:,} bytes in a request"
    return Piece(files=files, variables=dict(list(variables.items())[:SHOWN]), failure=why)


def _job(task: str, load: Load, site: Site) -> SplitJob:
    """Return the job that a piece is, with the variables that its texts may name."""
    variables = {"Task": task, "Piece": str(load.p).zfill(DIGITS), "Group": load.grp}
    if load.attempts:
        variables["AttemptsBefore"] = str(load.attempts)
    if "events" in load.record:
        first, count = load.record["events"]
        return SplitJob(0, None, (), events_mask(first, first + count - 1), baggage=variables)
    names = {number: lfn_of(each) for number, each in load.items.items()}  # payloads may be given one name twice
    job = job_of(load.record, load.items, names, site, 0.0)
    return job._replace(baggage={**job.baggage, **_shared(load.items.values()), **variables})


def _shared(items: Iterable[Item]) -> dict[str, str]:
    """Return the variables on which all items of a piece agree."""
    variables = [each.record.get("variables", {}) for each in items]
    return (
        {name: value for name, value in variables[0].items() if all(each.get(name) == value for each in variables)}
        if variables
        else {}
    )


def load_of(keeper: Keeper, piece: PieceRow) -> Load:
    """Return a piece with the facts of its items."""
    items = keeper.store.pools.items(piece.task, piece.record.get("files", ()))
    return Load(piece.p, piece.grp, piece.attempts, piece.record, items)


def loads_of(keeper: Keeper, wave: Wave) -> list[Load]:
    """Return the pieces of a wave, by their local jobs."""
    return [load_of(keeper, each) for each in keeper.store.pieces.of_wave(wave.task, wave.w)]


def place_in_store(task: Task, output: Output) -> Path:
    """Return where an output is stored; raise JimError if it cannot be."""
    stream = next(each for each in task.spec.outputs if each.name == output.stream)
    return Path(stream.store, name_in_store(stream, task.name, f"{output.p:0{DIGITS}}", output.grp, output.name))
