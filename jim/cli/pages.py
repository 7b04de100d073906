"""jim pages: show the status DB in a browser, for the person who starts it."""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import suppress
from pathlib import Path

from jim.cli.text import say
from jim.errors import BadRequest, BadSite, in_words
from jim.reading.view import look, refuse_local_job

NEEDED = (
    "jim pages needs Flask, Jinja2 and waitress: on Debian, apt-get install python3-flask python3-waitress; "
    "elsewhere, pip install 'jim-job-managers[pages]'"
)

TOLD = """\
The status DB is at

    {url}

This address works once, in one browser. For a browser on another machine, run there first

    {tunnel}

and then open the same address. Ctrl-C ends the pages; grid jobs go on.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `jim pages` takes."""
    parser.add_argument("--port", metavar="N", type=int, default=0, help="the port to listen on; without it a free one")
    help_ = "write the pages of grid job G into a new directory, to send to somebody, and serve nothing"
    parser.add_argument("--export", nargs=2, metavar=("G", "DIR"), help=help_)
    parser.add_argument("--log", action="store_true", help="print a line for each request")


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    if not 0 <= arguments.port < 65_536:
        raise BadRequest(f"--port takes a number up to 65535, not {arguments.port}")
    try:
        from jim.pages.export import export
        from jim.pages.serving import serve
    except ImportError as error:
        raise BadSite(f"{NEEDED} ({error.name} is not there)") from error
    if arguments.export:
        written = export(refuse_local_job(arguments.export[0], "pages --export"), Path(arguments.export[1]))
        say(f"{len(written):,} files in {arguments.export[1]}; {written[0].name} is the first page")
        return 0
    logging.basicConfig(level=logging.INFO if arguments.log else logging.ERROR, stream=sys.stderr, format="%(message)s")
    try:
        serving = serve(look().site, arguments.port)
    except OSError as error:
        raise BadRequest(
            f"port {arguments.port} cannot be used: {in_words(error)}; without --port a free one is"
        ) from error
    say(TOLD.format(url=serving.url, tunnel=serving.tunnel))
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        serving.run()
    return 0
