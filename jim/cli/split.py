"""jim split: the pieces that a splitter makes of a request or of input files; nothing is stored."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from jim import request as requests
from jim.cli.table import table
from jim.cli.text import plain, say, say_json, warn
from jim.errors import BadRequest
from jim.reading.job.piece_inputs import mask_in_words, more
from jim.reading.view import add_json
from jim.site import file as site_file
from jim.site.file import Site
from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import jobs_in
from jim.splitting.registry import splits_requests
from jim.splitting.subscription import SUBSCRIPTION, Subscription
from jim.work.lookup import resolve
from jim.work.parts import subscription
from jim.work.pieces import herd_of, hints
from jim.work.splitters import find, jobs_of, known
from jim.work.splitters import parameters as checked_parameters

SHOWN = 50
COUNTED = 100_000  # the count stops here; a file may claim to have any number of events
HEAD = ("n", "files", "part", "sites", "arguments", "failed on creation")
NUMBERS = ("SplitID", "SplitSourceJob")  # not shown: the piece has a column, and the grid job does not exist yet
Record = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim split`."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a request; or a table with `files`, in TOML or JSON")
    parser.add_argument(
        "--with", metavar="SPLITTER", dest="splitter", help="the splitter, instead of the one in the request"
    )
    add_parameters(parser)
    add_json(parser)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the option for parameters of a splitter."""
    help_ = "a parameter of the splitter, with its value in JSON; may be repeated"
    parser.add_argument("-p", metavar="KEY=VALUE", dest="parameters", action="append", default=[], help=help_)


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each piece."""
    site = site_file.load()
    content = requests.read(arguments.file, site.site.handlers)
    given = parameters(arguments.parameters)
    if "job_type" in content:
        records = _of_request(content, arguments.splitter, given, site)
    else:
        records = _of_files(content, arguments.splitter, given, site)
    if arguments.json:
        say_json(list(records))
    else:
        _show(records)
    return 0


def parameters(words: list[str]) -> Record:
    """Read the values of `-p`."""
    return dict(map(_parameter, words))


def _parameter(text: str) -> tuple[str, Any]:
    name, is_given, value = text.partition("=")
    if not is_given or not name:
        raise BadRequest(f"-p {text}: expected KEY=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:  # a word needs no quotes
        return name, value


def _of_request(content: Record, splitter: str | None, given: Mapping[str, Any], site: Site) -> Iterator[Record]:
    if "splitter" not in requests.declarations(requests.handler_of(content["job_type"], site.site.handlers)):
        raise BadRequest(f"the job type {content['job_type']} takes no splitter: it makes its local jobs itself")
    if splitter:
        content = content | {"splitter": splitter, "splitter_parameters": {}}
    asked = content.get("splitter_parameters", {})
    if isinstance(asked, Mapping):  # otherwise it is refused with the rest
        content = content | {"splitter_parameters": {**asked, **given}}
    handler, request = requests.check(content, site.site.handlers)
    if not request.get("splitter"):
        raise BadRequest(f"the request names no splitter; use --with (known: {', '.join(known(site.site.handlers))})")
    request = dict(resolve(handler, request, site).request)
    warn(hints(handler, request, site.site))
    for n, piece in enumerate(herd_of(handler, request, 0, site.site, site.limits.local_jobs)):
        yield {"n": n, **{name: value for name, value in piece._asdict().items() if value not in (None, (), {}, "")}}


def _of_files(content: Record, splitter: str | None, given: Mapping[str, Any], site: Site) -> Iterator[Record]:
    """Split a fileset as the splitter sees it, with facts that only catalogues and workflows know."""
    if not splitter:
        raise BadRequest(f"FILE is not a request; use --with (known: {', '.join(known(site.site.handlers))})")
    module = find(splitter, site.site.handlers)
    if splits_requests(module):
        raise BadRequest(f"{splitter} splits requests, but FILE is not a request: it has no job_type")
    if content.keys() - SUBSCRIPTION.keys() or content.keys() - {"files"}:
        work = Subscription.from_record(content)
    else:  # only files, as in a request
        work = subscription({"input_files": content["files"], "splitter": splitter, "recovery": {}}, site.site.name)
    jobs = jobs_in(jobs_of(module, work, checked_parameters(module, given)))
    first = next(jobs, None)
    if first is None:
        why = "; the fileset is open, and too few files for a job wait" if work.waits else ""
        raise SplitError("files", None, f"{splitter} makes no job of this{why}")
    yield {"n": 0, **first.to_record()}
    yield from ({"n": n, **job.to_record()} for n, job in enumerate(jobs, 1))


def _show(records: Iterator[Record]) -> None:
    table(HEAD, map(_row, islice(records, SHOWN)))
    rest = sum(1 for _ in islice(records, COUNTED + 1))
    if rest > COUNTED:
        say(f"… and more than {COUNTED:,} more")
    elif rest:
        say(f"… and {rest:,} more (--json shows them)")


def _row(record: Record) -> tuple[object, ...]:
    files = record.get("files", ())
    code = record.get("failed_code")
    failed = record.get("failure") or f"{record.get('failed_reason', '')}{f' (code {code})' if code else ''}"
    return (
        record["n"],
        plain(f"{files[0]}{more(len(files) - 1)}") if files else "",
        plain(_part(record)),
        plain(", ".join(record.get("sites", ()))),
        plain(" ".join(record.get("arguments", ()))),
        failed,
    )


def _part(record: Record) -> str:
    """Describe a piece, except for its files and arguments."""
    own = {**record.get("variables", {}), **record.get("attributes", {})}
    words = [f", {name}={value}" for name, value in own.items() if name not in NUMBERS]
    return (mask_in_words(record.get("mask", {})) + "".join(words)).removeprefix(", ")
