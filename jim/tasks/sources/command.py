"""The source that is a command: it prints the lines of a list. Of what did not end well, nothing is taken."""

from __future__ import annotations

import shlex

from jim.command import run
from jim.errors import JimError
from jim.statusdb.task_spec import SourceSpec
from jim.tasks.sources import Found
from jim.tasks.sources.lists import found_in

LIMIT_SECONDS = 60.0
LARGEST = 64_000_000  # bytes
END = "end"


def look(source: SourceSpec) -> Found:
    """Run the command; take all that it has printed, or nothing."""
    answer = run(source.command, limit=LIMIT_SECONDS, longest=LARGEST)
    if answer.code != 0:
        raise JimError(answer.facts())
    what, lines = shlex.join(source.command)[:200], answer.out.rstrip().split("\n")
    if lines.pop().strip() != END:
        raise JimError(f"{what}: its last line is not {END!r}, so there may be more")
    return found_in(lines, source.group, what)
