"""jim pages: show the status DB in a browser, for the person who starts it."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from jim import run_grid_job
from jim.cli.arguments import number, whole_number
from jim.cli.recorded_acts import acted
from jim.cli.table import table
from jim.cli.text import local_time, say
from jim.errors import BadRequest, BadSite, in_words
from jim.keeper.waking import ring
from jim.log_lines import OneLine
from jim.reading.site.accounts import Accounts
from jim.reading.view import refuse_local_job
from jim.site import file as site_file
from jim.site.file import Site
from jim.site.libraries import how_to_install
from jim.site.lock import runs
from jim.site.whose import refuse_root
from jim.workdir.credentials import shown_time

MOST_LISTED = 1_000  # of what is laid aside
LIBRARIES = ("flask", "jinja2", "waitress")
OF_DEBIAN = "apt-get install python3-flask python3-jinja2 python3-waitress"

TOLD = """\
The pages are at

    {url}

This address works once, in one browser. For a browser on another machine, run there first

    {tunnel}

and then open the same address. Ctrl-C ends the pages; grid jobs go on.
"""

MADE = """\

is token {name} with the role {role}, good until {until}. It is shown only this once. A program sends it in the header
`Authorization: Bearer TOKEN`; a browser opens the address of the pages with ?token=TOKEN.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `jim pages` takes."""
    help_ = (
        "make, list or revoke tokens; or lay failed grid jobs and tasks aside, so that the overview leaves them out: "
        "pages aside 12 15. Nothing is served then"
    )
    parser.add_argument("what", nargs="?", choices=("token", "aside"), help=help_)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of what to lay aside: a grid job, or a task")
    parser.add_argument(
        "--port",
        metavar="N",
        type=whole_number(0, 65_535),
        default=0,
        help="the port to listen on; without it, JIM takes a free one",
    )
    parser.add_argument(
        "--role",
        default="see",
        help="of a token: see (states and reasons), look (all), or control (also cancel, retry and so on)",
    )
    parser.add_argument("--days", type=number, default=30.0, metavar="N", help="how long a token is good")
    parser.add_argument("--list", action="store_true", help="list the tokens, or what is laid aside")
    parser.add_argument("--back", action="store_true", help="bring back to the overview what is laid aside")
    parser.add_argument("--revoke", metavar="NAME", help="revoke a token, and end all sessions that it began")
    parser.add_argument("--socket", metavar="PATH", help="listen on a Unix socket instead, for a web server")
    help_ = "one page over all accounts of the site, from what they publish for their group"
    parser.add_argument("--site", action="store_true", help=help_)
    help_ = "write the pages of grid job G into a new directory, to send to somebody, and serve nothing"
    parser.add_argument("--export", nargs=2, metavar=("G", "DIR"), help=help_)
    parser.add_argument("--log", action="store_true", help="print a line for each request")


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    if arguments.what == "aside":
        return _aside(arguments)
    if arguments.names or arguments.back:
        raise BadRequest("a NAME and --back are about what is laid aside: say `jim pages aside 12`")
    if arguments.what == "token":
        return _token(arguments)
    if arguments.list or arguments.revoke:
        raise BadRequest("--list and --revoke are about tokens: say `jim pages token --list`")
    try:
        from jim.pages.export import export
        from jim.pages.serving import serve, serve_at
    except ImportError as error:
        raise BadSite(_needed(error.name or "")) from error
    if arguments.export:
        number, to = refuse_local_job(arguments.export[0], "pages --export"), Path(arguments.export[1])
        written = export(number, to)
        say(f"{len(written):,} files in {arguments.export[1]}; {written[0].name} is the first page")
        return 0
    _log(whole=arguments.log)
    if arguments.socket:
        return _at_socket(serve_at, Path(arguments.socket), whole=arguments.site)
    return _on_loopback(serve, arguments.port, whole=arguments.site)


def _needed(missing: str) -> str:
    """Return what the pages need, and how the Python that runs JIM gets it: Debian's packages reach no other one."""
    what = f"jim pages needs Flask, Jinja2 and waitress, and {sys.executable} has no {missing}"
    how = f"run {how_to_install(LIBRARIES)}"
    return f"{what}: {how}" if sys.prefix != sys.base_prefix else f"{what}: on Debian, {OF_DEBIAN}; elsewhere, {how}"


def _log(*, whole: bool) -> None:
    """Log each request, or only what somebody has done or was refused to do."""
    handler = logging.StreamHandler(sys.stderr)
    if not whole:
        handler.addFilter(lambda line: line.levelno >= (logging.WARNING if line.name[:4] == "jim." else logging.ERROR))
    handler.setFormatter(OneLine("%(message)s"))
    logging.basicConfig(level=logging.INFO if whole else logging.WARNING, handlers=[handler])


def _on_loopback(serve: Callable[..., Any], port: int, *, whole: bool) -> int:
    """Serve one person until Ctrl-C."""
    site = site_file.load()
    accounts = _accounts(site) if whole else None
    refuse_root(managed=site.managed)
    try:
        serving = serve(site, port, run_grid_job.wake, accounts)
    except OSError as error:
        if error.filename is not None:  # a port has no name
            raise BadSite(f"cannot use the state directory: {error}; {site_file.remedy(site)}") from error
        raise BadRequest(
            f"port {port} cannot be used: {in_words(error)}; leave out --port, and JIM takes a free port"
        ) from error
    say(TOLD.format(url=serving.url, tunnel=serving.tunnel))
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        serving.run()
    return 0


def _at_socket(serve_at: Callable[..., Any], path: Path, *, whole: bool) -> int:
    """Serve a web server until Ctrl-C or SIGTERM."""
    try:
        site = site_file.load()
        serving = serve_at(site, path, _ring, _accounts(site) if whole else None)
    except OSError as error:
        raise BadRequest(f"the socket {path} cannot be made: {in_words(error)}") from error
    say(f"the pages answer at the socket {path}")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        serving.run()
    return 0


def _accounts(site: Site) -> Accounts:
    """Return the accounts of the site, as far as this account may read what they publish."""
    if site.managed and os.geteuid() == 0:
        raise BadRequest(
            "--site reads what the accounts publish for their group: run it as an account of it, not as root"
        )
    return Accounts(site)


def _ring(state: Path) -> None:
    """Call the keeper. None is started: the service of the pages could not run one, so the timer or a poll does."""
    if runs(state):
        ring(state)


def _aside(arguments: argparse.Namespace) -> int:
    """Lay grid jobs or tasks aside, bring them back, or list them."""
    from jim.doors import inbox
    from jim.pages.laid_aside import LaidAside, name_of, named
    from jim.reading.view import look

    if bool(arguments.names) == arguments.list:
        raise BadRequest("say what to lay aside, such as `jim pages aside 12`, or `jim pages aside --list`")
    view = look()
    with closing(view.store):
        aside = LaidAside(view.site.state)
        if arguments.list:
            rows = ((name_of(thing), local_time(each.at), each.by) for thing, each in aside.things(view, MOST_LISTED))
            table(("NAME", "SINCE", "BY"), rows)
            return 0
        for name in arguments.names:
            if arguments.back:
                say(f"{name} is on the overview again" if aside.bring(name) else f"{name} was not laid aside")
                continue
            aside.lay(named(view, name), inbox.by("the command line"), view.now())
            say(f"{name} is laid aside; `jim pages aside --back {name}` brings it back")
    return 0


def _token(arguments: argparse.Namespace) -> int:
    """Make a token, or list or revoke tokens."""
    from jim.pages.tokens import Tokens

    site = site_file.load()
    refuse_root(managed=site.managed)
    tokens = Tokens(site.state)
    if arguments.revoke:
        tokens.revoke(arguments.revoke)
        say(f"token {arguments.revoke} is revoked, and the sessions that it began have ended")
        acted(site, "pages token --revoke", arguments.revoke)
    elif arguments.list:
        table(("NAME", "ROLE", "UNTIL"), ((each.name, each.role, _until(each.until)) for each in tokens.listed()))
    else:
        site_file.make_state(site)
        token, secret = tokens.made(arguments.role, arguments.days)
        say(secret)
        sys.stdout.flush()
        say(MADE.format(name=token.name, role=token.role, until=_until(token.until)), stream=sys.stderr)
        acted(site, "pages token", f"{token.name}, role {token.role}, until {shown_time(token.until)}")
    return 0


def _until(end: float) -> str:
    return local_time(shown_time(end))
