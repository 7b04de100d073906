"""jim publish: a phase or an XML element about a grid job itself, as payloads publish about local jobs."""

from __future__ import annotations

import argparse
import sys

from jim import run_grid_job
from jim.cli.text import say
from jim.errors import BadRequest, JimError
from jim.keeper.attempts.publishing import element
from jim.model import Verb
from jim.reading.view import look, refuse_local_job
from jim.statusdb.published import LONGEST, NAME, PHASE_KEY

EVENTS = "events"
MOST_DIGITS = 15
PHASE, XML = (
    "example: jim publish 12 phase merged 3 10 files",
    "example: jim publish 12 xml luminosity < luminosity.xml",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim publish`."""
    parser.add_argument("target", metavar="G", help="a grid job")
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="phase|xml")
    phase = kinds.add_parser("phase", help="say that DONE of TOTAL units of a phase are done", epilog=PHASE)
    phase.add_argument("name", metavar="NAME", type=_name, help="up to 40 letters, digits, _ and -")
    phase.add_argument("done", metavar="DONE", type=_count, help="how many units are done")
    phase.add_argument("total", metavar="TOTAL", type=_count, help="how many units there are")
    phase.add_argument(
        "unit", metavar="UNIT", type=_name, nargs="?", default=EVENTS, help=f"what is counted (default: {EVENTS})"
    )
    xml = kinds.add_parser("xml", help=f"publish the XML element on stdin, of at most {LONGEST:,} bytes", epilog=XML)
    xml.add_argument("name", metavar="KEY", type=_name, help="up to 40 letters, digits, _ and -")


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: expected up to 40 letters, digits, _ and -")
    return text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        raise argparse.ArgumentTypeError(f"{text!r}: expected up to {MOST_DIGITS} digits")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Store the wish."""
    number = refuse_local_job(arguments.target, Verb.PUBLISH)
    look().grid_job(number)
    name, text = _phase(arguments) if arguments.kind == "phase" else (arguments.name, _read())
    try:
        element(name, text)
    except JimError as error:
        raise BadRequest(f"not published: {error}") from error
    run_grid_job.wish(Verb.PUBLISH, str(number), name=name, content=text)
    say(f"{number}: {name} is published as soon as the keeper takes it; `jim xml {number}` shows it")
    return 0


def _phase(arguments: argparse.Namespace) -> tuple[str, str]:
    told = arguments.name, str(arguments.done), str(arguments.total), arguments.unit
    return f"{PHASE_KEY}{arguments.name}", f"phase {' '.join(told)}"


def _read() -> str:
    """Read the element on stdin."""
    content = sys.stdin.buffer.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise BadRequest(f"not published: more than {LONGEST:,} bytes on stdin")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise BadRequest(f"not published: not UTF-8: {error}") from error
