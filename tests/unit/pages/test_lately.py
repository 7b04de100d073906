"""What takes long is found out beside, and not more often than it is worth."""

from __future__ import annotations

import threading

import pytest

from jim.model import State, Witness
from jim.pages.lately import Lately
from jim.reading.view import look
from tests.unit.localbatch.place import until
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


def test_what_was_found_is_told_until_it_is_old(ground: Ground) -> None:
    now, found, ended = [100.0], [], threading.Event()
    lately = Lately(look, lambda: now[0])

    def find(view):  # type: ignore[no-untyped-def]
        found.append(view.now())
        now[0] += 2.0  # it takes as long
        ended.set()
        return len(found)

    assert lately.get("x", find)[1] == 1
    at, what = lately.get("x", find)
    assert (at <= lately.open().now(), what) == (True, 1)
    now[0] += 35.0  # twenty times as long as it took have not gone yet
    assert lately.get("x", find)[1] == 1
    now[0] += 10.0
    ground.add(2, 1, 0)
    ended.clear()
    lately.get("x", find)
    assert ended.wait(10)
    assert len(found) == 2
    assert lately.get("y", find, 10.0)[1] == 3, "another question"


def test_what_was_found_holds_for_a_minute_while_the_store_does_not_change(ground: Ground) -> None:
    now, found, ended = [100.0], [], threading.Event()
    lately = Lately(look, lambda: now[0])

    def find(view):  # type: ignore[no-untyped-def]
        found.append(view.now())
        return len(found)

    def after(seconds: float, *, of_files: bool = False) -> int:
        now[0] += seconds
        ended.clear()
        lately.get("x", find, of_files=of_files)
        assert ended.wait(10)
        until(lambda: not lately._told["x"].busy)
        return len(found)

    lately.open = lambda: _telling(look(), ended)
    assert after(0) == 1
    assert after(11) == 1
    assert after(11, of_files=True) == 2
    ground.add(2, 1, 0)
    assert after(11) == 3
    assert after(50) == 3
    assert after(11) == 4, "a minute"


def _telling(view, ended):  # type: ignore[no-untyped-def]
    """Tell when the store is closed, which is the last that a search does."""
    close = view.store.close
    view.store.close = lambda: (close(), ended.set())
    return view


def test_what_fails_is_tried_again_and_told_as_unknown(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    from jim.errors import JimError

    def find(view):  # type: ignore[no-untyped-def]
        raise JimError("no")

    lately = Lately(look)
    assert lately.get("x", find, 0.3) == ("", None)
    assert "x cannot be computed: no" in caplog.text


def test_21_a_grid_job_of_very_many_is_shown_at_once_and_the_rest_with_its_age(
    ground: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("jim.reading.job.history.MOST", "jim.pages.app.MOST"):
        monkeypatch.setattr(place, 10)
    ground.add(1, 30, 60)
    ground.store.set_local_job(1, 7, state=State.FAILED, witness=Witness.QUEUE, reason="exit 3")
    page = person.page("/jobs/1")
    assert "This, phases, failures and the map were found out" in page.text
    assert "exit 3" in page.text
    assert page.ids()[:2] == ["1.0", "1.1"]
    assert "29 local jobs wait to be submitted" in page.text
    assert "29 local jobs wait to be submitted" in person.page("/jobs/1/3").text
    assert person.page("/jobs").ids() == ["1"]
    person.pages.lately.get = lambda *_, **__: ("", None)  # type: ignore[method-assign]
    page = person.page("/jobs/1")
    assert "this is being found out" in page.text
    assert page.ids()[:2] == ["1.0", "1.1"]
    assert "this is being found out" in person.page("/jobs/1/3").text
