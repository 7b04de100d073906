"""jim task check: looks at sources and splits what is there, so that people see what a task would do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jim.cli.table import table
from jim.cli.text import plain, say, say_json, warn
from jim.clock import Clock
from jim.errors import BadRequest, JimError, in_words
from jim.reading.quantities import how_many, size_of
from jim.reading.tasks.facts import what_of
from jim.reading.tasks.words import noun_of_items
from jim.reading.view import add_json, look
from jim.site import file as site_file
from jim.site.file import Site
from jim.statusdb.task_rows import Item, ItemState, NewItem, NewPiece
from jim.statusdb.task_spec import SourceSpec, Spec
from jim.tasks.file import creating, sent_along
from jim.tasks.file import reading as task_file
from jim.tasks.file.requests import sample
from jim.tasks.file.unknown_variables import hints
from jim.tasks.pieces.cutting import Pool, cut, ranges
from jim.tasks.pieces.waves import Load, made, stepped
from jim.tasks.pool.looking import look_now
from jim.tasks.sources import Found

PIECES_SHOWN = 5
ITEMS_CUT = 5_000


def add_verbs(verbs: Any) -> None:
    """Declare the verb that checks."""
    check = verbs.add_parser("check", help="look at the sources, split what is there, and hand in nothing")
    check.add_argument("file", metavar="FILE|NAME", help="a task file, or a task that was created")
    add_json(check)


def _check(arguments: argparse.Namespace) -> int:
    site, file = site_file.load(), Path(arguments.file)
    name = arguments.file
    if {"/", "."} & set(name) and not file.exists():
        raise BadRequest(f"cannot read the task file: {file}: no such file")
    if file.exists():
        specs = task_file.read(file.absolute(), site, known=creating.known(site.state))
    else:
        specs = [look().store.tasks.named(name).spec]
    records = [_checked(spec, site) for spec in specs]
    if arguments.json:
        say_json(records)
        return 0
    for number, record in enumerate(records):
        warn(record["warnings"])
        if number:
            say()
        _say(record)
    return 0


def _checked(spec: Spec, site: Site) -> dict[str, Any]:
    """Look at each source, and split what is there."""
    found = [_look(spec, each, site) for each in spec.sources]
    new = {item.name: item for each in found for item in each.new}  # of a name from two sources, the first counts
    groups: dict[str, list[NewItem]] = {}
    for item in new.values():
        groups.setdefault(item.grp, []).append(item)
    sources = [
        {
            "what": what_of(source),
            "fed": source.kind == "task",
            "events": source.kind == "events",
            "items": len({item.name for item in each.new}),
            "closed": each.closed,
            "waits": dict(each.unstable),
        }
        for source, each in zip(spec.sources, found, strict=True)
    ]
    pieces, more, waiting = _first_pieces(spec, groups, found, site)
    return {
        "name": spec.name,
        "refused": _refused(spec, site),
        "warnings": hints(spec, site),
        "sources": sources,
        "groups": {grp: len(those) for grp, those in groups.items()},
        "pieces": pieces,
        "more_pieces": more,
        "waiting": waiting,
    }


def _look(spec: Spec, source: SourceSpec, site: Site) -> Found:
    """Look at a source; if that cannot be, say which it is."""
    try:
        return look_now(source, site)
    except (OSError, ValueError, JimError) as error:
        why = str(error) if isinstance(error, JimError) else in_words(error)
        raise JimError(f"{spec.name}: {what_of(source)} cannot be looked at: {why}") from error


def _refused(spec: Spec, site: Site) -> str:
    """Return why a task of this file would not be created; of a task that is there, nothing."""
    if spec.to_test:
        return ""
    try:
        creating.is_known(site, spec, sent_along.digest(spec))
    except BadRequest as error:
        return str(error)
    return ""


def _first_pieces(
    spec: Spec, groups: Mapping[str, Sequence[NewItem]], found: Sequence[Found], site: Site
) -> tuple[list[dict[str, Any]], int | None, dict[str, int]]:
    """Return the first pieces, how many more there are if that is known, and how many items would wait for more."""
    now, count = Clock().epoch(), 0
    shown: list[dict[str, Any]] = []
    waiting: dict[str, int] = {}
    for grp, those in groups.items():
        items = {number: _item(number, each, now) for number, each in enumerate(those[:ITEMS_CUT])}
        pieces: Sequence[NewPiece]
        if spec.makes_events:
            pieces = [piece for each in items.values() for piece in ranges(each, PIECES_SHOWN)]
            count += sum(-(-each.record["events"] // each.record["per_piece"]) for each in items.values())
        else:
            is_open = not all(each.closed or grp in each.ended for each in found)
            waits_for_more = is_open and spec.split.when == "full"
            pieces = cut(spec.split, list(items.values()), Pool(waits_for_more, 0, now), site).pieces
            count += len(pieces)
            left = len(items) - len({part.item for piece in pieces for part in piece.parts})
            if left:
                waiting[grp] = left
        shown += _shown(spec, pieces[: PIECES_SHOWN - len(shown)], items, site)
    is_known = all(len(those) <= ITEMS_CUT for those in groups.values())
    return shown, count - len(shown) if is_known else None, waiting


def _shown(spec: Spec, pieces: Sequence[NewPiece], items: Mapping[int, Item], site: Site) -> Iterator[dict[str, Any]]:
    """Yield what is shown of pieces; with the reason if they would fail before they are sent."""
    loads = [_load(each, items) for each in pieces]
    handler, request = sample(spec, site, events=sum(each.record.get("events", (0, 0))[1] for each in loads) or 1)
    stepping = stepped(request, loads, spec.split, site)
    for load, piece in zip(loads, made(spec.name, handler, stepping, loads, spec.split, site), strict=True):
        told: dict[str, Any] = {
            "group": load.grp,
            "items": [each.name for each in load.items.values()],
            "bytes": sum(each.size for each in load.items.values()),
            "refused": piece.failure,
        }
        if "events" in load.record:
            first, count = load.record["events"]
            told |= {"events": [first, first + count - 1], "items": []}
        yield told


def _load(piece: NewPiece, items: Mapping[int, Item]) -> Load:
    return Load(0, piece.grp, 0, piece.record, {number: items[number] for number in piece.record.get("files", ())})


def _item(number: int, item: NewItem, now: float) -> Item:
    told = (number, 0, item.name, item.grp, ItemState.AVAILABLE, now, item.size, item.mtime, 0, 0, 0, "", item.record)
    return Item(*told)


def _say(record: Mapping[str, Any]) -> None:
    say(f"{record['name']}")
    if record["refused"]:
        say(plain(record["refused"]), "  refused: ")
    for each in record["sources"]:
        _say_source(each)
    noun = noun_of_items(campaigns=any(each["events"] for each in record["sources"]))
    for grp, count in record["groups"].items():
        if grp:
            say(f"{plain(grp)}: {how_many(count, noun)}", "  group: ")
    if record["pieces"] or not all(each["fed"] for each in record["sources"]):
        _say_pieces(record["pieces"], record["more_pieces"], _why_none(record))
    for grp, count in record["waiting"].items():
        named = f"group {plain(grp)}: " if grp else ""
        verb = "waits" if count == 1 else "wait"
        say(f"{named}{how_many(count, 'item')} {verb} for a full piece, or for the group to be closed", "  waits: ")


def _say_source(source: Mapping[str, Any]) -> None:
    if source["fed"]:
        say(f"fed by {plain(source['what'])}: what that brings is split as it comes", "  source: ")
        return
    state = "closed" if source["closed"] else "open"
    count = how_many(source["items"], noun_of_items(campaigns=source["events"]))
    say(f"{plain(source['what'])}: {count}, {state}", "  source: ")
    for name, why in list(source["waits"].items())[:PIECES_SHOWN]:
        say(f"{plain(name)}: {plain(why)}", "    waits: ")


def _why_none(record: Mapping[str, Any]) -> str:
    """Return why there is no piece, if there is none."""
    if record["groups"]:
        return "no piece yet: what is there waits for more"
    closed = all(each["closed"] and not each["fed"] for each in record["sources"])
    return "no piece: there is nothing to split" if closed else "no piece yet: there is nothing to split so far"


def _say_pieces(pieces: Sequence[Mapping[str, Any]], more: int | None, why_none: str) -> None:
    rows = ((number, plain(each["group"]), plain(_told(each))) for number, each in enumerate(pieces))
    if pieces:
        table(("piece", "group", "items"), rows)
    else:
        say(why_none, "  ")
    if more != 0:
        say("and more pieces" if more is None else f"and {how_many(more, 'more piece')}", "  ")
    for number, each in enumerate(pieces):
        if each["refused"]:
            say(f"piece {number} would fail: {plain(each['refused'])}", "  refused: ")


def _told(piece: Mapping[str, Any]) -> str:
    if piece.get("events"):
        return f"events {piece['events'][0]:,} to {piece['events'][1]:,}"
    items = piece["items"]
    size = f", {size_of(piece['bytes'])}" if piece["bytes"] else ""
    return f"{how_many(len(items), 'item')}{size}: {', '.join(items[:3])}{', …' * (len(items) > 3)}"


VERBS = {"check": _check}
