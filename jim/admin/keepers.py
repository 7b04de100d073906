"""Whether a keeper runs, and should, and whether something starts keepers after a reboot."""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path

from jim.admin.finding import OK, WARNING, Finding
from jim.clock import Clock
from jim.errors import UnknownJob
from jim.guide import guide
from jim.site.file import Site
from jim.site.lock import heart_beats, holder
from jim.statusdb import open_store

# Where an operator may have arranged `jim keeper --all`.
TIMERS = "etc/systemd/system/timers.target.wants/jim-keepers.timer"
CRON = ("etc/cron.d/*", "etc/crontab", "var/spool/cron/*", "var/spool/cron/crontabs/*")
# What each package of cron brings.
CRONS = ("usr/bin/crontab", "usr/sbin/cron", "usr/sbin/crond")


def keeper(site: Site) -> Finding:
    """Tell whether a keeper runs, and should. The lock is not tried, because that could keep a keeper from starting."""
    if heart_beats(site.state, Clock()):
        return _outdated(site) or Finding("", OK, "a keeper runs")
    pid = holder(site.state)
    if pid:
        todo = f"see {site.state / 'keeper.log'}; if someone stopped it: kill -CONT {pid}"
        return Finding("", WARNING, f"a keeper holds the lock (pid {pid}), but does not update its heartbeat", todo)
    if _unfinished(site):
        todo = f"start a keeper: jim keeper --all; if it ends again, {site.state / 'keeper.log'} says why"
        return Finding("", WARNING, "no keeper runs, but there are unfinished grid jobs", todo)
    return Finding("", OK, "no keeper runs, and none is needed; doors start one")


def _outdated(site: Site) -> Finding | None:
    """Tell if the site file has changed since the keeper took its lock: doors obey the new file, the keeper the old."""
    lock = site.state / "keeper.lock"
    if not site.file or not lock.exists() or site.file.stat().st_ctime <= lock.stat().st_mtime:
        return None
    todo = "end it by `jim keeper --end`, which loses nothing: the next one reads the new file"
    return Finding("", WARNING, f"the keeper began before {site.file} was last changed", todo)


def _unfinished(site: Site) -> bool:
    if any(not each.name.startswith(".") for each in (site.state / "inbox").iterdir()):
        return True
    try:
        with closing(open_store(site.state, Clock())) as store:
            return store.unfinished()
    except UnknownJob:
        return False


def arranged(site: Site, root: Path) -> Finding:
    """Tell whether something starts keepers after a reboot."""
    if os.path.lexists(root / TIMERS):
        return Finding("", OK, "the systemd timer jim-keepers.timer is enabled")
    for pattern in CRON:
        for file in root.glob(pattern):
            if _names_keepers(file):
                return _by_cron(file, root)
    if not site.managed:
        return Finding("", OK, "nothing is arranged; submissions and polls start the keeper")
    todo = f"enable the timer jim-keepers.timer, or install the cron file jim-keepers: {guide('installing.md')}"
    return Finding("", WARNING, "nothing is arranged: after a reboot grid jobs wait until someone polls", todo)


def _by_cron(file: Path, root: Path) -> Finding:
    if any(map(os.path.lexists, (root / each for each in CRONS))):
        return Finding("", OK, f"{file} starts keepers")
    return Finding("", WARNING, f"{file} starts keepers, but nothing reads it: no cron is installed", "install cron")


def _names_keepers(file: Path) -> bool:
    try:
        return bool(re.search(r"^[^#\n]*\bjim[\"']? keeper --all", file.read_text(errors="replace"), re.MULTILINE))
    except OSError:  # this account may not read it
        return False
