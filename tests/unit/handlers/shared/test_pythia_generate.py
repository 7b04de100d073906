"""The generator that pythia_monte_carlo sends to worker nodes."""

import argparse
import ast
import json
import os
import re
import subprocess
import sys

import pytest

from jim.handlers import pythia_monte_carlo
from jim.handlers.shared import pythia_generate

HEADER = "event\tmass_gev\tpt_gev\n"


# the payload


def run(place, *words, publish="", python=(sys.executable,), **environment):
    place.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JIM_", "PYTHIA"))}
    command = (*python, pythia_monte_carlo.PAYLOAD, *map(str, words))
    return subprocess.run(
        command,
        cwd=place,
        env={**kept, **({"JIM_PUBLISH": str(publish)} if publish else {}), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def twenty(tmp_path_factory):
    """The working directory of a run with 20 events from number 101 on, and what was published."""
    place = tmp_path_factory.mktemp("twenty")
    stub = place / "publish"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >>published\n')
    stub.chmod(0o700)
    ended = run(place, 20, 101, 4242, 60, 120, publish=stub)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    return place


def test_events_are_numbered_and_physical(twenty):
    head, *lines = (twenty / "events.tsv").read_text().splitlines(keepends=True)
    rows = [tuple(map(float, line.split("\t"))) for line in lines]
    assert head == HEADER
    assert [row[0] for row in rows] == list(range(101, 121))
    assert all(0 < mass < 120.0001 for _, mass, _ in rows)  # radiation only lowers it
    assert sum(80 < mass < 100 for _, mass, _ in rows) >= 10  # most are on the Z peak
    assert all(0 <= pt < 500 for _, _, pt in rows)
    assert len({mass for _, mass, _ in rows}) == 20
    assert not list(twenty.glob("*.part"))


def test_the_summary_says_how_they_were_made(twenty):
    facts = json.loads((twenty / "summary.json").read_text())
    assert {name: facts[name] for name in ("events", "first_event", "seed", "sqrt_s_gev")} == {
        "events": 20,
        "first_event": 101,
        "seed": 4242,
        "sqrt_s_gev": 1960.0,
    }
    assert facts["generator"] == "Pythia 8.317"
    assert 100 < facts["cross_section_pb"] < 350  # CDF and D0 measure about 250 pb in 66 to 116 GeV


def test_it_publishes_its_phases_in_order(twenty):
    lines = (twenty / "published").read_text().splitlines()
    assert lines[:3] == [
        "phase initialise 0 1 generators",
        "phase initialise 1 1 generators",
        "phase generate 0 20 events",
    ]
    assert lines[-1] == "phase generate 20 20 events"
    assert len(lines) <= 3 + 20 + 1
    names = list(dict.fromkeys(line.split()[1] for line in lines))
    assert tuple(names) == pythia_monte_carlo.HANDLER.phases


def test_the_same_seed_gives_the_same_events_and_a_failing_publish_harms_nothing(twenty, tmp_path):
    ended = run(tmp_path, 20, 101, 4242, 60, 120, publish="/bin/false")
    assert ended.returncode == 0
    assert "could not publish generate 20/20" in ended.stderr
    assert (tmp_path / "events.tsv").read_bytes() == (twenty / "events.tsv").read_bytes()


def test_a_missing_generator_is_said_in_a_sentence(tmp_path):
    ended = run(tmp_path, 1, 1, 1, 60, 120, python=(sys.executable, "-S"))  # without site-packages
    assert ended.returncode == 1
    assert re.fullmatch(r"Pythia is missing: .* has no module pythia8mc .*; pip install pythia8mc\n", ended.stderr)
    assert not (tmp_path / "events.tsv").exists()


def test_missing_generator_data_are_said_in_a_sentence(tmp_path):
    ended = run(tmp_path, 1, 1, 1, 60, 120, PYTHIA8DATA=str(tmp_path))
    assert ended.returncode == 1
    assert f"PYTHIA8DATA is {tmp_path}\n" in ended.stderr


def test_a_failed_initialisation_is_said_in_a_sentence(tmp_path):
    ended = run(tmp_path, 1, 1, 1, 3000, 4000, publish=tmp_path / "missing")  # which harms nothing, either
    assert ended.returncode == 1
    assert "could not publish initialise 0/1" in ended.stderr
    assert "Pythia could not be initialised for 3000 to 4000 GeV" in ended.stderr
    assert not (tmp_path / "events.tsv").exists()


def test_another_seed_gives_other_pairs_of_an_electron_and_a_positron_that_radiate_no_more(twenty):
    pythia = pythia_generate.generator(argparse.Namespace(mass_min_gev=60, mass_max_gev=120, seed=4243))
    known = re.findall(r"\t(\d\S+)\t", (twenty / "events.tsv").read_text())
    masses = set()
    for _ in range(20):
        assert pythia.next()
        pair = pythia_generate.electrons(pythia.event)
        assert sorted(each.id() for each in pair) == [-11, 11]
        assert all(each.isFinal() for each in pair)
        masses.add(f"{(pair[0].p() + pair[1].p()).mCalc():.4f}")
    assert len(masses) == len(known) == 20
    assert len(masses & {*known}) <= 1


class Moody:
    """A generator that succeeds when it likes."""

    def __init__(self, moods):
        self.moods, self.event = iter(moods), None

    def next(self):
        return next(self.moods)


def test_events_that_never_succeed_end_with_a_sentence():
    with pytest.raises(SystemExit, match="100 times in a row"):
        list(pythia_generate.pairs(Moody([False] * 100), 5))


def test_events_that_fail_now_and_then_are_made_up_for(monkeypatch):
    monkeypatch.setattr(pythia_generate, "electrons", lambda event: (Moody, Moody))
    monkeypatch.setattr(Moody, "p", lambda: 1, raising=False)
    moods = [*[False] * 99, True, *[False] * 99, True]
    assert list(pythia_generate.pairs(Moody(moods), 2)) == [2, 2]


def test_publishing_waits_for_a_second_and_for_five_percent(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(pythia_generate.time, "monotonic", lambda: now[0])
    due = pythia_generate.pacer(1000)
    published = []
    for done, now[0] in [(40, 0.5), (60, 0.9), (70, 1.0), (100, 2.5), (119, 9.0), (120, 9.5), (900, 9.9), (901, 10.5)]:
        if due(done):
            published.append(done)
    assert published == [70, 120, 901]


def test_the_payload_needs_nothing_of_jim():
    tree = ast.parse(pythia_monte_carlo.PAYLOAD.read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    roots = {(each.module if isinstance(each, ast.ImportFrom) else each.names[0].name).split(".")[0] for each in nodes}
    assert roots <= {*sys.stdlib_module_names, "pythia8mc"}
