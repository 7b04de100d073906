"""The inbox: where doors leave requests and wishes, durably, and the keeper takes them.

A request is one file per key, made by `link`, so that the same key always gives the same id. The
keeper takes it by committing it to the store, linking it into `keys/`, and only then removing it from
`inbox/`. So where a door can link another file for the key, its id stands in `keys/` already: that
door gives this id, and the keeper drops what it left.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import re
from collections.abc import Container, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim.clock import Clock
from jim.doors.contract import Told, door_of
from jim.errors import JimError, UnknownJob
from jim.files import cut, missed, read_regular, replace, replace_durably, sync_directory
from jim.model import Standing

if TYPE_CHECKING:
    from jim.doors.contract import Door
    from jim.doors.identity import Apart

LONGEST = 4 * 1024 * 1024


def deposit(
    state: Path, key: str, request: dict[str, Any], apart: Apart | None = None, door: Door | None = None
) -> int:
    """Make a request durable and return its grid job's id; the same key returns the same id.

    `apart` is what its door leaves out where the key comes again: with it, another request is refused then. Without a
    door, the default one answers.
    """
    door = door or door_of()
    number = known(state, key, request, apart)
    if number:
        return number
    name, number = request_name(key), draw_id(state)
    replace(state / "answers" / str(number), door.state(Told(number, Standing.ACCEPTED)))
    content = {"id": number, "key": key, "owner": account(), "created": Clock().utc(), "request": request}
    content |= {"nonce": os.urandom(8).hex(), "door": door.name}
    if apart is not None:
        content["apart"] = apart
    temporary = state / "inbox" / f".{name}.{number}"
    replace(temporary, json.dumps(content).encode(), durable=True)
    try:
        os.link(temporary, state / "inbox" / name)
    except FileExistsError:
        (state / "answers" / str(number)).unlink(missing_ok=True)
    else:
        _make_durable(state / "inbox" / name)
    with suppress(OSError):  # it is handed in, whatever is left behind
        temporary.unlink()
    final = known(state, key, request, apart)
    if not final:
        raise JimError(f"the request was taken away from {state / 'inbox'} while it was handed in; submit it again")
    return final


def known(state: Path, key: str, request: dict[str, Any], apart: Apart | None) -> int:
    """Give the id that a key has; 0: none. Another request of that key is refused.

    What is kept counts, and is read last: only then may another door's file be in the inbox.
    """
    name = request_name(key)
    handed_in = _read(state / "inbox" / name)
    found = _read(state / "keys" / name) or handed_in
    if found and apart is not None:
        from jim.doors.identity import refuse_another  # most keys are new

        refuse_another(found, request, apart)
    return int(found["id"]) if found else 0


def _make_durable(path: Path) -> None:
    """See that a name is on the disk, or take it back: who is told of a failure will hand in again."""
    try:
        sync_directory(path.parent)
    except OSError:
        try:
            path.unlink()
        except FileNotFoundError:  # the keeper has taken it already
            return
        raise


def request_name(key: str) -> str:
    """Name the file of a request key; whatever the key holds, the name holds no surprise."""
    plain = key.encode()
    if len(plain) <= 100:
        return f"request-{plain.hex()}"
    import hashlib

    return f"request-{hashlib.sha256(plain).hexdigest()}-long"


def wish(state: Path, verb: str, target: str, **more: Any) -> None:
    """Make a wish durable: a verb for a grid job `G`, a local job `G.n`, or slices such as `G.1-4,7`."""
    number, slices = slices_of(target)
    answer(state, number)
    if slices:
        require_local_job(number, slices[-1][1], _size_of(state, number))
    # Numbered after those that are there: a clock that was set must not turn their order round.
    there = (re.match(r"wish-(\d{1,9})-", each, re.ASCII) for each in os.listdir(state / "inbox"))  # noqa: PTH208
    turn = 1 + max((int(found[1]) for found in there if found), default=0)
    name = f"wish-{turn:09d}-{number}-{os.urandom(12).hex()}"
    replace_durably(state / "inbox" / name, json.dumps({"verb": verb, "target": target, **more}).encode())


def wish_of(name: str) -> int:
    """Tell by the name of a wish for which grid job it is; 0: an older JIM did not say."""
    found = re.fullmatch(r"wish-\d{1,9}-([1-9]\d{0,14})-[0-9a-f]{24}", name, re.ASCII)
    return int(found[1]) if found else 0


def answer(state: Path, number: int) -> bytes:
    """Give what a poll prints of a grid job."""
    try:
        return (state / "answers" / str(number)).read_bytes()
    except FileNotFoundError:
        raise UnknownJob(f"there is no grid job {number} in {state}") from None


def require_local_job(grid: int, n: int, size: int) -> None:
    """Refuse a number that no local job of a grid job has; one that is not split yet (size 0) may have any."""
    if size and n >= size:
        raise UnknownJob(f"there is no local job {grid}.{n}: {grid} has 0 … {size - 1}")


def _size_of(state: Path, number: int) -> int:
    """Look up how many local jobs a grid job has; 0 where the store does not know, or cannot be asked now."""
    from jim.statusdb import open_store  # only a wish for a single local job needs it

    try:
        with closing(open_store(state, Clock())) as store:
            return store.grid_job(number).size
    except JimError:
        return 0


def account() -> str:
    """Name the account that we run as, by its uid: `HOME` and `USER` may be anyone's."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def target_of(text: str) -> tuple[int, int | None]:
    """Read `G` or `G.n`."""
    found = re.fullmatch(r"([1-9]\d{0,14})(?:\.(0|[1-9]\d{0,8}))?", text, re.ASCII)
    if not found:
        raise UnknownJob(f"{text!r} is no id: a grid job is a number such as 12, a local job 12.3")
    return int(found[1]), int(found[2]) if found[2] else None


def slices_of(text: str) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Read `G`, `G.n`, or slices such as `G.1-4,7`: in order, both ends included; none means all."""
    if re.search(r"\.\d+[-,]", text, re.ASCII):
        from jim.doors.target import parse  # most wishes name one or all, and doors know no others

        target = parse(text)
        return target.grid_job, target.slices
    number, n = target_of(text)
    return number, () if n is None else ((n, n),)


def arrived(state: Path) -> Iterator[tuple[Path, dict[str, Any] | Exception]]:
    """List what was left: requests, then wishes in the order in which they were left.

    What is out of reach for a moment comes with the error, and is left where it is.
    """
    for path in (state / "inbox" / name for name in names(state)):
        try:
            content = json.loads(read_regular(path, LONGEST))
        except (OSError, ValueError, JimError, RecursionError) as error:
            if missed(error):
                yield path, error
            else:
                put_aside(path)
            continue
        yield path, content


def names(state: Path) -> list[str]:
    """Give the names of what lies in the inbox, and is finished."""
    return sorted(name for name in os.listdir(state / "inbox") if not name.startswith("."))  # noqa: PTH208


def put_aside(path: Path) -> None:
    """Let a file that no door leaves lie where it is seen by people only."""
    path.rename(path.with_name(f".unreadable-{cut(path.name)}"))


def keep(path: Path, content: dict[str, Any]) -> None:
    """Put a request away that is stored: its key has the id of that row, and no other."""
    kept = path.parent.parent / "keys" / path.name
    with suppress(FileExistsError, FileNotFoundError):  # a keeper before us did it; a door took its file back
        os.link(path, kept)
    if kept_id(path.parent.parent, path.name) != content["id"]:
        replace_durably(kept, json.dumps(content).encode())
    path.unlink(missing_ok=True)


def taken(path: Path) -> None:
    """Remove a wish that was taken up."""
    path.unlink(missing_ok=True)


def kept_id(state: Path, name: str) -> int:
    """Give the id that a key keeps; 0 where it has none, or a power cut has left nothing of it."""
    try:
        return int(_read(state / "keys" / name).get("id", 0))
    except (ValueError, TypeError, AttributeError, JimError):
        return 0


def free(state: Path, key: str, number: int) -> None:
    """Free a key, if it is that grid job's: handed in from now on, it is another's."""
    name = request_name(key)
    if kept_id(state, name) == number:
        (state / "keys" / name).unlink(missing_ok=True)


def drop(path: Path, number: int) -> None:
    """Remove what a door left that lost, and its answer: it has given the winner's id."""
    (path.parent.parent / "answers" / str(number)).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(read_regular(path, LONGEST))
    except FileNotFoundError:
        return {}
    return content


def _read_id(path: Path) -> int:
    return int(_read(path).get("id", 0))


def hand_in_again(state: Path, known: Container[int], own: str) -> list[int]:
    """Let the keeper take again what was told to be taken in, and is neither known any more nor told to have ended.

    A door that has told so may be in `own`, the site's directory.
    """
    again = []
    for path in sorted((state / "keys").glob("request-*")):
        kept = _read(path)
        number = int(kept.get("id", 0))
        if number and number not in known and not _has_ended(state, number, kept.get("door", ""), own):
            with suppress(FileExistsError):
                os.link(path, state / "inbox" / path.name)
            again.append(number)
    sync_directory(state / "inbox")
    return again


def _has_ended(state: Path, number: int, door: str, own: str) -> bool:
    try:
        return door_of(door, own).is_final(answer(state, number))
    except UnknownJob:
        return False


def ids(state: Path) -> Iterator[int]:
    """Give the numbers of what was handed in, and is still there."""
    for place in ("inbox", "keys"):
        for path in (state / place).glob("request-*"):
            with suppress(OSError, ValueError, JimError):
                yield _read_id(path)


def draw_id(state: Path, above: int = 0) -> int:
    """Draw the next number. Never one that was given before, also when the counter was lost."""
    with (state / "next-id.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            number = int((state / "next-id").read_text())
        except (FileNotFoundError, ValueError):
            number = 1 + max(
                (int(each.name) for each in (state / "answers").iterdir() if each.name.isdigit()), default=0
            )
        number = max(number, above + 1)
        replace_durably(state / "next-id", f"{number + 1}\n".encode())
    return number
