"""Which new requests a site refuses for a while, whatever they ask for: its administrator, or a limit, says so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from jim.doors import inbox
from jim.errors import JimError, StoreError
from jim.files import locked
from jim.site.file import Site
from jim.site.space import require_room


class TooMany(JimError):
    """A new grid job of a DN that has as many as the site allows."""


@contextmanager
def one_by_one(site: Site, sender: dict[str, Any]) -> Iterator[None]:
    """Let no other door count, or take in, a request of a DN meanwhile, if the site limits those."""
    if not _is_limited(site, sender):
        yield
        return
    with locked(site.state / "senders.lock"):
        yield


def require(site: Site, sender: dict[str, Any]) -> None:
    """Refuse a new request while the site is drained, of a sender who is banned, without room, or beyond a limit."""
    if os.path.lexists(site.drain):  # it is rarely there, as the other file
        from jim.site.drain import require_open

        require_open(site)
    if os.path.lexists(site.bans):
        from jim.site.bans import require_welcome

        require_welcome(site, sender)
    require_room(site)
    if _is_limited(site, sender):
        _require_few(site, sender)


def _is_limited(site: Site, sender: dict[str, Any]) -> bool:
    return bool(site.limits.grid_jobs_per_dn and sender.get("dn"))


def _require_few(site: Site, said: dict[str, Any]) -> None:
    from jim.jobs import sender_of  # only a site with limits counts

    sender = sender_of(said)
    # The inbox first: what the keeper takes in meanwhile is in both then, and counts once.
    there, most = (
        inbox.handed_in_by(site.state, sender.counted_as) | _stored(site, sender.counted_as),
        site.limits.grid_jobs_per_dn,
    )
    if len(there) >= most:
        one = len(there) == 1
        has = f"{len(there):,} grid job{'' if one else 's'} here that {'has' if one else 'have'} not finished"
        raise TooMany(
            f"{sender.dn} has {has}, and limits.grid_jobs_per_dn allows {most:,}: submit again when one has finished"
        )


def _stored(site: Site, sender: str) -> set[int]:
    from jim.clock import Clock
    from jim.statusdb import is_there, open_store

    if not is_there(site.state):
        return set()
    try:
        with closing(open_store(site.state, Clock())) as store:
            return store.senders.unfinished_of(sender) if store.is_made() else set()
    except StoreError:  # the request waits in the inbox until the store can be read
        return set()
