"""jim hosts: how attempts ended on each host, and which hosts JIM avoids."""

from __future__ import annotations

import argparse

from jim.cli.table import table
from jim.cli.text import facts, local_time, plain, say, say_json, with_local_times
from jim.reading.hosts import (
    Host,
    OneHost,
    all_hosts,
    avoided_words,
    hole_words,
    one_host,
    record,
    required,
    verdict_words,
)
from jim.reading.quantities import ago
from jim.reading.view import View, add_json, look

ATTEMPTS = 20  # of one host
NAMES = ("grid", "n", "attempt", "started", "verdict", "updated", "reason")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim hosts`."""
    parser.add_argument("host", metavar="HOST", nargs="?", help="this host alone, with its last attempts")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print all hosts, or one."""
    view = look()
    if arguments.host:
        return _one(view, required(one_host(view, arguments.host), arguments.host), as_json=arguments.json)
    found = all_hosts(view)
    if arguments.json:
        say_json([record(each) for each in found])
    elif found:
        head = ("host", "failed", "completed", "running", "last failure", "last success", "reason")
        table(head, (_row(view, each) for each in found))
    else:
        say("no attempt has started on any host yet")
    return 0


def _row(view: View, host: Host) -> tuple[object, ...]:
    total = host.total
    last = (ago(view.age(each)) if each else "" for each in (total.last_failure, total.last_success))
    return plain(host.name), f"{total.failed:,}", f"{total.completed:,}", f"{total.running:,}", *last, _why(host)


def _why(host: Host) -> str:
    """Return why a host is avoided, else why it is a black hole, else the most frequent reason of its failures."""
    reason = f"{host.reasons[0].times:,} × {host.reasons[0].words}" if host.reasons else ""
    words = avoided_words(host) or (f"a black hole: {hole_words(host.hole)}" if host.hole else reason)
    return plain(with_local_times(words))


def _one(view: View, one: OneHost, *, as_json: bool) -> int:
    if as_json:
        attempts = [{name: getattr(each, name) for name in NAMES} for each in one.attempts]
        say_json({**record(one.host), "grid_jobs": [each._asdict() for each in one.grid_jobs], "attempts": attempts})
        return 0
    host, total = one.host, one.host.total
    by_end = f"{total.completed:,} completed, {total.failed:,} failed, {total.running:,} running"
    facts(
        [
            ("host", plain(host.name)),
            ("avoided", plain(with_local_times(avoided_words(host))) or "no"),
            ("black hole", plain(hole_words(host.hole)) if host.hole else "no"),
            ("attempts", f"{total.started:,}: {by_end}"),
        ]
    )
    if one.attempts:
        say()
        rows = one.attempts[:ATTEMPTS]
        head = ("local job", "attempt", "started", "ended as", "last change", "reason")
        table(
            head,
            (
                (
                    f"{each.grid}.{each.n}",
                    each.attempt,
                    local_time(each.started),
                    verdict_words(each.verdict),
                    ago(view.age(each.updated)),
                    plain(each.reason),
                )
                for each in rows
            ),
        )
    return 0
