"""Whatever a batch system says and does, in every dialect, the promise is kept.

A history of each here; `make torture` plays JIM_SCHEDULES of each dialect, from the seed JIM_SEED on.
"""

from __future__ import annotations

import gc
import os
from importlib import import_module
from itertools import cycle, product
from pathlib import Path

import pytest
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.fake_batch import histories
from tests.fake_batch.engine import Entry
from tests.fake_batch.histories import DIALECTS
from tests.fake_batch.oracle import Oracle
from tests.fake_batch.play import BLOCK, play

SEED = int(os.environ.get("JIM_SEED", "1"))
BLOCKS = -(-int(os.environ.get("JIM_SCHEDULES", "1000")) // BLOCK)
KINDS = ("Troubles", "Glitches", "People", "Restores")
CARRYING = tuple(each for each in DIALECTS if each != "condor_transfer")  # there nothing is bundled
MACHINES = ("Troubles", "People", "Restores", "Troubles", "Glitches")  # of a block each, in turn


@pytest.mark.parametrize(
    ("dialect", "machine", "count"),
    [
        *((dialect, machine, 1) for dialect, machine in zip(DIALECTS, cycle(KINDS), strict=False)),
        *((dialect, f"Carried{kind}", 1) for dialect, kind in zip(CARRYING, cycle(KINDS), strict=False)),
        *(pytest.param(*each, 3, marks=pytest.mark.torture) for each in product(DIALECTS, KINDS)),
        *(
            pytest.param(dialect, f"Carried{kind}", 3, marks=pytest.mark.torture)
            for dialect, kind in product(CARRYING, KINDS)
        ),
    ],
)
def test_the_promise_is_kept_in_random_histories(dialect, machine, count):
    before = open_files()
    play(machine, dialect, SEED, count)
    assert open_files() <= before


def open_files():
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_seed_plays_the_same_histories_again(monkeypatch):
    told: list[list[Entry]] = []
    in_the_end = Oracle.in_the_end

    def telling(oracle):
        told.append(oracle.gateway.engine.ledger)
        in_the_end(oracle)

    monkeypatch.setattr(Oracle, "in_the_end", telling)
    play("Troubles", "slurm", SEED, 2)
    before = told.copy()
    told.clear()
    play("Troubles", "slurm", SEED, 2)
    assert len(before) >= 2
    assert told == before


def test_nor_does_it_matter_what_else_is_loaded(tmp_path, monkeypatch):
    drawn: list[int] = []

    class Drawing(RuleBasedStateMachine):
        @rule(number=histories.KNOBS)
        def draw(self, number):
            drawn.append(number)

    monkeypatch.setattr(histories, "Drawing", Drawing, raising=False)
    play("Drawing", "slurm", SEED, 20)
    before = drawn.copy()
    drawn.clear()
    (tmp_path / "many_numbers.py").write_text("".join(f"N{n} = {n}\n" for n in range(1000, 1400)))
    monkeypatch.syspath_prepend(tmp_path)
    import_module("many_numbers")
    play("Drawing", "slurm", SEED, 20)
    assert len(before) >= 20
    assert drawn == before


@pytest.mark.torture
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_many_histories(dialect, block):
    play(MACHINES[block % len(MACHINES)], dialect, SEED + block)
