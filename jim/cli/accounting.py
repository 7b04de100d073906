"""jim accounting: what attempts have used, added up."""

from __future__ import annotations

import argparse

from jim.cli.table import table
from jim.cli.text import plain, say, say_json
from jim.errors import BadRequest, nearest
from jim.reading.filters import TIME, Filter, add_filters, from_arguments
from jim.reading.lists import time_of
from jim.reading.site.accounting import BY, Total, lines, totals, with_claims
from jim.reading.view import add_json, look

HOUR = 3600.0
SINCE = {
    "since": Filter(
        "ended at this time or later: 2026-01-31, 2026-01-31T12:00Z, or an age: 2h, 3d", "TIME", once=True, pattern=TIME
    )
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim accounting`."""
    add_filters(parser, SINCE, "since")
    parser.add_argument("--by", metavar="COLUMNS", default="dn", help=f"add up by these, with commas: {', '.join(BY)}")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the sums. A VO is what proxies claimed."""
    by = [each.strip() for each in arguments.by.split(",")]
    for each in by:
        if each not in BY:
            raise BadRequest(f"--by: {each!r} is no column{nearest(each, BY)}")
    by = with_claims(by)
    view, asked = look(), from_arguments(SINCE, arguments, "since").one("since")
    found = totals(lines(view.site.state, time_of(view, asked) if asked else ""), by)
    if arguments.json:
        say_json([dict(zip(by, values, strict=True)) | total._asdict() for values, total in found.items()])
    elif found:
        head = (*by, "attempts", "completed", "wall h", "core h", "CPU h", "not measured", "implausible")
        table(head, ((*map(plain, values), *_row(total)) for values, total in found.items()))
    else:
        say("no attempt has ended in that time")
    return 0


def _row(total: Total) -> tuple[object, ...]:
    hours = (f"{each / HOUR:.2f}" for each in (total.wall_seconds, total.core_seconds, total.cpu_seconds))
    return total.attempts, total.completed, *hours, total.unmeasured, total.implausible
