"""jim gram: connects JIM to the Globus gatekeeper of this machine."""

from __future__ import annotations

import argparse

from jim.admin import gram_service
from jim.cli.connection_findings import checked
from jim.cli.recorded_acts import acted
from jim.cli.text import say
from jim.site import file as site_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim gram`."""
    verbs = parser.add_subparsers(dest="gram_verb", metavar="register|unregister|check", required=True)
    register = verbs.add_parser(
        "register",
        help="as root: put the job manager samgrid where GRAM looks for it",
        epilog="example: jim gram register",
    )
    events = "job managers do not poll: the keeper of ACCOUNT writes events for them; only ACCOUNT may have jobs"
    register.add_argument("--events", metavar="ACCOUNT", default="", help=events)
    verbs.add_parser("unregister", help="as root: remove the job manager", epilog="example: jim gram unregister")
    check = verbs.add_parser(
        "check", help="check the connection (exit 3: incomplete)", epilog="example: jim gram check"
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Register, unregister, or check."""
    if arguments.gram_verb == "check":
        return checked(gram_service.findings(), as_json=arguments.json)
    if arguments.gram_verb == "register":
        made = gram_service.register(events=arguments.events)
    else:
        made = gram_service.unregister()
    lines = 0
    for lines, line in enumerate(made, 1):  # noqa: B007 - how many there were is told below
        say(line)
    if not lines:
        say("nothing of JIM's was registered")
        return 0
    site = site_file.load()
    if site.managed:
        acted(site, f"gram {arguments.gram_verb}", getattr(arguments, "events", ""), shared=True)
    return 0
