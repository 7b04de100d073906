"""For how long hosts are avoided, and how many of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jim.evidence.avoiding import Avoided, Orders, avoided, stored
from jim.evidence.hosts import BlackHole, Tried

HOUR, DAY = 3600.0, 86_400.0
NOW = 1_000_000.0
NOBODY = Orders({}, {})
EVIDENCE = BlackHole("hole", 3, NOW - 9, NOW, 2.0, 5, 5)


def tried(host: str, at: float = NOW, *, good: bool | None = True, seconds: float = 2.0, n: int = 0) -> Tried:
    return Tried(host, 1, n, at - seconds if good is not None else at, at, seconds, good)


def seen(hosts: int, *more: Tried) -> list[Tried]:
    """A site whose attempts take 100 s; the first host is `hole`."""
    return [*more, *(tried(host, seconds=100.0) for host in ["hole", *map("wn{}".format, range(1, hosts))])]


def hole(host: str = "hole", failed: int = 3) -> BlackHole:
    return EVIDENCE._replace(host=host, failed=failed)


def known(**facts: object) -> dict[str, Avoided]:
    return {"hole": replace(Avoided("hole", NOW, NOW + HOUR, times=1, hole=EVIDENCE), **facts)}  # type: ignore[arg-type]


def test_a_black_hole_is_avoided_for_an_hour() -> None:
    found = avoided({}, NOBODY, seen(10), [hole()], NOW)
    assert found == known()
    assert avoided(found, NOBODY, seen(10), [hole()], NOW + HOUR - 1) == found, (
        "whatever comes of what has begun before"
    )
    assert avoided(found, NOBODY, seen(10), [], NOW + HOUR - 1) == found


def test_then_one_attempt_tries_it() -> None:
    on_trial = avoided(known(), NOBODY, seen(10), [hole()], NOW + HOUR)
    assert on_trial == known(tried_since=NOW + HOUR)
    assert on_trial["hole"].trial == "trial.hole.1003600"
    for later in (NOW + HOUR + 1, NOW + 2 * HOUR):
        assert avoided(on_trial, NOBODY, seen(10), [hole()], later) == on_trial, "nothing has come there"


@pytest.mark.parametrize(
    ("came", "becomes"),
    [
        (tried("hole", NOW + HOUR + 50, seconds=40.0), {}),
        (tried("hole", NOW + HOUR + 10, good=None, seconds=100.0), {}),
        (tried("hole", NOW + HOUR + 10, good=None, seconds=99.0), known(tried_since=NOW + HOUR)),
        (tried("hole", NOW + HOUR + 10, good=False), known(until=NOW + HOUR + 200 + 2 * HOUR, times=2)),
        (tried("hole", NOW + HOUR + 30, good=False, seconds=10.0), known(tried_since=NOW + HOUR)),
        (tried("hole", NOW + HOUR + 1, good=False), known(tried_since=NOW + HOUR)),
    ],
    ids=["it ended well", "it runs on", "it does not run for long yet", "it failed", "slowly", "it began before"],
)
def test_a_trial_tells(came: Tried, becomes: dict[str, Avoided]) -> None:
    on_trial = known(tried_since=NOW + HOUR)
    assert avoided(on_trial, NOBODY, seen(10, came), [hole()] if becomes else [], NOW + HOUR + 200) == becomes


def test_each_failed_trial_doubles_the_time_up_to_a_day() -> None:
    hours = []
    for times in range(1, 8):
        on_trial = known(tried_since=NOW, until=NOW, times=times)
        (found,) = avoided(on_trial, NOBODY, seen(9, tried("hole", NOW + 9, good=False)), [], NOW + 10).values()
        assert found.until is not None
        hours.append((found.until - NOW - 10) / HOUR)
    assert hours == [2, 4, 8, 16, 24, 24, 24]


def test_a_trial_without_result_begins_anew_and_a_host_that_nothing_comes_to_is_forgotten() -> None:
    on_trial = known(tried_since=NOW + HOUR)
    assert avoided(on_trial, NOBODY, seen(10), [], NOW + 2 * HOUR + 1) == known(tried_since=NOW + 2 * HOUR + 1)
    assert avoided(on_trial, NOBODY, seen(10), [], NOW + HOUR + DAY + 1) == {}


@pytest.mark.parametrize(("hosts", "most"), [(1, 0), (2, 1), (4, 1), (7, 1), (8, 2), (11, 2), (12, 3)])
def test_at_most_a_quarter_of_the_hosts_and_never_the_last_one(hosts: int, most: int) -> None:
    holes = [hole(), *(hole(f"wn{n}") for n in range(1, hosts))]
    named = {each.host: Avoided(each.host, NOW) for each in holes}
    assert len(avoided({}, NOBODY, seen(hosts), holes, NOW)) == most
    assert len(avoided({}, Orders(named, {}), seen(hosts), [], NOW)) == most


def test_a_named_host_is_avoided_before_a_black_hole_and_one_where_nothing_ran_takes_no_room() -> None:
    named = {"wn1": Avoided("wn1", NOW, reason="its disk is exchanged"), "new1": Avoided("new1", NOW)}
    found = avoided(known(), Orders(named, {}), seen(7), [hole()], NOW + 1)
    assert list(found) == ["wn1", "new1"]
    assert found["wn1"].is_named


def test_a_named_host_is_avoided_only_while_the_order_holds() -> None:
    assert avoided({"wn1": Avoided("wn1", NOW)}, NOBODY, seen(10), [], NOW + 1) == {}


def test_a_person_who_trusts_a_host_ends_that_it_is_avoided_until_there_is_new_evidence() -> None:
    trust = Orders({}, {"hole": NOW + 5})
    assert avoided(known(), trust, seen(10), [], NOW + 9) == {}
    later = avoided({}, trust, seen(10), [hole()], NOW + 20)
    assert avoided(later, trust, seen(10), [hole()], NOW + 30) == later == known(since=NOW + 20, until=NOW + 20 + HOUR)


def test_it_is_read_as_it_was_told() -> None:
    for each in (*known(tried_since=7.0).values(), Avoided("wn1", NOW, reason="why")):
        assert Avoided.read(each.told()) == each


def test_a_host_is_acquitted_once_the_same_job_fails_elsewhere_too() -> None:
    """Its pieces had all come to one host, while other jobs went well on the others."""
    there = [each._replace(n=at, grid=2) for at, each in enumerate([tried("hole", NOW + 9, good=False)] * 3)]
    assert avoided(known(), NOBODY, seen(10, *there), [hole()], NOW + 60) == known()
    elsewhere = [tried(f"wn{n}", NOW + 50, good=False)._replace(n=n, grid=2) for n in (1, 2, 3)]
    assert avoided(known(), NOBODY, seen(10, *there, *elsewhere), [], NOW + 60) == {}


@pytest.mark.parametrize("told", ["", "[]", "{", "[{}]", '[{"host": "a", "more": 1}]', "7"])
def test_what_cannot_be_read_is_no_host(told: str) -> None:
    assert stored(told) == {}
