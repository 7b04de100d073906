"""Kill -9 of the keeper before and after each of its moves. The moves, and how often, the code itself tells."""

from __future__ import annotations

from collections import Counter

import pytest

from jim.run_grid_job import moves
from tests.faults.real import at_once, doomed

PIECES = 2
MOVES = {move.name for move in moves()} | {"deliver"}
# The first answer of the batch system is lost, and a node dies under the first attempt: every move has something to do,
NODE_DIES = '[ "$JIM_LOCAL_JOB $JIM_ATTEMPT" != "0 1" ] || kill -9 0'
ANSWER_LOST = 'once || exec "$@"; "$@" >/dev/null; exit 1'
# but these: nothing is wished, nothing is old or to be renewed, no clock jumps, GRAM is told of nothing; what is sent
# is sent where room is shared; a wrapper that starts early tells what would be looked up; the local batch system
# proves a death, so nothing has to be given up; every local job can start; no publication has a grammar, there is no
# task, and no local job fails in the end.
IDLE = {"follow_clock", "Fulfilling", "Aging", "Renewing", "renew", "tell", "Sending", "look_up", "end"}
IDLE |= {"InVain", "Validating", "Tasks", "WhyFailed"}


def rough(place, name: str):
    hurt = place(name)
    hurt.command("submit", ANSWER_LOST)
    (hurt.place / "taken from").mkdir()
    there = str(hurt.place / "taken from")
    hurt.submit(PIECES, body=NODE_DIES, places={"directory": there, "files": {}, "tar": f"{there}/all.tar"})
    return hurt


def check(hurt) -> None:
    """Hold what came of it against the ledger; the gatekeeper has the tar."""
    hurt.check(PIECES)
    (tar,) = (hurt.place / "taken from").iterdir()
    (made,) = hurt.place.rglob("result/1.tar")
    assert tar.read_bytes() == made.read_bytes()


def count(place, side: str) -> Counter[str]:
    """Count how often an undisturbed keeper comes to this side of its moves."""
    calm = rough(place, f"calm-{side}")
    seen = calm.place / "seen"
    assert calm.keep(command=doomed(seen, side)) == 0
    check(calm)
    assert sorted(calm.events("start")) == [(0, 1), (0, 2), (1, 1)]
    return Counter(seen.read_text().split())


def kill_once(place, side: str, move: str, times: int) -> None:
    """Kill a keeper there; the next one goes on unhurt."""
    hurt = rough(place, f"{side}-{move}-{times}")
    hurt.keep(command=doomed(hurt.place / "seen", side, times, move))
    hurt.finish()
    check(hurt)
    hurt.close()


def kill_all(place, side: str, times: int) -> None:
    """Kill a keeper wherever it comes to, and the next, and so on: so many times at each move."""
    hurt = rough(place, f"{side}-all-{times}")
    seen = hurt.place / "seen"
    killed = 0
    while hurt.keep(command=doomed(seen, side, times)):
        killed += 1
        assert killed <= times * len(MOVES), hurt.log()
    check(hurt)
    assert Counter(seen.read_text().split()).keys() >= MOVES - (IDLE if side == "after" else set())
    assert killed > times * (len(MOVES - IDLE) - 1)
    hurt.close()


@pytest.mark.torture
@pytest.mark.parametrize("times", [1, 2, 3])
def test_keepers_killed_at_each_move_again_and_again(place, times):
    at_once((side, lambda side=side: kill_all(place, side, times)) for side in ("before", "after"))


@pytest.mark.torture
@pytest.mark.parametrize("side", ["before", "after"])
def test_keeper_killed_at_each_move_every_time(place, side):
    runs = [(side, move, times) for move, most in count(place, side).items() for times in range(1, most + 1)]
    at_once((f"{run}", lambda run=run: kill_once(place, *run)) for run in runs)
