"""The file `avoid` in the work directory, by which wrappers know the hosts on which they must not run a payload.

A line is the name of a host; behind it may be the name of a trial. The first wrapper on that host that makes a
directory of that name in the work directory runs its payload, and all others do not.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from jim.errors import JimError
from jim.evidence.avoiding import TRIAL, Avoided, Orders
from jim.evidence.exit_record import read_claim
from jim.files import read_regular, replace_durably
from jim.site.avoid import HOST, Order

NAME, LONGEST, LONGEST_CLAIM = "avoid", 16 * 1024 * 1024, 4096


def orders_of(orders: Iterable[Order], seen: Collection[str]) -> Orders:
    """Return people's orders by the names that hosts give themselves: people may leave out the domain, or add it."""
    avoid: dict[str, Avoided] = {}
    trust: dict[str, float] = {}
    alike = defaultdict(list)
    for host in seen:
        alike[host.partition(".")[0]].append(host)
    for order in orders:
        since, until = order.notice.since, order.notice.until
        for host in _named(order.host, alike) or [order.host]:
            if order.avoid:
                end = None if math.isinf(until) else until
                avoid[host] = Avoided(host, since, end, reason=order.notice.reason)
            else:
                trust[host] = since
    return Orders(avoid, trust)


def _named(host: str, alike: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the hosts that a name may mean, of those that have the same name without domain."""
    those = alike.get(host.partition(".")[0], ())
    return [each for each in those if each == host or "." not in each or "." not in host]


def write(work: Path, avoided: Iterable[Avoided]) -> None:
    """Have wrappers avoid these hosts, and no others."""
    lines = sorted(f"{each.host} {each.trial}".rstrip() for each in avoided if HOST.fullmatch(each.host))
    before, now = _lines(work / NAME), [f"{line}\n" for line in lines]
    if before == now:
        return
    if now:
        replace_durably(work / NAME, "".join(now).encode(), 0o644)
    else:
        (work / NAME).unlink(missing_ok=True)
    for trial in {_trial(line) for line in before} - {_trial(line) for line in now}:
        if trial.startswith(TRIAL) and "/" not in trial:
            with suppress(OSError):  # nobody has taken it
                (work / trial).rmdir()


def host_left(directory: Path, index: int) -> str:
    """Return the host that a wrapper of an attempt has left because JIM avoids it; empty if none has."""
    for notice in directory.glob(f"left.{index}.*"):
        with suppress(OSError, JimError):
            return read_claim(read_regular(notice, LONGEST_CLAIM).decode(errors="replace")).host
    return ""


def _lines(file: Path) -> list[str]:
    try:
        return read_regular(file, LONGEST).decode(errors="replace").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except JimError:  # it is replaced
        return ["?\n"]


def _trial(line: str) -> str:
    return line.partition(" ")[2].strip()
