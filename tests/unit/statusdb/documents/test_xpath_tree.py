"""The parser of expressions."""

import pytest

from jim.errors import BadRequest
from jim.statusdb.documents.xpath_tree import ANYWHERE, Call, Filter, Number, Operation, Path, Step, Text, parsed


def child(name, *predicates):
    return Step("child", name, predicates)


def attribute(name):
    return Step("attribute", name)


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        ("7", Number(7.0, "7")),
        ("-.5", Number(-0.5, "-.5")),
        ("'a\"b'", Text('a"b')),
        ("/", Path(True, (), 0)),
        ("a/@b", Path(False, (child("a"), attribute("b")), 0)),
        ("//jim:a", Path(True, (ANYWHERE, child("jim:a")), 0)),
        ("a[ b ] [2]", Path(False, (child("a", Path(False, (child("b"),), 3), Number(2.0, "2")),), 0)),
        ("../.", Path(False, (Step("parent", "node()"), Step("self", "node()")), 0)),
        ("following::x", Path(False, (Step("following", "x"),), 0)),
        ("text()", Path(False, (child("text()"),), 0)),
        ("(1)", Filter(Number(1.0, "1"), ())),
        ("not(a)", Call("not", (Path(False, (child("a"),), 4),))),
        ("a-b", Path(False, (child("a-b"),), 0)),
        (
            "* * *",
            Operation(("*",), (Path(False, (child("*"),), 0), Path(False, (child("*"),), 4))),
        ),
        (
            "or or or",
            Operation(("or",), (Path(False, (child("or"),), 0), Path(False, (child("or"),), 6))),
        ),
        ("1 < 2 = 3", Operation(("=",), (Operation(("<",), (Number(1.0, "1"), Number(2.0, "2"))), Number(3.0, "3")))),
    ],
)
def test_an_expression_has_a_tree(expression, tree):
    assert parsed(expression) == tree


@pytest.mark.parametrize(
    "expression",
    [
        "",
        " ",
        "//",
        "//[",
        "a b",
        "1 1",
        "a[",
        "a]",
        "nowhere::a",
        "a/",
        "a,b",
        ")",
        "'open",
        "f(",
        "f(1,",
        "$",
        "a\0b",
        "&",
    ],
)
def test_what_is_no_expression_is_refused(expression):
    with pytest.raises(BadRequest, match="XPath"):
        parsed(expression)


@pytest.mark.parametrize(
    "expression", ["(" * 60 + "1" + ")" * 60, "a[" * 60 + "1" + "]" * 60, "not(" * 60 + "1" + ")" * 60]
)
def test_an_expression_too_deep_is_refused(expression):
    with pytest.raises(BadRequest, match="nested more than 50 deep"):
        parsed(expression)


def test_a_long_expression_is_refused_at_once():
    assert parsed("1" + " or 1" * 1600)
    with pytest.raises(BadRequest, match=r"65,537 characters; at most 8,192"):
        parsed("1" + " or 1" * 13107 + "2")
