"""jim run: runs a program as a grid job, from the command line: its output is printed, and its exit code is JIM's."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from shlex import quote
from typing import Any

from jim import run_grid_job
from jim.cli.arguments import whole_number
from jim.cli.text import escaped, plain, warn
from jim.cli.watch import follow, interrupted
from jim.doors.serving import Interrupted, taken_in
from jim.errors import BadRequest, JimError, in_words
from jim.evidence.exit_record import read_exit_record
from jim.files import open_regular
from jim.handlers.base import COMMON
from jim.jobs import Attempt
from jim.model import State
from jim.reading.documents.files import log_files, missing
from jim.reading.view import View, look
from jim.work.program import is_on_path, is_regular, require_own

RESOURCES = ("queue", "account", "wall_seconds", "memory_mb", "cores", "disk_mb", "gpus", "constraint", "licences")
INPUT = "a file or directory to send along; the program finds it in its directory; may be repeated"
OUTPUT = "a file, or a pattern such as '*.dat', that the program makes and the tar brings back; may be repeated"
BLOCK = 65_536
OF_SIGNAL = 128  # added to the number of a signal, as shells do


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim run`."""
    parser.add_argument("--each", metavar="WORDS", help="one local job for each of these words, its last argument")
    parser.add_argument("--name", help=COMMON["name"].help)
    for each in RESOURCES:
        kind = whole_number(1) if COMMON[each].kind is int else str
        parser.add_argument(f"--{each.replace('_', '-')}", type=kind, metavar=_metavar(each), help=COMMON[each].help)
    parser.add_argument("--input", metavar="FILE", action="append", default=[], help=INPUT)
    parser.add_argument("--output", metavar="FILE", action="append", default=[], help=OUTPUT)
    program = (
        "a file here, such as ./ok.sh, which is sent along; or a program that worker nodes have, on PATH or as /PATH"
    )
    parser.add_argument("program", metavar="PROGRAM", help=program)
    words = parser.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="its arguments, as they are")
    words.required = False  # argparse would say that they are missing, too


def _metavar(name: str) -> str:
    return "N" if COMMON[name].kind is int else "WORD"


def run(arguments: argparse.Namespace) -> int:
    """Hand in the program, follow it to its end, print what it has printed, and exit as it did."""
    request = _request(arguments)
    warn(_not_executable(arguments.program))
    warn(_not_taken(arguments.program))
    warn(_behind(arguments.program, arguments.arguments))
    warn(_not_sent([*arguments.arguments, *(arguments.each or "").split()], request.get("inputs", ())))
    number = _handed_in(request)
    print(f"grid job {number}; `jim explain {number}` says what it waits for", file=sys.stderr)
    with interrupted([number]), redirect_stdout(sys.stderr):  # stdout is the program's
        code = follow(number)
    view = look()
    ends = _ends(view, number)
    for end in ends:
        if arguments.each is not None:
            print(_whose(end, arguments.each.split()), file=sys.stderr)
        warn(_lost(view, end))
        _print(view, end)
    return next((each for each in map(_code, ends) if each), code)


def _request(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the request that the command line makes."""
    given = {name: getattr(arguments, name) for name in ("name", *RESOURCES)}
    request: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    request |= {"job_type": "executable", "arguments": arguments.arguments, **_program(arguments.program)}
    if inputs := [*request.get("inputs", ()), *(str(Path(each).absolute()) for each in arguments.input)]:
        request["inputs"] = inputs
    if arguments.output:
        request["outputs"] = arguments.output
    if arguments.each is not None:
        if not (words := arguments.each.split()):
            raise BadRequest("--each needs at least one word: each is the last argument of a local job")
        request |= {"job_type": "parametric", "argument_sets": [[word] for word in words]}
    return request


def _program(word: str) -> dict[str, Any]:
    """Return the program as a shell would find it: a path, a program on PATH, or else a file in this directory."""
    if word.startswith("/") or ("/" not in word and is_on_path(word)):
        return {"executable": word}
    path = Path(word).absolute()
    if os.path.isdir(path):  # noqa: PTH112 - without an error where this account may not look
        raise BadRequest(f"{path} is a directory, and no program")
    if not is_regular(path):
        where = "" if "/" in word else ", nor a program of this name in a directory of PATH"
        raise BadRequest(f"there is no file {path} that this account can see{where}")
    if "/" not in word:
        require_own(path)
    return {"executable": f"./{path.name}", "inputs": [str(path)]}


def _not_executable(program: str) -> Iterator[str]:
    """Tell of a program by its whole path that may not be executed here: worker nodes may have another one there."""
    if program.startswith("/") and is_regular(Path(program)) and not os.access(program, os.X_OK):
        yield f"{program} cannot be executed here; `chmod +x` allows it"


def _not_taken(program: str) -> Iterator[str]:
    """Tell of a file here that has the name of a program on PATH."""
    if "/" not in program and is_on_path(program) and is_regular(Path(program)):
        yield f"the {program} on PATH runs; `jim run ./{quote(program)} …` sends the one here along"


def _behind(program: str, words: Sequence[str]) -> Iterator[str]:
    """Tell of a `--each` that the program gets: unlike other options of ours, hardly any program has it."""
    if any(word == "--each" or word.startswith("--each=") for word in words):
        usual = f"`jim run --each WORDS {quote(program)} …` makes local jobs"
        yield f"--each stands behind {program}, which gets it: {usual}"


def _not_sent(words: Sequence[str], inputs: Sequence[str]) -> Iterator[str]:
    """Tell of each argument that is a file here, but that the program will look for in vain."""
    names = {Path(each).name for each in inputs}
    for word in dict.fromkeys(words):
        path = Path(word)
        if not path.is_absolute() and path.name not in names and is_regular(path):
            yield f"{word} is a file here, but is not sent along: `jim run --input {quote(word)} …` sends it"


def _handed_in(request: dict[str, Any]) -> int:
    """Hand in a request that no file has: what is wrong with it is told without a place."""
    with tempfile.TemporaryDirectory(prefix="jim-run-") as place:
        file = Path(place, "request.json")
        file.write_text(json.dumps({"job_type": request["job_type"]}))
        try:
            return run_grid_job.submit(file, **request)
        except Interrupted as interrupt:
            raise KeyboardInterrupt(taken_in(interrupt.number)) from None


def _ends(view: View, number: int) -> list[Attempt]:
    """Return the last attempt at each local job."""
    last = {attempt.n: attempt for attempt in view.store.attempts(number)}
    return [last[n] for n in sorted(last)]


def _whose(attempt: Attempt, words: Sequence[str]) -> str:
    """Say whose output follows, and how its program has ended."""
    ended = f"{attempt.verdict}: {attempt.reason}" if attempt.reason else attempt.verdict
    return plain(f"{attempt.grid}.{attempt.n} ({words[attempt.n]}) {ended}")


def _lost(view: View, attempt: Attempt) -> Iterator[str]:
    """Tell that nobody finds what a program that has ended has printed: it is not as if it had printed nothing."""
    if attempt.record and not any(map(os.path.lexists, log_files(view, attempt).values())):
        yield f"what {attempt.grid}.{attempt.n} has printed is not there: {missing(view, attempt.grid)}"


def _print(view: View, attempt: Attempt) -> None:
    """Print what an attempt has printed: on a terminal escaped, else each byte."""
    files = log_files(view, attempt)
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        for block in _blocks(files[name]):
            if stream.isatty():
                stream.write(escaped(block.decode(errors="backslashreplace")))
            else:
                stream.flush()
                stream.buffer.write(block)
    sys.stdout.flush()


def _blocks(path: Path) -> Iterator[bytes]:
    """Read a file; tell what cannot be read. What the caller cannot write is no error of this."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            while block := file.read(BLOCK):
                yield block
    except FileNotFoundError:  # the program never began
        return
    except (OSError, JimError) as error:
        print(f"jim: {plain(in_words(error) if isinstance(error, OSError) else str(error))}", file=sys.stderr)


def _code(attempt: Attempt) -> int:
    """Return how the program of an attempt ended, as a shell would tell it; 0 also if nobody knows."""
    if not attempt.record or attempt.verdict == State.COMPLETED.value:
        return 0
    record = read_exit_record(attempt.record)
    return OF_SIGNAL + record.signal if record.signal is not None else record.code or 0
