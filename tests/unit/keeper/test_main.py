"""A keeper process that cannot start leaves its reason in the log."""

import pytest

from jim.errors import BadSite
from jim.keeper.main import run_keeper
from jim.log_lines import json_line, lines_of
from jim.run_grid_job import rounds


def test_a_keeper_with_a_bad_site_file_leaves_its_reason(place):
    (place.state / "site.toml").write_text("[batch]\nslotz = 1\n")
    with pytest.raises(BadSite):
        run_keeper(place.state, rounds)
    assert "the keeper ends: " in (place.state / "keeper.log").read_text()


def test_a_reason_is_left_once_and_in_the_form_of_the_log(place):
    (place.state / "site.toml").write_text("[batch]\nslotz = 1\n")
    log = place.state / "keeper.log"
    for before in ("2026-01-31 11:00:00,000 INFO jim.x up\n", json_line("2026-01-31", "INFO", "jim.x", "up") + "\n"):
        log.write_text(before)
        for _ in range(2):
            with pytest.raises(BadSite):
                run_keeper(place.state, rounds)
        up, end = lines_of(log.read_text())
        assert (up.message, end.level) == ("up", "CRITICAL")
        assert end.message.startswith("the keeper ends: ")
        assert log.read_text().splitlines()[1].startswith("{") is before.startswith("{")
