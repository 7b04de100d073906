"""The forms of publications."""

from __future__ import annotations

import pytest

from jim.statusdb.published import NAME, PhaseTold, phase_element, phase_of


def test_a_progress_line_becomes_an_element_that_tells_the_same():
    element = phase_element("phase sim 117 250 events\n")
    assert element == '<phase name="sim" done="117" total="250" unit="events"/>'
    assert phase_of(element) == PhaseTold("sim", "events", 117, 250)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "phase sim 117 250",
        "phase sim -1 250 events",
        "phase a/b 1 2 events",
        "phase sim 1 2 two words",
        "phase s 1 x e",
    ],
)
def test_any_other_line_is_no_progress(line):
    assert phase_element(line) == ""


def test_a_unit_cannot_leave_its_attribute():
    assert (
        phase_element('phase sim 1 2 "/><b>\n') == '<phase name="sim" done="1" total="2" unit="&quot;/&gt;&lt;b&gt;"/>'
    )


@pytest.mark.parametrize(
    "content", ["<quality good='1'/>", '<phase name="sim" done="1"/>', '<phase name="sim" total="2"/>']
)
def test_what_is_no_phase_is_left_to_others(content):
    assert phase_of(content) is None


@pytest.mark.parametrize("unit", ["R&D", "<b>", 'a"b', "&lt;", "&" * 40])
def test_a_unit_of_any_characters_is_a_unit_of_the_phase(unit):
    assert phase_of(phase_element(f"phase sim 1 2 {unit}\n")) == PhaseTold("sim", unit, 1, 2)


def test_a_phase_without_a_unit_has_none():
    assert phase_of('<phase name="sim" done="1" total="2"/>') == PhaseTold("sim", "", 1, 2)


@pytest.mark.parametrize(
    ("name", "fits"), [("a-b_9", True), ("a.b", False), ("", False), ("x" * 41, False), ("é", False)]
)
def test_names_are_words(name, fits):
    assert bool(NAME.fullmatch(name)) is fits
