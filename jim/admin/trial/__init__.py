"""Tests a site for real: jobs through its own batch system, in a temporary state directory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from jim.admin.finding import FAILED, OK, WARNING, Finding
from jim.admin.trial import asking, glitch, levels
from jim.admin.trial.leftovers import Lock, sweep
from jim.admin.trial.trial_site import TrialSite
from jim.errors import BadSite, JimError
from jim.guide import guide
from jim.site import whose
from jim.site.file import Site, make_state
from jim.trust.plugins import foreign

SKIPPED, UNKNOWN = "skipped", "unknown"  # results besides ok, warning and failed
WAITS = "waits"  # no result: what is still waited for
NEEDED = ("config", "batch")  # by all later levels


class Level(NamedTuple):
    """One level of the test: what it proves, its number of local jobs, its function, and its settings."""

    help: str
    jobs: int
    test: Callable[[TrialSite], Iterator[Finding]]
    settings: Mapping[str, Mapping[str, Any]] = {}


LEVELS = {
    "config": Level("the batch commands exist and answer correctly", 0, levels.config),
    "batch": Level("one job starts and ends, and JIM sees its end", 1, levels.batch),
    # One attempt each: jobs that fail on purpose must not run again.
    "roundtrip": Level(
        "JIM sees an output, exit codes 0, 1 and 137, a signal, and a time limit of a minute",
        *(levels.ROUNDTRIP, levels.roundtrip, {"limits": {"attempts": 1}}),
    ),
    "array": Level("the outputs of an array come back, each once", levels.ARRAY, levels.array),
    "glitch": Level("commands that fail, hang and lie do not mislead JIM", glitch.JOBS, glitch.glitch),
}


def chosen(names: list[str], load: int) -> dict[str, Level]:
    """Return the levels to run, in order, and the load test with this number of jobs."""
    wanted = {name: level for name, level in LEVELS.items() if name in names or "all" in names}
    if load:
        wanted["load"] = Level("many at once", load, lambda trial: levels.load(trial, load))
    return wanted


def findings(
    site: Site, wanted: Mapping[str, Level], heed: Callable[[], None], tell: Callable[[Finding], None]
) -> Generator[tuple[str, Finding], None, None]:
    """Run level after level, and return the findings; skip a level that depends on a failed one.

    What a level waits for meanwhile is told now and then.
    """
    whose.refuse_root(managed=site.managed)
    make_state(site)
    with Lock(site.state) as lock:
        why = ""
        for name, level in wanted.items():
            if why:
                yield name, Finding(name, SKIPPED, f"skipped, because {why}")
                continue
            if name != "config":
                yield from (("leftovers", each) for each in sweep(site, lock))
            waits = partial(_told, tell, name)
            with closing(_tried(site, name, level, heed, waits)) as found:
                for finding in found:
                    yield name, finding
                    why = why or _why_not_on(name, finding)


def _told(tell: Callable[[Finding], None], name: str, words: str) -> None:
    tell(Finding(name, WAITS, words))


def _why_not_on(name: str, finding: Finding) -> str:
    """Return why no other level is worth trying after this finding; empty if others are."""
    if finding.level == UNKNOWN:
        return "the test has ended early"
    if finding.name == asking.HISTORY and finding.level == WARNING:  # asked again once a job has ended
        return ""
    if finding.name == asking.SPACE:
        return "the disks have too little room" if finding.level == FAILED else ""
    needed = name in NEEDED or finding.name == asking.COMMANDS
    return f"{name} has failed" if needed and finding.level != OK else ""


def _tried(
    site: Site, name: str, level: Level, heed: Callable[[], None], waits: Callable[[str], None]
) -> Generator[Finding, None, None]:
    """Run one level on a trial site of its own; an obstacle is a finding, too."""
    trial = None
    try:
        for question in (asking.commands, asking.space):
            with foreign(f"the adapter of {site.batch.system}, or JIM itself, has a fault"):
                found = question(site)
            if name == "config" or found.level == FAILED:
                yield found
            if found.level == FAILED:
                return
        heed()
        with TrialSite(_with(site, level.settings), heed, waits=waits) as trial:
            yield from level.test(trial)
    except BadSite as error:
        yield Finding(
            name, FAILED, str(error), f"correct this in the site file; {guide('settings.md')} lists every setting"
        )
    except (JimError, OSError) as error:
        yield Finding(name, UNKNOWN, str(error))
    if trial:
        yield from trial.remains


def _with(site: Site, settings: Mapping[str, Mapping[str, Any]]) -> Site:
    changed = {section: getattr(site, section)._replace(**values) for section, values in settings.items()}
    return site._replace(**changed)
