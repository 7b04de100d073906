"""The adapter that docs/adapters.md shows: it is what the page says, loads by its name, and reads what tsp wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jim.errors import BadSite, BatchError, Refused, Unclear
from jim.model import Answer, Batch, Observation, Resources, State
from jim.opening import adapter_of
from jim.site import read

HOME = Path(__file__).parents[2]
# Real output of task-spooler 1.0.1: `tsp -l` after submissions with labels, one killed by a signal.
LISTED = """\
ID   State      Output               E-Level  Times(r/u/s)   Command [run=2/2]
1    running    /tmp/ts-out.dsJxhx                         [jim-2]sleep 30
3    running    stdout                                       [jim-4]sleep 30
4    queued     (file)                                       [jim-5]sleep 30
0    finished   stdout               7        0.00/0.00/0.00 [jim-3f9a0001-1-1]sh -c echo id=$TS_JOBID > ev; exit 7
2    finished   stdout               -1       0.01/0.00/0.00 [jim-3]sh -c kill -9 $$
5    finished   /tmp/ts-out.ICWMJH 0        1.04/0.01/0.00 [jim-6]timeout --kill-after=60 60 /w/job.sh
"""
EMPTY = "ID   State      Output               E-Level  Times(r/u/s)   Command [run=0/1]\n"


def answer(out="", err="", code=0):
    return Answer(("tsp",), code, out, err, 0.1)


@pytest.fixture
def site(tmp_path):
    file = tmp_path / "site.toml"
    file.write_text(f'[site]\nhandlers = "{HOME / "examples"}"\n[batch]\nsystem = "mysite.tsp"\n')
    return read(file, tmp_path)


@pytest.fixture
def adapted(site):
    return adapter_of(site)


def test_the_page_shows_the_file():
    (block,) = re.findall(r"^```python\n(.*?)^```", (HOME / "docs/adapters.md").read_text(), re.MULTILINE | re.DOTALL)
    assert block == (HOME / "examples/mysite/tsp.py").read_text()


def test_it_is_found_in_the_directory_of_the_site_s_own(site, tmp_path):
    assert adapter_of(site).name == "tsp"
    (tmp_path / "site.toml").write_text('[batch]\nsystem = "nosuch.tsp"\n')
    with pytest.raises(BadSite, match=r"'nosuch\.tsp' is no adapter"):
        adapter_of(read(tmp_path / "site.toml", tmp_path))


def test_listing(adapted):
    assert adapted.parse_query(answer(LISTED)) == {
        ("1", 1): Observation(State.RUNNING, "jim-2", word="running"),
        ("3", 1): Observation(State.RUNNING, "jim-4", word="running"),
        ("4", 1): Observation(State.SUBMITTED, "jim-5", word="queued"),
        ("0", 1): Observation(State.FAILED, "jim-3f9a0001-1-1", code=7, word="finished"),
        ("2", 1): Observation(State.FAILED, "jim-3", reason="ended by a signal", word="finished"),
        ("5", 1): Observation(State.COMPLETED, "jim-6", code=0, word="finished"),
    }
    assert adapted.parse_query(answer(EMPTY)) == {}
    levitating = adapted.parse_query(answer(LISTED.replace("queued", "levitating")))["4", 1]
    assert levitating == Observation(State.UNKNOWN, "jim-5", word="levitating")


@pytest.mark.parametrize(
    "text", ["", "\n", LISTED[:-1], LISTED[:200], f"{LISTED}?\n", LISTED.replace("run=2", "run=3")]
)
def test_an_odd_listing_raises(adapted, text):
    with pytest.raises(Unclear):
        adapted.parse_query(answer(text))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (answer(), Unclear),
        (answer("12"), Unclear),
        (answer(code=None), Unclear),
        (answer(err="Error, queue full\n", code=2), BatchError),
        (answer(err="The server didn't come up.\n", code=255), BatchError),
        (answer(err="tsp: invalid option -- 'y'\nusage: tsp [action]", code=255), Refused),
    ],
)
def test_a_failed_submit_is_one_of_three_kinds(adapted, said, kind):
    with pytest.raises(BatchError) as raised:
        adapted.parse_submit(said)
    assert type(raised.value) is kind


def test_commands(adapted, tmp_path):
    assert adapted.parse_submit(answer("0\n")) == "0"
    command = adapted.submit_command(Batch("jim-1-1-1", "/w/job.sh", "/w", 1, Resources(wall_seconds=60, cores=2)))
    assert command[:3] == ["env", "-u", "JIM_COMMAND_OF"]
    words = "tsp -B -L jim-1-1-1 -N 2 timeout --kill-after=60 60 /w/job.sh"
    assert " ".join(command).endswith(words)
    assert adapted.cancel_command([("3", 1), ("4", 1)])[-3:] == ["tsp", "3", "4"]
    assert adapted.query_command()[-2:] == ["tsp", "-l"]
    assert adapted.set_up_command(3)[3:] == [str(tmp_path / "batch"), *adapted.commands["ping"], "-S", "3"]
