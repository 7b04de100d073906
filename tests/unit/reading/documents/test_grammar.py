"""The grammar of documents is described for people: each element, its attributes and what it holds."""

from __future__ import annotations

from jim.reading.documents.grammar import ANY, Attribute, Child, elements
from jim.statusdb.documents.xml import schema


def test_each_element_is_described_once_with_attributes_and_children() -> None:
    found = {each.name: each for each in elements(schema())}
    assert list(found)[:2] == ["grid_job", "counts"]
    assert {"local_job", "attempt", "exit", "output", "detail", "piece"} <= found.keys()
    assert found["output"].attributes == [
        Attribute("name", "text", ""),
        Attribute("bytes", "count", ""),
        Attribute("sha256", "text", ""),
    ]
    assert found["exit"].children == [Child("output", "any number"), Child("refused", "any number")]
    assert found["detail"].children == [Child("phase", "any number"), Child(ANY, "any number")]
    verdict = next(each for each in found["attempt"].attributes if each.name == "verdict")
    assert verdict.values.startswith("again, elsewhere, waiting, submitting")
    assert verdict.often == "optional"
    assert Attribute("key", "text", "") in found["grid_job"].attributes
    assert Child("local_job", "any number") in found["grid_job"].children
    assert Attribute("waiting", "count", "optional") in found["counts"].attributes
