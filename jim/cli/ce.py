"""jim ce: connects JIM to the HTCondor-CE of this machine."""

from __future__ import annotations

import argparse

from jim.admin import ce_proof, ce_service
from jim.cli.connection_findings import checked, proved
from jim.cli.recorded_acts import acted
from jim.cli.text import say
from jim.site import file as site_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim ce`."""
    verbs = parser.add_subparsers(dest="ce_verb", metavar="register|unregister|check", required=True)
    verbs.add_parser(
        "register",
        help="as root: put JIM's scripts and a route where HTCondor-CE looks for them",
        epilog="example: jim ce register",
    )
    verbs.add_parser(
        "unregister", help="as root: remove the scripts and the route", epilog="example: jim ce unregister"
    )
    check = verbs.add_parser(
        "check",
        help="check the connection, with a job of this account (exit 3: incomplete)",
        epilog="example: jim ce check",
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")
    check.add_argument("--no-job", action="store_true", help="submit no job")


def run(arguments: argparse.Namespace) -> int:
    """Register, unregister, or check."""
    site = site_file.load()
    if arguments.ce_verb == "check":
        findings = ce_service.findings(site)
        tried = findings if arguments.no_job else proved(findings, "ce", ce_proof.with_a_job)
        return checked(tried, as_json=arguments.json)
    made = ce_service.register() if arguments.ce_verb == "register" else ce_service.unregister()
    for line in made:
        say(line)
    if site.managed:
        acted(site, f"ce {arguments.ce_verb}", shared=True)
    return 0
