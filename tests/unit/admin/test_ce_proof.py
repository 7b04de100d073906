"""A job of this account as the proof that HTCondor-CE hands jobs to JIM: an HTCondor that only pretends."""

import pytest

from jim.admin import ce_proof

SUBMIT = """#!/bin/sh
place=${4#initialdir = }
[ "$1 $2 $3" = "-spool -terse -append" ] && [ "$4" = "initialdir = $place" ] && [ -f "$5" ] && echo "7.0 - 7.0"
echo "$place" >{here}/place
{does}
"""
GOOD = "printf '4\\t0\\tundefined\\tundefined\\n'"


@pytest.fixture
def htcondor(tmp_path, monkeypatch):
    def make(submit="", q="true", transfer='echo "hello from JIM" >"$place/out"'):
        (tmp_path / "bin").mkdir()
        for name, text in (
            ("submit", SUBMIT.replace("{does}", submit).replace("{here}", str(tmp_path))),
            ("q", f'#!/bin/sh\n[ "$1" = 7.0 ] && {q}\n'),
            ("transfer_data", f"#!/bin/sh\nread -r place <{tmp_path}/place\n{transfer}\n"),
            ("rm", f"#!/bin/sh\necho $1 >{tmp_path}/removed\n"),
        ):
            (tmp_path / f"bin/condor_{name}").write_text(text)
            (tmp_path / f"bin/condor_{name}").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
        monkeypatch.setattr(ce_proof.time, "sleep", lambda _: None)
        return tmp_path

    return make


def test_a_job_whose_output_came_back_is_the_proof(htcondor):
    place = htcondor(q=GOOD)
    found = ce_proof.with_a_job(5)
    assert (found.level, found.said) == ("ok", "a job came through the route to JIM, and its output came back")
    assert (place / "removed").read_text() == "7.0\n"


def test_a_job_that_is_held_while_its_files_come_in_is_waited_for(htcondor, tmp_path):
    spooling = "printf '5\\tundefined\\t16\\tspooling\\n'"
    htcondor(q=f"if [ -e {tmp_path}/asked ]; then {GOOD}; else : >{tmp_path}/asked; {spooling}; fi")
    assert ce_proof.with_a_job(5).level == "ok"


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ({"q": "printf '5\\tundefined\\t3\\tno room\\n'"}, "the job was held: no room"),
        ({"q": "printf '4\\t3\\tundefined\\tundefined\\n'"}, "the job ended with exit code 3"),
        (
            {"q": GOOD, "transfer": "echo none >&2; exit 1"},
            "the job ended well, but its output did not come back: n",
        ),
        ({}, "the job had not ended after 1 s"),
    ],
)
def test_a_job_that_does_not_end_well_is_removed_and_told_of(htcondor, does, words):
    place = htcondor(**does)
    found = ce_proof.with_a_job(1)
    assert (found.level, found.said[: len(words)]) == ("failed", words)
    assert (place / "removed").read_text() == "7.0\n"


def test_a_submission_that_is_refused_is_told_of(htcondor):
    htcondor(submit="echo 'no schedd' >&2; exit 1")
    found = ce_proof.with_a_job(1)
    assert found.level == "failed"
    assert found.said.startswith("cannot submit a job: no schedd (exit 1 after ")
