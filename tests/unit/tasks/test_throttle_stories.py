"""Stories of whole sites, played within a second each: what a task sends while attempts end well or badly."""

from __future__ import annotations

import pytest

from jim.tasks.throttle import Limits, Throttle
from tests.support.sampled import sampled
from tests.unit.tasks.throttled_site import HOUR, Site

SEEDS = sampled([1, 2, 3, 4, 5, 6, 7, 8])
SMALL = Limits(500, 500)


def away(begin: float, end: float):
    """Let what begins while a storage is away fail."""
    return lambda piece, now, chance: begin * HOUR < now < end * HOUR


def some(share: float):
    """Let attempts fail by chance."""
    return lambda piece, now, chance: chance.random() < share


def poison(share: float, before: int = 0):
    """Let all attempts at some pieces fail, from one on."""
    return lambda piece, now, chance: piece >= before and hash((piece, 7)) % 1000 < 1000 * share


def test_a_task_of_which_all_ends_well_has_all_it_may_after_four_steps():
    site = Site(lambda piece, now, chance: False, 4_000).play(2)
    assert site.is_over
    assert [each.rpartition(" ")[2] for each in site.told] == ["50", "500", "2,000"]


@pytest.mark.parametrize(("seconds", "attempts"), sampled([(300, 3), (300, 30), (3600, 3)]))
def test_a_storage_that_dies_for_an_hour_costs_few_attempts_and_nobody_has_to_do_anything(seconds, attempts):
    dies, many = (0.5, 12_000) if seconds < HOUR else (7, 12_000)
    site = Site(away(dies, dies + 1), many, seconds=seconds, attempts=attempts).play(dies + 0.999)
    assert site.highest == 2000
    assert site.bad_attempts <= 600, "of 1,000"
    assert site.allowance <= 31
    before = site.bad_attempts
    site.play(40)
    assert site.bad_attempts == before
    assert (len(site.done), site.was_paused) == (many, []), "what had failed was tried once more"
    assert site.allowance == 2000 or seconds == 3600


def test_what_always_fails_costs_few_pieces_and_pauses_late():
    site = Site(lambda piece, now, chance: True, 100_000).play(24)
    assert len(site.was_paused) == 1
    assert site.was_paused[0] >= 3.3 * HOUR
    assert site.taken <= 40
    assert site.bad_attempts <= 40


@pytest.mark.parametrize("seed", SEEDS)
def test_thirty_poisoned_pieces_before_good_ones_cost_one_resume_at_most_and_are_set_aside(seed):
    site = Site(lambda piece, now, chance: piece < 30, 330, Limits(50, 50), seconds=20, resumes=1, seed=seed).play(24)
    assert site.done == {*range(30, 330)}
    assert {*site.dead} == {*range(30)}
    assert len(site.was_paused) <= 1
    assert site.now < 8 * HOUR


@pytest.mark.parametrize("seconds", [5.0, 300.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_failure_in_twenty_never_lowers_it(seed, seconds):
    site = Site(some(0.05), 3_000, SMALL, bad_seconds=seconds, seed=seed).play(6)
    steps = [each.split(" allowance ")[1].split(" → ") for each in site.told if "allowance" in each]
    assert all(int(before.replace(",", "")) < int(after.replace(",", "").split(";")[0]) for before, after in steps)
    assert site.allowance == 500


@pytest.mark.parametrize("seconds", sampled([300.0, 3600.0]))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_tenth_that_dies_within_seconds_lets_it_have_most_it_may(seed, seconds):
    site = Site(poison(0.1), 4_000, SMALL, seconds=seconds, seed=seed).play(1.5 if seconds == 300 else 12)
    assert site.allowance >= 250
    assert site.lowest == 5


@pytest.mark.parametrize("seconds", sampled([5.0, 3600.0]))
def test_a_third_that_fails_leaves_it_where_it_is(seconds):
    """Failures that come within seconds weigh no more than successes that take an hour."""
    site = Site(some(0.3), 5_000, SMALL, seconds=3600, bad_seconds=seconds)
    site.throttle, site.lowest = Throttle(a=100, was_a=100), 100
    site.play(10)
    assert site.lowest >= 100


def test_a_bad_hour_is_over_when_it_is():
    site = Site(lambda piece, now, chance: chance.random() < (0.8 if HOUR < now < 2 * HOUR else 0.05), 8_000, SMALL)
    site.play(1.99)
    assert site.allowance <= 50
    site.play(10)
    assert site.is_over
    assert len(site.dead) <= 40
    assert site.allowance == 500


def test_minutes_that_are_good_and_bad_in_turn_bring_it_to_no_rest_and_pause_nothing():
    site = Site(lambda piece, now, chance: int(now / 60) % 2 == 1, 20_000, seconds=30).play(6)
    assert site.was_paused == []
    assert len(site.done) >= 300
    assert site.bad_attempts <= 2_000


def test_half_of_poison_after_ten_good_pieces_is_worked_off():
    site = Site(poison(0.5, before=10), 300, seconds=60, resumes=9).play(48)
    assert site.is_over
    assert site.was_paused == []
