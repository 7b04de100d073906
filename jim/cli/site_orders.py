"""jim site drain, undrain, ban, unban, bans, avoid: what an administrator tells doors and keepers of a site."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from jim.cli.recorded_acts import acted
from jim.cli.table import table
from jim.cli.text import local_time, plain, say, say_json, warn, with_local_times
from jim.errors import BadRequest, JimError
from jim.reading.view import add_json, look
from jim.site import avoid, bans, drain, notices
from jim.site import file as site_file
from jim.site.avoid import Order
from jim.site.file import Site
from jim.workdir.avoid import orders_of

HELP = (  # of each verb: its line, and an example
    ("drain", "take no new grid jobs for a while; what was taken in goes on", "drain --until 8h --reason 'new disks'"),
    ("undrain", "take new grid jobs again", "undrain"),
    ("ban", "take no new grid jobs of a sender; what was taken in goes on", "ban dzero --until 2d"),
    ("unban", "take new grid jobs of a sender again", "unban dzero"),
    ("bans", "list the senders whose new grid jobs are refused", "bans"),
    ("avoid", "avoid hosts: run nothing more there; or use them again (--not)", "avoid wn099 --until 2d"),
)


def add_verbs(verbs: Any) -> None:
    """Declare these verbs of `jim site`."""
    of = {name: verbs.add_parser(name, help=line, epilog=f"example: jim site {each}") for name, line, each in HELP}
    draining, banning, unbanning, avoiding = of["drain"], of["ban"], of["unban"], of["avoid"]
    add_json(of["bans"])
    avoiding.add_argument(
        "host", metavar="HOST", nargs="+", help="a host, as `jim hosts` lists it, with or without its domain"
    )
    avoiding.add_argument(
        "--not", dest="again", action="store_true", help="use them again; what they did before does not count"
    )
    for each in (banning, unbanning):
        each.add_argument(
            "who", metavar="DN|VO", nargs="+", help="a sender, as `jim show G` prints it; most are claimed by proxies"
        )
    for each in (draining, banning, avoiding):
        each.add_argument(
            "--until",
            metavar="TIME",
            default="",
            help="the end: 2026-01-31T12:00Z, or how long: 30m, 8h, 2d; default: no end",
        )
        each.add_argument(
            "--reason", metavar="WORDS", default="", help="the reason, which is shown to all whom it concerns"
        )


def _drain(arguments: argparse.Namespace) -> int:
    site = site_file.load()
    made = drain.drain(site, arguments.until, arguments.reason)
    say(with_local_times(drain.words(made)))
    acted(site, "site drain", made.brief(), shared=True)
    return 0


def _undrain(arguments: argparse.Namespace) -> int:
    del arguments  # it takes none
    site = site_file.load()
    was = drain.undrain(site)
    say("the site takes new grid jobs again" if was else "the site was not drained; undrain changes nothing")
    if was:
        acted(site, "site undrain", shared=True)
    return 0


def _ban(arguments: argparse.Namespace) -> int:
    site = site_file.load()
    for who, notice in bans.ban(site, arguments.who, arguments.until, arguments.reason).items():
        say(with_local_times(bans.words(who, notice)))
        acted(site, "site ban", "; ".join(filter(None, (who, notice.brief()))), shared=True)
    return 0


def _unban(arguments: argparse.Namespace) -> int:
    site = site_file.load()
    were = bans.unban(site, arguments.who)
    for who in dict.fromkeys(arguments.who):
        again = (
            "the site takes new grid jobs of it again" if who in were else "it was not banned; unban changes nothing"
        )
        say(f"{who}: {again}")
        if who in were:
            acted(site, "site unban", who, shared=True)
    return 0


def _bans(arguments: argparse.Namespace) -> int:
    there = bans.banned(site_file.load())
    if arguments.json:
        say_json([{"who": who, "since": notices.utc(each.since)} | _rest(each) for who, each in there.items()])
    elif there:
        rows = (
            (
                plain(who),
                _local(each.since),
                "for good" if math.isinf(each.until) else _local(each.until),
                plain(each.reason),
            )
            for who, each in there.items()
        )
        table(("who", "since", "until", "reason"), rows)
    else:
        say("no sender is banned")
    return 0


def _avoid(arguments: argparse.Namespace) -> int:
    site, hosts, reason = site_file.load(), arguments.host, arguments.reason
    if arguments.again and arguments.until:
        raise BadRequest("--until says how long a host is avoided; --not ends that at once")
    made = (
        avoid.use_again(site, hosts, reason) if arguments.again else avoid.avoid(site, hosts, arguments.until, reason)
    )
    for order in made:
        say(with_local_times(avoid.words(order)))
        said = order.host, "not" if arguments.again else "", order.notice.brief()
        acted(site, "site avoid", "; ".join(filter(None, said)), shared=True)
    warn(f"nothing has run on {host} so far; `jim hosts` lists the hosts" for host in _unknown(site, made))
    return 0


def _unknown(site: Site, orders: Sequence[Order]) -> list[str]:
    """Return the named hosts on which nothing has run, which may be slips; none if several accounts would know."""
    if site.managed:
        return []
    with suppress(JimError):  # the order holds, even if the status DB cannot be read just now
        view = look()
        with closing(view.store):
            seen = {each.host for each in view.store.hosts.totals()}
        named = orders_of(orders, seen)
        return sorted({*named.avoid, *named.trust} - seen) if seen else []
    return []


def _local(seconds: float) -> str:
    return local_time(notices.utc(seconds))


def _rest(notice: notices.Notice) -> dict[str, str]:
    return {"until": "" if math.isinf(notice.until) else notices.utc(notice.until), "reason": notice.reason}


VERBS = {"drain": _drain, "undrain": _undrain, "ban": _ban, "unban": _unban, "bans": _bans, "avoid": _avoid}
