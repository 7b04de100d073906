"""jim submit: submits a request file, or shows what JIM would make of it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from jim import request as requests
from jim import run_grid_job
from jim.cli import NOT_YET
from jim.cli.text import facts, plain, say, say_json, warn
from jim.clock import Clock
from jim.doors.intake import Prepared, prepare
from jim.doors.serving import Interrupted, or_else, taken_already, taken_in
from jim.errors import BadRequest, JimError, words_of
from jim.handlers.base import Handler, has_variable
from jim.jobs import Used
from jim.model import Resources
from jim.reading.quantities import ago, how_many, span
from jim.reading.view import add_json, look
from jim.request import STDIN
from jim.site import file as site_file
from jim.site.file import Site
from jim.work.bundles import bundle_of, most_seconds, turns_within
from jim.work.lookup import Resolved
from jim.work.pieces import hints
from jim.work.program import missing_program
from jim.work.sizing import Size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim submit`."""
    help_ = "a request in TOML, JSON, JDF, JDL or RSL; `-` reads one from stdin"
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help=help_)
    parser.add_argument("--dry-run", action="store_true", help="show what JIM would make of the request; store nothing")
    parser.add_argument(
        "--test", action="store_true", help="submit only one small local job as a test; its results are kept for a day"
    )
    parser.add_argument("--watch", action="store_true", help="follow the grid job to its end; exit 1 if it fails")
    parser.add_argument("--key", help="the request's key: the same key twice is the same grid job")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Submit, and print the ids of the grid jobs. Of several requests all are checked before the first is stored."""
    files: list[Path] = arguments.files
    if len(files) > 1:
        _require_apart(files, arguments.key)
    if arguments.dry_run:
        return _dry_run(arguments)
    if len(files) > 1:
        for file in files:
            prepare(file, site_file.load(), ask_catalogue=False, **_more(arguments))
    numbers = _all_submitted(arguments, files)
    code = _followed(numbers, arguments) if arguments.watch else 0
    if arguments.json:
        records = list(map(_record, numbers))
        with or_else(_taken_in(numbers)):
            say_json(records if len(files) > 1 else records[0])
    return code


def _all_submitted(arguments: argparse.Namespace, files: Iterable[Path]) -> list[int]:
    numbers = list[int]()
    try:
        for file in files:
            numbers.append(_submitted(arguments, file))
    except (JimError, OSError) as error:
        if not (numbers and arguments.json):  # else their ids are printed
            raise
        raise JimError(f"{words_of(error)}; {_taken_in(numbers)}") from error
    return numbers


def _taken_in(numbers: Iterable[int]) -> str:
    return "; ".join(map(taken_in, numbers))


def _record(number: int) -> dict[str, Any]:
    """Return the record of a grid job that was taken in; of one that cannot be looked at now, its id alone."""
    with _taken_already(number):
        view = look()
        return view.record(view.grid_job(number))
    return {"id": number}


def _taken_already(number: int) -> AbstractContextManager[None]:
    """Let no fault inside look like a refusal: the request is durable by now."""
    what = f"grid job {number} was accepted, and is done all the same; but JIM cannot look at it now"
    return taken_already(lambda error: warn([f"{what}: {error}"]))


def _require_apart(files: list[Path], key: str | None) -> None:
    """Refuse what several requests cannot share."""
    if STDIN in files:
        raise BadRequest("stdin (`-`) must be the only request")
    if key is not None:
        raise BadRequest("--key is for one request: a key belongs to one grid job")


def _submitted(arguments: argparse.Namespace, file: Path) -> int:
    """Hand in a request and print its id, before anything else can fail."""
    began, late = Clock().utc(), False
    try:
        number = run_grid_job.submit(file, **_more(arguments))
    except Interrupted as interrupt:
        number, late = interrupt.number, True
    if not arguments.json:
        with or_else(taken_in(number)):
            say(number)
    with _taken_already(number):
        _warn_of(number)
        if not (arguments.watch or arguments.json):
            what = "submitted as a test" if arguments.test else _handed_in(number, began)
            print(f"{what}; `jim watch {number}` follows it to its end", file=sys.stderr)
    if late and (arguments.watch or len(arguments.files) > 1):
        raise KeyboardInterrupt(taken_in(number))
    return number


def _warn_of(number: int) -> None:
    """Warn of what will not go as the sender of a request may think; it was taken in."""
    view = look()
    request = view.grid_job(number).request
    handler = requests.handler_of(request["job_type"], view.site.site.handlers)
    if request.get("splitter"):
        warn(hints(handler, request, view.site.site))
    if name := missing_program(handler, request, view.site):
        warn([f"this machine finds no program {plain(name)}: the worker nodes must find it on their PATH"])


def _followed(numbers: Sequence[int], arguments: argparse.Namespace) -> int:
    """Follow the grid jobs to their ends; one that cannot be followed has not failed."""
    from jim.cli.watch import follow, interrupted

    codes = list[int]()
    for place, number in enumerate(numbers):
        code = NOT_YET
        with _taken_already(number), interrupted(numbers[place:]):
            code = follow(number, quiet=arguments.json)
        codes.append(code)
    return JimError.exit_code if JimError.exit_code in codes else max(codes)


def _handed_in(number: int, began: str) -> str:
    """Tell whether JIM has accepted it just now; otherwise its key belongs to an earlier request."""
    view = look()
    created = view.grid_job(number).created
    if created >= began:
        return "submitted"
    return f"its key belongs to grid job {number}, submitted {ago(view.age(created))}: nothing has changed"


def _more(arguments: argparse.Namespace) -> dict[str, str]:
    """Return what the command line adds to the request. A test leaves its key to the production that follows."""
    if arguments.test:
        return {"test": "yes", "key": f"test-{arguments.key or os.urandom(12).hex()}"}
    return {} if arguments.key is None else {"key": arguments.key}


def _dry_run(arguments: argparse.Namespace) -> int:
    site, several = site_file.load(), len(arguments.files) > 1
    records = []
    for file in arguments.files:
        handler, checked, size = _learned(*prepare(file, site, ask_catalogue=True, **_more(arguments)), site)
        resources = site.complete(handler.resources(checked))
        warn(hints(handler, checked, site.site))
        records.append({"type": checked["job_type"], **size._asdict(), "resources": resources._asdict()})
        if not arguments.json:
            if several:
                say(f"== {plain(file)}")
            plan = _plan(size, resources, site, balanced=bool(checked.get("balanced")))
            bundled = "batch jobs", _batch_jobs(checked, size, resources, site)
            facts([("job type", plain(checked["job_type"])), plan[0], bundled, *plan[1:]])
    if arguments.json:
        say_json(records if several else records[0])
    return 0


def _learned(handler: Handler, checked: dict[str, Any], size: Size, site: Site) -> Prepared:
    """Size a request as the keeper would: by what it knows of completed local jobs, if the site wants that."""
    from jim.work.learning import MOST, with_learned, with_learned_bundle  # slow to load, and only a dry run needs it

    used, took = list[Used](), list[tuple[float, int | None]]()
    with suppress(JimError):
        completed = look().store.completed
        used = completed.used(checked["job_type"], str(checked.get("request_id") or ""), MOST)
        took = completed.seconds(checked, MOST) if site.limits.bundle_seconds else took
    sized = with_learned(handler, Resolved(checked, size, ""), site, used)
    complete = with_learned_bundle(handler, sized, site, took)
    return handler, {**complete.request}, complete.size


def _plan(size: Size, resources: Resources, site: Site, *, balanced: bool) -> list[tuple[str, object]]:
    return [
        ("local jobs", _pieces(size, balanced=balanced)),
        ("why", plain(size.why)),
        ("each takes", f"about {span(size.cpu_seconds)} of CPU" if size.cpu_seconds else "unknown CPU time"),
        ("all take", _altogether(size, site, balanced=balanced)),
        ("resources", plain(_asked(resources))),
        ("stored", "nothing: this was a dry run"),
    ]


def _batch_jobs(checked: Mapping[str, Any], size: Size, resources: Resources, site: Site) -> str:
    """Say how many batch jobs run the local jobs, where that is another number."""
    bundle = bundle_of(checked)
    if bundle is None:
        return ""
    carriers, most = bundle.carriers(size.pieces), min(bundle.size, size.pieces or bundle.size)
    share = -(-size.pieces // carriers) if carriers else most
    batch_jobs = {0: "each batch job", 1: "1 batch job,"}.get(carriers, f"{how_many(carriers, 'batch job')}, each")
    how = f"{min(bundle.at_once, share):,} at once" if bundle.at_once > 1 else "one after another"
    how = "on a node of its own, as many at once as fit" if bundle.whole_node else how
    few = (
        turns_within(resources.wall_seconds, most_seconds(checked, site)) * bundle.at_once < most
        and not bundle.whole_node
    )
    rest = "; by their time limit, not all are sure to fit, and JIM sends what is left again" if few else ""
    return f"{batch_jobs} for {how_many(share, 'local job')}, {how}{rest}"


def _pieces(size: Size, *, balanced: bool) -> str:
    if not size.pieces:
        return "as many as the splitter makes; `jim split` shows them"
    if not size.events:
        return f"{size.pieces:,}"
    if balanced:
        fewer = f"{size.events // size.pieces:,} or " if size.events % size.pieces else ""
        return f"{size.pieces:,}, of {fewer}{size.events_per_job:,} events each ({size.events:,} in all)"
    rest = size.events % size.events_per_job
    last = f", the last one {rest:,}" if rest and size.pieces > 1 else ""
    return f"{size.pieces:,}, of {size.events_per_job:,} events each{last} ({size.events:,} in all)"


def _altogether(size: Size, site: Site, *, balanced: bool) -> str:
    if not size.cpu_seconds or not size.events:
        return ""
    per_event = size.cpu_seconds / size.events_per_job
    words = f"about {span(per_event * size.events)} of CPU"
    if site.batch.system != "local":
        return words
    slots = site.batch.slots or os.cpu_count() or 1
    turns, beside = divmod(size.pieces - 1, slots)  # before and during the turn of the last one
    small = size.events // size.pieces if balanced else size.events % size.events_per_job or size.events_per_job
    last = size.events_per_job if beside else small  # a small one beside full ones does not count
    seconds = per_event * (turns * size.events_per_job + last)
    return f"{words}, {span(seconds)} on the {slots} slots of this machine"


def _asked(resources: Resources) -> str:
    wall = resources.wall_seconds or 0
    words = [
        f"queue {resources.queue}" if resources.queue else "the batch system's own queue",
        f"account {resources.account}" if resources.account else "",
        f"at most {_number(wall, 's') if has_variable(wall) else span(wall)} each" if wall else "no time limit of JIM",
        f"warned {_number(resources.warn_seconds, 's')} before" if resources.warn_seconds else "",
        _number(resources.memory_mb, "MB") if resources.memory_mb else "no memory requested",
        _number(resources.cores, "core" if resources.cores == 1 else "cores") if resources.cores else "",
        _number(resources.disk_mb, "MB of disk") if resources.disk_mb else "",
        _number(resources.gpus, "GPU" if resources.gpus == 1 else "GPUs") if resources.gpus else "",
        f"nodes with {resources.constraint}" if resources.constraint else "",
        f"licences {resources.licences}" if resources.licences else "",
        f"options {' '.join(resources.batch_options)}" if resources.batch_options else "",
    ]
    return ", ".join(filter(None, words))


def _number(value: int | str, unit: str) -> str:
    """Return a number in words; with variables, the text that each local job fills in."""
    return f"{value} {unit}" if isinstance(value, str) else f"{value:,} {unit}"
