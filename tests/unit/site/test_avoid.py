"""People's orders about hosts, as a file has them that somebody may have mended by hand."""

from __future__ import annotations

import json

import pytest

from jim.errors import BadSite
from jim.site import avoid
from jim.site.file import Site
from jim.workdir.avoid import orders_of

ORDER = {"host": "wn1", "avoid": True, "since": 1.0, "until": None, "reason": ""}


@pytest.fixture
def site(tmp_path):
    return Site(state=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 100_000,
        "null",
        "{}{}",
        '{"host": 1}',
        "[7]",
        json.dumps([ORDER | {"since": "x"}]),
        json.dumps([ORDER | {"since": float("nan")}]),
        json.dumps([ORDER | {"until": 10**400}]),
        json.dumps([{"host": "wn1"}]),
    ],
)
def test_a_broken_file_is_told_and_not_changed(site, text):
    site.avoid.write_text(text)
    with pytest.raises(BadSite, match=r"is there and cannot be read: .*; mend or remove it, and name the hosts anew"):
        avoid.ordered(site)
    with pytest.raises(BadSite):
        avoid.avoid(site, ["wn1"])
    assert site.avoid.read_text() == text


def test_what_is_no_file_is_told(site):
    site.avoid.mkdir()
    with pytest.raises(BadSite, match="cannot be read"):
        avoid.ordered(site)


def test_a_name_that_is_none_and_an_order_that_is_over_say_nothing(site):
    odd = [ORDER | {"host": each} for each in ("../x", "a b", "a\nb", "", "x" * 300, 7, "é")]
    site.avoid.write_text(json.dumps([*odd, ORDER | {"until": 2.0}, ORDER]))
    assert [each.host for each in avoid.ordered(site)] == ["7", "wn1"]


def test_a_host_that_is_named_twice_has_one_order(site):
    avoid.avoid(site, ["wn1", "wn1"], reason="first")
    avoid.avoid(site, ["wn1"], reason="second")
    (order,) = avoid.ordered(site)
    assert order.notice.reason == "second"
    avoid.use_again(site, ["wn1", "wn1"])
    (order,) = avoid.ordered(site)
    assert not order.avoid


@pytest.mark.parametrize(
    ("named", "means"),
    [
        ("wn1", {"wn1", "wn1.a.de", "wn1.b.de"}),
        ("wn1.a.de", {"wn1", "wn1.a.de"}),
        ("wn1.c.de", {"wn1"}),
        ("wn2", {"wn2.a.de"}),
        ("wn", {"wn"}),
        ("wn3.a.de", {"wn3.a.de"}),
    ],
)
def test_people_may_leave_out_the_domain_or_add_it(site, named, means):
    seen = ["wn1", "wn1.a.de", "wn1.b.de", "wn2.a.de", "wn10"]
    assert {*orders_of(avoid.avoid(site, [named]), seen).avoid} == means
