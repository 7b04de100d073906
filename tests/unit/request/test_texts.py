"""Attributes that a gatekeeper can only pass as texts."""

import pytest

from jim.errors import BadRequest
from jim.handlers.base import Attribute
from jim.request.texts import attributes_of, value_of


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("20000", int, 20000),
        ("2_0", int, "2_0"),
        ("１２", int, "１２"),
        ("٣", float, "٣"),
        (" 12", int, " 12"),
        ("+5", int, 5),
        ("nan", float, "nan"),
        ("1e3", float, 1000.0),
        ("many", int, "many"),
        ("70.5", float, 70.5),
        ("True", bool, True),
        ("perhaps", bool, "perhaps"),
        ("a, b", "list", ["a", "b"]),
        ('["a, b"]', "list", ["a, b"]),
        ('[["a"], []]', "lists", [["a"], []]),
        ('{"a": 1}', "values", {"a": 1}),
        ("no json", "table", "no json"),
        ("[" * 100_000, "lists", "[" * 100_000),
        ("a, b", str, "a, b"),
    ],
)
def test_a_text_becomes_its_kind_or_stays_for_the_check_to_refuse(text, kind, value):
    assert value_of("n", text, Attribute(kind, "")) == value


def test_a_number_of_too_many_digits_is_refused_as_in_other_languages_of_texts():
    with pytest.raises(BadRequest, match=r"n: '1{19}' has more than 18 digits \(so many\)"):
        value_of("n", "1" * 19, Attribute(int, "so many"))


def test_names_are_compared_as_in_other_languages_of_texts():
    found = attributes_of({"Events": "7", "MASSMINGEV": "70.5", "nosuch": "1"}, "pythia_monte_carlo", "")
    assert found == {"events": 7, "mass_min_gev": 70.5, "nosuch": "1"}


def test_an_attribute_given_under_two_names_is_refused():
    with pytest.raises(BadRequest, match="events: given twice"):
        attributes_of({"events": "7", "EVENTS": "8"}, "pythia_monte_carlo", "")
