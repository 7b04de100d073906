"""jim arc: connects JIM to the ARC CE of this machine."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

from jim.admin import arc_information, arc_proof, arc_service
from jim.cli.connection_findings import checked, proved
from jim.cli.recorded_acts import acted
from jim.cli.text import say
from jim.site import file as site_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim arc`."""
    verbs = parser.add_subparsers(dest="arc_verb", metavar="register|unregister|check|info", required=True)
    verbs.add_parser(
        "register", help="as root: put the back-end `jim` where A-REX looks for it", epilog="example: jim arc register"
    )
    verbs.add_parser("unregister", help="as root: remove the back-end", epilog="example: jim arc unregister")
    check = verbs.add_parser(
        "check",
        help="check the connection, with a job of this account (exit 3: incomplete)",
        epilog="example: jim arc check",
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")
    check.add_argument("--no-job", action="store_true", help="submit no job")
    verbs.add_parser(
        "info",
        help="for A-REX: describe the site, and the jobs whose ids stand on stdin",
        epilog="example: jim arc info",
    )


def run(arguments: argparse.Namespace) -> int:
    """Register, unregister, check, or describe."""
    site = site_file.load()
    if arguments.arc_verb == "info":
        for line in arc_information.lines(site, sys.stdin.read().split()):
            say(line)
        return 0
    if arguments.arc_verb == "check":
        findings = arc_service.findings(site)
        with_a_job = partial(arc_proof.with_a_job, dict(os.environ))
        return checked(findings if arguments.no_job else proved(findings, "arc", with_a_job), as_json=arguments.json)
    made = arc_service.register(site) if arguments.arc_verb == "register" else arc_service.unregister(site)
    for line in made:
        say(line)
    if site.managed:
        acted(site, f"arc {arguments.arc_verb}", shared=True)
    return 0
