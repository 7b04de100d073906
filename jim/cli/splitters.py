"""jim splitters: the splitters, and the parameters of each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from jim.cli.table import table
from jim.cli.text import say, say_json
from jim.errors import JimError
from jim.reading.view import add_json
from jim.site import file as site_file
from jim.splitting.parameters import Declaration, declared
from jim.splitting.registry import splits_requests
from jim.work.splitters import find, known, name_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim splitters`."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="a splitter; without one, all of them")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the splitters, or the parameters of one."""
    own = site_file.load().site.handlers
    records = [_record(find(arguments.name, own))] if arguments.name else [_or_error(name, own) for name in known(own)]
    if arguments.json:
        say_json(records[0] if arguments.name else records)
    elif arguments.name:
        _show(records[0])
    else:
        table(("splitter", "splits", "rule"), ((one["name"], one["splits"], one["rule"]) for one in records))
    return 0


def _record(module: Any) -> dict[str, Any]:
    told = (module.__doc__ or "").strip()
    first, _, rest = told.partition("\n")
    head, _, rule = first.partition(": ")
    return {
        "name": name_of(module),
        "splits": "requests" if splits_requests(module) else "input files",
        "rule": (rule if head == name_of(module) else first).rstrip("."),
        "more": " ".join(rest.split()),
        "parameters": list(_parameters(module)),
    }


def _or_error(name: str, own: str) -> dict[str, Any]:
    """Return what a list tells of a splitter; one of a site that cannot be loaded hides no other."""
    try:
        return _record(find(name, own))
    except JimError as error:
        return {"name": name, "splits": "", "rule": str(error), "more": "", "parameters": []}


def _parameters(module: Any) -> Iterator[dict[str, Any]]:
    for each in declared(module.Parameters).values():
        yield {"name": each.name, "kind": each.kind.what, "default": _told(each), "help": each.help}


def _told(parameter: Declaration) -> Any:
    """Return the default, if a request could give this value."""
    try:
        parameter.kind.read(parameter.default)
    except ValueError:
        return None
    return parameter.default


def _show(record: dict[str, Any]) -> None:
    say(f"{record['name']} splits {record['splits']}: {record['rule']}.")
    if record["more"]:
        say(record["more"])
    say()
    rows = ((one["name"], _default(one["default"]), one["kind"], one["help"]) for one in record["parameters"])
    table(("parameter", "default", "what it may be", "meaning"), rows)


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value in (None, (), "") else str(value)
