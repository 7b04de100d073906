"""The words of verdicts."""

from __future__ import annotations

import pytest

from jim.evidence import reasons
from jim.jobs import HELD
from jim.model import Kind
from jim.site.file import Batch
from tests.support.stand_ins import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0, visible_seconds=1.0))


# Words decide nothing


def test_a_reason_has_the_kind_of_the_verdict_whatever_is_said_with_it(world) -> None:
    world.submit(1, keep_going=True)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=9)
    world.until(lambda: world.state(1).final)
    job = world.store.local_job(1, 0)
    assert (job.kind, job.facts, job.due == HELD) == (Kind.EXIT, {"code": 9}, False)
    assert world.store.attempts(1)[0].kind is Kind.EXIT


def test_every_kind_of_the_evidence_has_words() -> None:
    facts = {"code": 1, "signal": 2, "seconds": 3, "attempt": 4, "host": "wn1"}
    more = dict.fromkeys(("told", "how", "what", "more", "before"), "…")
    said = [reasons.reason(kind, facts, **more).words for kind in reasons.WORDS]
    assert all(said)
