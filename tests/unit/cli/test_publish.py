"""The people's door: publications about a grid job."""

import io
import json
from types import SimpleNamespace

import pytest


def left(home):
    """Return the wishes in the inbox."""
    return [json.loads(path.read_text()) for path in sorted((home.site.state / "inbox").glob("wish-*"))]


def give(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def test_a_phase_is_left_as_a_wish(home, monkeypatch):
    monkeypatch.setattr("jim.run_grid_job.wake", lambda _: None)
    home.add()
    said = "1: phase-merged is published as soon as the keeper takes it; `jim xml 1` shows it\n"
    assert home.run("publish", "1", "phase", "merged", "3", "010", "files") == (0, said, "")
    (wish,) = left(home)
    assert (wish["verb"], wish["target"], wish["name"]) == ("publish", "1", "phase-merged")
    assert wish["content"] == "phase merged 3 10 files"


def test_an_element_is_read_from_stdin(home, monkeypatch):
    monkeypatch.setattr("jim.run_grid_job.wake", lambda _: None)
    home.add()
    give(monkeypatch, "<note>é</note>".encode())
    assert home.run("publish", "1", "xml", "note")[0] == 0
    assert [(wish["name"], wish["content"]) for wish in left(home)] == [("note", "<note>é</note>")]


@pytest.mark.parametrize(
    ("words", "content", "said"),
    [
        (["1", "xml", "note"], b"<a", "not published: not XML"),
        (["1", "xml", "note"], b"", "not published: not XML"),
        (["1", "xml", "note"], b"<a>\xff</a>", "not published: not UTF-8"),
        (["1", "xml", "note"], b"x" * 65_537, "not published: more than 65,536 bytes"),
        (["1", "xml", "note"], b'<a xmlns="urn:jim:status:1"/>', "is JIM's own"),
        (["1", "xml", "phase-a"], b"<a/>", "phase-a is the name of a phase"),
        (["1", "xml", "a.b"], b"<a/>", "expected up to 40 letters"),
        (["1", "phase", "a", "x", "2"], b"", "expected up to 15 digits"),
        (["1.0", "phase", "a", "1", "2"], b"", "needs a whole grid job"),
    ],
)
def test_what_is_refused_leaves_no_wish(home, monkeypatch, words, content, said):
    home.add()
    give(monkeypatch, content)
    code, _, err = home.run("publish", *words)
    assert (code, left(home)) == (2, [])
    assert said in err


LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
BOMBS = {
    "billion laughs": b'<!DOCTYPE a [<!ENTITY l0 "lol">' + LAUGHS + b"]><a>&l9;</a>",
    "external entity": b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "document type after a comment": b'<?xml version="1.0"?><!-- --> <!DOCTYPE a SYSTEM "http://x.example/y"><a/>',
    "processing instruction": b"<a><?php x?></a>",
    "a million attributes": b"<a " + b" ".join(b"a%d='1'" % n for n in range(10**6)) + b"/>",
    "257 attributes": b"<a " + b" ".join(b"a%d='1'" % n for n in range(257)) + b"/>",
    "33 levels": b"<a>" * 33 + b"</a>" * 33,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused(home, monkeypatch, bomb):
    home.add()
    if bomb in ("billion laughs", "external entity", "document type after a comment"):
        monkeypatch.setattr("lxml.etree.fromstring", None)  # it is refused before the parser sees it
    give(monkeypatch, BOMBS[bomb])
    code, _, err = home.run("publish", "1", "xml", "bomb")
    assert (code, left(home)) == (2, [])
    assert err.startswith("jim: not published: ")


def test_an_unknown_grid_job_is_refused(home):
    home.add()
    assert home.run("publish", "7", "phase", "a", "1", "2")[0] == 4
