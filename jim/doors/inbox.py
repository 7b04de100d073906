"""The inbox: doors store requests and wishes here durably, and the keeper takes them.

A request is one file per key, made by `link`, so that the same key always has the same id. The keeper commits the
request to the store, links its file into `keys/`, and only then removes the file from `inbox/`. If a door can link
another file for a key, the key's id is therefore already in `keys/`. That door returns this id, and the keeper drops
the second file.
"""

from __future__ import annotations

import json
import os
import pwd
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim.clock import Clock
from jim.doors.contract import Told, door_of
from jim.errors import BadRequest, JimError, UnknownJob
from jim.files import cut, locked, missed, read_regular, replace, replace_durably, sync_directory
from jim.model import Standing
from jim.site.whose import require_own

if TYPE_CHECKING:
    from jim.doors.contract import Door
    from jim.doors.identity import Apart

LONGEST = 4 * 1024 * 1024
ASIDE = ".unreadable-"  # the names of damaged files begin with this word


def deposit(
    state: Path,
    key: str,
    request: dict[str, Any],
    apart: Apart | None = None,
    door: Door | None = None,
    sender: dict[str, Any] | None = None,
    by: str = "",
    **beside: Any,
) -> int:
    """Store a request durably and return its grid job's id; the same key returns the same id.

    With `apart`, a different request with the same key is refused; `apart` names the parts that may differ. Without a
    door, the default door answers. `beside` is what the door keeps of the grid job, if there is anything (`AtDoor`).
    """
    require_own(state)
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
    content |= {name: value for name, value in {"sender": sender, "by": by, **beside}.items() if value}
    own = number if _linked(state, name, number, content) else 0
    return _accepted(state, key, request, apart, own)


def _linked(state: Path, name: str, number: int, content: dict[str, Any]) -> bool:
    """Store a request durably under the name of its key, unless another door was first: then its number is nobody's."""
    temporary = state / "inbox" / f".{name}.{number}"
    replace(temporary, json.dumps(content).encode(), durable=True)
    try:
        os.link(temporary, state / "inbox" / name)
        _make_durable(state / "inbox" / name)
        return True
    except FileExistsError:
        with suppress(OSError):  # nobody asks for that number
            (state / "answers" / str(number)).unlink(missing_ok=True)
        return False
    finally:
        with suppress(OSError):  # the request is submitted, even if a file cannot be removed
            temporary.unlink()


def _accepted(state: Path, key: str, request: dict[str, Any], apart: Apart | None, own: int) -> int:
    """Return the id of a key that is in the inbox now, as the number `own` or as that of another door.

    A file that cannot be read back just now makes no refusal of a request that is durable.
    """
    try:
        final = known(state, key, request, apart)
    except (OSError, JimError) as error:
        if not own or isinstance(error, BadRequest):
            raise
        return own
    if not final:
        raise JimError(f"someone removed the request from {state / 'inbox'} while JIM stored it; submit it again")
    return final


def known(state: Path, key: str, request: dict[str, Any], apart: Apart | None) -> int:
    """Return the id of a key; 0: the key is new. Refuse a different request with this key.

    `keys/` decides and is read last: only then may the inbox hold another door's file.
    """
    name = request_name(key)
    handed_in = content_of(state / "inbox" / name)
    found = content_of(state / "keys" / name) or handed_in
    if found and apart is not None:
        from jim.doors.identity import refuse_another  # most keys are new

        refuse_another(found, request, apart)
    return int(found.get("id", 0))


def request_of(state: Path, key: str) -> dict[str, Any]:
    """Return the request that was handed in with a key, as far as its file is kept; empty: there is none."""
    name = request_name(key)
    handed_in = content_of(state / "inbox" / name)  # first: the keeper moves it to the other place
    request: dict[str, Any] = (content_of(state / "keys" / name) or handed_in).get("request", {})
    return request


def _make_durable(path: Path) -> None:
    """Ensure that a file name is on the disk, or remove the file: the caller of a failed door submits again."""
    try:
        sync_directory(path.parent)
    except OSError as error:
        try:
            path.unlink()
        except FileNotFoundError:  # the keeper has taken it already
            return
        except OSError:  # the disk has become read-only, as after an error
            words = f"{error.strerror}; {path.name} may be taken from there all the same: look before you try again"
            raise JimError(f"{path.parent}: {words}") from error
        raise


def request_name(key: str) -> str:
    """Return the file name of a request key; it is safe, whatever characters the key has."""
    plain = key.encode()
    if len(plain) <= 100:
        return f"request-{plain.hex()}"
    import hashlib

    return f"request-{hashlib.sha256(plain).hexdigest()}-long"


def wish(state: Path, verb: str, target: str, **more: Any) -> Path:
    """Store a wish durably: a verb for a grid job `G`, a local job `G.n`, or slices such as `G.1-4,7`.

    Return its file, which the keeper removes once it has taken the wish.
    """
    number, slices = slices_of(target)
    answer(state, number)
    if slices:
        require_local_job(number, slices[-1][1], _size_of(state, number))
    return _store_wish(state, str(number), {"verb": verb, "target": target, **more})


def task_wish(state: Path, verb: str, name: str, **more: Any) -> Path:
    """Store a wish for a task durably; return its file, which the keeper removes once the wish is fulfilled."""
    return _store_wish(state, "task", {"verb": verb, "target": f"task:{name}", **more})


def wished(state: Path) -> dict[str, set[str]]:
    """Return the verbs of the wishes that the keeper has still to fulfil, by the names of their tasks."""
    found: dict[str, set[str]] = {}
    for path in list((state / "inbox").glob("wish-*-task-*")):
        with suppress(OSError, JimError):  # it is fulfilled just now
            content = _read(path)
            found.setdefault(str(content.get("target")).removeprefix("task:"), set()).add(str(content.get("verb")))
    return found


def _store_wish(state: Path, what: str, content: dict[str, Any]) -> Path:
    require_own(state)
    # Wishes are numbered after the existing ones: a changed clock must not reverse their order.
    turn_of = re.compile(r"wish-(\d{1,9})-", re.ASCII).match  # found once: thousands may wait
    there = map(turn_of, os.listdir(state / "inbox"))  # noqa: PTH208
    turn = 1 + max((int(found[1]) for found in there if found), default=0)
    path = state / "inbox" / f"wish-{turn:09d}-{what}-{os.urandom(12).hex()}"
    replace(path, json.dumps(content).encode(), durable=True)
    _make_durable(path)
    return path


def wish_of(name: str) -> int:
    """Return the grid job that a wish is for, from its file name; 0: an older JIM did not write it there."""
    found = re.fullmatch(r"wish-\d{1,9}-([1-9]\d{0,14})-[0-9a-f]{24}", name, re.ASCII)
    return int(found[1]) if found else 0


def answer(state: Path, number: int) -> bytes:
    """Return the output of a poll for a grid job."""
    try:
        return read_regular(state / "answers" / str(number), LONGEST)
    except FileNotFoundError:
        raise UnknownJob(f"there is no grid job {number} in {state}") from None


def require_local_job(grid: int, n: int, size: int) -> None:
    """Refuse a local job that a grid job does not have. A grid job before its split (size 0) may have any number."""
    if size and n >= size:
        raise UnknownJob(f"there is no local job {grid}.{n}: {grid} has {grid}.0 to {grid}.{size - 1}")


def _size_of(state: Path, number: int) -> int:
    """Return the number of local jobs of a grid job; 0 if the store does not know it or cannot be read now."""
    from jim.statusdb import open_store  # only a wish for a single local job needs the store

    try:
        with closing(open_store(state, Clock())) as store:
            return store.grid_job(number).size
    except JimError:
        return 0


def account() -> str:
    """Return the account of this process, from its uid: `HOME` and `USER` may name someone else."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def by(way: str) -> str:
    """Return who asks for something, and in which way, for the journal."""
    return f"{account()}, by {way}"


def account_in(by: str) -> str:
    """Return the account in what `by` has written."""
    return by.partition(",")[0]


def target_of(text: str) -> tuple[int, int | None]:
    """Read `G` or `G.n`."""
    found = re.fullmatch(r"([1-9]\d{0,14})(?:\.(0|[1-9]\d{0,8}))?", text, re.ASCII)
    if not found:
        raise UnknownJob(f"{text!r} is not an id: a grid job has a number such as 12, a local job a name such as 12.3")
    return int(found[1]), int(found[2]) if found[2] else None


def slices_of(text: str) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Read `G`, `G.n`, or slices such as `G.1-4,7`: sorted, both ends included; an empty list means all local jobs."""
    if re.search(r"\.\d+[-,]", text, re.ASCII):
        from jim.doors.target import parse  # most wishes name one or all local jobs, and doors know no others

        target = parse(text)
        return target.grid_job, target.slices
    number, n = target_of(text)
    return number, () if n is None else ((n, n),)


def arrived(state: Path) -> Iterator[tuple[Path, dict[str, Any] | Exception]]:
    """List the contents of the inbox: requests, then wishes in the order in which they were stored.

    A file that cannot be read is listed with the error.
    """
    for path in (state / "inbox" / name for name in names(state)):
        try:
            content = json.loads(read_regular(path, LONGEST))
        except (OSError, JimError) as error:
            yield path, error
        except (ValueError, RecursionError) as error:
            yield path, JimError(f"it is no JSON: {error}")
        else:
            yield path, content


def is_out_of_reach(error: Exception) -> bool:
    """Tell whether a file that cannot be read may be whole. Permission is given by people, so that is waited for."""
    return missed(error) or isinstance(error, PermissionError)


def names(state: Path) -> list[str]:
    """Return the names of complete files in the inbox."""
    return sorted(name for name in os.listdir(state / "inbox") if not name.startswith("."))  # noqa: PTH208


def handed_in_by(state: Path, sender: str) -> set[int]:
    """Return the numbers of all requests of a sender (`Sender.counted_as`) that the keeper has not taken yet."""
    from jim.jobs import sender_of  # only a site with limits counts

    found = set()
    for path in (state / "inbox").glob("request-*"):
        with suppress(OSError, AttributeError, JimError):
            content = content_of(path)
            if sender_of(content.get("sender", {})).counted_as == sender:
                found.add(int(content["id"]))
    return found


def put_aside(path: Path) -> Path:
    """Move a damaged file out of the way, to a place that only people look at; return the place."""
    return path.rename(path.with_name(f"{ASIDE}{cut(path.name)}"))


def keep(path: Path, content: dict[str, Any]) -> None:
    """Link a stored request into `keys/`: its key has the id of the stored row."""
    kept = path.parent.parent / "keys" / path.name
    with suppress(FileExistsError, FileNotFoundError):  # an earlier keeper did it, or a door took its file back
        os.link(path, kept)
    if kept_id(path.parent.parent, path.name) != content["id"]:
        replace_durably(kept, json.dumps(content).encode())
    path.unlink(missing_ok=True)


def taken(path: Path) -> None:
    """Remove a wish that the keeper has stored."""
    path.unlink(missing_ok=True)


def kept_id(state: Path, name: str) -> int:
    """Return the id that a key has in `keys/`; 0 if there is none, or if a power cut has emptied the file."""
    with suppress(JimError):
        return _read_id(state / "keys" / name)
    return 0


def forget_sender(state: Path, key: str, number: int) -> None:
    """Forget who sent a grid job, in the file of its key."""
    path = state / "keys" / request_name(key)
    kept = content_of(path)
    if kept.get("id") == number and kept.pop("sender", None):
        replace_durably(path, json.dumps(kept).encode())


def free(state: Path, key: str, number: int) -> None:
    """Free a key, if it belongs to that grid job: the next submission with the key makes a new grid job."""
    name = request_name(key)
    if kept_id(state, name) == number:
        (state / "keys" / name).unlink(missing_ok=True)


def drop(path: Path, number: int) -> None:
    """Remove the file and the answer of a door that lost; this door has returned the winner's id."""
    (path.parent.parent / "answers" / str(number)).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(path, LONGEST))
    except (ValueError, RecursionError) as error:
        raise JimError(f"{path} is broken: {error}") from error
    if not isinstance(content, dict):
        raise JimError(f"{path} is broken: expected a JSON object")
    return content


def content_of(path: Path) -> dict[str, Any]:
    """Return the content of a request's file, which has an id; empty: there is no such file."""
    try:
        content = _read(path)
    except FileNotFoundError:
        return {}
    if type(content.get("id")) is not int or content["id"] < 1:
        raise JimError(f"{path} is broken: it has no id of a grid job")
    return content


def _read_id(path: Path) -> int:
    return int(content_of(path).get("id", 0))


def ids(state: Path) -> Iterator[int]:
    """Return the numbers of all requests that are still in the inbox or in `keys/`."""
    for place in ("inbox", "keys"):
        for path in (state / place).glob("request-*"):
            with suppress(OSError, JimError):
                yield _read_id(path)


def _may_be_next(state: Path, number: int) -> bool:
    """Tell whether a counter file makes sense: one that is damaged or behind would give out a number twice."""
    return 0 < number < 10**15 and not os.path.lexists(state / "answers" / str(number))


def draw_id(state: Path, above: int = 0) -> int:
    """Return the next free number. It is never used twice, even if the counter file was lost."""
    with locked(state / "next-id.lock"):
        number = 0
        with suppress(FileNotFoundError, ValueError):
            number = int(read_regular(state / "next-id", LONGEST))
        if not _may_be_next(state, number):
            from jim.doors.numbers import after_all  # only here: it loads the store

            number = after_all(state, ids(state))
        number = max(number, above + 1)
        replace_durably(state / "next-id", f"{number + 1}\n".encode())
    return number
