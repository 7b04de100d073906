"""The list of what is laid aside is a file of its own, which forgets nothing and keeps a bounded number."""

from __future__ import annotations

from contextlib import suppress

import pytest

from jim.errors import BadRequest, BadSite, UnknownJob
from jim.pages import laid_aside
from jim.pages.laid_aside import FILE, LaidAside, named
from jim.reading.view import View
from tests.unit.pages.grounds import Ground, ended

AT = "2026-01-31T12:00:00.000Z"


def test_the_last_ones_are_kept_and_those_removed_since_are_not_named(
    ground: Ground, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laid_aside, "MOST", 3)
    aside = LaidAside(ground.site.state)
    for number in range(1, 6):
        ended(ground, number, 1, 60, bad=1)
        aside.lay(ground.store.grid_job(number), "alice", AT)
    aside.lay(ground.store.grid_job(3), "bob", AT)
    assert [(name, entry.by) for name, entry in aside.all().items()] == [("4", "alice"), ("5", "alice"), ("3", "bob")]
    ground.store.removals.remove(ground.store.grid_job(5))
    assert [laid_aside.name_of(thing) for thing, _ in aside.things(view, 10)] == ["3", "4"]
    assert [laid_aside.name_of(thing) for thing, _ in aside.things(view, 1)] == ["3"]
    assert (aside.bring("3"), aside.bring("3")) == (True, False)
    assert (ground.site.state / FILE).stat().st_mode & 0o777 == 0o600


def test_a_file_that_nobody_can_read_is_not_written_over(ground: Ground) -> None:
    ended(ground, 1, 1, 60, bad=1)
    for content in ("nonsense", "[1]", '{"1": 5}', '{"1": ["a"]}'):
        (ground.site.state / FILE).write_text(content)
        aside = LaidAside(ground.site.state)
        assert aside.all() == {}
        with pytest.raises(BadSite, match="remove it"):
            aside.lay(ground.store.grid_job(1), "alice", AT)
        assert (ground.site.state / FILE).read_text() == content


def test_a_name_is_a_grid_job_or_a_task(ground: Ground, view: View) -> None:
    ended(ground, 1, 1, 60, bad=1)
    assert named(view, "1").id == 1
    for name in ("2", "mc", "\u0661", "1" * 30, "../1", ""):
        with pytest.raises((UnknownJob, BadRequest)):
            named(view, name)
    with suppress(UnknownJob):
        assert LaidAside(ground.site.state).about(view.grid_job(1)) is False
