"""Senders whose new grid jobs a site refuses, by DN or VO, known or claimed. What was taken in goes on.

On a site of several accounts only root can read the list. Doors ask a second file for the names that they know.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jim.errors import BadRequest, BadSite, JimError
from jim.files import read_regular
from jim.jobs import Sender, sender_of
from jim.site import notices, sealed
from jim.site.file import Site
from jim.site.notices import Notice

LONGEST, LONGEST_NAME = 4 * 1024 * 1024, 1000
DN = r"/[^/=\s]+=.*"  # /C=…/O=…/CN=… for example
VO = r"[^/=\s]+"
# Errors while reading a file that was changed by hand, or is out of reach.
ODD = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, JimError)


class Banned(JimError):
    """A new grid job of a sender whom the site has banned."""


def require_welcome(site: Site, sender: Mapping[str, Any]) -> None:
    """Refuse a new grid job if its DN or a VO is banned, as the gatekeeper says or its proxy claims."""
    names = names_of(sender_of(sender))
    if not names:
        return
    try:
        there = _banned_of(site, names)
    except BadSite as error:
        raise Banned(f"the sender may be banned: {error}") from error
    for each in names:
        if each in there:
            raise Banned(words(each, there[each]))


def _banned_of(site: Site, names: Sequence[str]) -> dict[str, Notice]:
    """Return those of these names that are banned just now."""
    file = _for_doors(site)
    if not site.managed or not os.path.lexists(file):  # an older version wrote none
        return banned(site)
    try:
        found = {name: notices.read(each) for name, each in sealed.told_of(file, names).items()}
    except ODD as error:
        raise _odd(file, error) from error
    return {who: notice for who, notice in found.items() if notices.holds(notice)}


def _for_doors(site: Site) -> Path:
    return site.bans.with_name(".banned")


def names_of(sender: Sender) -> list[str]:
    """Return the names by which a sender may be banned: DN and VOs."""
    return [each for each in (sender.dn, *sender.vos) if each]


def banned(site: Site) -> dict[str, Notice]:
    """Return who is banned just now, in the order in which that was said."""
    try:
        told = json.loads(read_regular(site.bans, LONGEST))
        found = {str(each["who"]): notices.read(each) for each in told}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except PermissionError as error:
        raise BadSite(f"{site.bans} is for root alone, who may say `jim site bans`") from error
    except ODD as error:
        raise _odd(site.bans, error) from error
    return {who: notice for who, notice in found.items() if notices.holds(notice)}


def _odd(file: Path, error: Exception) -> BadSite:
    return BadSite(f"{file} is there and cannot be read: {error}; mend or remove it, and ban anew whom it named")


def words(who: str, notice: Notice) -> str:
    """Return one sentence that says who is banned, since when, why and until when."""
    whom = who if re.fullmatch(DN, who) else f"the VO {who}"
    return notice.words(f"the site has taken no new grid jobs of {whom}", "it takes them again")


def ban(site: Site, names: Sequence[str], until: str = "", reason: str = "") -> dict[str, Notice]:
    """Refuse new grid jobs of these senders from now on."""
    _require_names(names)
    made = notices.new(until, reason)
    with notices.alone(site, site.bans):
        _write(site, {who: each for who, each in banned(site).items() if who not in names} | dict.fromkeys(names, made))
    return dict.fromkeys(names, made)


def unban(site: Site, names: Sequence[str]) -> list[str]:
    """Take new grid jobs of these senders again; return those who were banned."""
    _require_names(names)
    with notices.alone(site, site.bans):
        there = banned(site)
        if were := [who for who in dict.fromkeys(names) if who in there]:
            _write(site, {who: each for who, each in there.items() if who not in names})
    return were


def _require_names(names: Sequence[str]) -> None:
    for who in names:
        if len(who) > LONGEST_NAME or not who.isprintable() or not re.fullmatch(f"{DN}|{VO}", who):
            raise BadRequest(
                f"{who[:LONGEST_NAME]!r} is neither a DN, such as /DC=org/O=People/CN=Ann, nor a VO, such as dzero; "
                "`jim show G` prints both"
            )


def _write(site: Site, those: Mapping[str, Notice]) -> None:
    told = {who: notice.told() for who, notice in those.items()}
    if site.managed:
        notices.write(site, _for_doors(site), sealed.seal(told))
    notices.write(site, site.bans, [{"who": who, **each} for who, each in told.items()], 0o600)
