"""jim logs: the output of an attempt at a local job, escaped."""

from __future__ import annotations

import argparse
import codecs
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from jim.cli import NotYet
from jim.cli.arguments import whole_number
from jim.cli.text import escaped, plain, say, say_json
from jim.doors.inbox import slices_of
from jim.errors import BadRequest, JimError, Unheard, UnknownJob
from jim.files import open_regular
from jim.jobs import Attempt, GridJob, LocalJob
from jim.model import Step
from jim.reading.documents.files import log_files, missing
from jim.reading.view import View, add_json, look

BLOCK = 65_536
FOLLOW_SECONDS = 0.5
DECODER = codecs.getincrementaldecoder("utf-8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim logs`."""
    parser.add_argument("target", metavar="G.n", help="a local job, or slices such as 12.1-4,7")
    parser.add_argument(
        "--attempt", metavar="K", type=whole_number(1), help="the number of an attempt; default: the latest"
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on with what comes, until the attempt has ended"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print stdout, stderr and the wrapper's own log."""
    if arguments.follow:
        return _follow(arguments)
    view = look()
    job, members = _members(view, arguments.target)
    several = len(members) > 1
    if several:  # local jobs without a submission must not hide the others
        members = [each for each in members if each.attempt] or members
    attempts = [attempt_of(view, each, arguments.attempt) for each in members]
    if arguments.json:
        records = [_record(view, job, *each) for each in zip(members, attempts, strict=True)]
        say_json(records if several else records[0])
        return 0
    paths = [path for each in attempts for path in _files(view, each)]
    if not any(os.path.lexists(path) for path in paths):
        raise _nothing(view, members, attempts)
    for path in paths:
        show_file(path)
    return 0


def _members(view: View, target: str) -> tuple[GridJob, list[LocalJob]]:
    job, members = view.members(target)
    if not members:
        raise BadRequest(f"`jim logs` needs a local job, for example {job.id}.0; {job.id} is a whole grid job")
    return job, members


def _follow(arguments: argparse.Namespace, pause: Callable[[float], None] = time.sleep) -> int:
    """Print what an attempt writes, until it has ended; wait if there is no attempt yet."""
    tail, number = Tail(), arguments.attempt
    while True:
        view = look()
        try:
            local = _one(view, arguments)
            attempt = _latest(view, local, number) if local else None
            number = attempt.attempt if attempt else number
            for path in _files(view, attempt) if attempt else ():
                tail.show(path)
        finally:
            view.store.close()
        if words := _ended(local, attempt):
            print(f"jim: {arguments.target}: {plain(words)}", file=sys.stderr)
            return 0
        pause(FOLLOW_SECONDS)


def _one(view: View, arguments: argparse.Namespace) -> LocalJob | None:
    """Return the local job to follow; None if its grid job is not split yet."""
    grid = view.grid_job(slices_of(arguments.target)[0])
    if grid.step in (Step.ACCEPTED, Step.RESOLVED) and not grid.outcome:
        return None
    _, members = _members(view, arguments.target)
    if len(members) != 1 or arguments.json:
        raise BadRequest("--follow is for one local job, and prints no JSON")
    return members[0]


def _ended(local: LocalJob | None, attempt: Attempt | None) -> str:
    """Return how it has ended, in words; none if there may be more."""
    if attempt and attempt.verdict:
        words = f"attempt {attempt.attempt} ended", attempt.verdict, attempt.reason
    elif not attempt and local and local.state.final:
        words = "", local.state.value, local.reason
    else:
        return ""
    return ": ".join(filter(None, words))


def _latest(view: View, local: LocalJob, number: int | None) -> Attempt | None:
    if not view.store.attempts(local.grid, n=local.n) and not local.state.final:
        return None  # it has not been submitted yet
    try:
        return attempt_of(view, local, number)
    except NotYet:  # it ended before it was submitted
        return None


class Tail:
    """Prints what is new in files that grow, under the name of the file."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[int, codecs.IncrementalDecoder]] = {}
        self._last: tuple[Path | None, str] = (None, "\n")  # the file printed last, and the last character

    def show(self, path: Path) -> None:
        """Print what was written since the last time; a file that does not exist may come."""
        begin, decoder = self._read.get(path, (0, DECODER("backslashreplace")))
        with suppress(FileNotFoundError), os.fdopen(open_regular(path), "rb") as file:
            file.seek(begin)
            while block := file.read(BLOCK):
                begin += len(block)
                self._say(path, decoder.decode(block))
        self._read[path] = begin, decoder

    def _say(self, path: Path, text: str) -> None:
        before, last = self._last
        if before != path:
            say(f"{'' if last == chr(10) else chr(10)}== {plain(path)}")
        sys.stdout.write(escaped(text))
        sys.stdout.flush()
        self._last = path, text[-1:] or last


def _nothing(view: View, members: list[LocalJob], attempts: list[Attempt]) -> JimError:
    """Explain why there is no file at all."""
    name = f"{members[0].grid}.{members[0].n}" + (" and the others" if len(members) > 1 else "")
    if any(each.started for each in attempts):
        return JimError(f"the logs of {name} are not there: {missing(view, members[0].grid)}")
    return NotYet(f"{name} did not start, so there are no logs; `jim explain {members[0].grid}` says more")


def _record(view: View, job: GridJob, local: LocalJob, attempt: Attempt) -> dict[str, Any]:
    files = list(map(_fact, _files(view, attempt)))
    return view.local_record(job, local) | {"attempt": attempt.attempt, "files": files}


def attempt_of(view: View, local: LocalJob, number: int | None, lacking: str = "there are no logs") -> Attempt:
    """Return an attempt at a local job; without a number, the latest."""
    attempts = view.store.attempts(local.grid, n=local.n)
    name = f"{local.grid}.{local.n}"
    if not attempts:
        raise NotYet(f"{name} has not been submitted yet, so {lacking}; `jim explain {name}` says why")
    if number is None:
        return attempts[-1]
    for attempt in attempts:
        if attempt.attempt == number:
            return attempt
    raise UnknownJob(f"there is no attempt {number} of {name}; it had {len(attempts)}")


def _files(view: View, attempt: Attempt) -> list[Path]:
    return list(log_files(view, attempt).values())


def _fact(path: Path) -> dict[str, Any]:
    size = None
    with suppress(OSError):
        size = path.lstat().st_size
    return {"path": str(path), "bytes": size}


def show_file(path: Path) -> None:
    """Print a file of a payload under its name, escaped."""
    say(f"== {plain(path)}")
    try:
        last = ""
        for text in _blocks(path):
            sys.stdout.write(escaped(text))
            last = text[-1:]
        if last != "\n":
            say("" if last else "(empty)")
    except FileNotFoundError:
        say("(does not exist)")
    except (OSError, JimError) as error:
        if isinstance(error, BrokenPipeError | Unheard):
            raise
        say(f"(cannot read it: {error})")


def _blocks(path: Path) -> Iterator[str]:
    decoder = DECODER("backslashreplace")
    with os.fdopen(open_regular(path), "rb") as file:
        while block := file.read(BLOCK):
            text = decoder.decode(block)
            if text:
                yield text
