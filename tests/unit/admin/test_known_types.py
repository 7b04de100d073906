"""What root knows of job types in code that is not root's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jim.admin import advertise, arc_service, gram_service, known_types
from jim.admin.known_types import Declared, types
from jim.clock import Clock
from jim.errors import JimError
from jim.model import Answer
from jim.site.file import Batch, General, Site

CODE = """
import os
from pathlib import Path
from jim.handlers.base import Attribute, Handler

Path(__file__).with_name("loaded").write_text(str(os.getpid()))

class Pi(Handler):
    attributes = {"digits": Attribute(int, "how many digits", also=("Digits",))}

HANDLER = Pi
"""
SAID = {"codes.pi": {"digits": ["how many digits", ["Digits"]]}}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Code of the site that root must not load; a process of this account takes the place of its owner's."""
    place = tmp_path / "own"
    (place / "codes").mkdir(parents=True)
    (place / "codes/pi.py").write_text(CODE)
    monkeypatch.setattr(known_types, "is_of_others", bool)
    monkeypatch.setattr(advertise, "is_of_others", bool)
    monkeypatch.setattr(known_types, "_name_of", lambda owner: "")
    return place


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the process of the owner prints, instead of what it would."""
    words: list[object] = []
    monkeypatch.setattr(known_types, "run", lambda command, **_: Answer(command, 0, json.dumps(words[0]), "", 0.1))
    return words


def test_another_process_loads_the_site_s_code_for_root(own: Path) -> None:
    known = types(str(own))
    assert known["codes.pi"] == {"digits": Declared("how many digits", ("Digits",))}
    assert "executable" in known
    import os

    assert (own / "codes/loaded").read_text() != str(os.getpid())


def test_whose_process_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwuid", {7: type("Account", (), {"pw_name": "mc"})}.__getitem__)
    assert [known_types._name_of(uid) for uid in (7, 0, 8)] == ["mc", "nobody", "nobody"]


def test_gatekeepers_are_told_what_it_says(own: Path, says: list[object]) -> None:
    says.append(SAID)
    text = gram_service.rvf(str(own))
    assert 'Attribute: digits\nDescription: "how many digits"\n' in text
    assert "Attribute: Digits\n" in text
    assert " codes.pi\n" in text
    assert any(name.endswith("PI") and "digits" in text for name, text in arc_service.runtimes(str(own)).items())
    assert "codes.pi" in advertise._job_types(str(own))


@pytest.mark.parametrize(
    "said",
    [
        [],
        {"codes.pi": 1},
        {"codes.pi": {"digits": ["help"]}},
        {"codes.pi": {"digits\nValues: x": ["help", []]}},
        {"codes.pi": {"digits": ["help", ["a b"]]}},
        {"../../etc/x.y": {}},
        {"executable": {}},
        {f"codes.p{number}": {} for number in range(known_types.MOST + 1)},
    ],
)
def test_what_makes_no_sense_is_not_believed(own: Path, says: list[object], said: object) -> None:
    says.append(said)
    if said == []:
        says[0] = ["codes.pi"]
    with pytest.raises(JimError, match=r"^the job types in .* are not known: "):
        types(str(own))
    assert "executable" in advertise._job_types(str(own))


def test_help_stays_one_line(own: Path, says: list[object]) -> None:
    says.append({"codes.pi": {"digits": ["one\nAttribute: evil", []]}})
    assert types(str(own))["codes.pi"]["digits"].help == "one\\nAttribute: evil"


@pytest.mark.parametrize(
    ("said", "room"),
    [
        ({"slots": 4, "load": 0.5, "queue_rooms": {"long": {"pending": 1}}}, None),
        ({"slots": 4}, {"queue_rooms": {}}),
        ({"slots": 1e999, "queue_rooms": {}}, {"queue_rooms": {}}),
        ({"evil": 1, "queue_rooms": {}}, {"queue_rooms": {}}),
        ({"queue_rooms": {"a b": {}}}, {"queue_rooms": {}}),
    ],
)
def test_root_runs_no_adapter_of_others_either(
    own: Path, says: list[object], said: dict[str, object], room: dict[str, object] | None
) -> None:
    says.append(said)
    site = Site(own.parent, site=General(handlers=str(own)), batch=Batch(system="codes.batch"))
    assert advertise._room(site, Clock()) == (room if room is not None else said)
