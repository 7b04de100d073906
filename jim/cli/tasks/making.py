"""jim task create, check: from a task file to a task."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from jim import run_grid_job
from jim.cli.table import table
from jim.cli.text import plain, say, say_json
from jim.clock import Clock
from jim.doors import inbox
from jim.errors import BadRequest, JimError, in_words
from jim.reading.quantities import how_many
from jim.reading.task_facts import what_of
from jim.reading.view import add_json
from jim.site import file as site_file
from jim.site.file import Site, make_state
from jim.statusdb.task_rows import Item, ItemState, NewItem, NewPiece
from jim.tasks import creating, models
from jim.tasks import file as task_file
from jim.tasks.cutting import Pool, cut, ranges
from jim.tasks.looking import look_now
from jim.tasks.sources import Found

TAKEN_SECONDS = 10.0  # so long `create` waits for the keeper to take the task
PIECES_SHOWN = 5
ITEMS_CUT = 5_000


def add_verbs(verbs: Any) -> None:
    """Declare the verbs that read task files."""
    create = verbs.add_parser("create", help="check a task file, keep what it sends along, and store its tasks")
    create.add_argument(
        "words", metavar="FILE|HOLE=VALUE", nargs="*", help="the task file; or, with --model, values for its holes"
    )
    create.add_argument("--model", metavar="NAME", help="fill a model; `jim task models` lists them")
    add_json(create)
    check = verbs.add_parser("check", help="look at the sources, split what is there, and hand in nothing")
    check.add_argument("file", metavar="FILE|NAME", help="a task file, or a task that was created")
    add_json(check)


def _create(arguments: argparse.Namespace) -> int:
    site = site_file.load()
    file, holes = _asked(arguments, site)
    make_state(site)
    run_grid_job.require_keeper(site.state)
    taken = creating.create(file, site, inbox.by("the command line"), holes)
    run_grid_job.wake(site.state)
    _wait_for(taken.file)
    if arguments.json:
        say_json([{"name": each.spec["name"], "what": each.what} for each in taken.tasks])
        return 0
    for each in taken.tasks:
        say(f"{each.spec['name']}: {_what(each.spec, site)}")
    names = " ".join(each.spec["name"] for each in taken.tasks)
    if taken.file is None:
        say("nothing has changed: the same tasks are there already")
    else:
        say(f"configured; `jim task test {names}` tries {'it' if len(taken.tasks) == 1 else 'them'} out")
    return 0


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


def _found_in(source: Mapping[str, Any], site: Site) -> str:
    """Return what a source has now, in words. What cannot be looked at is looked at again by the keeper."""
    try:
        found = look_now(source, site)
    except (OSError, ValueError, JimError) as error:
        why = str(error) if isinstance(error, JimError) else in_words(error)
        return f"{what_of(source)} cannot be looked at now ({why})"
    items = len({each.name for each in found.new})
    return f"{what_of(source)}: {how_many(items, 'item')}, {'closed' if found.closed else 'open'}"


def _what(spec: Mapping[str, Any], site: Site) -> str:
    """Return what a task will work on, in words."""
    if spec["split"]["splitter"] is not None:
        found = ", ".join(_found_in(each, site) for each in spec["source"])
        return f"{found}; {spec['split']['splitter']} makes pieces"
    events, size = (sum(each["events"] for each in spec["source"]), spec["source"][0]["events_per_piece"])
    pieces = sum(_pieces_of(each) for each in spec["source"])
    campaigns = sum(each["campaigns"] for each in spec["source"])
    parts = f", in {campaigns:,} campaigns" if campaigns > 1 else ""
    return f"{events:,} events: {how_many(pieces, 'piece')} of {size:,} events ({spec['source'][0]['why']}){parts}"


def _pieces_of(source: Mapping[str, Any]) -> int:
    events, count, size = source["events"], source["campaigns"], source["events_per_piece"]
    return sum(-(-(events * (n + 1) // count - events * n // count) // size) for n in range(count))


def _check(arguments: argparse.Namespace) -> int:
    site, file = site_file.load(), Path(arguments.file)
    if file.exists():
        specs = task_file.read(file.absolute(), site)
    else:
        from jim.reading.view import look

        specs = [look().store.task_named(arguments.file).spec]
    records = [_checked(spec, site) for spec in specs]
    if arguments.json:
        say_json(records)
        return 0
    for number, record in enumerate(records):
        if number:
            say()
        _say(record)
    return 0


def _checked(spec: Mapping[str, Any], site: Site) -> dict[str, Any]:
    """Look at each source, and split what is there."""
    found = [look_now(each, site) for each in spec["source"]]
    new = {item.name: item for each in found for item in each.new}  # of a name from two sources, the first counts
    groups: dict[str, list[NewItem]] = {}
    for item in new.values():
        groups.setdefault(item.grp, []).append(item)
    sources = [
        {"what": what_of(source), "items": len(each.new), "closed": each.closed, "waits": dict(each.unstable)}
        for source, each in zip(spec["source"], found, strict=True)
    ]
    pieces = _first_pieces(spec, groups, found, site)
    return {
        "name": spec["name"],
        "sources": sources,
        "groups": {grp: len(those) for grp, those in groups.items()},
        "pieces": pieces,
    }


def _first_pieces(
    spec: Mapping[str, Any], groups: Mapping[str, Sequence[NewItem]], found: Sequence[Found], site: Site
) -> list[dict[str, Any]]:
    is_open, now = not all(each.closed for each in found), Clock().epoch()
    shown: list[dict[str, Any]] = []
    for those in groups.values():
        items = [_item(number, each, now) for number, each in enumerate(those[:ITEMS_CUT])]
        names = {each.id: each.name for each in items}
        made: Sequence[NewPiece]
        if spec["split"]["splitter"] is None:
            made = [piece for each in items for piece in ranges(each, PIECES_SHOWN)]
        else:
            made = cut(spec["split"], items, Pool(is_open, 0, now), site).pieces
        shown += [_shown(each, names) for each in islice(made, PIECES_SHOWN - len(shown))]
    return shown


def _item(number: int, item: NewItem, now: float) -> Item:
    told = (number, 0, item.name, item.grp, ItemState.AVAILABLE, now, item.size, item.mtime, 0, 0, 0, "", item.record)
    return Item(*told)


def _shown(piece: NewPiece, names: Mapping[int, str]) -> dict[str, Any]:
    if "events" in piece.record:
        first, count = piece.record["events"]
        return {"group": piece.grp, "events": [first, first + count - 1], "items": []}
    return {"group": piece.grp, "items": [names[each] for each in piece.record["files"]]}


def _say(record: Mapping[str, Any]) -> None:
    say(f"{record['name']}")
    for each in record["sources"]:
        state = "closed" if each["closed"] else "open"
        say(f"{plain(each['what'])}: {how_many(each['items'], 'item')}, {state}", "  source: ")
        for name, why in list(each["waits"].items())[:PIECES_SHOWN]:
            say(f"{plain(name)}: {plain(why)}", "    waits: ")
    for grp, count in record["groups"].items():
        if grp:
            say(f"{plain(grp)}: {how_many(count, 'item')}", "  group: ")
    rows = ((number, plain(each["group"]), plain(_told(each))) for number, each in enumerate(record["pieces"]))
    if record["pieces"]:
        table(("piece", "group", "items"), rows)
    else:
        say("no piece yet: what is there waits for more", "  ")


def _told(piece: Mapping[str, Any]) -> str:
    if piece.get("events"):
        return f"events {piece['events'][0]:,} to {piece['events'][1]:,}"
    items = piece["items"]
    return f"{how_many(len(items), 'item')}: {', '.join(items[:3])}{', …' * (len(items) > 3)}"


VERBS = {"create": _create, "check": _check}
