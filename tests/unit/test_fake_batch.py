"""Whatever a batch system says and does, in every dialect, the promise is kept.

200 histories here; `make torture` plays JIM_SCHEDULES of each dialect, from the seed JIM_SEED on.
"""

from __future__ import annotations

import os

import pytest

from tests.fake_batch.histories import DIALECTS
from tests.fake_batch.play import BLOCK, play

SEED = int(os.environ.get("JIM_SEED", "1"))
BLOCKS = -(-int(os.environ.get("JIM_SCHEDULES", "10000")) // BLOCK)
GLITCHES = 5  # one block of so many is of glitches alone


@pytest.mark.parametrize(("machine", "count"), [("Glitches", 5), ("Troubles", 20)])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_histories(dialect, machine, count):
    play(machine, dialect, SEED, count)


@pytest.mark.torture
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_many_histories(dialect, block):
    play("Troubles" if (block + 1) % GLITCHES else "Glitches", dialect, SEED + block)
