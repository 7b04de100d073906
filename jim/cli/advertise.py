"""jim advertise: describes this site to a collector or a request broker."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from jim.admin.advertise import offer
from jim.cli.text import plain, say_json
from jim.clock import Clock
from jim.reading.view import add_json
from jim.site import file as site_file

TIMES = ("at", "changed")
PREFIXES = {"counts": "local_jobs", "queue_rooms": "queue"}  # of attributes, where a word of JSON has parts
# What a job asks for, by the attribute of its ad, and the attribute of the site that must allow this.
LIMITS = {
    "JIM_wall_seconds": "MostWallSeconds",
    "JIM_memory_mb": "MostMemoryMb",
    "JIM_cores": "MostCores",
    "JIM_local_jobs": "MostLocalJobs",
}


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
    yield f"Requirements = {' && '.join(_requirements())}"


def _requirements() -> Iterator[str]:
    """Return what must be true of a job and of this site; a job that does not say what it needs may come."""
    yield 'MY.Drained == "" && MY.NoRoom == "" && MY.SiteTestStatus =!= "critical"'
    yield "(TARGET.JIM_job_type =?= undefined || stringListMember(TARGET.JIM_job_type, MY.JobTypes))"
    yield '(TARGET.JIM_queue =?= undefined || MY.Queues == "" || stringListMember(TARGET.JIM_queue, MY.Queues))'
    for asked, most in LIMITS.items():
        yield f"(TARGET.{asked} =?= undefined || MY.{most} =?= undefined || TARGET.{asked} <= MY.{most})"


def _lines(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for word, each in value.items():
            yield from _lines(f"{PREFIXES.get(name, name)}_{word}", each)
    elif name.rpartition("_")[2] in TIMES:
        if value:
            yield f"{_attribute(name)} = {int(datetime.fromisoformat(value).timestamp())}"
    elif isinstance(value, list):  # a list of words, as stringListMember() expects it
        yield f"{_attribute(name)} = {_text(','.join(value))}"
    elif value is not None:
        yield f"{_attribute(name)} = {value if isinstance(value, int | float) else _text(value)}"


def _attribute(name: str) -> str:
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in re.split(r"[^A-Za-z0-9]", name))


def _text(value: str) -> str:
    """Quote a text of one line: a backslash is special only before a quote."""
    return '"' + plain(value).replace('"', '\\"') + '"'
