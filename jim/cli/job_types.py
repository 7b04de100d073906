"""jim types: the job types, and the attributes of each."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Mapping
from typing import Any

from jim.cli.table import table
from jim.cli.text import facts, say, say_json
from jim.errors import BadRequest
from jim.handlers.base import COMMON, Attribute, Handler
from jim.reading.view import add_json
from jim.request import declarations, handler_of, job_types
from jim.request.values import KIND_NAMES
from jim.site import file as site_file

Record = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim types`."""
    parser.add_argument("name", metavar="TYPE", nargs="?", help="a job type; without one, all of them")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the job types, or the attributes of one."""
    own = site_file.load().site.handlers
    if arguments.name:
        one = as_record(arguments.name, handler_of(arguments.name, own))
        (say_json if arguments.json else _show)(one)
        return 0
    all_of_them = [_record_or_error(name, own) for name in sorted(job_types(own))]
    if arguments.json:
        say_json(all_of_them)
    else:
        table(("job type", "purpose"), ((one["name"], one["about"]) for one in all_of_them))
    return 0


def as_record(name: str, handler: Handler) -> Record:
    """Return the declarations of a handler as plain values."""
    module = sys.modules[type(handler).__module__]
    return {
        "name": name,
        "about": (module.__doc__ or "").strip().partition("\n")[0],
        "more": " ".join((inspect.getdoc(type(handler)) or "").split()) if type(handler).__doc__ else "",
        "phases": list(handler.phases),
        "events_per_job": handler.events_per_job if "events" in handler.attributes else None,
        "cpu_seconds_per_event": handler.cpu_seconds_per_event,
        "attributes": attributes(declarations(handler)),
    }


def attributes(declared: Mapping[str, Attribute]) -> list[Record]:
    """Return the attributes with their kinds and defaults."""
    return [
        {
            "name": name,
            "kind": KIND_NAMES[one.kind].removeprefix("a "),
            "required": one.required,
            "default": one.default,
            "minimum": one.minimum,
            "maximum": one.maximum,
            "pattern": one.pattern,
            "allowed": list(one.allowed),
            "names": one.names,
            "also": list(one.also),
            "help": one.help,
            "common": one is COMMON.get(name),
        }
        for name, one in declared.items()
    ]


def default(one: Record) -> str:
    """Return in a word what applies if a request omits an attribute."""
    value = one["default"]
    if one["required"]:
        return "required"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else "" if value in (None, "", [], {}) else str(value)


def meaning(one: Record) -> str:
    """Return the meaning of an attribute, and which values it may have."""
    low, high = one["minimum"], one["maximum"]
    bounds = [f"at least {low:,}" if low is not None else "", f"at most {high:,}" if high is not None else ""]
    or_words = "or" if low is not None else "one of"
    allowed = f"{or_words} {', '.join(one['allowed'])}" if one["allowed"] else ""
    also = f"in JDF, JDL and RSL also {', '.join(one['also'])}" if one["also"] else ""
    return "; ".join(filter(None, (one["help"], " and ".join(filter(None, bounds)), allowed, also)))


def _record_or_error(name: str, own: str) -> Record:
    """Describe a job type; one that cannot be loaded must not hide the others."""
    try:
        return as_record(name, handler_of(name, own))
    except (BadRequest, OSError) as error:
        return {"name": name, "about": str(error)}


def _show(one: Record) -> None:
    say(f"{one['name']}: {one['about']}")
    say(one["more"])
    seconds, events = one["cpu_seconds_per_event"], one["events_per_job"]
    facts(
        [
            ("phases", ", ".join(one["phases"])),
            ("CPU time", f"{seconds:g} s for each event" if seconds else ""),
            ("local jobs", f"{events:,} events each, unless request or site decide otherwise" if events else ""),
        ]
    )
    say()
    own_first = sorted(one["attributes"], key=lambda each: bool(each["common"]))
    table(
        ("attribute", "kind", "default", "meaning"),
        ((each["name"], each["kind"], default(each), meaning(each)) for each in own_first),
    )
