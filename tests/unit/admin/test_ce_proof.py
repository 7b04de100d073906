"""A job of this account as the proof that HTCondor-CE hands jobs to JIM: an HTCondor that only pretends."""

import pytest

from jim.admin import ce_proof

SUBMIT = """#!/bin/sh
place=${3#initialdir = }
[ "$3" = "initialdir = $place" ] && [ -f "$4" ] && echo "7.0 - 7.0"
{does}
"""


@pytest.fixture
def htcondor(tmp_path, monkeypatch):
    def make(does):
        (tmp_path / "bin").mkdir()
        for name, text in (
            ("submit", SUBMIT.replace("{does}", does)),
            ("rm", f"#!/bin/sh\necho $1 >{tmp_path}/removed\n"),
        ):
            (tmp_path / f"bin/condor_{name}").write_text(text)
            (tmp_path / f"bin/condor_{name}").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
        monkeypatch.setattr(ce_proof.Path, "home", lambda: tmp_path)
        return tmp_path

    return make


def test_a_job_whose_output_came_back_is_the_proof(htcondor):
    place = htcondor(
        'echo "hello from JIM" >"$place/out"; echo "(1) Normal termination (return value 0)" >"$place/log"'
    )
    found = ce_proof.with_a_job(5)
    assert (found.level, found.said) == ("ok", "a job came through the route to JIM, and its output came back")
    assert not list(place.glob("jim-ce-check-*"))


def test_an_account_without_a_home_submits_from_another_place(htcondor, monkeypatch, tmp_path):
    htcondor('echo "hello from JIM" >"$place/out"; echo "(1) Normal termination (return value 0)" >"$place/log"')
    monkeypatch.setattr(ce_proof.Path, "home", lambda: tmp_path / "nowhere")
    assert ce_proof.with_a_job(5).level == "ok"


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ('printf "012 Job was held.\\n\\tno room\\n" >"$place/log"', "wrong: the job ended with: no room"),
        ('echo "Normal termination (return value 3)" >"$place/log"', "wrong: the job ended with: return value 3"),
        ("true", "wrong: the job had not ended after 1 s"),
    ],
)
def test_a_job_that_does_not_end_well_is_removed_and_told_of(htcondor, does, words):
    place = htcondor(does)
    found = ce_proof.with_a_job(1)
    assert (found.level, found.said) == ("failed", words)
    assert (place / "removed").read_text() == "7.0\n"


def test_a_submission_that_is_refused_is_told_of(htcondor):
    htcondor("echo 'no schedd' >&2; exit 1")
    found = ce_proof.with_a_job(1)
    assert found.level == "failed"
    assert found.said.startswith("wrong: cannot submit a job: no schedd (exit 1 after ")
