"""What the pages say when a real keeper is killed or stopped in the middle of its work."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from types import SimpleNamespace

import pytest

from tests.faults.real import Place, until
from tests.unit.pages.browser import Page, Person, addresses

pytestmark = pytest.mark.torture
BAND = "States may be out of date."
SOON = 12.0  # seconds within which every page must say it


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Place, Popen[bytes], Person]]:
    """A keeper whose grid job runs, and somebody who looks at the pages."""
    place = Place(tmp_path / "place")
    monkeypatch.setenv("JIM_STATE", str(place.state))
    place.submit(2, body="sleep 300")
    process = place.start_keeper()
    until(lambda: place.state_of(0) == place.state_of(1) == "running", "both payloads run")
    person = Person(SimpleNamespace(site=place.site))  # type: ignore[arg-type]
    yield place, process, person
    process.send_signal(signal.SIGCONT)
    place.close()


def pages(person: Person) -> list[str]:
    """Give the pages for people that are there."""
    answers = {path: person.get(path) for path in addresses(person)}
    shown = [path for path, each in answers.items() if each.status_code == 200 and "<main" in each.text]
    assert len(shown) >= 8
    return shown


def all_say(person: Person, paths: list[str], words: str) -> bool:
    return all(BAND in (said := Page(person.get(path).text).text) and words in said for path in paths)


def test_within_12_s_every_page_says_that_the_keeper_was_killed(keeper) -> None:  # type: ignore[no-untyped-def]
    place, process, person = keeper
    paths = pages(person)
    assert not any(BAND in person.get(path).text for path in paths)
    process.kill()
    process.wait()
    began = time.monotonic()
    until(lambda: all_say(person, paths, "No keeper is running: the last heartbeat was"), "all say it", SOON + 10)
    assert time.monotonic() - began <= SOON
    text = person.page("/jobs/1/0").text
    assert "as of" in text.partition("Waits for")[0]
    assert person.get("/healthz").status_code == 503
    place.start_keeper()
    until(lambda: not any(BAND in person.get(path).text for path in paths), "the next keeper is at work")


def test_within_12_s_every_page_says_that_the_keeper_is_stopped_and_what_to_do(keeper) -> None:  # type: ignore[no-untyped-def]
    place, process, person = keeper
    paths = pages(person)
    process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    until(lambda: all_say(person, paths, "omebody has stopped the keeper"), "every page says it", SOON + 10)
    assert time.monotonic() - began <= SOON
    assert person.get("/healthz").status_code == 503
    said = re.search(r"`?kill -CONT (\d+)", Page(person.get("/").text).text)
    assert said
    assert int(said[1]) == int((place.state / "keeper.lock").read_text())
    process.send_signal(signal.SIGCONT)
    until(lambda: not any(BAND in person.get(path).text for path in paths), "it goes on")
    assert person.get("/healthz").status_code == 200
