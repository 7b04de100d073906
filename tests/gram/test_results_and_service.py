"""What is delivered to GRAM, and how it comes to know us."""

import os
import stat

import pytest

from jim.admin import gram_service
from jim.doors.gram.results import deliver
from jim.errors import BadSite, JimError
from tests.gram.script import DONE, FAILED, MODULE, description, ended, files

# Results


def test_a_single_program_s_own_files_come_back(place):
    tar = ended(place, DONE)
    pairs = [["result.dat", "https://x/r"], ["all.tar", "https://x/t"], ["missing", "https://x/m"]]
    for _ in range(2):
        assert deliver(place.state, 7, description(place.directory, filestageout=pairs)) == DONE
        results = [f"jim-results/{name}" for name in ("result.dat", "all.tar")]
        contents = [(place.directory / name).read_bytes() for name in ("out", "err", *results)]
        assert contents == [b"out", b"err", b"42", tar]


def test_jobs_with_one_name_do_not_meet(place):
    """Each has a directory of its own from GRAM; the directory that a description names may be the same."""
    ended(place, DONE)
    there = place.directory / "job"
    pairs = [["result.dat", "https://x/r"]]
    assert deliver(place.state, 7, description(place.directory, jobdir=[str(there)], filestageout=pairs)) == DONE
    assert (there / "jim-results/result.dat").read_bytes() == b"42"
    assert not (place.directory / "result.dat").exists()


def test_of_many_the_tar_comes_back(place):
    tar = ended(place, FAILED, size=3)
    assert deliver(place.state, 7, description(place.directory)) == FAILED
    assert (place.directory / "out").read_bytes() == tar


def test_an_output_brings_its_directory_along(place):
    ended(place, DONE)
    assert deliver(place.state, 7, description(place.directory, filestageout=[["made/all.tar", "https://x/t"]])) == DONE
    assert (place.directory / "jim-results/made/all.tar").read_bytes() == (place.directory / "7.tar").read_bytes()


def test_stdout_and_stderr_may_share_a_file(place):
    ended(place, DONE)
    for _ in range(2):
        assert deliver(place.state, 7, description(place.directory, stdout=["both"], stderr=["./both"])) == DONE
        assert (place.directory / "both").read_bytes() == b"outerr"


def test_what_cannot_be_delivered_is_told(place):
    ended(place, DONE)
    said = deliver(place.state, 7, description(place.directory, stdout=["/nowhere/out"]))
    reason = b"cannot deliver the results: No such file or directory: /nowhere/out"
    assert said == b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:%s\nGRAM_SCRIPT_ERROR:155\n\n" % reason


def test_a_full_disk_is_waited_for(place):
    ended(place, DONE)
    assert deliver(place.state, 7, description(place.directory, stdout=["/dev/full"])) == b"\n"


# The service


def test_it_is_registered_and_nothing_is_left_of_it(root):
    before = files(root)
    list(gram_service.register(root))
    again = list(gram_service.register(root))
    assert any("was not changed" in line for line in again)
    assert os.path.realpath(root / gram_service.PERL) == str(MODULE)
    assert (root / "etc/grid-services/jobmanager-samgrid").read_text().endswith("-type samgrid\n")
    assert stat.S_IMODE((root / gram_service.RVF).stat().st_mode) == 0o644
    levels = {each.name: each.level for each in gram_service.findings(root)}
    assert {name for name, level in levels.items() if level == "failed"} <= {"accounts", "Perl", "RVF"}
    assert len(list(gram_service.unregister(root))) == 4
    assert files(root) == before
    assert {each.name for each in gram_service.findings(root) if each.level == "failed"} >= {"service", "attributes"}


def test_what_is_somebody_else_s_is_left_alone(root):
    (root / gram_service.RVF).write_text("Attribute: theirs\n")
    before = files(root)
    for verb in (gram_service.register, gram_service.unregister):
        with pytest.raises(BadSite, match="was not written by JIM"):
            list(verb(root))
    assert files(root) == before


def test_what_lies_among_the_events_is_left_with_everything_else(root):
    list(gram_service.register(root))
    note = root / gram_service.EVENTS / "note"
    note.parent.mkdir(parents=True)
    (note.parent / "20260101").touch()
    note.touch()
    before = files(root)
    with pytest.raises(BadSite, match=r"globus-seg-samgrid/note; move it away first"):
        list(gram_service.unregister(root))
    assert files(root) == before
    note.unlink()
    assert len(list(gram_service.unregister(root))) == 5


def test_who_may_not_write_is_told_to_be_root(root, monkeypatch):
    list(gram_service.register(root))
    before = files(root)
    monkeypatch.setattr(gram_service.os, "access", lambda place, mode: place != (root / gram_service.PERL).parent)
    for verb in (gram_service.register, gram_service.unregister):
        with pytest.raises(
            BadSite, match=r"this account cannot write to .*Globus/GRAM/JobManager; run the command as root$"
        ):
            list(verb(root))
    assert files(root) == before


def test_without_GRAM_nothing_is_registered(tmp_path):
    with pytest.raises(JimError, match="install the package globus-gram-job-manager-scripts"):
        list(gram_service.register(tmp_path))


def test_what_GRAM_lets_through_is_what_job_types_declare():
    text = gram_service.rvf()
    names = [line.split(": ")[1] for line in text.splitlines() if line.startswith("Attribute: ")]
    assert len(names) == len(set(names))
    assert {"jim_job_type", "events", "argument_sets", "mass_min_gev", "splitter", "cores"} <= set(names)
    assert not {"job_type", "executable", "arguments", "environment", "queue", "key"} & set(names)
    (values,) = (line.split()[1:] for line in text.splitlines() if line.startswith("Values: "))
    assert {"executable", "parametric", "pythia_monte_carlo"} <= set(values)
