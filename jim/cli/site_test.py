"""jim site test: try a site for real, and tell people and monitoring how it went."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from jim import site as site_file
from jim.cli.text import say, say_finding, say_json
from jim.clock import Clock
from jim.errors import BadRequest, JimError, nearest
from jim.files import replace

if TYPE_CHECKING:
    from jim.site import Site
    from jim.site_check import Finding
    from jim.sitetest import Level

# What monitoring understands: exit codes, and the words for them.
CODES = {"ok": 0, "warning": 1, "failed": 2}
NOT_TRIED = 3
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
MOST_LOAD = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `jim site test` takes."""
    parser.description = "Run jobs through the batch system. Exits 0, 1, 2 or 3, as monitoring expects."
    parser.add_argument("level", nargs="*", help="config batch roundtrip array glitch, or all (default: config batch)")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="run N local jobs besides")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Run the levels that were asked for, say what they found, and end with a line for monitoring."""
    logging.getLogger("jim").addHandler(logging.NullHandler())  # what matters is in the findings
    levels = _levels(arguments)
    jobs = sum(level.jobs for level in levels.values())
    found: list[tuple[str, Finding]] = []
    site: Site | None = None
    try:
        site = site_file.load()
        site_file.check_system(site)
        if not arguments.json:
            say(f"submits {jobs:,} local jobs to {site.batch.system}, and cleans up after itself")
        for name, level in levels.items():
            for finding in level.test(site):
                found.append((name, finding))
                if not arguments.json:
                    say_finding(finding)
        code, said = max(CODES[finding.level] for _, finding in found), f"{len(found)} checks, {jobs:,} local jobs"
    except (JimError, OSError) as error:
        code, said = NOT_TRIED, str(error)
    line = f"JIM SITE {WORDS[code]} - {said}"
    at = {"at": Clock().utc(), "levels": list(levels)}
    report = at | {"status": WORDS[code].lower(), "line": line, "jobs": jobs, "checks": list(_records(found))}
    if site:
        with suppress(OSError):  # that there is no place for it is among what the test has found
            replace(site.tested, json.dumps(report).encode(), 0o640)
    if arguments.json:
        say_json(report)
    else:
        say(line)
    return code


def _levels(arguments: argparse.Namespace) -> dict[str, Level]:
    from jim.sitetest import LEVELS, chosen

    for name in arguments.level:
        if name not in {*LEVELS, "all"}:
            raise BadRequest(f"jim site test: unknown level {name!r}{nearest(name, {*LEVELS, 'all'})}")
    if not 0 <= arguments.load <= MOST_LOAD:
        raise BadRequest(f"--load: expected at most {MOST_LOAD:,} local jobs, found {arguments.load:,}")
    return chosen(arguments.level or ([] if arguments.load else ["config", "batch"]), arguments.load)


def _records(found: list[tuple[str, Finding]]) -> Iterator[dict[str, str]]:
    for name, finding in found:
        yield {"test": name, "name": finding.name, "level": finding.level, "said": finding.said, "todo": finding.todo}
