"""Trying a site for real: jobs through its own batch system, in a state directory that goes in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jim.site import Site
from jim.site_check import Finding
from jim.sitetest import glitch, levels

SIZE_OF_LOAD = 100


class Level(NamedTuple):
    """One level of the test: what it shows, how many local jobs it submits, and how."""

    help: str
    jobs: int
    test: Callable[[Site], Iterator[Finding]]


LEVELS = {
    "config": Level("the commands are there and answer", 0, levels.config),
    "batch": Level("one job starts, ends, and is known to have ended", 1, levels.batch),
    "roundtrip": Level("outputs, exit codes, signals and the time limit come back", 4, levels.roundtrip),
    "array": Level("an array's outputs come back, each once", levels.ARRAY, levels.array),
    "glitch": Level("commands that fail, hang and lie fool nobody", glitch.JOBS, glitch.glitch),
}


def chosen(names: list[str], load: int) -> dict[str, Level]:
    """Give the levels to run, in their order, and the load of so many jobs."""
    wanted = {name: level for name, level in LEVELS.items() if name in names or "all" in names}
    if load:
        wanted["load"] = Level("many at once", load, lambda site: levels.load(site, load))
    return wanted
