"""Errands: when they may be tried again, and what the loop gets of them."""

from __future__ import annotations

import math
import threading

import pytest

from jim.clock import Clock
from jim.errand import Errand
from jim.errors import DiskFull, Fault, JimError, Outdated
from jim.keeper import workers as room
from jim.keeper.workers import Workers
from tests.support.stand_ins import StandInClock, StandInWorkers


@pytest.fixture
def clock():
    return StandInClock()


@pytest.fixture
def workers(clock, monkeypatch):
    monkeypatch.setattr(room, "delay", lambda _, tries: 10.0 * tries)
    return StandInWorkers(clock)


class Told(list):
    """What an errand has told the loop."""

    def errand(self, *results, **more):
        """Give an errand that brings these one after the other; what is an error is raised."""
        left = iter(results)

        def work():
            result = next(left)
            if isinstance(result, BaseException):
                raise result
            return result

        return Errand("key", work, self.append, lambda error: self.append(str(error)), **more)


def test_an_errand_that_fails_is_put_off_longer_each_time_until_it_is_done(workers, clock):
    told = Told()
    errand = told.errand(JimError("one"), OSError("two"), "done", JimError("three"))
    assert workers.start(errand) == math.inf  # its end will tell
    workers.deliver(0)
    assert (workers.tries("key"), workers.due("key"), workers.ready("key")) == (1, 1010.0, False)
    assert workers.start(errand) == 1010.0
    for later in (10.0, 20.0):
        clock.now += later
        workers.start(errand)
        workers.deliver(0)
    assert told == ["one", "two", "done"]
    assert (workers.tries("key"), workers.due("key"), workers.ready("key")) == (0, 0.0, True)
    workers.start(errand)
    workers.deliver(0)
    assert workers.due("key") == 1040.0


def test_an_errand_under_way_is_not_started_again(workers):
    errand = Told().errand("one", "two")
    workers.start(errand)
    assert (workers.busy("key"), workers.start(errand), workers.idle()) == (True, math.inf, False)
    assert workers.deliver(0)
    assert not workers.deliver(0)


def test_what_is_forgotten_is_due_at_once(workers):
    workers.put_off("key")
    assert workers.put_off("key") == 1020.0
    workers.forget("key")
    assert (workers.ready("key"), workers.tries("key")) == (True, 0)


def test_who_has_said_when_an_errand_may_be_done_next_is_heeded_also_once_it_is_done(workers, clock):
    workers.start(Told().errand("done"))
    workers.wait("key", 60.0)
    workers.deliver(0)
    assert workers.due("key") == 1060.0
    clock.now += 60.0
    assert workers.ready("key")


def test_what_is_said_again_and_again_is_put_off_though_it_was_heard(workers):
    workers.start(Told().errand("heard", repeats=True))
    workers.deliver(0)
    assert (workers.tries("key"), workers.due("key")) == (1, 1010.0)


@pytest.mark.parametrize("error", [DiskFull("full"), Outdated("old"), ModuleNotFoundError("jim.gone")])
def test_what_says_nothing_of_the_errand_goes_to_the_loop(workers, error):
    """And the errand is put off: a fault that stays must not take every turn."""
    told = Told()
    workers.start(told.errand(error))
    with pytest.raises(type(error)):
        workers.deliver(0)
    assert (told, workers.tries("key"), workers.idle()) == ([], 1, True)


def test_an_errand_without_words_for_a_failure_raises_it(workers):
    workers.start(Errand("key", lambda: 1 / 0, print, heeds=(ZeroDivisionError,)))
    with pytest.raises(ZeroDivisionError):
        workers.deliver(0)


def test_what_nobody_expected_is_a_failure_in_words_and_the_log_has_its_place(workers, caplog):
    """It would end one keeper after the other, and with them the work for all grid jobs."""
    told = Told()
    workers.start(told.errand(ValueError("embedded null byte")))
    workers.deliver(0)
    assert told == ["a fault in JIM: ValueError: embedded null byte"]
    assert workers.tries("key") == 1
    assert "in work\n    raise result" in caplog.text


def test_what_nobody_expected_goes_to_the_loop_in_words_where_an_errand_has_none(workers):
    workers.start(Errand("key", lambda: 1 / 0, print))
    with pytest.raises(Fault, match="division by zero"):
        workers.deliver(0)
    assert workers.tries("key") == 1


def test_why_errands_of_a_kind_have_failed_is_known_until_they_are_done(workers, clock):
    told = Told()
    for number, result in (1, JimError("no answer")), (2, JimError("down")), (3, "done"):
        errand = told.errand(result)
        workers.start(Errand(("wish", number), errand.work, errand.done, errand.failed))
    while workers.deliver(0):
        pass
    assert workers.troubles("wish", "cancel") == {1: "no answer", 2: "down"}
    workers.forget(("wish", 1))
    assert workers.troubles("wish") == {2: "down"}
    assert workers.troubles("cancel") == {}


def test_two_threads_are_left_for_the_question_about_all_jobs(clock):
    workers = Workers(clock)
    try:
        for number in range(3):
            assert not workers.crowded()
            workers.start(Errand(number, lambda: None, lambda _: None, command=True))
        assert workers.crowded()
        assert workers.crowded(spare=1)
        while not workers.idle():
            assert workers.deliver(20)
        assert not workers.crowded(spare=2)
    finally:
        workers.stop()


def test_work_in_parts_comes_after_what_waits(workers):
    told = Told()
    workers.start(told.errand("first"))
    workers.later("parts", lambda: told.append("second"))
    while workers.deliver(0):
        pass
    assert told == ["first", "second"]


@pytest.mark.parametrize("apart", ["far", "source"])
def test_places_of_people_and_code_of_a_site_that_hang_hold_up_neither_commands_nor_other_errands(apart):
    workers, go, told = Workers(Clock()), threading.Event(), Told()
    try:
        for number in range(20):
            workers.start(Errand(("place", number), go.wait, told.append, **{apart: True}))
        workers.start(Errand("tar", lambda: "tar", told.append))
        workers.start(Errand("query", lambda: "query", told.append, command=True))
        for _ in range(2):
            assert workers.deliver(20)
        assert sorted(told) == ["query", "tar"]
    finally:
        go.set()
        workers.stop()
