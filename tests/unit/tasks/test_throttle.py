"""The throttle on its own: what it allows after attempts that end well or badly; and two stories of whole sites."""

from __future__ import annotations

import heapq
import random

from jim.tasks.throttle import End, Throttle, count, in_words, read, resumed, spared

NEW = Throttle(at_once=2000, queued=2000)


def ended(state, *, well=0, badly=0, wave=1, next_wave=2, now=1000.0):
    return count(state, [End(wave, False, "exit 3")] * badly + [End(wave, True)] * well, next_wave, now)


def test_it_grows_by_ten_while_all_goes_well_and_never_beyond_at_once():
    state, seen = NEW, [NEW.allowance]
    for _ in range(4):
        while (after := ended(state, well=1).throttle).a == (state.a or state.first):
            state = after
        state = after
        seen.append(state.allowance)
        if state.a == 2000:
            break
    assert seen == [5, 50, 500, 2000]
    assert in_words(state) == "2,000 of 2,000, steady"


def test_after_the_first_failures_it_doubles():
    state = ended(NEW, well=4, badly=1).throttle
    assert (state.a, state.fast, state.bad) == (5, 0, 0.0), "a fifth of five failed: it stays"
    assert ended(state, well=10).throttle.a == 10


def test_it_shrinks_when_most_fail_and_begins_a_bad_time():
    state = NEW._replace(a=500, decided=900.0)
    done = ended(state, badly=50)
    assert (done.throttle.a, done.throttle.bad, done.throttle.shrunk) == (250, 900.0, 2)
    assert done.told == "50 of 50 attempts failed: allowance 500 → 250"
    assert in_words(done.throttle) == "250 of 2,000, failing"


def test_failures_that_a_black_hole_ate_are_taken_back_and_so_is_a_bad_time_that_was_none():
    state = ended(NEW._replace(a=10, decided=900.0), well=4, badly=6).throttle
    assert (state.a, state.bad) == (5, 900.0)
    state, words = spared(state)
    assert (state.a, words) == (5, ""), "5 of 9 are still more than half"
    state, words = spared(state)
    assert (state.a, state.bad, state.shrunk) == (10, 0.0, 0)
    assert words == "4 of 8 attempts failed: allowance 5 → 10; a black hole ate others"
    assert spared(state) == (state, "")


def test_failures_since_the_last_decision_are_taken_back_first():
    state = ended(NEW._replace(a=10, decided=1000.0), well=2, badly=2).throttle
    assert spared(state)[0] == state._replace(failed=1, ended=3)


def test_a_retry_that_was_asked_for_during_a_pause_is_kept():
    assert resumed(NEW._replace(retry=1)).retry == 1


def test_a_bad_time_ends_after_a_pause_as_ever():
    state = NEW._replace(a=1, alone=3, bad=700.0, doubt=700.0, shrunk=3, row=7, decided=1000.0)
    anew = resumed(state)
    assert (anew.allowance, anew.row, in_words(anew)) == (5, 0, "5 of 2,000, growing")
    assert ended(anew, well=5).throttle.again == 700.0
    again = ended(anew, badly=5).throttle
    assert (again.a, again.bad, in_words(again)) == (2, 700.0, "2 of 2,000, failing")


def test_what_was_released_before_it_shrank_ends_well_and_says_nothing():
    state = ended(NEW._replace(a=500, decided=900.0), badly=50, next_wave=7).throttle
    assert ended(state, well=1000, wave=6).throttle == state
    assert ended(state, badly=1, wave=6).throttle.failed == 1, "failures always count"
    assert ended(state, well=1, wave=7).throttle.ended == 1


def test_one_attempt_decides_once_the_time_of_a_probe_has_passed():
    state = NEW._replace(a=8, decided=1000.0)
    assert ended(state, badly=1, now=1599.0).throttle.a == 8
    assert ended(state, badly=1, now=1600.0).throttle.a == 4


def test_twenty_failed_probes_in_a_row_pause_the_task():
    state = NEW._replace(a=1, alone=1, bad=1.0, decided=1.0)
    for n in range(19):
        done = ended(state, badly=1, now=1000.0 + 600 * n)
        assert not done.paused
        state = done.throttle
    done = ended(state, badly=1, now=20_000.0)
    assert done.paused == "by itself: 20 in a row: exit 3"
    assert resumed(done.throttle).allowance == 5


def test_a_success_begins_the_row_anew_and_ends_the_bad_time():
    state = NEW._replace(a=1, alone=1, bad=700.0, decided=1.0, row=19, shrunk=1, fast=0)
    done = ended(state, well=1)
    assert (done.throttle.a, done.throttle.alone, done.throttle.row, done.throttle.bad) == (2, 0, 0, 0.0)
    assert done.throttle.again == 700.0
    assert done.told.endswith("the bad time is over")


def test_it_is_stored_as_plain_values():
    state = ended(NEW, well=7).throttle
    assert read(state._asdict() | {"of a later version": 1}) == state


def story(fails, hours, seconds, pieces=100_000):
    """Play a site: pieces take so long, and those begun at some times fail within 5 s. Return failures and the end."""
    chance, now, state = random.Random(7), 0.0, NEW
    on_the_way, wave, failures, done, probe = [], 1, 0, 0, 0.0
    while now < hours * 3600 and done < pieces:
        free = state.allowance - len(on_the_way)
        probing = state.bad and (free <= 0 or state.a == 1)
        if probing:
            free = int(now >= probe and len(on_the_way) < state.allowance + 1)
        for _ in range(max(0, free)):
            bad = fails(now)
            heapq.heappush(on_the_way, (now + (5 if bad else seconds * chance.uniform(0.7, 1.3)), not bad, wave))
        if free > 0:
            wave, probe = wave + 1, now + state.probe_seconds
        now += 10
        ends = []
        while on_the_way and on_the_way[0][0] <= now:
            _, well, of = heapq.heappop(on_the_way)
            ends.append(End(of, well, "" if well else "storage"))
            failures, done = failures + (not well), done + well
        result = count(state, ends, wave, now)
        state = result.throttle
        if result.paused:
            return failures, now, "paused"
    return failures, now, state.a


def test_a_storage_that_dies_for_an_hour_costs_few_attempts_and_nobody_has_to_do_anything():
    failures, _, allowance = story(lambda now: 4 * 3600 <= now < 5 * 3600, hours=9, seconds=3600)
    assert failures <= 1000
    assert allowance > 100, "it grows again"


def test_what_always_fails_costs_few_pieces_and_pauses_late():
    failures, now, end = story(lambda now: True, hours=24, seconds=3600)
    assert end == "paused"
    assert failures <= 40
    assert now >= 3.3 * 3600


def test_what_was_released_before_it_shrank_and_sent_after_that_counts():
    """Waves have little room while most fail: what is sent by and by must be able to end the bad time."""
    state = Throttle(at_once=200, queued=200, a=20)
    state = count(state, [End(3, False, "exit 3")] * 20, next_wave=9, now=10.0, line=70).throttle
    assert (state.a, state.shrunk, state.shrunk_line) == (10, 9, 70)
    assert count(state, [End(4, True, line=70)] * 10, 9, 11.0, 90).throttle == state
    after = count(state, [End(4, True, line=71)] * 10, 9, 11.0, 90).throttle
    assert (after.a, after.bad, after.again > 0) == (20, 0.0, True)


def test_a_bad_time_reaches_back_to_the_good_decision_before_the_first_failures():
    """While old successes still come in, a storage has died some decisions before most attempts fail."""
    state = NEW._replace(a=50, decided=100.0)
    state = ended(state, well=46, badly=4, now=200.0).throttle
    for now in (300.0, 400.0):
        state = ended(state, well=30, badly=20, now=now).throttle
        assert (state.bad, state.doubt) == (0.0, 100.0), "two fifths: not yet a bad time"
    state = ended(state, badly=50, now=500.0).throttle
    assert (state.a, state.bad) == (25, 100.0)
    done = ended(state, well=25, wave=2, now=600.0)
    assert (done.throttle.bad, done.throttle.doubt, done.throttle.again) == (0.0, 0.0, 100.0)


def test_a_bad_time_reaches_back_to_the_first_failure_after_which_nothing_that_was_released_later_ended_well():
    """A few attempts fail at once; for some decisions all others that end are old ones, which end well."""
    state = NEW._replace(a=200, at_once=200, decided=100.0)
    state = ended(state, well=48, badly=2, wave=7, now=200.0).throttle
    for now in (300.0, 400.0, 500.0):
        state = ended(state, well=50, wave=6, now=now).throttle
    state = ended(state, badly=50, wave=8, now=600.0).throttle
    assert (state.a, state.bad) == (100, 100.0)


def test_a_failure_is_no_part_of_the_trouble_if_what_was_released_after_it_ended_well():
    state = NEW._replace(a=200, at_once=200, decided=100.0)
    state = ended(state, well=48, badly=2, wave=7, now=200.0).throttle
    for now in (300.0, 400.0, 500.0):
        state = ended(state, well=50, wave=8, now=now).throttle
    state = ended(state, badly=50, wave=9, now=600.0).throttle
    assert (state.a, state.bad) == (100, 400.0), "the last good decision began then"


def test_a_good_decision_ends_the_doubt():
    state = NEW._replace(a=50, decided=100.0, doubt=50.0)
    state = ended(state, well=50, now=200.0).throttle
    assert (state.doubt, state.good_from) == (0.0, 100.0)
