"""jim actions: who did what, and when."""

from __future__ import annotations

import argparse
from typing import Any

from jim.cli.every_account import documents_of_all_accounts
from jim.cli.table import table
from jim.cli.text import local_time, plain, say, say_json, with_local_times
from jim.reading.filters import TIME, Filter, add_filters, from_arguments
from jim.reading.lists import time_of
from jim.reading.site.summaries import moment, text
from jim.reading.site.who_did_what import acts
from jim.reading.view import add_json, look
from jim.site import acts as log
from jim.site import file as site_file
from jim.site.acts import Act

USUAL = "7d"
SINCE = {
    "since": Filter(
        f"done at this time or later: 2026-01-31, 2026-01-31T12:00Z, or an age: 2h, 3d; default: {USUAL}",
        *("TIME",),
        once=True,
        pattern=TIME,
    )
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim actions`."""
    parser.add_argument("--all", action="store_true", help="as root of a site of several accounts: of each")
    add_filters(parser, SINCE, "since")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each action, the latest last."""
    view, since = look(), from_arguments(SINCE, arguments, "since").one("since", USUAL)
    at = time_of(view, since)
    if arguments.all:
        found, code = _of_all_accounts(since, at)
        head: tuple[str, ...] = ("when", "account", "what", "of which", "by whom")
    else:
        found, code = [("", each) for each in acts(view, at)], 0
        head = ("when", "what", "of which", "by whom")
    if arguments.json:
        of_all = [{"account": account} if arguments.all else {} for account, _ in found]
        say_json([each | act._asdict() for each, (_, act) in zip(of_all, found, strict=True)])
    elif found:
        table(head, (_row(act, [account] if arguments.all else []) for account, act in found))
    else:
        say(with_local_times(f"nobody has done anything since {at}"))
    return code


def _row(act: Act, account: list[str]) -> list[str]:
    return [local_time(act.at), *account, plain(act.verb), plain(with_local_times(act.of)), plain(act.by)]


def _of_all_accounts(since: str, at: str) -> tuple[list[tuple[str, Act]], int]:
    """Return what was done in each account, and of the whole site; what every account says of the site counts once."""
    acts_of, code = documents_of_all_accounts(_acts, "actions", "--json", "--since", since)
    of_site = [each for each in log.recorded(site_file.load().shared_acts) if each.at >= at]
    found = [("", each) for each in of_site]
    for account, mine in acts_of.items():
        found += [(account, act) for act in mine if act not in of_site]
    return sorted(found, key=lambda each: each[1].at), code


def _acts(found: Any) -> list[Act]:
    return [Act(moment(each["at"]), *(text(each[name], log.LONGEST) for name in Act._fields[1:])) for each in found]
