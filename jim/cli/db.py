"""jim db: checks what the status DB keeps in addition, and makes it anew."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import closing

from jim.cli.recorded_acts import acted
from jim.cli.text import say, say_json
from jim.clock import Clock
from jim.errors import UnknownJob
from jim.keeper.waking import wake
from jim.site import file as site_file
from jim.site.file import Site
from jim.site.lock import alone
from jim.statusdb import is_there, open_store

WRONG = 1
WORDS = {
    "tally": "counts of local jobs by state",
    "cells": "states of local jobs, for maps and filters",
    "pulse": "starts and ends by minute",
    "phase": "progress of phases",
    "on_host": "attempts by host",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim db`."""
    verbs = parser.add_subparsers(dest="db_verb", metavar="check", required=True)
    check = verbs.add_parser(
        "check",
        help="compare what the status DB has counted with a recount (exit 1: it differs)",
        epilog="example: jim db check",
    )
    check.add_argument("--repair", action="store_true", help="count anew what differs; no keeper may run meanwhile")
    check.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Check what is derived, and perhaps repair it."""
    site = site_file.load()
    if not is_there(site.state):
        raise UnknownJob(f"there are no grid jobs yet in {site.state}: nothing to check")
    found = _check(site)
    repaired = arguments.repair and any(found.values())
    left = _repair(site) if repaired else found
    if arguments.json:
        say_json({"differing": found, "repaired": repaired, "left": left})
    else:
        _tell(found, repaired=repaired)
    if repaired:
        acted(site, "db check --repair")
    return WRONG if any(left.values()) else 0


def _check(site: Site) -> dict[str, int]:
    with closing(open_store(site.state, Clock())) as store:
        return store.derived.wrong()


def _repair(site: Site) -> dict[str, int]:
    with alone(site.state), closing(open_store(site.state, Clock(), write=True)) as store:
        store.derived.make_anew()
        left = store.derived.wrong()
    wake(site.state)
    return left


def _tell(found: Mapping[str, int], *, repaired: bool) -> None:
    for name, differing in found.items():
        rows = f"{differing:,} row{'' if differing == 1 else 's'} differ{'s' if differing == 1 else ''}"
        say(f"{WORDS[name]}: {rows + (', counted anew' if repaired else '') if differing else 'right'}")
    if any(found.values()) and not repaired:
        say("Lists and pages may show wrong numbers: `jim db check --repair` counts anew.")
