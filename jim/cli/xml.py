"""jim xml: a grid job as an XML document, and the schema of such documents."""

from __future__ import annotations

import argparse
import sys

from jim.cli.text import say
from jim.errors import BadRequest
from jim.reading.view import look


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim xml`."""
    parser.add_argument("target", metavar="G", nargs="?", help="a grid job, or any of its local jobs")
    parser.add_argument("--schema", action="store_true", help="print the RELAX NG schema of these documents")
    help_ = (
        "print only the results of this expression, one a line; names have the prefix jim: "
        "//jim:local_job[@state='failed']/@n"
    )
    parser.add_argument("--xpath", metavar="EXPR", help=help_)


def run(arguments: argparse.Namespace) -> int:
    """Print the document byte for byte; on a terminal, escaped."""
    from jim.statusdb import xml
    from jim.statusdb.xpath import xpath

    if bool(arguments.target) == arguments.schema:
        raise BadRequest("name a grid job or use --schema, not both (see `jim xml --help`)")
    if arguments.xpath is not None and not (arguments.xpath.strip() and arguments.target):
        raise BadRequest("--xpath needs an expression and a grid job (see `jim xml --help`)")
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
