"""A keeper process that cannot start leaves its reason in the log."""

import pytest

from jim.errors import BadSite
from jim.keeper.main import run_keeper
from jim.run_grid_job import rounds


def test_a_keeper_with_a_bad_site_file_leaves_its_reason(place):
    (place.state / "site.toml").write_text("[batch]\nslotz = 1\n")
    with pytest.raises(BadSite):
        run_keeper(place.state, rounds)
    assert "the keeper ends: " in (place.state / "keeper.log").read_text()
