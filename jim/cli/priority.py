"""jim priority: the order in which local jobs of grid jobs are submitted."""

from __future__ import annotations

import argparse
import re

from jim import run_grid_job
from jim.cli.text import say
from jim.model import MOST_PRIORITY, Verb
from jim.reading.job.effects import NEXT, effect
from jim.reading.view import look


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim priority`."""
    parser.add_argument("target", metavar="G", help="a grid job")
    parser.add_argument(
        "priority",
        metavar="N",
        type=_priority,
        help=f"-{MOST_PRIORITY:,} to {MOST_PRIORITY:,}; the highest is submitted first, 0 is usual",
    )


def _priority(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,9}", text, re.ASCII) or abs(int(text)) > MOST_PRIORITY:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, -{MOST_PRIORITY:,} to {MOST_PRIORITY:,}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Store the wish."""
    target, priority = arguments.target, arguments.priority
    would = effect(look(), Verb.PRIORITY, target, {"priority": priority})
    if would.late:
        say(f"{target}: {would.late}; priority changes nothing")
        return 0
    run_grid_job.wish(Verb.PRIORITY, target, priority=priority)
    say(f"{target}: priority {priority} requested; {NEXT[Verb.PRIORITY]}")
    return 0
