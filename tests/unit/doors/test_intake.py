"""A door's work before it stores a request."""

from __future__ import annotations

import time

import pytest

from jim.doors.intake import prepare
from jim.errors import BadRequest
from jim.site.file import Site
from jim.splitting.errors import InvalidFile
from jim.work import sizing

# Refusals


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BadRequest("no"), "no"),
        (BadRequest("no", "events"), "events: no"),
        (BadRequest("no", "environment", "X", told="environment.X"), "environment.X: no"),
        (BadRequest("no", "evnts", told="'evnts'"), "'evnts': no"),
        (InvalidFile("/store/a.root", 1, "no"), "/store/a.root: no"),
    ],
)
def test_a_refusal_carries_its_attribute(error, words) -> None:
    assert str(error) == words
    assert error.words == "no"


@pytest.mark.parametrize(
    ("sentence", "about", "place"),
    [
        ("not so long", "wall_seconds", "line 3, column 1: "),
        ("outputs: no", "wall_seconds", "line 3, column 1: "),
        ("outputs: no", "", ""),  # no name of an attribute is looked for in a sentence
        ("no", "never_said", ""),
    ],
)
def test_the_place_of_a_refusal_is_that_of_its_attribute(sentence, about, place, tmp_path, monkeypatch) -> None:
    def refuse(*_):
        raise BadRequest(sentence, about)

    monkeypatch.setattr(sizing, "size", refuse)
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\nwall_seconds = 3\noutputs = ["a"]\n')
    with pytest.raises(BadRequest) as raised:
        prepare(file, Site(tmp_path))
    assert str(raised.value) == f"{file}: {place}{about}{': ' if about else ''}{sentence}"


def test_a_refusal_of_a_request_of_empty_lines_comes_at_once(tmp_path) -> None:
    file = tmp_path / "request.toml"
    file.write_text("\n" * 30_000 + 'job_type = "executable"\n' + "\n" * 500_000 + "evnts = 1\n")
    began = time.process_time()
    with pytest.raises(BadRequest, match="line 530002, column 1: 'evnts': unknown attribute"):
        prepare(file, Site(state=tmp_path / "state"))
    assert time.process_time() - began < 5
