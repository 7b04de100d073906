"""The grammars that job types name."""

from pathlib import Path

import pytest

from jim.request.grammars import all_grammars, grammars_of

TYPE = """
from jim.handlers.base import Handler


class HANDLER(Handler):
    published = {"urn:d0:mc:1": "d0mc.rng", "urn:d0:far:1": "../../far.rng"}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "grammarians").mkdir()
    (tmp_path / "grammarians/mine.py").write_text(TYPE)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return tmp_path


def test_a_grammar_lies_beside_its_job_type_and_nowhere_else(own):
    beside = own / "grammarians"
    files = {"urn:d0:mc:1": beside / "d0mc.rng", "urn:d0:far:1": beside / "far.rng"}
    assert grammars_of("grammarians.mine", str(own)) == files


@pytest.mark.parametrize("job_type", ["executable", "no_such_type"])
def test_most_job_types_have_none(job_type):
    assert grammars_of(job_type) == {}


def test_the_grammars_of_jims_own_job_types_are_there():
    found = list(all_grammars())
    assert [(job_type, namespace, file.name) for job_type, namespace, file in found] == [
        ("pythia_monte_carlo", "urn:jim:pythia:1", "pythia_monte_carlo.rng")
    ]
    assert all(Path(file).is_file() for _, _, file in found)
