"""The values that the store keeps."""

from __future__ import annotations

import pytest

from jim.jobs import HELD
from jim.model import State


@pytest.mark.parametrize(
    ("request_", "test"),
    [
        ({"job_type": "executable", "test": "yes"}, True),
        ({"job_type": "executable", "test": None}, False),
        # The words are there, but not as the attribute.
        ({"job_type": "executable", "environment": {"A": '"test": "yes"'}}, False),
    ],
)
def test_a_grid_job_is_a_test_by_its_attribute_alone(home, request_, test):
    home.add(**request_)
    assert home.store.grid_job(1).is_test is test


def test_a_local_job_that_jim_holds_waits_without_a_due_time(home):
    home.add()
    waiting = home.store.local_job(1, 0)
    assert not waiting.held
    assert waiting._replace(due=HELD).held
    assert not waiting._replace(due=HELD, state=State.SUBMITTED).held
