"""The suite for adapters: a third party's passes it without a test of its own, or is told what lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import conformance

HOME = Path(__file__).parents[2]
MYSITE = HOME / "examples/mysite"
RESTARTS = """
from jim.adapters.slurm import Slurm

class StandInRestarting(Slurm):
    def submit_command(self, batch):
        return [word for word in super().submit_command(batch) if word != "--no-requeue" and "--mem=" not in word]

    def cancel_command(self, ids):
        return ["sh", "-c", "scancel " + " ".join(id_ for id_, _ in ids)]

ADAPTER = StandInRestarting
"""
SKIPS = """
from jim.adapters.slurm import HEADER, LISTED, Slurm, observation
from jim.errors import Unclear

class StandInSkipping(Slurm):
    def parse_query(self, answer):
        if not HEADER.search(self.output(answer)):
            raise Unclear(answer.facts())
        return dict(observation(line) for line in LISTED.finditer(answer.out) if not line["part"])

ADAPTER = StandInSkipping
"""
CANCELS = """
from jim.adapters.slurm import Slurm

class StandInCancelling(Slurm):
    gone = (*Slurm.gone, "error")

    def cancel_command(self, ids):
        return [*self.commands["cancel"], *(id_ for id_, _ in ids)]

    def change_command(self, verb, ids):
        return super().change_command("hold" if verb == "release" else verb, ids)

ADAPTER = StandInCancelling
"""


def run(*words):
    """Run the suite as docs/adapters.md says, with its long tests."""
    suite = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "tests/unit/test_adapters_conformance.py"]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    alone["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # this suite needs none of them, and Hypothesis takes long to load
    return subprocess.run([*suite, "-m", "", *words], cwd=HOME, env=alone, capture_output=True, text=True, timeout=300)


def test_the_example_passes_without_a_test_of_its_own():
    done = run("--adapter", "examples/mysite/tsp.py", "--captured", "examples/mysite/captured")
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


def test_an_adapter_that_leaves_own_restart_on_drops_a_need_or_makes_a_shell_line_does_not_pass(tmp_path):
    (tmp_path / "restarting.py").write_text(RESTARTS)
    done = run("--adapter", f"{tmp_path}/restarting.py", "-k", "own_restart or text_that_a_shell or asked_for")
    assert "\n4 failed, 5 passed" in done.stdout
    assert "AssertionError: ['--no-requeue']" in done.stdout
    assert 'AssertionError: ask for it, or write no_word_for = ["memory_mb"]' in done.stdout
    assert "AssertionError: pass words as arguments of the script" in done.stdout


def test_an_adapter_that_passes_over_what_it_cannot_read_does_not_pass(tmp_path):
    (tmp_path / "skipping.py").write_text(SKIPS)
    done = run("--adapter", f"{tmp_path}/skipping.py", "-k", "spoilt and 22.05.8-list")
    assert "\n4 failed, 2 passed" in done.stdout  # the empty listing has nothing to pass over


def test_an_adapter_that_cancels_whole_arrays_never_releases_or_takes_any_failure_for_done_does_not_pass(tmp_path):
    (tmp_path / "cancelling.py").write_text(CANCELS)
    done = run("--adapter", f"{tmp_path}/cancelling.py", "-k", "job_that_is_gone or of_an_array_apart or undone")
    assert "\n3 failed" in done.stdout
    assert "'cancel-down'" in done.stdout


def test_an_adapter_that_does_not_name_the_variables_of_its_jobs_does_not_pass(tmp_path):
    """Submissions read both, so that one without them fails with the first job."""
    text = (MYSITE / "tsp.py").read_text()
    assert text.count("index_variable, id_variable = ") == 1
    without = re.sub(r"    index_variable, id_variable = .*\n", "", text)
    (tmp_path / "without.py").write_text(without)
    (tmp_path / "odd.py").write_text(without + '\n\nTsp.index_variable, Tsp.id_variable = "INDEX", "$JOB"\n')
    done = run("--adapter", f"{tmp_path}/without.py", "--adapter", f"{tmp_path}/odd.py", "-k", "variable")
    assert "\n3 failed, 3 passed" in done.stdout  # an odd index_variable is a name all the same
    said = 'AssertionError: write id_variable = "…", the environment variable in which a job'
    assert done.stdout.count(f"E       {said}") == 2


BESIDE = """
from mysite.words import NAME
from jim.adapters.slurm import Slurm

class StandInBeside(Slurm):
    name = NAME

ADAPTER = StandInBeside
"""


@pytest.mark.parametrize(
    "words",
    [
        ("--adapter", "mysite.batch", "--handlers", "{own}"),
        pytest.param(("--adapter", "{own}/mysite/batch.py"), marks=pytest.mark.torture),
        pytest.param(("--adapter", "{own}/mysite/deeper/batch.py", "--handlers", "{own}"), marks=pytest.mark.torture),
    ],
)
def test_an_adapter_imports_what_lies_beside_it_as_on_its_site(tmp_path, words):
    (tmp_path / "mysite/deeper").mkdir(parents=True)
    (tmp_path / "mysite/words.py").write_text('NAME = "slurm"\n')
    for place in ("mysite", "mysite/deeper"):
        (tmp_path / place / "batch.py").write_text(BESIDE)
    done = run(*(each.format(own=tmp_path) for each in words), "-k", "variable")
    assert "\n3 passed" in done.stdout, done.stdout + done.stderr


@pytest.fixture
def captured(tmp_path):
    return Path(shutil.copytree(MYSITE / "captured", tmp_path / "captured"))


@pytest.fixture
def adapter():
    (adapter,) = conformance.adapters(f"{MYSITE}/tsp.py")
    conformance.captures.cache_clear()
    return adapter


def test_an_adapter_with_all_captures_passes(adapter, captured):
    assert conformance.lacks(adapter, captured) == []


def test_who_has_captured_nothing_is_told_where_it_goes(adapter, tmp_path):
    (lack,) = conformance.lacks(adapter, tmp_path)
    assert lack.startswith(f"{tmp_path}/tsp: nothing is there. Make a directory VERSION; in it, NAME.txt is")


@pytest.mark.parametrize(
    ("old", "new", "lack"),
    [
        ("never_restarts", "restart_off = []\n#", "tsp: write restart_off = […]: the words of the submit command"),
        ("never_restarts", "not_captured.x = ''\nnever_restarts", "tsp: not_captured.x is not asked for; that are"),
        ("[list-empty]\njobs = 0", "[list-empty]\njobs = 1", "tsp: capture a listing without a job, as list-empty.txt"),
        ('code = 255\nraises = "Refused"', 'code = 255\nraises = "Full"', "tsp: capture a submission that can never"),
        ("[huge]", "[submit-huge]", "1.0.1/expected.toml: 'submit-huge' is no answer here"),
        ('tail = ""', "", "tsp: write [huge], a listing to be made long"),
        ("[submit-full]\ncode = 2", "[list-full]\ncode = 2", "expected.toml: write [submit-full], and below it what"),
        ('[submit]\nid = "0"', "[submit]", '[submit]: write id = "…", the batch id that it tells, or raises = "…"'),
        ("[find]\njobs = 9", "[find]", '[find]: write jobs = …, how many it tells of, or raises = "…"'),
        (
            "[ping]",
            "[ping]\nraise = 'Unclear'",
            "[ping] has raise; known are code, commands, history, id, jobs, raises, seen",
        ),
        ("[history.seen]", "[list-empty.seen]", "tsp: write under a [history] what is seen of some jobs"),
    ],
)
def test_what_lacks_in_a_sidecar_is_told(adapter, captured, old, new, lack):
    sidecar = captured / "tsp/1.0.1/expected.toml"
    text = sidecar.read_text()
    assert text.count(old) == 1
    sidecar.write_text(text.replace(old, new))
    assert any(lack in each for each in conformance.lacks(adapter, captured)), conformance.lacks(adapter, captured)


def test_a_submission_that_failed_lacks(adapter, captured):
    sidecar = captured / "tsp/1.0.1/expected.toml"
    sidecar.write_text(re.sub(r'raises = "\w+"', 'raises = "Refused"', sidecar.read_text()))
    (lack,) = conformance.lacks(adapter, captured)
    assert lack.startswith(f"{captured}/tsp: capture a submission that failed, but may succeed later")


def test_arrays_lack_unless_there_are_none_or_it_is_said_why(adapter, captured, monkeypatch):
    monkeypatch.setattr(adapter, "array_limit", 2)
    submission, listing = conformance.lacks(adapter, captured)
    assert submission.startswith(
        f"{captured}/tsp: capture a submission of an array, as submit-array.txt. If that cannot"
    )
    assert listing.startswith(f"{captured}/tsp: capture a listing that shows an array")
    sidecar = captured / "tsp/1.0.1/expected.toml"
    why = 'not_captured = { submit-array = "no one may", list-array = "no one may" }\n'
    sidecar.write_text(why + sidecar.read_text())
    assert conformance.lacks(adapter, captured) == []


def test_what_lacks_beside_a_sidecar_is_told(adapter, captured):
    version = captured / "tsp/1.0.1"
    (version / "expected.toml").unlink()
    (version / "NOTE").write_text("list.txt: tsp -l\n")
    (version / "list.txt").rename(version / "qlist.txt")
    lacks = conformance.lacks(adapter, captured)
    assert f"{version}/NOTE: say which version on which machine it was, and when, as 2026-01-31" in lacks
    assert f"{version}/NOTE: say which command printed submit-full, and with which exit code" in lacks
    assert any(
        "expected.toml: write down by hand what these answers mean: cancel, cancel-ended" in each for each in lacks
    )
    (version / "expected.toml").write_text("")
    conformance.captures.cache_clear()
    assert any(
        "1.0.1/qlist: the first word of the name is what was asked" in e for e in conformance.lacks(adapter, captured)
    )
