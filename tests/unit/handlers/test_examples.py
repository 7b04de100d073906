"""Every example runs as it stands, with the catalogue and the stand-ins that lie beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jim.request import check, read

HOME = Path(__file__).parents[3]
EXAMPLES = HOME / "examples"
ENDINGS = (".toml", ".json", ".jdf", ".jdl", ".rsl")
REQUESTS = sorted(
    str(each.relative_to(EXAMPLES))
    for each in EXAMPLES.rglob("*")
    if each.suffix in ENDINGS and not {"catalogue", "captured", "tasks"} & {*each.relative_to(EXAMPLES).parts}
)
SITE = """\
[site]
catalogue = "{examples}/catalogue"
[payload]
tools = "{examples}/standins"
[batch]
slots = 4
query_seconds = 0.5
"""


@pytest.fixture
def jim(tmp_path):
    """Call jim at a site as examples/standins/README makes it; the keeper ends with its state directory."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "site.toml").write_text(SITE.format(examples=EXAMPLES))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JIM_")}
    environment = {**kept, "JIM_STATE": str(state), "JIM_PYTHON": sys.executable}

    def call(*words):
        command = [HOME / "shell/jim", *words]
        done = subprocess.run(
            command, cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=500, check=False
        )
        return done.returncode, done.stdout + done.stderr

    yield call
    shutil.rmtree(state, ignore_errors=True)


def test_the_examples_are_found():
    assert len(REQUESTS) >= 14
    assert {"hello.jdl", "d0/merge-13669.jdf", "cdf/concatenation.toml"} <= {*REQUESTS}


def test_the_catalogue_has_what_every_example_names(jim):
    code, told = jim("submit", "--dry-run", *REQUESTS)
    assert code == 0, told
    assert told.count("\njob type ") == len(REQUESTS)


def test_each_file_of_a_dataset_that_is_read_lies_beside_the_stand_ins():
    datasets = EXAMPLES / "catalogue/datasets"
    read_by = {check(read(EXAMPLES / each))[1].get("dataset") for each in REQUESTS} - {None}
    assert read_by == {"request-13669-d0reco", "run-194341-raw", "ztopmm-production"}
    for name in read_by:
        for file in json.loads((datasets / f"{name}.json").read_text())["files"]:
            content = (EXAMPLES / "standins/storage" / file["lfn"]).read_text()
            events = [int(line[:9]) for line in content.splitlines()]
            assert (len(content), len(events), events[0]) == (file["size"], file["events"], file["first_event"])


def completes(jim, *requests):
    code, told = jim("submit", "--watch", *requests)
    assert code == 0, told
    assert told.count(" completed\ntar ") == len(requests)


def test_the_examples_over_datasets_complete_as_they_stand(jim):
    completes(jim, "d0/merge-13669.jdf", "d0/reconstruction.toml", "d0/analysis.toml", "cdf/concatenation.toml")


@pytest.mark.torture
def test_every_example_completes_as_it_stands(jim):
    completes(jim, *REQUESTS)
