"""Hosts that an administrator wants JIM to avoid, or to use again. Batch systems go on by themselves."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from jim.errors import BadRequest, BadSite, JimError
from jim.files import read_regular
from jim.site import notices
from jim.site.file import Site
from jim.site.notices import Notice

LONGEST = 4 * 1024 * 1024
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}", re.ASCII)


class Order(NamedTuple):
    """What an administrator has said about a host."""

    host: str
    avoid: bool  # else: what it did before counts no more
    notice: Notice

    def told(self) -> dict[str, Any]:
        """Return the order as the file has it."""
        return {"host": self.host, "avoid": self.avoid, **self.notice.told()}


def ordered(site: Site) -> list[Order]:
    """Return the orders that hold just now, one for each host."""
    try:
        told = json.loads(read_regular(site.avoid, LONGEST))
        found = [Order(str(each["host"]), bool(each["avoid"]), notices.read(each)) for each in told]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError, TypeError, KeyError, RecursionError, JimError) as error:
        odd = f"{site.avoid} is there and cannot be read: {error}"
        raise BadSite(f"{odd}; mend or remove it, and name the hosts anew") from error
    return [each for each in found if notices.holds(each.notice) and HOST.fullmatch(each.host)]


def avoid(site: Site, hosts: Sequence[str], until: str = "", reason: str = "") -> list[Order]:
    """Avoid hosts from now on; return the orders."""
    return _order(site, hosts, notices.new(until, reason), to_avoid=True)


def use_again(site: Site, hosts: Sequence[str], reason: str = "") -> list[Order]:
    """Use hosts again, whatever they did until now; return the orders."""
    return _order(site, hosts, notices.new("", reason), to_avoid=False)


def _order(site: Site, hosts: Sequence[str], notice: Notice, *, to_avoid: bool) -> list[Order]:
    for host in hosts:
        if not HOST.fullmatch(host):
            raise BadRequest(f"{host[:300]!r} is no name of a host, as `jim hosts` lists them")
    made = [Order(host, to_avoid, notice) for host in dict.fromkeys(hosts)]
    with notices.alone(site, site.avoid):
        kept = [each for each in ordered(site) if each.host not in hosts]
        notices.write(site, site.avoid, [each.told() for each in (*kept, *made)])
    return made


def words(order: Order) -> str:
    """Return one sentence that says what an order does."""
    reason = f": {order.notice.reason}" if order.notice.reason else ""
    since = notices.utc(order.notice.since)
    if not order.avoid:
        return f"{order.host} is used again; what it did before {since} counts no more{reason}"
    until = "" if math.isinf(order.notice.until) else f", until {notices.utc(order.notice.until)}"
    return f"{order.host} is avoided since {since}{until}{reason}"
