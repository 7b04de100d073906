"""jim xml: the site, a grid job or a local job as an XML document, and the schema of such documents."""

from __future__ import annotations

import argparse
import shutil
import sys
from contextlib import closing
from typing import IO

from jim.cli.text import put, say, warn
from jim.doors import inbox
from jim.errors import BadRequest
from jim.guide import guide
from jim.reading.view import View, look

XPATH = (
    "print only the results of this expression, one a line; names have the prefix jim: "
    f"//jim:local_job[@state='failed']/@n ({guide('xpath.md')} has examples)"
)
EXPLAIN = "print how JIM would answer the expression, over how many documents, and what in it can never match"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim xml`."""
    parser.add_argument("target", metavar="G[.n]", nargs="?", help="a grid job, or one of its local jobs")
    parser.add_argument("--all", action="store_true", help="the site, with all its grid jobs and tasks")
    parser.add_argument("--task", metavar="NAME", default="", help="a task, with its items and pieces")
    parser.add_argument("--tasks", action="store_true", help="all tasks, without the grid jobs")
    parser.add_argument("--schema", action="store_true", help="print the RELAX NG schema of these documents")
    parser.add_argument("--xpath", metavar="EXPR", help=XPATH)
    parser.add_argument("--explain", action="store_true", help=EXPLAIN)


def run(arguments: argparse.Namespace) -> int:
    """Print the document byte for byte; on a terminal, escaped."""
    chosen = [arguments.target, arguments.all, arguments.schema, arguments.task, arguments.tasks]
    if sum(map(bool, chosen)) != 1:
        raise BadRequest(
            "name a grid job, or use one of --all (the site), --task NAME, --tasks, --schema (see `jim xml --help`)"
        )
    if arguments.xpath is not None and (arguments.schema or not arguments.xpath.strip()):
        raise BadRequest("--xpath needs an expression and a grid job, a task, --tasks or --all (see `jim xml --help`)")
    if arguments.explain and arguments.xpath is None:
        raise BadRequest("--explain needs --xpath and an expression (see `jim xml --help`)")
    if arguments.schema:
        _schema()
        return 0
    view = look()
    with closing(view.store):
        _answer(view, arguments)
    return 0


def _schema() -> None:
    from jim.statusdb.documents.xml import schema

    sys.stdout.flush()
    if sys.stdout.isatty():
        put(schema().decode())
    else:
        sys.stdout.buffer.write(schema())


def _answer(view: View, arguments: argparse.Namespace) -> None:
    from jim.reading.documents import queries
    from jim.reading.documents.xml_documents import EVERY, Of, written

    task = EVERY if arguments.tasks else arguments.task
    of = Of(task=task) if task or arguments.all else Of(*_target(arguments.target))
    if arguments.xpath is None:
        with written(view, of) as file:
            view.store.close()
            _print(file)
        return
    plan = queries.planned(view, arguments.xpath, of)
    if arguments.explain:
        say(plan.words())
        return
    warn(plan.warnings)
    for found in queries.answered(view, plan):
        put(found.text)


def _target(text: str) -> tuple[tuple[int, ...], int | None]:
    number, n = inbox.target_of(text)
    return (number,), n


def _print(file: IO[bytes]) -> None:
    file.seek(0)
    if sys.stdout.isatty():
        for line in file:
            put(line.decode().rstrip("\n"))
    else:
        shutil.copyfileobj(file, sys.stdout.buffer)
