"""jim task: standing orders, which go on by themselves. A module for each kind of verbs."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from jim.cli.tasks import changing, checking, create, looking, models, redo, watching
from jim.cli.tasks.planned_words import add_later

MODULES = (create, checking, models, looking, watching, changing, redo)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim task`."""
    names = [name for module in MODULES for name in module.VERBS]
    verbs = parser.add_subparsers(dest="task_verb", metavar="|".join(names), required=True)
    for module in MODULES:
        module.add_verbs(verbs)
    add_later(verbs)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb of a task."""
    verbs: dict[str, Callable[[argparse.Namespace], int]] = {}
    for module in MODULES:
        verbs |= module.VERBS
    return verbs[arguments.task_verb](arguments)
