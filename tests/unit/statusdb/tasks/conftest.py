"""For the tests of tasks in a store."""

from contextlib import closing

import pytest

from tests.unit.statusdb.grounds import GROUNDS


@pytest.fixture(params=GROUNDS)
def store(request, tmp_path):
    (tmp_path / "state").mkdir()
    with closing(GROUNDS[request.param](tmp_path / "state").open()) as made:
        yield made
