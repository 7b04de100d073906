"""What batch systems say when they fail: no message claims a version of which its captures know nothing."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]
FILES = sorted((HOME / "adapters/messages").glob("[a-z]*.py"))
CAPTURED = HOME / "tests/captured"
MESSAGE = re.compile(r"    (?P<pattern>r([\"']).*\2),  # (?P<version>.*)")
NOT_CAPTURED = ", no capture"


def lines(file):
    """Give the lines of the tables, but for comments and what another table gives."""
    inside = re.findall(r"^[A-Z]+: tuple\[str, \.\.\.\] = \(\n((?:    .*\n)+)\)$", file.read_text(), re.MULTILINE)
    return [line for table in inside for line in table.splitlines() if not re.match(r"    (#|\*)", line)]


def printed(system, version):
    """Give what was captured of a version of a batch system, where that is real; also by its dialects."""
    folders = [each for each in CAPTURED.glob(f"{system}*/{version}*") if (each / "NOTE").is_file()]
    real = [each for each in folders if (each / "NOTE").read_text().startswith("Real output")]
    names = {file.name.removesuffix(".txt").removesuffix(".stderr") for each in real for file in each.glob("*.txt")}
    return [_answer(each, name) for each in real for name in names]


def _answer(folder, name):
    files = (folder / f"{name}.stderr.txt", folder / f"{name}.txt")
    return "\n".join(file.read_text(errors="replace") for file in files if file.exists())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_message_stands_in_a_line_with_the_version_that_prints_it(file):
    assert lines(file)
    assert [line for line in lines(file) if not MESSAGE.fullmatch(line)] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_version_is_named_only_where_a_capture_shows_the_message(file):
    found = [MESSAGE.fullmatch(line) for line in lines(file)]
    claimed = [each for each in found if each["version"] != "unknown"]
    assert [each["version"] for each in claimed if not printed(file.stem, version(each))] == []
    unseen = [each for each in claimed if not each["version"].endswith(NOT_CAPTURED) and not is_seen(file.stem, each)]
    assert [each["pattern"] for each in unseen] == []


def version(message):
    return message["version"].removesuffix(NOT_CAPTURED)


def is_seen(system, message):
    pattern = ast.literal_eval(message["pattern"])
    return any(re.search(pattern, text, re.IGNORECASE) for text in printed(system, version(message)))


def test_no_version_is_claimed_of_what_was_written_by_hand():
    assert printed("condor", "24.0") == printed("lsf", "10.1") == printed("pbs", "20.0.1") == []
    assert any("Socket timed out" in text for text in printed("slurm", "22.05.8"))
