"""Publications are compared with grammars by a child process."""

from pathlib import Path

import pytest

from jim.errors import JimError
from jim.statusdb.documents import validating
from jim.statusdb.documents.validating import compare

PEAK = Path(__file__).parents[4] / "handlers/pythia_monte_carlo.rng"
NAMESPACE = "urn:jim:pythia:1"


def test_published_elements_are_compared_with_the_grammar_of_their_namespace(tmp_path):
    (tmp_path / "bad.rng").write_text("<element")
    grammars = {NAMESPACE: str(PEAK), "urn:bad": str(tmp_path / "bad.rng"), "urn:none": str(tmp_path / "none.rng")}
    elements = [
        f'<peak xmlns="{NAMESPACE}" events="10" mass_gev="90.8"/>',
        f'<peak xmlns="{NAMESPACE}" events="many"/>',
        '<peak xmlns="urn:other"/>',
        '<a xmlns="urn:bad"/>',
    ]
    found = compare([(each, grammars) for each in elements])
    assert sorted(found.faults) == [str(tmp_path / "bad.rng"), str(tmp_path / "none.rng")]
    assert found.differing[0] == ""
    assert "peak" in found.differing[1]
    assert found.differing[2:] == ["", ""]


def test_a_child_that_needs_too_much_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(validating, "CHILD", "import sys; sys.exit('out of memory')")
    with pytest.raises(JimError, match="could not be compared with grammars: out of memory"):
        compare([("<a/>", {})])
