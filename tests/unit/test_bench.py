"""The benchmark's parts work; what they measure here is too little to mean anything."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

FIGURES = Path(__file__).parents[2] / "bench/figures.py"


@pytest.mark.parametrize(
    ("part", "bounds"),
    [
        ("poll", 2),
        ("condor", 2),
        pytest.param("submit", 4, marks=pytest.mark.torture),
        pytest.param("split", 6, marks=pytest.mark.torture),
        pytest.param("listing", 2, marks=pytest.mark.torture),
        ("answer", 2),
        pytest.param("short", 2, marks=pytest.mark.torture),
        pytest.param("splitting", 8, marks=pytest.mark.torture),
        pytest.param("requests", 5, marks=pytest.mark.torture),
        pytest.param("gram", 2, marks=pytest.mark.torture),
        pytest.param("sandbox", 1, marks=pytest.mark.torture),
        pytest.param("pages", 19, marks=pytest.mark.torture),
        pytest.param("tasks", 7, marks=pytest.mark.torture),
        pytest.param("task-million", 2, marks=pytest.mark.torture),
        pytest.param("task-promises", 2, marks=pytest.mark.torture),
        pytest.param("slots", 2 if shutil.which("parallel") else 1, marks=pytest.mark.torture),
    ],
)
def test_a_part_measures_in_its_own_place_and_leaves_nothing(tmp_path, part, bounds):
    command = [sys.executable, "-P", "-s", str(FIGURES), "--quick", "--json", "--only", part]
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr  # a busy machine may well pass a bound
    figures = json.loads(done.stdout)["figures"]
    assert sum(each["bound"] is not None for each in figures) == bounds
    assert all(each["measured"] > 0 for each in figures if each["bound"] and each["unit"] != "%")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torture
def test_the_scale_is_measured_and_nothing_is_left(tmp_path):
    command = [sys.executable, "-P", "-s", str(FIGURES.with_name("scale.py")), "--quick"]
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.count("≤") == 2 * 28  # in the lines, and in the table
    assert list(tmp_path.iterdir()) == []


def test_results_are_kept_with_their_picture(tmp_path):
    sys.path.insert(0, str(FIGURES.parents[1]))
    from bench import scale_page
    from bench.taking import Figure

    idle, coming = scale_page.OPEN[0], scale_page.COMING[0]
    figures = [
        Figure("idle, 10 open", 2.0, "ms", 10, "", idle, [(10, 2.0)]),
        Figure("idle, 1,000 open", 4.0, "ms", 10, "", idle, [(1000, 4.0)]),
        Figure("handed in", 8.0, "ms", None, "two", coming, [(50, 6.0), (100, 8.0)]),
    ]
    results, drawn = tmp_path / "scale.json", tmp_path / "scale.svg"
    scale_page.write(figures, results, drawn)
    assert scale_page.table(scale_page.read(results)).splitlines()[2:] == [
        "| idle, 10 open | 2 ms | ≤ 10 ms |  |",
        "| idle, 1,000 open | 4 ms | ≤ 10 ms |  |",
        "| handed in | 8 ms |  | two |",
    ]
    root = ElementTree.parse(drawn).getroot()
    lines = [each.get("points") for each in root.iter("{http://www.w3.org/2000/svg}polyline")]
    assert lines == ["48.0,151.0 344.0,46.0", "", "432.0,98.5 728.0,46.0", ""]
    assert "prefers-color-scheme: dark" in drawn.read_text()


def test_the_picture_of_the_scale_is_that_of_the_results():
    sys.path.insert(0, str(FIGURES.parents[1]))
    from bench import scale_page

    home = FIGURES.parents[1]
    found = scale_page.read(home / "bench/scale.json")
    assert (home / "docs/scale.svg").read_text() == scale_page.picture(scale_page.curves(found))


def test_a_bound_that_is_passed_shows():
    sys.path.insert(0, str(FIGURES.parents[1]))
    from bench.taking import Figure

    assert Figure("f", 2.0, "s", 2).ok
    assert not Figure("f", 2.1, "s", 2).ok
    assert Figure("f", 2.1, "s").ok


@pytest.mark.torture
def test_modules_that_tests_patch_to_fake_a_batch_command_are_counted(tmp_path):
    sys.path.insert(0, str(FIGURES.parents[1]))
    from tools.house import faked

    assert faked(tmp_path) == set()
    (tmp_path / "test_a.py").write_text(
        "from jim.admin import check\n"
        "def test(monkeypatch):\n"
        "    monkeypatch.setattr('jim.keeper.opening.run', print)\n"
        "    monkeypatch.setattr(check, 'run', print)\n"
        "    monkeypatch.setattr(check, 'other', print)\n"
    )
    assert faked(tmp_path) == {"jim.keeper.opening", "jim.admin.check"}
    assert faked(FIGURES.parents[1] / "tests") == {"jim.idealizer.channel", "jim.admin.known_types"}


@pytest.mark.torture
def test_what_a_rule_for_memory_is_good_for_is_measured_and_nothing_is_left(tmp_path):
    command = [sys.executable, "-P", "-s", str(FIGURES.with_name("more_memory.py")), "3"]
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    assert rows[2:6] == [
        ["completed", "2", "3"],
        ["failed", "1", "0"],
        ["attempts in all", "5", "4"],
        ["grid job", "failed", "completed"],
    ]
    assert list(tmp_path.iterdir()) == []
