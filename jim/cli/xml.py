"""jim xml: a grid job as an XML document, and the schema of such documents."""

from __future__ import annotations

import argparse
import sys

from jim.cli.text import say
from jim.errors import BadRequest
from jim.reading.view import look


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `jim xml` takes."""
    parser.add_argument("target", metavar="G", nargs="?", help="a grid job, or any of its local jobs")
    parser.add_argument("--schema", action="store_true", help="print the RELAX NG schema of these documents")
    help_ = (
        "print only what this finds, one result a line; names have the prefix jim: //jim:local_job[@state='failed']/@n"
    )
    parser.add_argument("--xpath", metavar="EXPR", help=help_)


def run(arguments: argparse.Namespace) -> int:
    """Print the document, byte for byte; escaped where a terminal would read it."""
    from jim.statusdb import xml
    from jim.statusdb.xpath import xpath

    if bool(arguments.target) == arguments.schema:
        raise BadRequest("say either a grid job or --schema (`jim xml --help` shows how)")
    if arguments.xpath is not None and not (arguments.xpath.strip() and arguments.target):
        raise BadRequest("--xpath takes an expression, of a grid job's document (`jim xml --help` shows how)")
    if arguments.schema:
        _print(xml.schema())
        return 0
    view = look()
    number, store, strict = view.herd(arguments.target), view.store, view.site.site.strict_status
    if arguments.xpath:
        for found in xpath(xml.document(store, number, strict=strict), arguments.xpath):
            say(found)
    elif sys.stdout.isatty():
        _print(xml.document(store, number, strict=strict))
    else:
        xml.write(store, number, sys.stdout.buffer, strict=strict)
    return 0


def _print(document: bytes) -> None:
    if sys.stdout.isatty():
        say(document.decode())
    else:
        sys.stdout.buffer.write(document)
