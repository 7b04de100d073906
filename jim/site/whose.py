"""Whose a state directory is: only its account may write there, and files of root would keep the account out."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from jim.errors import BadSite
from jim.trust import ROOT

STATE_VARIABLE = "JIM_STATE"
AN_ACCOUNT = "an account of the site, for example by `sudo -u ACCOUNT jim …`"
OWN = f"to use a directory of your own, unset {STATE_VARIABLE} or set it to another directory"


def require_own(state: Path) -> None:
    """Refuse to write into the state directory of another account, also for root, whom the system would let write.

    The account could not read the files of another one: a request would never be taken, a keeper never start.
    """
    try:
        owner = state.stat().st_uid
    except OSError:  # it is not there yet, or whoever uses it next is told why it cannot be used
        return
    if owner != os.geteuid():
        raise BadSite(f"{anothers(state, owner)}: run this command as {name_of(owner)}; {OWN}")


def is_root() -> bool:
    """Tell whether this is root."""
    return os.geteuid() == ROOT


def refuse_root(*, managed: bool) -> None:
    """Refuse root on a site of several accounts: its grid jobs run as accounts, and never as root."""
    if managed and is_root():
        raise BadSite(f"this is root, as whom no grid job may run: run this command as {AN_ACCOUNT}")


def refuse_unusable(place: Path) -> None:
    """Refuse a path that this account cannot read as a state directory."""
    try:
        about = place.stat()
    except (FileNotFoundError, NotADirectoryError):
        above = next((each for each in place.parents if os.path.lexists(each)), Path("/"))
        if not above.is_dir():
            raise BadSite(f"{place} cannot be a state directory, because {above} is not a directory; {OWN}") from None
        return
    except OSError as error:
        above = next(each for each in place.parents if os.access(each.parent, os.X_OK))
        whose = anothers(above, above.stat().st_uid)
        raise BadSite(f"JIM cannot look at {place}: {error.strerror}; {whose}; {OWN}") from error
    if not place.is_dir():
        raise BadSite(f"{place} cannot be a state directory, because it is not a directory; {OWN}")
    if not os.access(place, os.R_OK | os.X_OK):
        whose = name_of(about.st_uid)
        raise BadSite(f"{anothers(place, about.st_uid)}: run this command as {whose}; {OWN}")


def anothers(place: Path, owner: int) -> str:
    """Say whose a place is, and who asks."""
    return f"{place} belongs to {name_of(owner)}, but this is {name_of(os.geteuid())}"


def name_of(uid: int) -> str:
    """Return the account of a uid."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
