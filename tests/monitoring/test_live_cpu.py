"""What `jim status --live` costs: CPU time and bytes, measured where very much is stored, as the bench stores it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bench.people import _stored as stored
from jim.cli.live import LOOK_SECONDS, SHARE
from jim.cli.live_screen import lines
from jim.reading.site.at_a_glance import ORDERS, glance
from jim.reading.view import View
from jim.site.file import Site
from jim.statusdb import open_store
from tests.support.pseudo_terminal import OnTerminal, call
from tests.unit.pages.grounds import Ground, Hand, large

LOCAL_JOBS, TRIED, GRID_JOBS = 30_000, 5_000, 3_000
MOST_CPU = 0.6  # seconds for a look, on a machine that is slow and busy: it is then painted anew every 30 s
MOST_LAYOUT = 0.02
MOST_BYTES = 80 * 24 * 2  # of a screen that is wholly new, with colours
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Give a site with a large grid job of the bench, one in the middle of its life, and many small ones."""
    ground = Ground.__new__(Ground)
    state = stored(tmp_path_factory.mktemp("site") / "state", LOCAL_JOBS)
    ground.clock, ground.now = Hand(), time.time()
    ground.store = open_store(state, ground.clock, write=True)
    ground.site = Site(state=state)
    large(ground, 2, TRIED)
    with ground.store.transaction():
        for number in range(100, 100 + GRID_JOBS):
            ground.add(number, 3, 60)
    ground.beat()
    with closing(ground.store):
        yield ground


@pytest.mark.parametrize("order", ORDERS)
def test_a_look_takes_bounded_cpu_in_every_order(site: Ground, order: str) -> None:
    began = time.process_time()
    seen = glance(View(site.site, site.store), order, 24)
    looked = time.process_time()
    lines(seen, order, 79, 24)
    assert looked - began < MOST_CPU
    assert time.process_time() - looked < MOST_LAYOUT
    assert sum(seen.statuses.values()) == GRID_JOBS + 2
    assert sum(seen.counts.values()) == LOCAL_JOBS + TRIED + 3 * GRID_JOBS


def cpu_of(pid: int) -> float:
    """Return the CPU time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def test_it_takes_its_share_of_a_core_and_writes_little(tmp_path: Path) -> None:
    """Measured at a whole process, after its first screen."""
    ground = Ground(tmp_path / "state")
    large(ground, 12, 2000)
    ground.beat()
    ground.store.close()
    with OnTerminal(call("status", "--live"), more={"JIM_STATE": str(ground.site.state)}) as program:
        program.until("s sorts")
        first = len(program.written)
        began, before = time.monotonic(), cpu_of(program.process.pid)
        program._read(lambda: time.monotonic() - began > 5 * LOOK_SECONDS)
        share = (cpu_of(program.process.pid) - before) / (time.monotonic() - began)
        anew = len(program.written) - first
        program.press("q")
        assert program.ended() == 0
    assert share <= SHARE + 2 / TICKS / (5 * LOOK_SECONDS), "as exactly as the kernel counts"
    assert first <= MOST_BYTES
    assert 0 < anew / 5 <= first / 2
