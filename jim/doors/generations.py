"""Generations of a key: grid jobs that a gatekeeper has submitted, one after the other, with the same key.

Some gatekeepers cancel a job, and later submit it again with the same key: the user wants it once more. They also
repeat a submission whose answer they have lost. Only a cancel by the same door in between tells the two apart: the wish
to cancel, once durable, is the mark. So generation n + 1 begins with the first submission after the door's own cancel
of generation n, and every other submission is the same grid job.

The first generation has the gatekeeper's key, the second one KEY#2. A file in `keys/` has the number of the last one.
"""

from __future__ import annotations

import json
from contextlib import closing, suppress
from pathlib import Path

from jim.clock import Clock
from jim.doors import inbox
from jim.errors import JimError, UnknownJob
from jim.files import locked, read_regular, replace_durably
from jim.model import Verb

LONGEST_NUMBER, LONGEST_GENERATION = 100, 18  # bytes of its file; digits


def key_of(key: str, generation: int) -> str:
    """Return the key of a grid job: the gatekeeper's, with the number of a later generation."""
    return key if generation == 1 else f"{key}#{generation}"


def before(state: Path, key: str) -> int:
    """Return the grid job of the generation before that of a key; 0: there is none, or none any more."""
    first, generation = _parted(key)
    return _number(state, first, generation - 1) if generation > 1 else 0


def is_behind(state: Path, key: str) -> bool:
    """Tell whether the generation before that of a key is still in the inbox: the store must know it first."""
    first, generation = _parted(key)
    return (state / "inbox" / inbox.request_name(key_of(first, generation - 1))).exists()


def current(state: Path, key: str, door: str) -> str:
    """Return the key of the generation that a submission through a door means; begin one after the door's cancel."""
    generation = last(state, key)
    number = _number(state, key, generation)
    if number and is_cancelled(state, number, door):
        generation = begin(state, key, generation)
    return key_of(key, generation)


def number_of_last(state: Path, key: str) -> int:
    """Return the grid job of the last generation of a gatekeeper's key; 0: there is none, or none any more."""
    return _number(state, key, last(state, key))


def last(state: Path, key: str) -> int:
    """Return the number of the last generation of a gatekeeper's key."""
    file = _file(state, key)
    try:
        return int(read_regular(file, LONGEST_NUMBER))
    except FileNotFoundError:
        return 1
    except ValueError as error:
        raise JimError(f"{file} is broken: expected the number of a generation") from error


def begin(state: Path, key: str, after: int) -> int:
    """Begin the generation that follows `after`, once, whoever asks; return the number of the last generation."""
    with locked(state / "next-id.lock"):
        if last(state, key) == after:
            replace_durably(_file(state, key), f"{after + 1}\n".encode())
        return last(state, key)


def free(state: Path, key: str, number: int) -> None:
    """Free the key of a grid job that is removed; with its last generation, forget what is kept of all of them."""
    first, generation = _parted(key)
    is_its = inbox.kept_id(state, inbox.request_name(key)) == number
    if is_its and last(state, first) == generation:
        for file in (_file(state, first), told_file(state, first)):
            file.unlink(missing_ok=True)
    inbox.free(state, key, number)


def _parted(key: str) -> tuple[str, int]:
    first, _, number = key.rpartition("#")
    is_one = first and number.isascii() and number.isdecimal() and len(number) <= LONGEST_GENERATION
    return (first, int(number)) if is_one else (key, 1)


def _file(state: Path, key: str) -> Path:
    return state / "keys" / f"last-{inbox.request_name(key)}"


def told_file(state: Path, key: str) -> Path:
    """Return the file in which a door keeps what it has told of a key's last grid job."""
    return state / "keys" / f"told-{inbox.request_name(key)}"


def _number(state: Path, key: str, generation: int) -> int:
    return inbox.known(state, key_of(key, generation), {}, None)


def is_cancelled(state: Path, number: int, door: str) -> bool:
    """Tell whether a door has cancelled a grid job. A wish is in the inbox until the store has it."""
    return _wishes_to_cancel(state, number, door) or _has_been_cancelled(state, number)


def is_to_end(state: Path, number: int, door: str) -> bool:
    """Tell whether a grid job has ended, or will, because somebody has cancelled it."""
    if _wishes_to_cancel(state, number, door):
        return True
    from jim.statusdb import is_there, open_store

    if not is_there(state):
        return False
    with closing(open_store(state, Clock())) as store:
        try:
            job = store.grid_job(number) if store.is_made() else None
        except UnknownJob:  # in the inbox still, or removed
            return False
        return bool(job and (job.wish == Verb.CANCEL or job.outcome))


def _wishes_to_cancel(state: Path, number: int, door: str) -> bool:
    for name in inbox.names(state):
        if inbox.wish_of(name) == number:
            with suppress(FileNotFoundError):  # taken into the store just now
                wish = json.loads(read_regular(state / "inbox" / name, inbox.LONGEST))
                if (wish["verb"], wish["target"], wish.get("door")) == (Verb.CANCEL, str(number), door):
                    return True
    return False


def _has_been_cancelled(state: Path, number: int) -> bool:
    from jim.statusdb import is_there, open_store  # most submissions have a new key

    if not is_there(state):
        return False
    with closing(open_store(state, Clock())) as store:
        return store.is_made() and store.at_doors.of(number).cancelled
