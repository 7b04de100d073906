"""For the tests of the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from werkzeug.routing import Rule

from jim.model import Piece, State, Step, Witness
from jim.reading.view import View
from jim.statusdb import open_store
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, add_task, record, text


@pytest.fixture(scope="session", autouse=True)
def addresses_compiled_once() -> Iterator[None]:
    """Compile each address once: each test makes an application with the same seventy, in half of its time."""
    name = "_compile_builder"
    compiled, known = getattr(Rule, name, None), dict[Any, Callable[..., Any]]()

    def once(rule: Rule, append_unknown: bool = True) -> Callable[..., Any]:
        key = rule.rule, rule.subdomain, rule.host, str(rule.defaults), append_unknown
        if key not in known:
            known[key] = compiled(rule, append_unknown)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        if compiled:  # it is Werkzeug's own affair
            patch.setattr(Rule, name, once)
        yield


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """A state directory in which a keeper is at work."""
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("JIM_SITE", raising=False)
    made = Ground(tmp_path / "state")
    made.beat()
    with closing(made.store):
        yield made


@pytest.fixture
def view(ground: Ground) -> Iterator[View]:
    """What people read of it."""
    with closing(open_store(ground.site.state, ground.clock)) as store:
        yield View(ground.site, store)


@pytest.fixture
def person(ground: Ground) -> Person:
    """Somebody who is logged in."""
    return Person(ground)


SECRET = "s3cr3t"


@pytest.fixture
def told(ground: Ground) -> Ground:
    """A grid job with a secret in whatever only the role `look` may see."""
    request = {"job_type": "executable", "key": "k", "executable": SECRET, "arguments": [SECRET], "token": f"/{SECRET}"}
    ground.store.add_grid_job(1, "k", "alice", "2026-01-31T11:00:00.000Z", request)
    ground.store.set_grid_job(1, step=Step.RESOLVED, place="1")
    piece = Piece(arguments=(SECRET,), files=(SECRET,), variables={"a": SECRET}, attributes={"b": SECRET})
    ground.store.add_pieces(1, 0, [piece, piece])
    ground.store.end_split(1, 2)
    mark = ground.send(1, 1, [0, 1], 50)
    exit_record = record(mark, 1, 0, 1, "wn1", ground.now - 40, 30, 0)
    exit_record = exit_record.replace("end\n", f"file 6 {'0' * 64} {SECRET}\nend\n")
    ground.store.set_attempt(
        1, 1, 1, host="wn1", started="2026-01-31T11:00:00Z", verdict="completed", record=exit_record
    )
    ground.store.set_local_job(1, 0, state=State.COMPLETED)
    ground.store.publications.publish(1, 0, "x", f'<x:y xmlns:x="urn:x">{SECRET}</x:y>')
    for name in ("stdout", "stderr", "log", SECRET):
        ground.leave(1, 1, 1, name, SECRET.encode())
    add_task(ground, SECRET, "")
    ground.collect(1, {f"1.0/{SECRET}": SECRET.encode()}, {f"{SECRET}.txt": SECRET.encode()})
    return ground


@pytest.fixture
def running(ground: Ground) -> Ground:
    """One of four local jobs runs, one has completed."""
    ground.add(1, 4, 600)
    ground.send(1, 1, range(3), 500)
    ground.clock.at = ground.now - 300
    ground.change(1, [0], State.SUBMITTED, State.RUNNING, Witness.CLAIM)
    ground.clock.at = None
    ground.store.set_attempt(1, 1, 1, host="wn1", started=text(ground.now - 300)[:19] + "Z")
    return ground
