"""jim site metrics: prints the numbers that monitoring needs, of this account, or as root of all accounts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim.cli.every_account import documents_of_all_accounts
from jim.cli.text import say_json
from jim.doors.inbox import account
from jim.errors import JimError, in_words
from jim.files import replace
from jim.reading.view import View, add_json, look
from jim.site import file as site_file

if TYPE_CHECKING:  # other verbs of `jim site` need none of this
    from jim.reading.exposition import Family
    from jim.reading.site.metrics import Numbers

EXAMPLE = "example: jim site metrics -o /var/lib/prometheus/node-exporter/jim.prom"
WORDS = ("site", "metrics", "--json")
MODE = 0o644  # the collector is another account


def add_verb(verbs: Any) -> None:
    """Declare the verb."""
    line = "print numbers for Prometheus: as root of a site of several accounts, of each of them"
    parser = verbs.add_parser("metrics", help=line, epilog=EXAMPLE)
    parser.add_argument(
        "-o",
        dest="file",
        metavar="FILE",
        type=Path,
        help="replace this file, whole, for node_exporter's textfile collector, which reads names that end in .prom",
    )
    parser.add_argument("--account", dest="whose", metavar="NAME", help="as root: only of this account of the site")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the numbers, or write them to a file."""
    from jim.reading.exposition import text_of
    from jim.reading.site.metrics import checked
    from jim.site.accounts import accounts

    site, code, names = site_file.load(), 0, list[str]()
    if site.managed and os.geteuid() == 0:
        names = list(accounts(lambda _: None))
        by_account, code = documents_of_all_accounts(checked, *WORDS)
    else:
        by_account = {account() if site.managed else "": _own()}
    if arguments.json:
        say_json(by_account if names else next(iter(by_account.values())))
        return code
    text = text_of(_all(names, by_account))
    if arguments.file:
        _write(arguments.file, text)
    else:
        print(text, end="")
    return code


def _write(file: Path, text: str) -> None:
    try:
        replace(file, text.encode(), MODE)
    except OSError as error:
        raise JimError(f"cannot write {file}: {in_words(error)}; what was there is as it was") from error


def _all(names: list[str], by_account: Mapping[str, Numbers]) -> Iterator[Family]:
    from jim.reading.site.metrics import families, readable

    yield from families(by_account)
    yield readable(names, by_account)


def _own() -> Numbers:
    from jim.reading.site.metrics import numbers_of
    from jim.reading.slow_disks import Patience

    view = look()
    with closing(view.store), view.store.snapshot():
        return numbers_of(View(view.site, view.store, Patience()))
