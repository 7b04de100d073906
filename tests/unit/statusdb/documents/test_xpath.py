"""XPath over a whole document, in a child with limits."""

import io
import json
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from jim.errors import BadRequest, JimError
from jim.statusdb.documents import xpath as room
from jim.statusdb.documents.writing import document
from jim.statusdb.documents.xml import NAMESPACE, evaluate
from jim.statusdb.documents.xpath import Most, xpath
from tests.unit.statusdb.documented import stored


@pytest.fixture
def store(tmp_path):
    with closing(stored(tmp_path)) as store:
        yield store


def asked(content, expression, most=room.ALL):
    """Give what the child writes, line by line."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(content)
        given.flush()
        xpath(given, expression, out, most)
        out.seek(0)
        found = [json.loads(line) for line in out]
        return [each[:2] if isinstance(each, list) else each for each in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("count(//jim:local_job)", [("", "2")]),
        ("1 div 4", [("", "0.25")]),
        ("--help", [("", "nan")]),  # no option: an arithmetic expression
        ("3000000 * 2", [("", "6000000")]),
        ("boolean(//jim:exit)", [("", "true")]),
        ("//jim:local_job/@state", [("12.0", "running"), ("12.1", "waiting")]),
        ("string(/jim:grid_job/@key)", [("", "gk-1")]),
        ("/jim:grid_job/@key", [("12", "gk-1")]),
        ("//jim:output/@bytes", [("12.0", "1048576")]),
        ("//jim:nothing", []),
        ("//jim:refused", [("12.0", f'<jim:refused xmlns:jim="{NAMESPACE}">link escape.dat</jim:refused>')]),
        ("//jim:refused/text()", [("12.0", "link escape.dat")]),
    ],
)
def test_expressions_are_evaluated(store, expression, expected):
    found = list(evaluate(io.BytesIO(document(store, 12)), expression))
    assert [each[:2] for each in found] == expected
    assert [each[2] for each in found] == [expression == "//jim:refused"] * len(expected)


def test_an_expression_runs_in_a_child(store):
    assert asked(document(store, 12), "//jim:local_job/@n") == [["12.0", "0"], ["12.1", "1"], 2]


def test_the_child_writes_no_more_than_is_wanted(store):
    whole = document(store, 12)
    assert asked(whole, "//jim:local_job/@n", Most(1, -1)) == [["12.0", "0"], 2]
    assert asked(whole, "//jim:local_job/@state", Most(-1, 10)) == [["12.0", "running"], 2]


@pytest.mark.parametrize("expression", ["//nope:a", "document('/etc/passwd')", "//jim:local_job[nope()]"])
def test_a_bad_expression_is_refused_in_words(store, expression):
    with pytest.raises(BadRequest, match="XPath"):
        asked(document(store, 12), expression)


def test_a_document_that_refers_to_others_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("secret")
    content = f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><a>&x;</a>'
    assert "secret" not in json.dumps(asked(content.encode(), "string(/a)"))


def test_a_document_that_does_not_fit_into_memory_is_no_fault_of_the_expression(store):
    """libxml2 reports an unknown error of the document then; a whole document that JIM wrote has none."""
    with pytest.raises(MemoryError):
        evaluate(io.BytesIO(document(store, 12)[:-20]), "//jim:local_job")


def test_an_expression_that_takes_for_ever_is_ended(monkeypatch):
    monkeypatch.setattr(room, "WALL_SECONDS", 1)
    many = b"<a>" + b"<b/>" * 3000 + b"</a>"
    with pytest.raises(JimError, match="it needs more than 10 s of CPU time"):
        asked(many, "count(//b[count(//b[count(//b) > 1]) > 1])")


def test_the_child_has_limits_and_nothing_else(monkeypatch):
    """The child tells about itself, in place of an evaluation."""
    told = (
        "import json, os, resource, sys; sys.path[:0] = sys.argv[1:2]; from jim.statusdb.documents import xpath, xml; "
        "xml.evaluate = lambda *_: [('', json.dumps([dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid(), "
        "open('/proc/self/oom_score_adj').read().strip(), {str(each): resource.getrlimit(each)[0] "
        "for each in xpath.LIMITS}"
        "]), False)]; os.environ.pop('LC_CTYPE', None); sys.exit(xpath.child())"
    )
    monkeypatch.setattr(room, "CHILD", told)
    (found, count) = asked(b"<a/>", "/a")
    environment, place, own_session, rank, limits = json.loads(found[1])
    assert (environment, place, own_session, rank, count) == ({}, "/", True, "1000", 1)
    assert limits == {"0": 10, "9": 1 << 30, "1": 256 << 20, "4": 0, "6": 0}


@pytest.mark.torture
@pytest.mark.parametrize(
    "bomb",
    [
        "count(//*[count(//*) > count(//*[count(//*) > 3])])",
        "//*//*//*//*//*//*//*//*",
        "count(//@*[count(//@*) > 1])",
        "string-length(concat(" + ", ".join(["string(/)"] * 300) + "))",
    ],
)
def test_bombs_are_ended_within_20_seconds_two_at_once(bomb):
    content = b"<a>" + b"<b c='1'><d><e/></d></b>" * 200_000 + b"</a>"
    errors, began = [], time.monotonic()

    def ask():
        try:
            asked(content, bomb)
        except JimError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 22
    assert all("JIM stopped" in each or "XPath" in each for each in errors)
    assert not [each for each in Path("/proc").glob("[0-9]*") if _is_child(each)]


def _is_child(process):
    with suppress(OSError):
        return b"jim.statusdb.documents.xpath import child" in (process / "cmdline").read_bytes()
    return False


def test_the_child_takes_what_nobody_else_wants_of_the_processors(monkeypatch):
    beside = "import json, os; print(json.dumps(['nice', str(os.nice(0)), False]))"
    monkeypatch.setattr(room, "CHILD", room.CHILD.replace("sys.exit(child())", f"child(); {beside}"))
    assert asked(b"<a/>", "count(/a)")[-1] == ["nice", "19"]
