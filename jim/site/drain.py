"""A site that is drained takes no new grid jobs for a while. What it has taken in goes on, retries included."""

from __future__ import annotations

import json

from jim.errors import JimError
from jim.files import read_regular
from jim.site import notices
from jim.site.file import Site
from jim.site.notices import Notice

LONGEST = 4096


class Drained(JimError):
    """A new grid job that the site does not take just now."""


def require_open(site: Site) -> None:
    """Refuse a new grid job while the site is drained."""
    drain = drained(site)
    if drain:
        raise Drained(words(drain))


def drained(site: Site) -> Notice | None:
    """Return the drain that applies just now."""
    try:
        drain = notices.read(json.loads(read_regular(site.drain, LONGEST)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError, JimError) as error:
        odd = f"the site may be drained: {site.drain} is there and cannot be read: {error}"
        raise Drained(f"{odd}; `jim site undrain` removes it") from error
    return drain if notices.holds(drain) else None


def words(drain: Notice) -> str:
    """Return one sentence that says since when the site is drained, why and until when."""
    return drain.words("the site has taken no new grid jobs", "it takes new ones again")


def in_words(site: Site) -> str:
    """Return why, since when and until when the site takes no new grid jobs; empty while it takes them."""
    try:
        drain = drained(site)
    except Drained as error:
        return str(error)
    return words(drain) if drain else ""


def drain(site: Site, until: str = "", reason: str = "") -> Notice:
    """Take no new grid jobs from now on."""
    made = notices.new(until, reason)
    notices.write(site, site.drain, made.told())
    return made


def undrain(site: Site) -> bool:
    """Take new grid jobs again; tell whether the site was drained."""
    try:
        site.drain.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise notices.not_allowed(site, site.drain, error) from error
    return True
