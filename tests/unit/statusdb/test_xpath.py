"""XPath over a grid job's document, with limits."""

import pytest

from jim.clock import Clock
from jim.errors import JimError
from jim.model import Piece, State, Step, Witness
from jim.statusdb.sqlite import Store
from jim.statusdb.xml import NAMESPACE, document, evaluate
from jim.statusdb.xpath import xpath
from tests.exit_records import exit_record

NOON = "2026-01-31T12:00:00.000Z"
SUM = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
RECORD = exit_record("jim-3f9a-12-1", 12, f"file 1048576 {SUM} events.dat\nrefused link escape.dat\n")


class FixedClock(Clock):
    """It is always noon."""

    def utc(self):
        return NOON


@pytest.fixture
def store(tmp_path):
    """A grid job of two local jobs: the first ran, failed and runs again; the second waits."""
    store = Store(tmp_path / "status.db", FixedClock(), write=True)
    request = {
        "job_type": "executable",
        "events": 500,
        "environment": {"MODE": "fast & loose"},
        "outputs": ["*.dat", "log"],
        "arguments": [["a", "b"], []],
        "queue": None,
    }
    store.add_grid_job(12, "gk-1", "mc", "2026-01-31T11:00:00.000Z", request)
    pieces = [Piece(1, 250), Piece(251, 250, ("-x", "<y>"))]
    store.add_pieces(12, 0, pieces)
    store.set_grid_job(12, why="250 < 1,000 events", events_per_job=250)
    store.end_split(12, 2)
    for k in (1, 2):
        store.intend(12, k, f"jim-3f9a-12-{k}", [store.local_job(12, 0)])
    store.set_attempt(12, 1, 1, host="node7", started=NOON, record=RECORD, verdict="again", reason="exit 3")
    store.set_local_job(12, 0, state=State.RUNNING, witness=Witness.CLAIM, reason="")
    store.set_grid_job(12, step=Step.ACTIVE, started=1)
    yield store
    store.close()


# What is published


# Documents


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
