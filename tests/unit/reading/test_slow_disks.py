"""Reading on a disk that may hang."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from jim.errors import JimError
from jim.reading.slow_disks import AWAY_SECONDS, MOST_WAITING, Patience
from jim.reading.view import at_once


@pytest.fixture
def hung() -> Iterator[threading.Event]:
    """A file server that answers once this is set."""
    event = threading.Event()
    yield event
    event.set()


def test_what_is_read_in_time_is_returned_and_what_fails_is_raised() -> None:
    disk = Patience(10)
    assert disk(lambda: 7) == at_once(lambda: 7) == 7
    for error in (FileNotFoundError("gone"), JimError("odd")):

        def fail(error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error), match=str(error)):
            disk(fail)
    assert disk(lambda: 8) == 8, "a failure is an answer"


def test_a_disk_that_hangs_is_given_up_and_left_alone_for_a_while(hung: threading.Event) -> None:
    now, asked = [100.0], []
    disk = Patience(0.05, lambda: now[0])
    with pytest.raises(TimeoutError, match="the file server does not answer"):
        disk(hung.wait)
    now[0] += AWAY_SECONDS - 1
    with pytest.raises(TimeoutError):
        disk(lambda: asked.append(1))
    assert asked == [], "nobody is kept waiting twice"
    now[0] += 2
    assert disk(lambda: 7) == 7


def test_threads_that_wait_for_a_disk_do_not_heap_up(hung: threading.Event) -> None:
    now = [100.0]
    disk = Patience(0.01, lambda: now[0])
    before = threading.active_count()
    for _ in range(3 * MOST_WAITING):
        now[0] += 2 * AWAY_SECONDS
        with pytest.raises(TimeoutError):
            disk(hung.wait)
    assert threading.active_count() <= before + MOST_WAITING
    hung.set()
    for each in threading.enumerate():
        if each.name == "disk":
            each.join(10)
    now[0] += 2 * AWAY_SECONDS
    assert disk(lambda: 7) == 7, "those that have come back make room"
