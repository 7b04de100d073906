"""jim task create: from a task file to a task."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jim import run_grid_job
from jim.cli.text import plain, say, say_json, warn
from jim.doors import inbox
from jim.doors.serving import taken_already
from jim.errors import BadRequest, JimError, in_words
from jim.reading.quantities import how_many
from jim.reading.tasks.facts import what_of
from jim.reading.view import add_json
from jim.site import file as site_file
from jim.site import whose
from jim.site.file import Site, make_state
from jim.statusdb.task_spec import SourceSpec, Spec
from jim.tasks.file import creating, models
from jim.tasks.file import reading as task_file
from jim.tasks.file.unknown_variables import hints
from jim.tasks.pool.looking import look_now

TAKEN = "the tasks were accepted, and are there all the same; but JIM cannot look at them now"
NAMED = 10  # tasks
TAKEN_SECONDS = 10.0  # so long `create` waits for the keeper to take the task


def add_verbs(verbs: Any) -> None:
    """Declare the verb that creates tasks."""
    create = verbs.add_parser("create", help="check a task file, keep what it sends along, and store its tasks")
    create.add_argument(
        "words", metavar="FILE|HOLE=VALUE", nargs="*", help="the task file; or, with --model, values for its holes"
    )
    create.add_argument("--dry-run", action="store_true", help=argparse.SUPPRESS)  # as others have; it is refused
    create.add_argument("--model", metavar="NAME", help="fill a model; `jim task models` lists them")
    add_json(create)


def _create(arguments: argparse.Namespace) -> int:
    if arguments.dry_run:
        raise BadRequest("create has no --dry-run: `jim task check FILE` tells what it would do, and stores nothing")
    site = site_file.load()
    whose.refuse_root(managed=site.managed)
    file, holes = _asked(arguments, site)
    make_state(site)
    run_grid_job.require_keeper(site.state)
    taken = creating.create(file, site, inbox.by("the command line"), holes)
    run_grid_job.wake(site.state)
    with taken_already(lambda error: warn([f"{TAKEN}: {error}"])):
        _wait_for(taken.file)
    if arguments.json:
        say_json([{"name": each.spec.name, "what": each.what} for each in taken.tasks])
        return 0
    for each in taken.tasks:
        with taken_already(lambda error: warn([f"{TAKEN}: {error}"])):
            warn(hints(each.spec, site))
            say(f"{each.spec.name}: {_what(each.spec, site)}")
    names = [each.spec.name for each in taken.tasks if not _is_fed(each.spec)]
    if taken.file is None:
        say("nothing has changed: the same tasks are there already")
    else:
        say(f"configured{_then(names)}")
    return 0


def _then(names: Sequence[str]) -> str:
    """Return what comes next; of very many tasks, an example."""
    if not names:
        return ""
    if len(names) > NAMED:
        return (
            f": {len(names):,} tasks; `jim task test {names[0]}` tries the first one out, `jim task status` lists all"
        )
    return f"; `jim task test {' '.join(names)}` tries {'them' if len(names) > 1 else 'it'} out"


def _asked(arguments: argparse.Namespace, site: Site) -> tuple[Path, dict[str, str] | None]:
    """Return the file that is meant, and for a model the values for its holes."""
    words: list[str] = arguments.words
    if arguments.model is None:
        if len(words) != 1:
            raise BadRequest("create takes one task file, or --model NAME HOLE=VALUE…")
        return Path(words[0]).absolute(), None
    for each in words:
        if "=" not in each:
            raise BadRequest(f"{each!r}: expected HOLE=VALUE")
    file = models.file_of(arguments.model, site)
    given = dict(each.split("=", 1) for each in words)
    if sys.stdin.isatty() and not arguments.json:
        for hole in task_file.model(file).missing(given):
            given[hole.name] = input(f"{plain(hole.name)} ({plain(hole.help)}): ")
    return file, given


def _wait_for(file: Path | None) -> None:
    """Wait a moment for the keeper, so that the next verb knows the task."""
    until = time.monotonic() + TAKEN_SECONDS
    while file is not None and file.exists() and time.monotonic() < until:
        time.sleep(0.02)


def _found_in(source: SourceSpec, site: Site) -> str:
    """Return what a source has now, in words. What cannot be looked at is looked at again by the keeper."""
    if source.kind == "task":
        return f"fed by {what_of(source)}"
    try:
        found = look_now(source, site)
    except (OSError, ValueError, JimError) as error:
        why = str(error) if isinstance(error, JimError) else in_words(error)
        return f"{what_of(source)} cannot be looked at now ({why})"
    items = len({each.name for each in found.new})
    return f"{what_of(source)}: {how_many(items, 'item')}, {'closed' if found.closed else 'open'}"


def _is_fed(spec: Spec) -> bool:
    """Tell whether another task fills the pool: then there is nothing to test before that has brought something."""
    return len(spec.connectors) == len(spec.sources)


def _what(spec: Spec, site: Site) -> str:
    """Return what a task will work on, in words."""
    if not spec.makes_events:
        sources = ", ".join(_found_in(each, site) for each in spec.sources)
        return f"{sources}; {spec.split.splitter} makes pieces"
    pieces = sum(map(_pieces_of, spec.sources))
    campaigns = sum(each.campaigns for each in spec.sources)
    parts = f", in {campaigns:,} campaigns" if campaigns > 1 else ""
    of = f"{how_many(pieces, 'piece')} of {how_many(spec.sources[0].events_per_piece, 'event')} ({spec.sources[0].why})"
    return f"{how_many(spec.events, 'event')}: {of}{parts}"


def _pieces_of(source: SourceSpec) -> int:
    events, count, size = source.events, source.campaigns, source.events_per_piece
    return sum(-(-(events * (n + 1) // count - events * n // count) // size) for n in range(count))


VERBS = {"create": _create}
