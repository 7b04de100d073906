"""Tasks that a keeper driven by hand works on, for the tests of their pages."""

from __future__ import annotations

import pytest

from jim.model import State, Witness
from tests.unit.pages import grounds
from tests.unit.pages.browser import Person
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import EVENTS, SH, Ground, a_list

MC = f"""\
[[task]]
name = "mc"
summary = "ten events"
{EVENTS}
source = [ {{ events = 10, events_per_piece = 3, campaigns = 2 }} ]
"""
FILES = """\
[[task]]
name = "files"
{SH}
source = [ {{ list = "{list}", group = 'run(\\d+)' }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 2 }} }}
"""


def look_at(world: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages and verbs read a state directory."""
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.delenv("JIM_SITE", raising=False)
    monkeypatch.setattr("jim.reading.view.Clock", lambda: world.clock)


@pytest.fixture
def world(tmp_path, monkeypatch) -> Ground:
    """A keeper driven by hand, whose state directory the pages read."""
    made = Ground(tmp_path, monkeypatch)
    look_at(made, monkeypatch)
    return made


@pytest.fixture
def reader(world: Ground) -> Person:
    """Somebody who is logged in."""
    return Person(world)  # type: ignore[arg-type]


@pytest.fixture
def chained(tmp_path, monkeypatch) -> Chain:
    """Three tasks that feed one another, with promises."""
    made = Chain(tmp_path, monkeypatch)
    look_at(made, monkeypatch)
    return made


@pytest.fixture
def failing(world: Ground, tmp_path) -> Ground:
    """A task of five files in two groups: one piece has failed, one waits to be full, two are completed."""
    names = a_list(tmp_path, "run1_a", "run1_b", "run1_c", "run2_a", "run2_b")
    world.start(FILES.format(list=names, SH=SH), "files")
    world.until(lambda: len(world.batch.tasks) == 3)
    world.begin()
    first, *others = world.batch.tasks
    world.batch.finish(*first, code=3)
    for each in others:
        world.batch.finish(*each, code=0)
    world.until(lambda: world.counts("pieces", "files") == {"completed": 2, "failed": 1})
    return world


@pytest.fixture
def grounded(ground: grounds.Ground) -> grounds.Ground:
    """A grid job: of 12 local jobs, 5 run and 7 wait."""
    ground.add(1, 12, 600)
    (ground.site.state / "answers" / "1").write_bytes(b"accepted")
    ground.send(1, 1, range(5), 500)
    ground.change(1, range(5), State.SUBMITTED, State.RUNNING, Witness.CLAIM)
    return ground


@pytest.fixture
def boss(grounded: grounds.Ground) -> Person:
    return Person(grounded, controls=True)
