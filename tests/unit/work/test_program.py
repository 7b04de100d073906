"""The program of a request: sent along from beside the request, or refused where nobody could find it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jim.doors.intake import prepare
from jim.errors import BadRequest
from jim.request import handler_of
from jim.site.file import Site
from jim.site.settings import Batch, Payload
from jim.work import program
from jim.work.program import missing_program

NOWHERE = "lies neither beside the request nor in a directory of PATH"


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A directory with a script and a request, and a PATH with one program."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for path in (programs / "known", tmp_path / "ok.sh"):
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    return tmp_path


def checked(place, executable, more="", site=None):
    file = place / "request.toml"
    file.write_text(f'job_type = "executable"\nexecutable = "{executable}"\n{more}')
    return prepare(file, site or Site(place / "state"))[1]


@pytest.mark.parametrize("executable", ["ok.sh", "./ok.sh"])
@pytest.mark.parametrize(("more", "others"), [("", []), ('inputs = ["other"]\n', ["other"])])
def test_a_program_beside_the_request_is_sent_along(beside, executable, more, others):
    (beside / "other").write_text("")
    request = checked(beside, executable, more)
    assert request["inputs"] == [str(beside / name) for name in [*others, "ok.sh"]]
    assert request["executable"] == executable


def test_what_is_among_the_inputs_is_not_sent_twice(beside):
    assert checked(beside, "ok.sh", 'inputs = ["ok.sh"]\n')["inputs"] == [str(beside / "ok.sh")]


def test_a_program_on_path_comes_before_a_file_of_its_name(beside):
    (beside / "known").write_text("no program")
    assert checked(beside, "known")["inputs"] is None
    (beside / "known").chmod(0o755)
    assert checked(beside, "./known")["inputs"] == [str(beside / "known")]


@pytest.fixture
def of_another(beside, monkeypatch):
    """A directory as /tmp, in which another account has put a program, whose name is not on PATH."""
    beside.chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: beside.stat().st_uid + 4711)
    monkeypatch.setattr(program, "ROOT", beside.stat().st_uid + 4712)
    return beside


def test_no_program_that_a_stranger_has_put_beside_the_request_is_sent_by_its_bare_name(of_another):
    with pytest.raises(BadRequest, match=r"ok.sh belongs to another account, .*: name it ./ok.sh if you trust it"):
        checked(of_another, "ok.sh")
    assert checked(of_another, "./ok.sh")["inputs"] == [str(of_another / "ok.sh")]
    of_another.chmod(0o775)
    assert checked(of_another, "ok.sh")["inputs"] == [str(of_another / "ok.sh")]


def test_no_link_of_a_stranger_to_a_program_of_one_s_own_is_followed_by_its_bare_name(of_another, monkeypatch):
    monkeypatch.setattr(program, "ROOT", of_another.stat().st_uid)
    (of_another / "link").symlink_to("ok.sh")
    assert checked(of_another, "link")["inputs"] == [str(of_another / "link")]
    seen = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda path: _of(seen(path), 4713) if path.name == "link" else seen(path))
    with pytest.raises(BadRequest, match="link belongs to another account"):
        checked(of_another, "link")


def _of(about, uid):
    return os.stat_result([*about[:4], uid, *about[5:10]])


def test_a_directory_or_a_file_that_cannot_be_executed_is_no_program(beside):
    (beside / "folder").mkdir()
    (beside / "plain").write_text("")
    with pytest.raises(BadRequest, match=f"line 2, column 1: executable: folder {NOWHERE}"):
        checked(beside, "folder")
    with pytest.raises(BadRequest, match="plain cannot be executed; `chmod \\+x` allows it"):
        checked(beside, "plain")
    with pytest.raises(BadRequest, match="plain cannot be executed"):
        checked(beside, "plain", 'inputs = ["plain"]\n')
    with pytest.raises(BadRequest, match="plain cannot be executed"):
        checked(beside, "plain", f'inputs = ["{beside}/plain"]\n')


def test_a_program_that_nobody_finds_is_refused_where_jobs_run_here(beside):
    with pytest.raises(BadRequest, match=f"executable: nosuch {NOWHERE}"):
        checked(beside, "nosuch")
    with pytest.raises(BadRequest, match=r"\./nosuch is not among inputs"):
        checked(beside, "./nosuch")


@pytest.mark.parametrize(
    ("payload", "missing"),
    [
        (Payload(), "nosuch"),
        (Payload(setup="/etc/profile"), ""),
        (Payload(image="/x.sif"), ""),
        (Payload(tools="/t"), ""),
    ],
)
def test_elsewhere_a_worker_node_may_have_it(beside, payload, missing):
    """People are told, unless the site brings programs of its own."""
    site = Site(beside / "state", batch=Batch(system="slurm"), payload=payload)
    request = checked(beside, "nosuch", site=site)
    assert request["inputs"] is None
    assert missing_program(handler_of("executable"), request, site) == missing
