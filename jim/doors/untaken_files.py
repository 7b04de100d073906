"""Files of the inbox that no keeper can take: this account may not read them, or they are damaged and lie aside."""

from __future__ import annotations

import os
from pathlib import Path

from jim.doors import inbox
from jim.errors import FEW, JimError
from jim.files import open_regular


def barred(state: Path) -> list[Path]:
    """Return the files in the inbox that this account may not read; its keeper tries again and again."""
    return [path for path in (state / "inbox" / name for name in inbox.names(state)) if _is_barred(path)]


def _is_barred(path: Path) -> bool:
    try:
        os.close(open_regular(path))
    except PermissionError:
        return True
    except (OSError, JimError):  # it is taken just now, or put aside
        return False
    return False


def aside(state: Path) -> list[Path]:
    """Return the damaged files that keepers have put aside."""
    names = os.listdir(state / "inbox")  # noqa: PTH208 - names suffice
    return [state / "inbox" / name for name in sorted(names) if name.startswith(inbox.ASIDE)]


def wish_for(path: Path) -> int:
    """Return the grid job of such a file, if it is a wish; 0: it is none, or it does not say."""
    return inbox.wish_of(path.name.removeprefix(inbox.ASIDE))


def remedy(path: Path) -> str:
    """Say how the account gets permission to read a file."""
    try:
        own = path.lstat().st_uid == os.geteuid()
    except OSError:
        own = False
    how = f"chmod u+r {path}" if own else f"chown {inbox.account()} {path}"
    return f"`{how}` lets JIM read it{'' if own else ' (as root)'}"


def hint(state: Path, number: int) -> str:
    """Say which files may be the request of a grid job that a door has accepted, and no keeper knows; empty: none."""
    if not (state / "answers" / str(number)).exists():
        return ""
    hints = [f"{path} may be its request: {remedy(path)}" for path in barred(state) if path.name.startswith("request-")]
    damaged = [path for path in aside(state) if path.name.startswith(f"{inbox.ASIDE}request-")]
    hints += [f"{path} may be its request, but is damaged: submit the request again" for path in damaged]
    return "".join(f"; {each}" for each in hints[:FEW])
