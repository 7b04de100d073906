"""The graph of tasks: its text, and its drawing."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from jim.reading.tasks.graph import Arrow, Box, Graph, as_svg, as_text, places

CHAIN = Graph(
    [
        Box("mc", "running", 512, 4000, 3),
        Box("merge", "running", 6, None, 0),
        Box("skim", "configured", 0, 0, 0),
        Box("alone", "finished", 2, 2, 0),
    ],
    [Arrow("mc", "merge", "reco", 512, 3485, 3), Arrow("merge", "skim", "merged", 6, 0, 0)],
)


def test_there_is_a_line_for_each_connector_and_for_each_task_without_one():
    assert as_text(CHAIN) == [
        "mc  512/4,000 ─ reco 512 there, 3,485 promised, 3 broken ─> merge  6/?",
        "merge  6/? ─ merged 6 there ─> skim  0/0",
        "alone  2/2",
    ]


def test_each_box_stands_behind_what_feeds_it():
    assert places(CHAIN) == {"mc": (0, 0), "alone": (0, 1), "merge": (1, 0), "skim": (2, 0)}
    assert places(Graph([], [])) == {}


def test_the_drawing_has_a_box_for_each_task_and_an_arrow_for_each_connector():
    svg = ET.fromstring(as_svg(CHAIN, lambda name: f'/tasks/{name}?a=1&b="2"'))
    tag = "{http://www.w3.org/2000/svg}"
    texts = ["".join(each.itertext()) for each in svg.iter(f"{tag}text")]
    assert "reco 512 there, 3,485 promised, 3 broken" in texts
    assert "512/4,000, 3 failed" in texts
    assert len(list(svg.iter(f"{tag}rect"))) == 4
    assert [each.get("href") for each in svg.iter(f"{tag}a")] == [
        f'/tasks/{name}?a=1&b="2"' for name in ("mc", "merge", "skim", "alone")
    ]


def test_every_text_is_escaped():
    evil = "<script>&\"'"
    svg = as_svg(Graph([Box("a", "running", 0, 0, 0), Box("b", evil, 0, 0, 0)], [Arrow("a", "b", evil, 1, 0, 0)]))
    assert "<script" not in svg
    ET.fromstring(svg)


def test_boxes_lie_inside_the_drawing_and_not_on_one_another():
    many = Graph(
        [Box(f"t{n}", "running", 0, 1, 0) for n in range(20)], [Arrow(f"t{n}", "t19", "x", 0, 0, 0) for n in range(19)]
    )
    svg = ET.fromstring(as_svg(many))
    wide, high = (int(svg.get(name)) for name in ("width", "height"))
    boxes = [
        tuple(int(each.get(name)) for name in ("x", "y", "width", "height")) for each in svg.iter() if each.get("rx")
    ]
    assert len(set(boxes)) == 20
    assert all(x >= 0 and y >= 0 and x + w <= wide and y + h <= high for x, y, w, h in boxes)
    assert all(abs(a[0] - b[0]) >= a[2] or abs(a[1] - b[1]) >= a[3] for a in boxes for b in boxes if a != b)


def test_a_name_that_is_too_long_for_its_box_is_cut_there_but_not_in_its_title():
    for name, shown in (("mc-13669", "mc-13669"), ("m" * 24, "m" * 11 + "…"), ("0" * 31, "0" * 18 + "…")):
        svg = as_svg(Graph([Box(name, "running", 0, 0, 0)], []))
        assert f'font-weight="bold" fill="currentColor">{shown}</text>' in svg
        assert f"<title>{name}</title>" in svg
