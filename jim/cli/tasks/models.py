"""jim task models: the models of tasks, their holes, and the code that plays a part in them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jim.cli.table import table
from jim.cli.text import facts, plain, say, say_json
from jim.errors import JimError
from jim.reading.view import add_json
from jim.site import file as site_file
from jim.tasks.file import models
from jim.tasks.file import reading as task_file


def add_verbs(verbs: Any) -> None:
    """Declare the verb about models."""
    listed = verbs.add_parser("models", help="list the models of tasks, or tell about one")
    listed.add_argument("name", metavar="NAME", nargs="?", help="a model; without one, all of them")
    add_json(listed)


def _models(arguments: argparse.Namespace) -> int:
    """List the models, or tell about one: its holes, and the code in each role."""
    site = site_file.load()
    if arguments.name is None:
        found = [_summary(name, file) for name, file in models.known(site).items()]
        if arguments.json:
            say_json(found)
        elif found:
            table(("model", "summary"), ((plain(each["name"]), plain(each["summary"])) for each in found))
        return 0
    model = task_file.model(models.file_of(arguments.name, site))
    roles = models.roles(model, site)
    if arguments.json:
        holes = [each._asdict() for each in model.holes.values()]
        told = {"name": model.name, "file": str(model.file), "summary": model.summary, "holes": holes}
        say_json(told | {"description": model.description, "roles": [list(each) for each in roles]})
        return 0
    facts(
        (
            ("model", f"{model.name}: {model.summary}" if model.summary else model.name),
            ("file", model.file),
            ("description", model.description),
        )
    )
    for role, code in roles:
        say(f"{role}: {code}", "role: ")
    rows = (
        (each.name, each.kind, "-" if each.default is None else each.default, each.help)
        for each in model.holes.values()
    )
    table(("hole", "kind", "default", "help"), ([plain(cell) for cell in row] for row in rows))
    return 0


def _summary(name: str, file: Path) -> dict[str, str]:
    """Return what a model is for; of one that is wrong, why."""
    try:
        summary = task_file.model(file).summary
    except JimError as error:
        summary = f"cannot be used: {error}"
    return {"name": name, "file": str(file), "summary": summary}


VERBS = {"models": _models}
