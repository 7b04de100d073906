"""What is delivered to GRAM, and how it comes to know us."""

import os
import stat

import pytest

from jim.admin import gram_service
from jim.errors import BadSite, JimError
from tests.gram.script import MODULE, files
from tests.support.machine import ME

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


@pytest.mark.parametrize("name", ["file_clean_up", "gass_cache", "log_pattern"])
def test_what_GRAM_would_do_as_the_account_before_anybody_can_refuse_it_is_closed(name):
    """GRAM removes what `file_clean_up` names also of a job that JIM has refused."""
    (record,) = (each for each in gram_service.rvf().split("\n\n") if each.startswith(f"Attribute: {name}\n"))
    assert record.splitlines()[-1] == "ValidWhen: "


def test_events_are_set_up_and_taken_away(root):
    before = files(root)
    with pytest.raises(BadSite, match="install the package globus-seg-job-manager"):
        list(gram_service.register(root, ME.pw_name))
    assert files(root) == before
    library = root / "usr/lib/x/libglobus_seg_job_manager.so"
    library.parent.mkdir(parents=True)
    library.touch()
    list(gram_service.register(root))
    list(gram_service.register(root, ME.pw_name))
    line = (root / "etc/grid-services/jobmanager-samgrid").read_text()
    assert line.endswith("-type samgrid -seg-module samgrid\n")
    assert gram_service.ADAPTER.parent.is_dir()
    (found,) = (each for each in gram_service.findings(root) if each.name == "events")
    assert (found.level, "gram_events = " in found.todo) == ("failed", True)
    list(gram_service.unregister(root))
    assert files(root) == before | {str(library.relative_to(root))}


def test_the_check_of_the_rvf_is_found_where_accounts_do_not_look(root, tmp_path, monkeypatch):
    """It is among the programs of administrators; to an account, it seemed to be missing."""
    list(gram_service.register(root))
    program = tmp_path / "sbin/globus-rvf-check"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(gram_service, "SUPER", str(program.parent))
    monkeypatch.setenv("PATH", "/nowhere")
    (found,) = (each for each in gram_service.findings(root) if each.name == "RVF")
    assert (found.level, found.todo) == ("ok", "")
