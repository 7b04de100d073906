"""The adapter that docs/adapters.md shows. That it keeps the contract is proven in test_conformance.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jim.errors import BadSite, Unclear
from jim.keeper.opening import adapter_of
from jim.model import Answer, Batch, Observation, Resources, State
from jim.site.file import read

HOME = Path(__file__).parents[2]
LISTED = (HOME / "examples/mysite/captured/tsp/1.0.1/list.txt").read_text()


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
    with pytest.raises(BadSite, match=r"cannot load the adapter 'nosuch\.tsp'"):
        adapter_of(read(tmp_path / "site.toml", tmp_path))


def test_a_listing_tells_of_jobs_with_more_slots_than_one(adapted):
    assert "[run=4/4]" in LISTED
    running = [key for key, seen in adapted.parse_query(answer(LISTED)).items() if seen.state is State.RUNNING]
    assert running == [("4", 1), ("5", 1), ("6", 1)]


def test_an_unknown_word_is_kept(adapted):
    levitating = adapted.parse_query(answer(LISTED.replace("7    queued", "7    levitating")))["7", 1]
    assert levitating == Observation(State.UNKNOWN, "jim-cafe0001-8-1", word="levitating")


@pytest.mark.parametrize(
    "text", ["", "\n", LISTED[:-1], LISTED[:200], f"{LISTED}?\n", LISTED.replace("run=4", "run=3")]
)
def test_an_odd_listing_raises(adapted, text):
    with pytest.raises(Unclear):
        adapted.parse_query(answer(text))


def test_the_example_s_words_are_those_of_task_spooler(adapted, tmp_path):
    assert adapted.parse_submit(answer("0\n")) == "0"
    command = adapted.submit_command(Batch("jim-1-1-1", "/w/job.sh", "/w", 1, Resources(wall_seconds=60, cores=2)))
    assert command[:3] == ["env", "-u", "JIM_COMMAND_OF"]
    words = "tsp -B -L jim-1-1-1*2 -N 2 timeout --kill-after=60 60 /w/job.sh"
    assert " ".join(command).endswith(words)
    assert adapted.cancel_command([("3", 1), ("4", 1)])[-3:] == ["tsp", "3", "4"]
    assert adapted.query_command()[-2:] == ["tsp", "-l"]
    assert adapted.set_up_command(3)[3:] == [str(tmp_path / "batch"), *adapted.commands["ping"], "-S", "3"]
