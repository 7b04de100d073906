"""Describes the site and A-REX's jobs for its information provider, in lines that JIMmod.pm reads."""

from __future__ import annotations

import json
import pwd
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from jim.admin.advertise import offer
from jim.clock import Clock
from jim.command import forked
from jim.doors.arc import RUNNING, SUSPENDED, WAITING, plain
from jim.doors.arc.scanning import ACCOUNT_SECONDS, OURS
from jim.errors import JimError
from jim.files import read_regular
from jim.site import file as site_file
from jim.site.accounts import become
from jim.site.file import Site

LONGEST = 65_536
LETTERS = {WAITING: "Q", RUNNING: "R", SUSPENDED: "S"}  # A-REX's own


def lines(site: Site, ids: Sequence[str]) -> Iterator[str]:
    """Yield `site NAME VALUE`, `queue QUEUE NAME VALUE` and `job ID STATUS COMMENT`."""
    told = offer(site, Clock())
    for name, value in _numbers(told):
        yield f"site {name} {value}"
    for queue, room in told.get("queue_rooms", {}).items():
        for name, value in _numbers(room):
            yield f"queue {queue} {name} {value}"
    by_account: dict[int, list[str]] = {}
    for each in ids:
        if ours := OURS.fullmatch(each):
            by_account.setdefault(int(ours[1]), []).append(ours[2])
    for uid, numbers in by_account.items():
        yield from _jobs(uid, numbers)


def _numbers(told: dict[str, Any]) -> Iterator[tuple[str, int]]:
    return ((name, value) for name, value in told.items() if isinstance(value, int) and not isinstance(value, bool))


def _jobs(uid: int, numbers: Sequence[str]) -> Iterator[str]:
    """Yield what the keeper of an account says of its jobs; nothing if it does not answer."""
    try:
        name = pwd.getpwuid(uid).pw_name
        answer = forked(partial(_answers, name, numbers), lambda: None, ACCOUNT_SECONDS)
    except (KeyError, JimError):
        return
    for number, content in json.loads(answer).items():
        word, _, comment = content.rstrip("\n").partition("\n")
        letter = LETTERS.get(word.encode(), "EXECUTED")
        yield f"job {uid}.{number} {letter} {' '.join(plain(comment).split())}"


def _answers(name: str, numbers: Sequence[str]) -> bytes:
    become(name)
    place, found = site_file.load().state / "answers", {}
    for number in numbers:
        try:
            if answer := read_regular(place / number, LONGEST):  # after a power cut, it may be empty: that is none
                found[number] = answer.decode(errors="replace")
        except (OSError, JimError):  # removed, or out of reach
            continue
    return json.dumps(found).encode()
