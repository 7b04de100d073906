"""The throttle on its own: what it allows after attempts that end well or badly."""

from __future__ import annotations

from jim.tasks.throttle import EVER, End, Limits, Throttle, count, next_probe, resumed, spared

LIMITS = Limits(at_once=2000, queued=2000)
NEW = Throttle()


def ended(state, *, well=0, badly=0, now=1000.0, line=100, end=200, outlasting=0, **more):
    """Count attempts that were sent at a line of the journal, of which the last line is `end`."""
    ends = [End(False, "exit 3", line, **more)] * badly + [End(True, "", line, **more)] * well
    return count(state, LIMITS, ends, now, end, lambda *_: outlasting)


def test_it_grows_by_ten_while_all_goes_well_and_never_beyond_at_once():
    state, seen = NEW, []
    while state.a < 2000:
        state = ended(state, well=1).throttle
        seen += [state.a] if state.a not in seen else []
    assert seen == [5, 50, 500, 2000]


def test_after_the_first_failures_it_doubles():
    state = ended(NEW, well=4, badly=1).throttle
    assert (state.a, state.was_a, state.excess) == (5, 5, 0), "a fifth of five failed: it stays"
    assert ended(state, well=10, line=300).throttle.a == 10


def test_it_shrinks_when_most_fail_and_begins_a_bad_time():
    done = ended(NEW._replace(a=500, decided=900.0), badly=50)
    assert (done.throttle.a, done.throttle.was_a, done.throttle.mark, done.throttle.probes) == (250, 500, 201, True)
    assert done.told == "50 of 50 attempts failed: allowance 500 → 250"
    assert done.throttle.probed == 1000.0, "the next probe does not go at once"


def test_too_few_begin_no_bad_time():
    state = NEW._replace(a=8, decided=1000.0)
    state = ended(state, badly=4, now=1599.0).throttle
    state = ended(state, badly=0, now=1600.0).throttle
    assert (state.a, state.failed, state.decided) == (8, 4, 1600.0), "they count on"
    assert ended(state, badly=1, now=1601.0).throttle.a == 8
    assert ended(state, badly=1, now=2200.0).throttle.a == 4, "five by then"


def test_of_a_piece_only_the_first_failure_counts():
    state = NEW._replace(a=50, decided=1000.0)
    assert ended(state, badly=100, first=False).throttle == state


def test_what_has_run_as_long_as_the_failures_counts_as_good():
    state = NEW._replace(a=500, decided=900.0)
    done = ended(state, badly=50, outlasting=450, seconds=5.0)
    assert (done.throttle.a, done.throttle.excess, done.told) == (500, 0, "")
    asked = []
    count(
        state,
        LIMITS,
        [End(False, "", 150 + n, 0.0, n) for n in range(50)],
        1000.0,
        200,
        lambda *a: asked.append(a) or 0,
    )
    assert asked == [(0, 49.0)], "of what was sent since the last decision, what runs longer than any of these"


def test_nobody_is_asked_what_runs_while_few_fail():
    count(NEW, LIMITS, [End(True, "", 1)] * 50, 1000.0, 9, lambda *_: 1 // 0)


def test_what_was_sent_before_the_failures_and_took_much_longer_says_nothing_beside_them():
    state = NEW._replace(a=50, decided=1000.0, mark=50)
    state = ended(state, badly=1, line=60, seconds=5.0).throttle
    long = ended(state, well=30, line=40, seconds=300.0).throttle
    assert (long.ended, long.streak) == (1, 30), "of the share it is no part, but the allowance may grow by it"
    assert ended(state, well=30, line=60, seconds=300.0).throttle.ended == 31
    assert ended(state, well=30, line=40, seconds=6.0).throttle.ended == 31, "it ran while these did"


def test_what_was_sent_before_it_shrank_ends_well_and_says_nothing():
    state = ended(NEW._replace(a=500, decided=900.0), badly=50, end=70).throttle
    assert ended(state, well=1000, line=70).throttle == state
    assert ended(state, badly=1, line=70).throttle.failed == 1, "failures always count"
    assert ended(state, well=1, line=71).throttle.ended == 1


def test_what_was_sent_before_it_shrank_counts_if_the_failures_took_as_long():
    """A storage that is written to at the end fails after an hour: so what ends well then says that it is back."""
    state = ended(NEW._replace(a=500, decided=900.0), badly=50, seconds=3600.0).throttle
    state = ended(state, badly=1, seconds=3600.0).throttle
    assert ended(state, well=1, seconds=3700.0).throttle.ended == 2


def test_twenty_failed_probes_in_a_row_pause_the_task():
    state = NEW._replace(a=1, excess=1, mark=50, decided=1.0, was_a=5)
    for n in range(19):
        done = ended(state, badly=1, now=1000.0 + 600 * n, first=n % 2 == 0)
        assert not done.paused
        state = done.throttle
        assert (state.mark, state.probes_new) == (50, n % 2 == 1), "new pieces and old ones alternate"
    done = ended(state, badly=1, now=20_000.0)
    assert done.paused == "by itself: 20 in a row: exit 3"
    assert ended(state, badly=1, line=49).paused == "", "it was sent before the allowance was one"


def test_a_probe_of_an_old_piece_lets_the_allowance_shrink_too():
    """If all pieces are on the way there are no new ones, and the task would never pause."""
    state = NEW._replace(a=8, excess=1, mark=50, decided=1000.0)
    assert ended(state, badly=1, now=1600.0, first=False).throttle.a == 4
    assert ended(state, badly=1, now=1600.0, line=49, first=False).throttle.a == 8


def test_a_success_begins_the_row_anew_and_ends_the_bad_time():
    state = NEW._replace(a=1, excess=9, mark=50, streak=-19, decided=1.0, was_a=500, newest=700.0, good_since=650.0)
    done = ended(state, well=1, sent=990.0)
    assert (done.throttle.a, done.throttle.streak, done.throttle.excess) == (2, 0, 0)
    assert (done.again, done.throttle.good_since) == (650.0, 990.0)
    assert done.told == "0 of 1 attempts failed: allowance 1 → 2; the bad time is over"
    assert done.throttle.probes_new


def test_what_hangs_ends_no_bad_time():
    state = NEW._replace(a=1, excess=9, mark=50, decided=1.0)
    state = ended(state, badly=1, outlasting=30).throttle
    assert (state.probes, state.mark) == (True, 50)


def test_a_bad_time_reaches_back_to_the_last_good_decision_whatever_ended_well_since():
    state = ended(NEW._replace(a=50, decided=100.0), well=50, sent=90.0).throttle
    assert state.good_since == 90.0
    state = ended(state, well=30, badly=20, sent=200.0, line=300).throttle
    state = ended(state, badly=500, line=300).throttle
    assert state.probes
    assert ended(state, well=60, line=300).again == 90.0


def test_a_bad_time_reaches_back_to_what_was_sent_before_its_first_failures():
    """A few attempts fail at once; for some decisions all others that end are old ones, which end well."""
    state = ended(NEW._replace(a=200, decided=100.0), well=48, badly=2, sent=90.0).throttle
    for now in (300.0, 400.0, 500.0):
        state = ended(state, well=50, sent=89.0, now=now).throttle
    assert state.good_since == 90.0


def test_a_bad_time_at_the_very_beginning_reaches_back_to_it():
    state = ended(NEW, badly=5, line=1, end=9).throttle
    assert ended(state, well=5, line=10).again == EVER


def test_failures_that_a_black_hole_ate_are_taken_back_and_so_is_a_bad_time_that_was_none():
    state = ended(NEW._replace(a=10, decided=900.0), well=4, badly=6).throttle
    assert (state.a, state.excess) == (5, 2)
    state, words = spared(state)
    assert (state.a, state.probes, words) == (5, True, ""), "5 of 9 are still more than half"
    state, words = spared(state)
    assert (state.a, state.probes, state.excess) == (10, False, 0)
    assert words == "allowance 5 → 10: a black hole ate what failed"
    assert spared(state) == (state, "")


def test_failures_since_the_last_decision_are_taken_back_first():
    state = ended(NEW._replace(a=10, decided=1000.0), well=2, badly=2).throttle
    assert spared(state)[0] == state._replace(failed=1, ended=3)


def test_after_a_pause_it_begins_anew_and_the_bad_time_ends_as_ever():
    state = NEW._replace(a=1, excess=20, mark=50, streak=-7, decided=1000.0, was_a=500, good_since=700.0, probed=900.0)
    anew = resumed(state)
    assert (anew.a, anew.streak, anew.probes, anew.good_since) == (0, 0, False, 700.0)
    assert ended(anew, well=5).again == 700.0
    again = ended(anew, badly=5).throttle
    assert (again.a, again.probes) == (2, True)


def test_probes_go_at_irregular_intervals():
    gaps = [next_probe(NEW._replace(probed=1000.0 * n), LIMITS, "nonce") - 1000.0 * n for n in range(1, 100)]
    assert 450.0 <= min(gaps) < 480.0
    assert 720.0 < max(gaps) <= 750.0
