"""The graph for a narrow screen: each task below all that feed it, and every arrow tells what came."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

from jim.reading.tasks.graph import Arrow, Box, Graph
from jim.reading.tasks.graph_down import LANE, WIDE, as_svg_down

BOXES = [Box(name, "running", 1, 4, 2 * (name == "b")) for name in ("merge", "a", "b", "lone")]
ARROWS = [
    Arrow("a", "b", "gen", 3, 1, 0),
    Arrow("b", "merge", "reco", 2, 0, 0),
    Arrow("a", "merge", "log", 9, 0, 0),
]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(found: Graph) -> ET.Element:
    return ET.fromstring(as_svg_down(found, lambda name: f'/tasks/{name}?a=1&b="2"'))


def tops(svg: ET.Element) -> dict[str, int]:
    return {each.find(f"{SVG}title").text: int(each.find(f"{SVG}rect").get("y")) for each in svg.iter(f"{SVG}g")}  # type: ignore[union-attr, misc, arg-type]


def test_a_box_stands_below_all_that_feed_it_and_no_two_overlap() -> None:
    found = tops(drawn(Graph(BOXES, ARROWS)))
    assert found["a"] < found["b"] < found["merge"]
    heights = sorted(found.values())
    assert all(below - above >= 64 for above, below in pairwise(heights))


def test_every_arrow_is_drawn_and_told_with_where_it_comes_from_unless_that_stands_above() -> None:
    svg = drawn(Graph(BOXES, ARROWS))
    texts = [each.text for each in svg.iter(f"{SVG}text")]
    assert {"gen 3 there, 1 promised", "reco 2 there", "log 9 there", "a:"} <= set(texts)
    paths = [each.get("d") for each in svg.iter(f"{SVG}path") if each.get("marker-end")]
    assert len(paths) == 3
    assert "running" in texts
    assert "1/4, 2 failed" in texts


def test_it_fits_on_a_phone_and_texts_are_escaped_and_cut() -> None:
    evil = "<script>'\"&" * 20
    many = [Box(f"t{n}", "running", 0, 0, 0) for n in range(30)]
    arrows = [Arrow(f"t{n}", f"t{m}", evil, 1, 0, 0) for n in range(30) for m in (n + 1, n + 7) if m < 30]
    svg = drawn(Graph([*many, Box("m" * 48, "running", 0, 0, 0)], arrows))
    wide = int(svg.get("viewBox").split()[2])  # type: ignore[union-attr]
    assert wide <= 320
    places = [float(each) for path in svg.iter(f"{SVG}path") for each in re.findall(r"[MH](\d+)", path.get("d") or "")]
    assert LANE <= min(place for place in places if place) <= max(places) < WIDE
    assert max(len(each.text or "") for each in svg.iter(f"{SVG}text")) <= 32
    assert {each.get("href") for each in svg.iter(f"{SVG}a")} >= {'/tasks/t0?a=1&b="2"'}


def test_a_graph_of_nothing_is_empty() -> None:
    assert tops(drawn(Graph([], []))) == {}
