"""A keeper that is killed at one of its moves: python doomed.py SEEN SIDE TIMES [MOVE] STATE.

SIDE is `before` a move, or `after` a move that did something. It dies the first TIMES times that it comes to that
side of a move, of MOVE or of whichever, counting what the keepers before it have noted in the file SEEN.
What workers brought back counts as a move called `deliver`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path

from jim import run_grid_job
from jim.keeper.main import run_keeper
from jim.keeper.rounds import Rounds


class Doom:
    """Where the keeper is to die, and where those before it did."""

    def __init__(self, seen: Path, side: str, times: int, move: str) -> None:
        self.file, self.side, self.times, self.move = seen, side, times, move
        self.seen = Counter(seen.read_text().split())

    def reached(self, side: str, move: str) -> None:
        if side != self.side:
            return
        self.seen[move] += 1
        with self.file.open("a") as file:
            file.write(f"{move}\n")
        die = self.seen[move] == self.times if self.move == move else not self.move and self.seen[move] <= self.times
        if die:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(self, name: str, move):
        """Make a move of which either side may be the end."""

        def make(keeper, *more):
            self.reached("before", name)
            before = _print(keeper)
            result = move(keeper, *more)
            if _print(keeper) != before:
                self.reached("after", name)
            return result

        return make


def _print(keeper) -> tuple[object, ...]:
    """Give what differs when something was done."""
    return keeper.store.changes(), frozenset(keeper.workers._busy), dict(keeper.answered)


def main(seen: str, side: str, times: str, move: str, state: str) -> int:
    doom = Doom(Path(seen), side, int(times), move)
    moves, deliver = run_grid_job.moves, Rounds.deliver
    watched = doom.watched("deliver", lambda keeper, rounds, timeout: deliver(rounds, timeout))
    run_grid_job.moves = lambda: tuple(each._replace(make=doom.watched(each.name, each.make)) for each in moves())
    Rounds.deliver = lambda rounds, timeout: watched(rounds.keeper, rounds, timeout)
    return run_keeper(Path(state), run_grid_job.rounds)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
