"""A form becomes an expression in which each value is a text or a number, and nothing else."""

from __future__ import annotations

import pytest

from jim.errors import BadRequest
from jim.reading import filters
from jim.reading.documents import query_form
from jim.reading.view import View
from jim.statusdb.documents.xpath_tree import Call, Number, Operation, Path, Text, below, parsed
from tests.support.cli_home import Home

HOSTILE = (
    "' or '1'='1",
    '" or "1"="1',
    "x'] | //jim:sender | //x['",
    "')]/../jim:grid_job[contains(@key, '",
    "]",
    "&apos;&#39;",
    "' or count(//*) > '0",
    "\\' or 1=1 or \\'",
    "a\u2019b",
    "//*",
    "$x",
)


@pytest.fixture
def view(home: Home) -> View:
    return View(home.site, home.store)


def written(view: View, **fields: str) -> str:
    return query_form.expression(view, filters.read(query_form.FIELDS, fields.items()))


def test_each_field_becomes_one_condition(view: View) -> None:
    assert written(view, state="failed") == "//jim:grid_job/jim:local_job[@state = 'failed']/@state"
    assert written(
        view, host="wn1", owner="alice", since="2026-01-31T12:00Z", until="2026-02-01", words="no space"
    ) == (
        "//jim:grid_job[@owner = 'alice']/jim:local_job[jim:attempt/@host = 'wn1' and @updated_s >= 1769860800 "
        "and @updated_s < 1769904000 and contains(@reason, 'no') and contains(@reason, 'space')]/@state"
    )


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", ["host", "owner", "words"])
def test_no_value_becomes_a_part_of_the_language(view: View, field: str, text: str) -> None:
    harmless = parsed(written(view, **{field: "a " * len(text.split())}))
    tree = parsed(written(view, **{field: text}))
    parts, plain = list(below(tree)), list(below(harmless))
    kinds = [type(each) for each in parts]
    assert kinds == [type(each) for each in plain], "the tree is that of harmless words"
    texts = [each.value for each in parts if isinstance(each, Text)]
    assert texts == (text.split() if field == "words" else [text])


def test_a_word_with_both_kinds_of_marks_is_found_by_its_parts_and_a_name_with_both_is_refused(view: View) -> None:
    tree = parsed(written(view, words="""a'b"c'"""))
    assert [each.value for each in below(tree) if isinstance(each, Text)] == ["a", "'", 'b"c', "'"]
    assert {type(each) for each in below(tree)} <= {Path, Operation, Call, Text, Number, *map(type, below(tree))}
    for field in ("host", "owner"):
        with pytest.raises(BadRequest, match="both kinds of quotation marks"):
            written(view, **{field: """a'b"c"""})


@pytest.mark.parametrize(
    ("field", "value"), [("state", "failed' or '1"), ("since", "now"), ("since", "1 or 1"), ("until", "99999999d")]
)
def test_what_is_no_state_or_time_is_refused(view: View, field: str, value: str) -> None:
    with pytest.raises(BadRequest):
        written(view, **{field: value})


def test_an_empty_form_is_none(view: View) -> None:
    assert not query_form.is_filled(filters.read(query_form.FIELDS, [("state", ""), ("words", "")]))
    assert query_form.is_filled(filters.read(query_form.FIELDS, [("state", "failed")]))
