"""jim site test: tries a site for real, and reports to people and monitoring."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from jim.cli.arguments import whole_number
from jim.cli.text import plain, say, say_finding, say_json
from jim.clock import Clock
from jim.errors import BadRequest, JimError, nearest
from jim.files import replace
from jim.reading.quantities import how_many
from jim.site import file as site_file

if TYPE_CHECKING:
    from jim.admin.finding import Finding
    from jim.admin.trial import Level
    from jim.site.file import Site

    Found = list[tuple[str, Finding]]  # each with its level of the test

# Exit codes of monitoring systems, and their words.
CODES = {"ok": 0, "skipped": 0, "warning": 1, "failed": 2, "unknown": 3}
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
MOST_LOAD = 100_000
LEVELS_HELP = "config, batch, roundtrip, array, glitch, or all; default: config and batch"
DESCRIPTION = """\
Test this site with real jobs, level by level. The test says beforehand how many local jobs it will submit. It cleans
up at its end, also after an interruption; the next test cleans up after a killed one. A level that depends on a failed
one is skipped. The last line and the exit code are for monitoring: 0 ok, 1 warning, 2 critical, 3 unknown (the test
could not run to its end).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim site test`."""
    parser.description = DESCRIPTION
    parser.add_argument("level", metavar="LEVEL", nargs="*", help=LEVELS_HELP)
    parser.add_argument(
        "--load", type=whole_number(1, MOST_LOAD), default=0, metavar="N", help="run N further local jobs"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Run the requested levels, print the findings, and end with a line for monitoring."""
    from jim.admin.trial.interruption import Interruption

    logging.getLogger("jim").addHandler(logging.NullHandler())  # the findings say all that matters
    levels: Mapping[str, Level] = {}
    found: Found = []
    with Interruption() as interruption:
        try:
            site: Site | None = None
            levels = _levels(arguments)
            site = site_file.load()
            site_file.check_system(site)
            _try(site, levels, interruption.heed, found, quiet=arguments.json)
            code, said = _outcome(found, levels)
        except (JimError, OSError) as error:
            code, said = CODES["unknown"], str(error)
        report = _report(code, said, levels, found)
        if site:
            with suppress(OSError):  # one finding is that there is no place for this file
                replace(site.tested, json.dumps(report).encode(), 0o640)
    _end(report, as_json=arguments.json)
    return code


def misread(error: JimError, *, as_json: bool) -> int:
    """Refuse a wrong command line with monitoring's exit code for unknown; the usual one would mean a bad site."""
    code = CODES["unknown"]
    _end(_report(code, str(error), {}, []), as_json=as_json)
    return code


def _end(report: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(report)
    else:
        say(plain(report["line"]))


def _try(site: Site, levels: Mapping[str, Level], heed: Callable[[], None], found: Found, *, quiet: bool) -> None:
    """Collect the findings, and print each at once: a level may take long, and stdout may be a file."""
    from jim.admin.trial import findings
    from jim.trust.plugins import foreign

    if not quiet:
        say("\n".join(_announced(site, levels)))
        sys.stdout.flush()
    with foreign("a fault in JIM itself"), closing(findings(site, levels, heed, _say_waits(quiet=quiet))) as made:
        for name, finding in made:
            found.append((name, finding))
            if not quiet:
                say_finding(finding)
                sys.stdout.flush()


def _say_waits(*, quiet: bool) -> Callable[[Finding], None]:
    """Return what prints what is waited for."""

    def say_it(finding: Finding) -> None:
        if not quiet:
            say_finding(finding)
            sys.stdout.flush()

    return say_it


def _announced(site: Site, levels: Mapping[str, Level]) -> Iterator[str]:
    """Print what the test is about to submit."""
    jobs, system = _jobs(levels), site.batch.system
    if not jobs:
        yield f"submits no job to {system}"
        return
    parts = ", ".join(f"{name} {level.jobs:,}" for name, level in levels.items() if level.jobs)
    yield f"submits {how_many(jobs, 'local job')} to {system} ({parts}), and cleans up after itself"
    yield "each is a batch job or a member of an array; JIM submits lost or killed ones"
    yield f"again, up to {site.limits.attempts} times in all (limits.attempts), so there may be more batch jobs"


def _jobs(levels: Mapping[str, Level]) -> int:
    return sum(level.jobs for level in levels.values())


def _outcome(found: Found, levels: Mapping[str, Level]) -> tuple[int, str]:
    """Return the exit code, and a summary for monitoring: the number of problems, and the worst one."""
    checks = list(_settled(finding for _, finding in found if finding.level != "skipped"))
    worst = max(checks, key=lambda finding: CODES[finding.level])
    code = CODES[worst.level]
    if code == CODES["unknown"]:
        return code, worst.said
    if code == CODES["ok"]:
        return code, f"{len(checks)} checks, {how_many(_jobs(levels), 'local job')}"
    bad = sum(CODES[finding.level] > 0 for finding in checks)
    skipped = len({name for name, finding in found if finding.level == "skipped"})
    left_out = f", {how_many(skipped, 'level')} skipped" if skipped else ""
    word = "failed" if code == CODES["failed"] else "gave a warning"
    return code, f"{bad} of {len(checks)} checks {word}{left_out}; {worst.name}: {worst.said}"


def _settled(found: Iterable[Finding]) -> Iterator[Finding]:
    """Leave out a warning about the history if the history was asked again once a job had ended."""
    checks = list(found)
    from jim.admin.trial.asking import HISTORY  # it needs libraries; `jim site check` says which are missing

    last = max((at for at, finding in enumerate(checks) if finding.name == HISTORY), default=0)
    return (finding for at, finding in enumerate(checks) if finding.name != HISTORY or at == last)


def _report(code: int, said: str, levels: Mapping[str, Level], found: Found) -> dict[str, Any]:
    line = f"JIM SITE {WORDS[code]} - {' '.join(said.split())}"
    at = {"at": Clock().utc(), "levels": list(levels)}
    tried = {name for name, finding in found if finding.level != "skipped"}
    jobs = _jobs({name: level for name, level in levels.items() if name in tried})
    return at | {"status": WORDS[code].lower(), "line": line, "jobs": jobs, "checks": list(_records(found))}


def _levels(arguments: argparse.Namespace) -> dict[str, Level]:
    from jim.admin.trial import LEVELS, chosen

    for name in arguments.level:
        if name not in {*LEVELS, "all"}:
            option = "; use --load N for N local jobs" if name == "load" else ""
            raise BadRequest(f"jim site test: unknown level {name!r}{option}{nearest(name, {*LEVELS, 'all'})}")
    return chosen(arguments.level or ([] if arguments.load else ["config", "batch"]), arguments.load)


def _records(found: Found) -> Iterator[dict[str, str]]:
    for name, finding in found:
        yield {"test": name, "name": finding.name, "level": finding.level, "said": finding.said, "todo": finding.todo}
