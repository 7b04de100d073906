"""The command line of the local batch system. Verbs print a count, the lines, and `end`; errors are one line."""

from __future__ import annotations

import argparse
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from jim.clock import Clock
from jim.errors import JimError
from jim.localbatch.area import LOG_FILE, Lock, connect, wake
from jim.localbatch.queue import Key, Order, Queue, Row

NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
LARGEST_ARRAY = 10_000
LARGEST_NUMBER = 1_000_000_000
LARGEST_LOG = 1_000_000
LARGEST_AGE = 36_500
MAKE_AREA = ("init", "submit", "ping")
CANNOT_ANSWER, CANNOT_RECORD = 74, 75  # EX_IOERR, EX_TEMPFAIL of sysexits.h


class Reply(NamedTuple):
    """The output of a verb: lines for stdout; complaints for stderr, with exit code 1."""

    lines: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors."""

    def __init__(self, **options: Any) -> None:
        # With a fixed width the parser does not import shutil, which saves a tenth of every verb's time.
        super().__init__(**options, formatter_class=partial(argparse.HelpFormatter, width=100))

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with code 2."""
        self.exit(2, f"localbatch: {message}\n")


def main(words: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit code."""
    words = sys.argv[1:] if words is None else words
    asked = parser(*_verb(words)).parse_args(words)
    directory = asked.area.absolute()
    try:
        if asked.verb == "serve":
            return serve(directory, asked.lock)
        with closing(connect(directory, make=asked.verb in MAKE_AREA)) as db:
            reply = VERBS[asked.verb](Queue(db, Clock()), asked)
    except JimError as error:
        return _complain(f"localbatch: {error}", 1)
    except (sqlite3.Error, OSError) as error:
        return _complain(f"localbatch: cannot record: {error}", CANNOT_RECORD)
    return max(_tell(reply), _wake(directory, asked.verb))


def _tell(reply: Reply) -> int:
    for complaint in reply.complaints:
        _complain(complaint, 1)
    try:
        sys.stdout.write("".join(f"{line}\n" for line in reply.lines))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python reports the error again when it ends
        return _complain(f"localbatch: done, but cannot answer: {error}", CANNOT_ANSWER)
    return 1 if reply.complaints else 0


def _wake(directory: Path, verb: str) -> int:
    """Start the daemon. Without a daemon, recorded changes stay valid; only `ping` fails."""
    try:
        wake(directory)
    except OSError as error:
        return _complain(f"localbatch: cannot start the daemon: {error}", 1 if verb == "ping" else 0)
    return 0


def _complain(message: str, code: int) -> int:
    sys.stderr.write(message + "\n")
    return code


def _verb(words: Sequence[str]) -> Sequence[str]:
    """Return the verb of `--area DIR VERB …`, the form that JIM uses; empty for any other form."""
    return words[2:3] if words[:1] == ["--area"] and words[2:3] and words[2] in MEANINGS else ()


def parser(*verbs: str) -> Parser:
    """Return a parser of these verbs, or of all: a parser of all takes a tenth of a verb's time."""
    whole = Parser(prog="localbatch", description="a tiny batch system for one machine")
    whole.add_argument(
        "--area", type=Path, required=True, help=f"directory of the queue; {', '.join(MAKE_AREA)} make it"
    )
    known = whole.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in verbs or MEANINGS:
        words = known.add_parser(verb, help=MEANINGS[verb], description=MEANINGS[verb])
        for name, options in ARGUMENTS.get(verb, {}).items():
            words.add_argument(name, **options)
    return whole


def _number(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected a number from 1 to {most}, found {text!r}")
        return int(text)

    return number


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected up to 200 of A-Z a-z 0-9 _ -, found {text!r}")
    return text


def _script(text: str) -> str:
    if not text.isprintable():  # the queue cannot store text that is not UTF-8, either
        raise argparse.ArgumentTypeError(f"cannot keep a path like {text!a}")
    return str(Path(text).absolute())


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text):
        raise argparse.ArgumentTypeError(f"expected seconds, found {text!r}")
    return float(text)


def _key(text: str) -> Key:
    """Read ID or ID.INDEX; any other text is 0, which belongs to no job."""
    match = re.fullmatch(r"([0-9]{1,15})(?:\.([0-9]{1,15}))?", text)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _framed(what: str, rows: Sequence[Row]) -> Reply:
    lines = ("|".join("-" if field in (None, "") else str(field) for field in row) for row in rows)
    return Reply((f"{what} {len(rows)}", *lines, "end"))


def init(queue: Queue, asked: argparse.Namespace) -> Reply:
    """Make the area if it is missing, and change the given settings."""
    queue.configure(asked.slots, asked.grace, asked.idle, asked.history_days)
    return Reply()


def submit(queue: Queue, asked: argparse.Namespace) -> Reply:
    """Store a job and return its id."""
    order = Order(asked.name, asked.script, asked.array, asked.wall, asked.memory_mb, asked.queue)
    return Reply((str(queue.submit(order)),))


def list_(queue: Queue, _: argparse.Namespace) -> Reply:
    """Return ID|INDEX|STATE|NAME of live tasks."""
    return _framed("jobs", queue.live())


def history(queue: Queue, asked: argparse.Namespace) -> Reply:
    """Return ID|INDEX|STATE|EXIT|SIGNAL|REASON|NAME of ended tasks."""
    return _framed("jobs", queue.history([_key(text) for text in asked.ids]))


def find(queue: Queue, asked: argparse.Namespace) -> Reply:
    """Return the same of all tasks with this name, live or ended."""
    return _framed("jobs", queue.find(asked.name))


def ledger(queue: Queue, _: argparse.Namespace) -> Reply:
    """Return SEQ|TIME|EVENT|ID|INDEX|NAME|DETAIL of all events."""
    return _framed("events", queue.ledger())


def change(queue: Queue, asked: argparse.Namespace) -> Reply:
    """Apply or record the verb for all known jobs, and complain about unknown ones."""
    texts = {_key(text): text for text in asked.ids}
    return Reply(complaints=tuple(f"unknown job {texts[key]}" for key in queue.change(asked.verb, list(texts))))


def ping(queue: Queue, _: argparse.Namespace) -> Reply:
    """Write the queue as a test, and return the counts of live tasks."""
    with queue.transaction():
        counts = queue.counts()
    full = (f"{state} {count}" for state, count in counts.items())
    return Reply((" ".join([f"slots {queue.settings().slots}", *full]),))


def serve(directory: Path, descriptor: int | None) -> int:
    """Run the daemon; with a lock's descriptor, in the background."""
    from jim.localbatch import daemon  # only the daemon needs psutil and logging

    connect(directory).close()
    lock = Lock.open(directory) if descriptor is None else Lock(descriptor)
    if not lock.take():
        return _complain(f"localbatch: another daemon serves {directory}", 1)
    if descriptor is not None:
        _to_log(directory / LOG_FILE)
    daemon.serve(directory, lock)
    return 0


def _to_log(file: Path) -> None:
    """Send stdout and stderr to a file, so that Python's last words can be read."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.fstat(descriptor).st_size > LARGEST_LOG:
        os.ftruncate(descriptor, 0)
    os.dup2(descriptor, 2)
    os.close(descriptor)


MEANINGS = {
    "init": "make the area, or change its settings",
    "submit": "store a job and print its id",
    "list": "print live tasks: ID|INDEX|STATE|NAME",
    "history": "print how jobs ended: ID|INDEX|STATE|EXIT|SIGNAL|REASON|NAME",
    "find": "print all tasks of a name, live or ended, as history does",
    "cancel": "end jobs: TERM, and after a grace KILL",
    "hold": "keep pending jobs from starting",
    "release": "let held jobs start",
    "suspend": "stop running jobs; their slots become free",
    "resume": "continue suspended jobs, once slots are free",
    "ping": "exit 0 if the queue can be read and written, and a daemon serves it",
    "ledger": "print all events of known jobs: SEQ|TIME|EVENT|ID|INDEX|NAME|DETAIL",
    "serve": "run the daemon; other verbs start it by themselves",
}
VERBS: dict[str, Callable[[Queue, argparse.Namespace], Reply]] = {
    "init": init, "submit": submit, "list": list_, "history": history, "find": find, "ping": ping, "ledger": ledger,
    **dict.fromkeys(("cancel", "hold", "release", "suspend", "resume"), change),
}  # fmt: skip
_IDS: dict[str, dict[str, Any]] = {"ids": {"metavar": "ID[.INDEX]", "nargs": "+"}}
ARGUMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "init": {
        "--slots": {"type": _number(LARGEST_ARRAY), "metavar": "N", "help": "tasks at once; default: the processors"},
        "--grace": {"type": _seconds, "metavar": "SECONDS", "help": "between TERM and KILL; default: 10"},
        "--idle": {"type": _seconds, "metavar": "SECONDS", "help": "until a daemon without work ends; default: 60"},
        "--history-days": {
            "type": _number(LARGEST_AGE),
            "metavar": "DAYS",
            "help": "days of use that an ended job stays known; default: 30",
        },
    },
    "submit": {
        "--name": {"type": _name, "required": True, "metavar": "NAME"},
        "--wall": {"type": _number(LARGEST_NUMBER), "metavar": "SECONDS", "help": "time limit; default: none"},
        "--array": {"type": _number(LARGEST_ARRAY), "default": 1, "metavar": "K", "help": "indices 1 to K"},
        "--memory-mb": {"type": _number(LARGEST_NUMBER), "metavar": "M", "help": "memory limit in MB; default: none"},
        "--queue": {"type": _name, "metavar": "Q", "help": "recorded: there is only one"},
        "script": {"type": _script, "metavar": "SCRIPT", "help": "an executable file"},
    },
    "find": {"name": {"type": _name, "metavar": "NAME"}},
    "serve": {"--lock": {"type": int, "help": argparse.SUPPRESS}},
    **dict.fromkeys(("history", "cancel", "hold", "release", "suspend", "resume"), _IDS),
}


if __name__ == "__main__":
    os._exit(main())  # at once: Python's own clean-up takes a fifth of a verb's time
