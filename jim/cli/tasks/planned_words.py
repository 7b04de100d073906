"""What is decided upon for tasks, and not there yet: people are told so, by the name that it will have."""

from __future__ import annotations

import argparse
from typing import Any

from jim.errors import BadRequest, later
from jim.tasks.file.words import LATER

DISK = f"disk_gb: {later(LATER['release.disk_gb'])}"


class Later(argparse.Action):
    """An argument that is refused; `const` says what JIM does not have."""

    def __call__(self, _parser: argparse.ArgumentParser, _names: Any, _values: Any, option: str | None = None) -> None:
        """Refuse the argument."""
        raise BadRequest(f"{option or self.metavar}: {later(str(self.const))}")


def add_later(verbs: Any) -> None:
    """Declare what is refused; no help names it."""
    share = verbs.add_parser("share", help=later(LATER["task.share"]))
    verbs._choices_actions.pop()  # the line of it in the help
    share.add_argument("words", metavar="share", nargs="*", action=Later, const=LATER["task.share"])
    for verb, option, what in (("fix", "--undo", "an undo of fixes"), ("graph", "--dot", "graphs for Graphviz")):
        parser = verbs.choices[verb]
        parser.add_argument(option, nargs="*", action=Later, const=what, help=argparse.SUPPRESS)
