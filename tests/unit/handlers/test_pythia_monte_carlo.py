"""The event generator: its request, its payload run for real, and the picture made of all outputs."""

import re
import sys
import xml.etree.ElementTree as ET

import pytest

from jim.errors import BadRequest, JimError
from jim.handlers.base import Result, Work, published_by
from jim.model import Job, Piece
from jim.request import check

JOB = Job(grid_job=12, key="k", n=4, attempt=2)
SVG = "{http://www.w3.org/2000/svg}"
HEADER = "event\tmass_gev\tpt_gev\n"


def asked(**attributes):
    return check({"job_type": "pythia_monte_carlo", "events": 1000, **attributes})


# the handler's answers


def test_it_asks_for_events_and_brings_back_two_files():
    handler, request = asked(outputs=["core.*"])
    assert handler.work(request) == Work(events=1000)
    assert handler.events_per_job == 250
    assert tuple(handler.outputs(request)) == ("events.tsv", "summary.json", "core.*")
    assert handler.phases == ("initialise", "generate")


def test_the_command_has_the_piece_and_the_attempts_own_seed(tmp_path):
    handler, request = asked(mass_min_gev=66)
    handler.prepare_work_area(request, tmp_path)
    program, script, *numbers = handler.command_and_arguments(request, JOB, Piece(251, 250))
    assert program == sys.executable
    assert [f"input/{each.name}" for each in tmp_path.iterdir()] == [script] == ["input/pythia_generate.py"]
    assert numbers == ["250", "251", str(JOB.seed), "66", "120.0"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"mass_min_gev": 90.0, "mass_max_gev": 90.5},
        {"mass_min_gev": 130.0},
        {"mass_min_gev": 1.0},
        {"mass_max_gev": 2000.0},
        {"mass_max_gev": "120"},
        {"events": 0},
        {"executable": "/bin/sh"},
    ],
)
def test_requests_that_are_refused(wrong):
    with pytest.raises(BadRequest, match=next(reversed(wrong))):
        asked(**wrong)


# the picture


def brought(top, n, masses):
    place = top / f"run.{n}"
    place.mkdir()
    lines = [f"{at}\t{mass}\t3.5\n" for at, mass in enumerate(masses, 1)]
    (place / "events.tsv").write_text(HEADER + "".join(lines))
    return Result(n, place, ("events.tsv", "summary.json"))


def test_collect_draws_what_was_brought(tmp_path):
    handler, request = asked()
    first = brought(tmp_path, 0, [90.2, 90.5, 91.9, 92.0, 60.0, 59.9])
    second = brought(tmp_path, 1, [91.5, 88.5, 119.99, 120.0])
    line = handler.collect(request, iter([first, second]), tmp_path)
    # Within ±3 GeV of it: 90.2 90.5 91.9 92.0 91.5 88.5, mean 90.77.
    assert line == "e+e- mass peak at 90.8 GeV, 10 events, picture: mass.svg"
    assert published_by(handler) == {"peak": '<peak xmlns="urn:jim:pythia:1" events="10" mass_gev="90.8"/>'}
    drawing = ET.parse(tmp_path / "mass.svg").getroot()
    # Bins of 2 GeV from 60: 60, 88, 90 (90.2 90.5 91.9 91.5), 92, 118.
    bars = drawing.findall(f".//{SVG}line[@class='bin']")
    assert [bar.get("data-events") for bar in bars] == ["1", "1", "4", "1", "1"]
    # x runs from 92 to 730 over 60 GeV: 10.633 pixels per GeV; the middle of the first bin is 61 GeV.
    assert bars[0].get("x1") == "102.6"
    words = [each.text for each in drawing.findall(f".//{SVG}text")]
    for expected in (
        "p p̄ → Z/γ* → e⁺e⁻",
        "m(e⁺e⁻) [GeV]",
        "events / 2 GeV",
        "10 events",
        "2 outside the range",
        "peak at 90.8 GeV",
        "Pythia 8, √s = 1.96 TeV",
        "60",
        "120",
    ):
        assert expected in words


def test_the_picture_is_safe_and_lies_alone(tmp_path):
    handler, request = asked()
    beside = tmp_path / "result"
    beside.mkdir()
    handler.collect(request, iter([brought(tmp_path, 0, [91.0])]), beside)
    assert [each.name for each in beside.iterdir()] == ["mass.svg"]
    names = {each.tag.removeprefix(SVG) for each in ET.parse(beside / "mass.svg").iter()}
    assert names == {"svg", "title", "rect", "g", "path", "line", "text"}
    text = (beside / "mass.svg").read_text()
    assert re.findall(r"https?://[^\"']*|href|url\(|\bon\w+=", text) == ["http://www.w3.org/2000/svg"]


def test_no_event_in_the_window_is_no_peak(tmp_path):
    handler, request = asked()
    line = handler.collect(request, iter([brought(tmp_path, 0, [20.0])]), tmp_path)
    assert line == "e+e- mass has no peak, 1 events, picture: mass.svg"
    assert ET.parse(tmp_path / "mass.svg").findall(f".//{SVG}line") == []


def test_a_wrong_line_stops_the_picture_and_is_named(tmp_path):
    handler, request = asked()
    good, bad = brought(tmp_path, 0, [91.0]), brought(tmp_path, 7, [91.0, "Segmentation fault"])
    with pytest.raises(JimError, match=r"local job 7, events\.tsv, line 3: .*Segmentation"):
        handler.collect(request, iter([good, bad]), tmp_path)
    assert not (tmp_path / "mass.svg").exists()
