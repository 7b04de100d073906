"""How the first attempts at the local jobs of a grid job end: while most of them fail, further ones wait.

A site with a bad hour would otherwise use up all attempts within a minute. Now and then one is tried again all the
same: once it ends well the others go on, and so they do after some that have failed, for then waiting does not help.
"""

from __future__ import annotations

from typing import NamedTuple

from jim.statusdb.connected import StorePart

FEWEST, LOOKED_AT = 5, 50  # first attempts that have to fail; those that are looked at, the last ones that have started
PAUSE_SECONDS = 600.0  # between two attempts that are tried again meanwhile
TRIED_AT_MOST = 6  # of these: after an hour all go on

# Of ends, those of payloads by themselves: what killed one says nothing of the next one.
FIRST = (
    "SELECT count(*), ifnull(sum(verdict NOT IN ('', 'completed') "
    "AND kind IN ('exit', 'warned', 'input gone', 'lacking')), 0) "
    "FROM (SELECT a.verdict, a.kind FROM attempt a "
    "WHERE a.grid = ? AND a.attempt = 1 AND a.started <> '' AND a.verdict <> 'killed' AND NOT EXISTS "
    "(SELECT 1 FROM spared s WHERE s.grid = a.grid AND s.k = a.k AND s.idx = a.idx) ORDER BY k DESC, idx DESC LIMIT ?)"
)
FURTHER = (
    "SELECT ifnull(sum(verdict NOT IN ('', 'killed')), 0), ifnull(sum(verdict = 'completed'), 0), "
    "ifnull(sum(verdict = ''), 0), max(k) FROM attempt WHERE grid = ? AND attempt > 1"
)


class Further(NamedTuple):
    """The attempts after the first ones, while most of the first ones fail."""

    live: bool  # does one of them wait, or run?
    booted: str  # when the last one was sent, as `Clock.booted` gives it; empty: that is not known


class FirstAttempts(StorePart):
    """The part of a status DB about how first attempts go."""

    def held_back(self, grid: int) -> Further | None:
        """Return how further attempts at local jobs of a grid job go that most of the first ones hold back.

        None: they do not. What still runs counts as if it had ended well.
        """
        first, failed = self.db.execute(FIRST, (grid, LOOKED_AT)).fetchone()
        if failed < FEWEST or 2 * failed <= first:
            return None
        ended, well, live, last = self.db.execute(FURTHER, (grid,)).fetchone()
        if well or ended >= TRIED_AT_MOST:
            return None
        sent = self.db.execute("SELECT booted FROM submission WHERE grid = ? AND k = ?", (grid, last)).fetchone()
        return Further(bool(live), sent[0] if sent else "")
