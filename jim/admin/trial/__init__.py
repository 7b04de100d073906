"""Trying a site for real: jobs through its own batch system, in a state directory that goes in the end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from jim.admin.finding import FAILED, OK, Finding
from jim.admin.trial import asking, glitch, levels
from jim.admin.trial.leftovers import Lock, sweep
from jim.admin.trial.trial_site import TrialSite
from jim.errors import BadSite, JimError
from jim.plugins import foreign
from jim.site.file import Site, make_state

SKIPPED, UNKNOWN = "skipped", "unknown"  # what a finding may be besides ok, warning and failed
NEEDED = ("config", "batch")  # by all levels that come after


class Level(NamedTuple):
    """One level of the test: what it shows, how many local jobs it submits, how, and with which settings."""

    help: str
    jobs: int
    test: Callable[[TrialSite], Iterator[Finding]]
    settings: Mapping[str, Mapping[str, Any]] = {}


LEVELS = {
    "config": Level("the commands are there, and answer what they should", 0, levels.config),
    "batch": Level("one job starts, ends, and is known to have ended", 1, levels.batch),
    # One attempt each: what is made to fail is not to be sent again.
    "roundtrip": Level(
        "an output, exit 0, 1 and 137, a signal and a time limit of a minute come back",
        *(levels.ROUNDTRIP, levels.roundtrip, {"limits": {"attempts": 1}}),
    ),
    "array": Level("an array's outputs come back, each once", levels.ARRAY, levels.array),
    "glitch": Level("commands that fail, hang and lie fool nobody", glitch.JOBS, glitch.glitch),
}


def chosen(names: list[str], load: int) -> dict[str, Level]:
    """Give the levels to run, in their order, and the load of so many jobs."""
    wanted = {name: level for name, level in LEVELS.items() if name in names or "all" in names}
    if load:
        wanted["load"] = Level("many at once", load, lambda trial: levels.load(trial, load))
    return wanted


def findings(
    site: Site, wanted: Mapping[str, Level], heed: Callable[[], None]
) -> Generator[tuple[str, Finding], None, None]:
    """Try level after level, and give what each finds; one that needs what has failed is skipped."""
    make_state(site)
    with Lock(site.state) as lock:
        why = ""
        for name, level in wanted.items():
            if why:
                yield name, Finding(name, SKIPPED, f"not tried, for {why}")
                continue
            if name != "config":
                yield from (("leftovers", each) for each in sweep(site, lock))
            with closing(_tried(site, name, level, heed)) as found:
                for finding in found:
                    yield name, finding
                    why = why or _why_not_on(name, finding)


def _why_not_on(name: str, finding: Finding) -> str:
    """Say why no other level is worth trying after this finding; empty: there is no reason."""
    if finding.level == UNKNOWN:
        return "the test has ended before"
    needed = name in NEEDED or finding.name == asking.COMMANDS
    return f"{name} has failed" if needed and finding.level != OK else ""


def _tried(site: Site, name: str, level: Level, heed: Callable[[], None]) -> Generator[Finding, None, None]:
    """Try one level on a trial of its own; what keeps it from being tried to the end is a finding, too."""
    trial = None
    try:
        with foreign(f"the adapter of {site.batch.system}, or JIM itself, has a fault"):
            commands = asking.commands(site)
        if name == "config" or commands.level != OK:
            yield commands
        if commands.level != OK:
            return
        heed()
        with TrialSite(_with(site, level.settings), heed) as trial:
            yield from level.test(trial)
    except BadSite as error:
        yield Finding(name, FAILED, str(error), "correct that in the site file; docs/operating.md lists every setting")
    except (JimError, OSError) as error:
        yield Finding(name, UNKNOWN, str(error))
    if trial:
        yield from trial.remains


def _with(site: Site, settings: Mapping[str, Mapping[str, Any]]) -> Site:
    changed = {section: getattr(site, section)._replace(**values) for section, values in settings.items()}
    return site._replace(**changed)
