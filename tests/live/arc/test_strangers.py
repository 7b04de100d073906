"""What a grid user may name, through a real A-REX: only what lies in the session directory."""

from __future__ import annotations

import shutil

import pytest

from tests.live.arc.computing_element import CONTROL


@pytest.fixture
def key(ce):
    """Put a key into the home of the account."""
    (ce.account / ".ssh").mkdir(exist_ok=True)
    file = ce.account / ".ssh/id"
    file.write_text("the-key-of-the-account\n")
    for each in (file.parent, file):
        ce.own(each)
    yield file
    shutil.rmtree(file.parent)


def test_no_file_of_the_account_is_read_for_a_grid_user(ce, key):
    """All are submitted first, for A-REX takes its time."""
    before, place = ce.jobs(), ce.directory()
    attacks = [("JIM_INPUTS", key.parent), ("JIM_STDIN", key), ("JIM_TOKEN", key), ("JIM_PROXY", "/etc/hostname")]
    asked = [f'(executable="/bin/cat")(stdout="out")(environment=("{name}" "{file}"))' for name, file in attacks]
    jobs = ce.submit_many(place, asked)
    for job in jobs:
        ce.until(job, "FINISHED")
        assert "site.inputs_below" in (CONTROL / f"job.{job}.errors").read_text()
    assert ce.jobs() == before


@pytest.mark.long
def test_a_file_of_the_session_directory_is_sent(ce):
    place = ce.directory()
    (place / "given").write_text("input\n")
    job = ce.submit(
        place, '(executable="/bin/cat")(inputfiles=("given" ""))(stdout="out")(environment=("JIM_STDIN" "given"))'
    )
    ce.until(job, "FINISHED")
    assert (ce.got(place, job) / "out").read_text() == "input\n"
