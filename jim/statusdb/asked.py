"""What lists show: filters as values, without a word of SQL."""

from __future__ import annotations

from typing import NamedTuple

from jim.model import Kind, State


class GridJobsAsked(NamedTuple):
    """Which grid jobs: those that fit everything that is given; several values of one thing mean any of these."""

    steps: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    herds: tuple[str, ...] = ()
    outcomes: tuple[str, ...] | None = None  # of finished ones; together with `also`. None: any
    also: tuple[int, ...] = ()  # unfinished ones, of which the caller knows that they fit
    words: tuple[str, ...] = ()  # each is found in the type, the owner, the reason, the key, or is the number
    since: str = ""  # when it was created: then, or later
    until: str = ""  # before then
    failed: bool = False  # some of its local jobs did not complete
    changed: bool = False  # in the order of their last change, not of their numbers
    after: tuple[str, int] | None = None  # the last one that was seen: its change, its number


class LocalJobsAsked(NamedTuple):
    """Which local jobs of a grid job: those that fit everything that is given."""

    states: tuple[State, ...] = ()
    reasons: tuple[str, ...] = ()  # as written; * stands for any words
    hosts: tuple[str, ...] = ()  # any of its attempts ran there
    attempts: tuple[int, ...] = ()  # the number of its latest
    held: bool | None = None  # held by JIM until a person says what becomes of it
    phases: tuple[str, ...] = ()  # that it has published
    submissions: tuple[int, ...] = ()  # that carry its latest attempt
    numbers: tuple[tuple[int, int], ...] = ()  # ranges, both ends included
    after: int = -1


class LocalJobSeen(NamedTuple):
    """One local job in a list. Made by the thousands: hence a tuple."""

    n: int
    state: State
    attempt: int
    submission: int | None
    held: bool
    wish: str
    witness: str
    reason: str
    kind: Kind
    updated: str
    host: str  # of the latest attempt
    started: str


class HostSeen(NamedTuple):
    """What became of the attempts of a grid job on one host."""

    host: str
    attempts: int
    failed: int  # those that did not complete, tried again or not
    last_failure: str


class Minute(NamedTuple):
    """What happened to local jobs in one minute."""

    at: str  # to the minute
    what: str
    times: int
