"""jim advertise: describes this site to a collector or a request broker."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from jim.admin.advertise import offer
from jim.cli.text import plain, say_json
from jim.clock import Clock
from jim.reading.view import add_json
from jim.site import file as site_file

TIMES = ("at", "changed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim advertise`."""
    parser.description = "Describe this site and its load, as a ClassAd for condor_advertise."
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the description of the site."""
    offered = offer(site_file.load(), Clock())
    if arguments.json:
        say_json(offered)
    else:
        print("\n".join(classad(offered)))
    return 0


def classad(offered: dict[str, Any]) -> Iterator[str]:
    """Return the lines of an ad in the syntax of old ClassAds, which condor_advertise reads.

    An unknown value has no attribute: a ClassAd then treats it as *undefined*.
    """
    yield 'MyType = "JimSite"'
    yield f"Name = {_text(offered['site'] + '@' + offered['host'])}"
    for name, value in offered.items():
        yield from _lines(name, value)


def _lines(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        prefix = "local_jobs" if name == "counts" else name
        for word, each in value.items():
            yield from _lines(f"{prefix}_{word}", each)
    elif name.rpartition("_")[2] in TIMES:
        if value:
            yield f"{_attribute(name)} = {int(datetime.fromisoformat(value).timestamp())}"
    elif isinstance(value, list):  # a list of words, as stringListMember() expects it
        yield f"{_attribute(name)} = {_text(','.join(value))}"
    elif value is not None:
        yield f"{_attribute(name)} = {value if isinstance(value, int) else _text(value)}"


def _attribute(name: str) -> str:
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in name.split("_"))


def _text(value: str) -> str:
    """Quote a text of one line: a backslash is special only before a quote."""
    return '"' + plain(value).replace('"', '\\"') + '"'
