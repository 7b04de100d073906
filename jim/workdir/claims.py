"""The claims of a submission's attempts, and what else attempts and the keeper leave beside them.

All that is written or decides goes through the opened directory: a payload may put a link in its place at any moment.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.errors import JimError
from jim.evidence.exit_record import LONGEST_RECORD, Claim, ExitRecord, read_claim, read_exit_record
from jim.files import passes, read_regular, replace_durably, sync_directory
from jim.workdir.pinned import pinned

LONGEST_CLAIM = 4096
STOP = "stop"  # in a submission directory: its carriers begin nothing more


class Trace(NamedTuple):
    """What one attempt has left in its submission directory."""

    claim: Claim | None
    touched: float  # time of the last touch of the claim, by the file server's clock
    exit_record: ExitRecord | None
    unreadable: bool = False  # the file cannot be read now, so there may be an exit record
    gone: bool = False  # the wrapper or its watcher says that no process is left, and that no record will come


def trace(directory: Path, index: int) -> Trace:
    """Read what an attempt left; an incomplete file counts as missing."""
    try:
        with pinned(directory) as here:
            return _trace(here, index)
    except FileNotFoundError:  # the directory is not there
        return Trace(None, 0.0, None)


def _trace(directory: Path, index: int) -> Trace:
    gone = _gone(directory, index)  # first: a claim that is gone leaves no exit record after this
    claim = _claim_of(directory, index)
    touched, record, unreadable = 0.0, None, False
    try:
        touched = (directory / f"claim.{index}").stat().st_mtime
    except OSError as error:
        unreadable = passes(error)
    try:
        record = read_exit_record(read_regular(directory / f"exit.{index}", LONGEST_RECORD).decode(errors="replace"))
    except OSError as error:
        unreadable = unreadable or passes(error)
    except JimError:
        pass
    return Trace(claim, touched, record, unreadable, bool(claim and claim.nonce and gone == claim.nonce))


def record_text(directory: Path, index: int) -> str:
    """Read the exit record of an attempt, as its wrapper wrote it."""
    with pinned(directory) as here:
        return read_regular(here / f"exit.{index}", LONGEST_RECORD).decode(errors="replace")


def _gone(directory: Path, index: int) -> str:
    """Return the nonce of the claim that has no process any more, if that is written."""
    try:
        lines = read_regular(directory / f"gone.{index}", 4096).decode(errors="replace").splitlines()
    except (OSError, JimError):  # so this proves nothing
        return ""
    facts = dict(line.partition(" ")[::2] for line in lines)
    return facts.get("nonce", "") if lines[-1:] == ["end"] else ""


def put_over(directory: Path, index: int, nonce: str, why: str) -> None:
    """Write durably, and once, that an attempt is given up, for any holder of its claim that still lives."""
    with pinned(directory) as here:
        own = here / f"o.{os.urandom(8).hex()}"
        replace_durably(own, f"nonce {nonce}\nwhy {why}\nend\n".encode())
        over = here / f"over.{index}"
        with suppress(FileExistsError):
            os.link(own, over)
        own.unlink()
        # Over NFS the answer of `link` can be lost. And a wrapper that looks makes a directory of this name for a
        # moment.
        if not stat.S_ISREG(over.lstat().st_mode):
            with suppress(OSError):
                over.rmdir()  # the wrapper's node may have died at this moment
            raise JimError(f"cannot write {over} now")
        sync_directory(here)


def stop_carriers(directory: Path, *, stops: bool) -> None:
    """Have the carriers of a submission claim nothing more, or go on; repeating this changes nothing."""
    with suppress(FileNotFoundError), pinned(directory) as here:
        if stops:
            replace_durably(here / STOP, b"")
        else:
            (here / STOP).unlink(missing_ok=True)


def has_begun(directory: Path, carriers: int) -> bool:
    """Tell whether any carrier of a submission has begun anything."""
    return any((directory / f"carried.{index}").exists() for index in range(1, carriers + 1))


def has_refused(directory: Path, index: int) -> bool:
    """Tell whether another start of an attempt found its claim taken."""
    return any(directory.glob(f"refused.{index}.*"))


def claim_of(directory: Path, index: int) -> Claim | None:
    """Read who holds a claim; a claim damaged by a power cut or a payload counts as taken."""
    try:
        with pinned(directory) as here:
            return _claim_of(here, index)
    except FileNotFoundError:  # the directory is not there
        return None


def _claim_of(directory: Path, index: int) -> Claim | None:
    try:
        return read_claim(read_regular(directory / f"claim.{index}", LONGEST_CLAIM).decode(errors="replace"))
    except FileNotFoundError:
        return None
    except JimError:
        return Claim(nonce="", host="", batch="", fence=False)


def fence(directory: Path, indices: Iterable[int]) -> dict[int, Claim]:
    """Take the claims of these attempts, so that they can never start; return the holder of each.

    Only reading the claim tells who won: over NFS the answer of `link` can be lost.
    """
    wanted = list(indices)
    with pinned(directory) as here:
        _take(here, wanted)
        holders = {index: _claim_of(here, index) for index in wanted}
    for index, holder in holders.items():
        if holder is None:
            raise JimError(f"JIM could neither take nor read {directory}/claim.{index}")
    return {index: holder for index, holder in holders.items() if holder}


def _take(directory: Path, indices: Iterable[int]) -> None:
    nonce = os.urandom(16).hex()
    own = directory / f"c.{nonce}"
    replace_durably(own, f"nonce {nonce}\nhost -\npid {os.getpid()}\nfence\n".encode())
    for index in indices:
        with suppress(FileExistsError):
            os.link(own, directory / f"claim.{index}")
    sync_directory(directory)


def claims(directory: Path) -> list[tuple[int, Claim]]:
    """Return every taken claim of a submission directory.

    If worker nodes do not see the directory, their claims stay on the nodes; an exit record that came back proves a
    claim.
    """
    try:
        with pinned(directory) as here:
            return list(_claims(here))
    except FileNotFoundError:
        return []


def _claims(directory: Path) -> Iterator[tuple[int, Claim]]:
    for name in os.listdir(directory):  # noqa: PTH208 - names suffice
        found = re.fullmatch(r"(claim|exit)\.([0-9]{1,9})", name)
        if found:
            index = int(found[2])
            of_claim = found[1] == "claim"
            claim = _claim_of(directory, index) if of_claim else _claim_told(_trace(directory, index).exit_record)
            if claim:
                yield index, claim


def _claim_told(record: ExitRecord | None) -> Claim | None:
    return record.claim if record else None
