"""A follower that keeps the last line of each grid job, and asks at each new version, misses and repeats nothing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.model import State
from jim.statusdb.store import Store
from tests.unit.statusdb.by_hand import add, move

ROOT = Path(__file__).parents[3]
# Arguments: the store, the file with what was seen, and a file that exists when nothing more comes.
FOLLOW = """
import os, sys
from pathlib import Path
from jim.clock import Clock
from jim.statusdb.store import Store
seen, end = Path(sys.argv[2]), Path(sys.argv[3])
last, versions = {}, {}
for line in seen.read_text().splitlines():
    grid, seq = map(int, line.split())
    last[grid] = seq
out, store = os.open(seen, os.O_WRONLY | os.O_APPEND), Store(Path(sys.argv[1]), Clock())
while True:
    ended = end.exists()
    with store.snapshot():
        for grid in store.numbers.all():
            version = store.version(grid)
            if versions.get(grid) != version:
                for line in store.journals.of(grid, last=1 << 40):
                    if line.seq > last.get(grid, 0):
                        os.write(out, b"%d %d\\n" % (grid, line.seq))
                        last[grid] = line.seq
                versions[grid] = version
    if ended:
        break
"""


GRIDS, TURNS = 1000, 10_000


@pytest.mark.torture
def test_a_follower_that_is_killed_at_random_misses_no_line_and_sees_none_twice(tmp_path: Path) -> None:
    file, seen, end = (tmp_path / name for name in ("status.db", "seen", "end"))
    seen.touch()
    chance, environment = random.Random(83), {**os.environ, "PYTHONPATH": str(ROOT)}

    def follower() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-P", "-c", FOLLOW, *map(str, (file, seen, end))], env=environment)

    with closing(Store(file, Clock(), write=True)) as store:
        store.db.execute("PRAGMA synchronous = OFF")
        for grid in range(1, GRIDS + 1):
            add(store, grid, 6)
        following, until, kills = follower(), time.monotonic() + 0.5, 0
        for _ in range(TURNS):
            grid, n = chance.randint(1, GRIDS), chance.randrange(6)
            move(store, grid, store.state(grid, n), chance.choice([State.RUNNING, State.SUBMITTED, State.WAITING]), n)
            if time.monotonic() > until:
                following.kill()
                following.wait()
                following, until, kills = follower(), time.monotonic() + chance.uniform(0.2, 1.5), kills + 1
        end.touch()
        assert following.wait(60) == 0
        expected = {grid: [line.seq for line in store.journals.of(grid, last=1 << 40)] for grid in range(1, GRIDS + 1)}
    found = defaultdict(list)
    for line in seen.read_text().splitlines():
        found[int(line.split()[0])].append(int(line.split()[1]))
    assert found == {grid: lines for grid, lines in expected.items() if lines}
    assert sum(map(len, found.values())) > TURNS / 2
    assert kills > 3
