"""Models: files with holes become tasks. Scenario 75, and each sentence about what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jim.errors import BadRequest
from jim.site.file import Site
from jim.site.settings import General
from jim.tasks.file import models
from jim.tasks.file import reading as task_file

MODEL = """\
[model]
summary = "Counts"
[model.holes]
run = { help = "run number, for example 7", kind = "whole" }
many = { help = "files of a piece", kind = "whole", default = 10 }
words = { help = "what is said", kind = "text", default = "<run>" }
[[task]]
name = "count-<run>"
request = { job_type = "executable", executable = "/bin/echo", arguments = ["<words>", "run <run>!", "$InputFiles"] }
source = [ { command = ["/bin/echo", "--run", "r<run>", "end"] } ]
split = { parameters = { files_per_job = "<many>" } }
"""


@pytest.fixture
def site(tmp_path):
    """A site with a model of its own."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models/count.toml").write_text(MODEL)
    return Site(state=tmp_path / "state", site=General(models=str(tmp_path / "models")))


def filled(site, **given):
    (spec,) = task_file.read(models.file_of("count", site), site, given)
    return spec


def test_the_model_of_jim_is_the_same_task_as_its_text_written_by_hand(tmp_path, monkeypatch):
    (tmp_path / "mysite").mkdir()
    (tmp_path / "mysite/analysis.py").write_text(
        "from jim.evidence.analysis import usual\n\ndef careful(failed):\n    return usual(failed)\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    program = tmp_path / "raw-files"
    program.write_text("#!/bin/sh\necho end\n")
    program.chmod(0o755)
    text = models.file_of("d0-reprocess", Site(state=tmp_path)).read_text().replace("/opt/site/raw-files", str(program))
    (tmp_path / "d0-reprocess.toml").write_text(text)
    site = Site(state=tmp_path / "state", site=General(models=str(tmp_path), handlers=str(tmp_path)))
    by_hand = f"""
        [[task]]
        name = "repro-194341"
        summary = "raw files of run 194341"
        analyser = "mysite.analysis.careful"
        [task.request]
        job_type = "dzero_reconstruction"
        d0_release_version = "p17.09.01"
        [[task.source]]
        command = ["{program}", "--run", "194341"]
        every_seconds = 300
        [task.split]
        splitter = "FileBased"
        parameters = {{ files_per_job = 10 }}
        max_wait_seconds = 3600
        """
    (tmp_path / "hand.toml").write_text(by_hand)
    assert (tmp_path / "d0-reprocess.toml") == models.file_of("d0-reprocess", site)
    (made,) = task_file.read(tmp_path / "d0-reprocess.toml", site, {"run": "194341"})
    (wanted,) = task_file.read(tmp_path / "hand.toml", site)
    assert made._replace(file="") == wanted._replace(file="")
    with pytest.raises(BadRequest) as error:
        task_file.read(tmp_path / "d0-reprocess.toml", site, {})
    words = "model d0-reprocess: hole 'run' has no value: run number, for example 194341"
    assert str(error.value) == words


def test_a_hole_alone_takes_its_kind_and_a_value_is_filled_once(site):
    spec = filled(site, run="7")
    assert spec.name == "count-7"
    assert spec.request["arguments"] == ["<run>", "run 7!", "$InputFiles"]
    assert spec.sources[0].command == ("/bin/echo", "--run", "r7", "end")
    assert spec.split.parameters == {"files_per_job": 10}
    assert models._filled({"runs": ["<run>", "<run>"], "words": ["-r", "<run>"]}, {"run": 7}) == {
        "runs": [7, 7],
        "words": ["-r", "7"],
    }
    assert filled(site, run="7", many="3", words="a;b\\").request["arguments"][0] == "a;b\\"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "model count: hole 'run' has no value: run number, for example 7"),
        ({"run": "seven"}, "model count: hole 'run': expected a whole number, found 'seven'"),
        ({"run": "7.5"}, "model count: hole 'run': expected a whole number, found '7.5'"),
        ({"run": "7", "words": "\x1b[2J"}, "model count: hole 'words': expected a text, found "),
        ({"run": "7", "rnu": "8"}, "model count has no hole 'rnu'; did you mean 'run'? (known: many, run, words)"),
    ],
)
def test_values_that_do_not_fit_are_refused(site, given, words):
    with pytest.raises(BadRequest) as error:
        filled(site, **given)
    assert str(error.value).startswith(words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "run <run>!",
            "run <rnu>!",
            "<rnu>: the model has no such hole; did you mean 'run'? (known: many, run, words)",
        ),
        ('kind = "whole" }', 'kind = "hole" }', "model.holes.run.kind: 'hole': must be whole, number, text"),
        ("default = 10", 'default = "x"', "model.holes.many.default: expected a whole number, found 'x'"),
        ("default = 10", "defualt = 10", "model.holes.many.defualt: unknown; did you mean 'default'?"),
        ('summary = "Counts"', 'sumary = "Counts"', "model.sumary: unknown; did you mean 'summary'?"),
        ("run = {", "RUN = {", "model.holes.RUN: a name has a-z, 0-9, _ and -, and begins with a letter"),
        ("[[task]]\n", "[task]\n", "task is no list of tables; each begins with [[task]]"),
    ],
)
def test_a_model_that_is_wrong_is_refused_with_its_sentence(site, old, new, words):
    file = models.file_of("count", site)
    file.write_text(MODEL.replace(old, new, 1))
    with pytest.raises(BadRequest) as error:
        filled(site, run="7")
    assert words in str(error.value)
    assert str(error.value).startswith(f"{file}: ")


def test_what_a_filled_model_says_is_checked_as_any_task_file(site):
    file = models.file_of("count", site)
    file.write_text(MODEL.replace('"<many>"', '"<words>"'))
    with pytest.raises(BadRequest) as error:
        filled(site, run="7", words="ten")
    assert str(error.value).startswith(f"{file}: line 11, column 26: split.parameters.files_per_job: ")


def test_a_model_is_no_task_file(site):
    with pytest.raises(BadRequest, match=r"model: this is a model; 'jim task create --model count hole=value' fills "):
        task_file.read(models.file_of("count", site), site)


def test_a_task_file_is_no_model(site):
    with pytest.raises(BadRequest, match=r"it has no table \[model\], so it is a task file"):
        models.model_in(Path("x.toml"), {"task": []})


def test_a_site_s_own_model_hides_that_of_jim(site):
    assert list(models.known(site)) == ["count", "d0-reprocess"]
    own = Path(site.site.models) / "d0-reprocess.toml"
    own.write_text(MODEL)
    assert models.file_of("d0-reprocess", site) == own
    with pytest.raises(BadRequest, match=r"there is no model 'cuont' in /.*; did you mean 'count'\?"):
        models.file_of("cuont", site)


def test_each_model_of_jim_uses_all_its_holes_and_says_what_it_is_for():
    for name, file in models.known(Site(state=Path("/nowhere"))).items():
        model = task_file.model(file)
        assert model.summary, name
        assert model.description, name
        assert set(models._holes_in(model.tables)) == set(model.holes), name
        assert all(each.help for each in model.holes.values()), name


def test_the_code_in_each_role_is_named(site):
    model = task_file.model(models.file_of("d0-reprocess", site))
    assert models.roles(model, site) == [
        ("job type", "dzero_reconstruction"),
        ("analyser", "mysite.analysis.careful"),
        ("source command", "/opt/site/raw-files"),
        ("splitter", "FileBased"),
    ]
    count = task_file.model(models.file_of("count", site))
    assert models.roles(count, site) == [
        ("job type", "executable"),
        ("source command", "/bin/echo"),
        ("splitter", "FileBased"),
    ]
