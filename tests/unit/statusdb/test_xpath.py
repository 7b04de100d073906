"""XPath over a grid job's document, with limits."""

from contextlib import closing

import pytest

from jim.errors import JimError
from jim.statusdb.xml import NAMESPACE, document, evaluate
from jim.statusdb.xpath import xpath
from tests.unit.statusdb.documented import stored


@pytest.fixture
def store(tmp_path):
    with closing(stored(tmp_path)) as store:
        yield store


# XPath


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("count(//jim:local_job)", ["2"]),
        ("1 div 4", ["0.25"]),
        ("--help", ["nan"]),  # no option: an arithmetic expression
        ("3000000 * 2", ["6000000"]),
        ("boolean(//jim:exit)", ["true"]),
        ("//jim:local_job/@state", ["running", "waiting"]),
        ("string(/jim:grid_job/@key)", ["gk-1"]),
        ("//jim:output/@bytes", ["1048576"]),
        ("//jim:nothing", []),
        ("//jim:refused", [f'<jim:refused xmlns:jim="{NAMESPACE}">link escape.dat</jim:refused>']),
        ("//jim:refused/text()", ["link escape.dat"]),
    ],
)
def test_expressions_are_evaluated(store, tmp_path, expression, expected):
    (tmp_path / "12.xml").write_bytes(document(store, 12))
    assert evaluate(tmp_path / "12.xml", expression) == expected


def test_an_expression_runs_in_a_child(store):
    assert xpath(document(store, 12), "//jim:local_job/@n") == ["0", "1"]


@pytest.mark.parametrize("expression", ["", "//[", "//nope:a", "document('/etc/passwd')", "a\0b"])
def test_a_bad_expression_is_refused_in_words(store, expression):
    with pytest.raises(JimError, match="XPath"):
        xpath(document(store, 12), expression)


def test_an_expression_that_takes_for_ever_is_ended():
    many = b"<a>" + b"<b/>" * 3000 + b"</a>"
    with pytest.raises(JimError, match="it took more than 1 s"):
        xpath(many, "count(//b[count(//b[count(//b) > 1]) > 1])", cpu_seconds=1)
