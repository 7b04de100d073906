"""Outputs from the tar into places of a gatekeeper."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from jim.doors.placing import place
from jim.errors import JimError
from jim.jobs import GridJob
from jim.model import Step

MEMBERS = {
    "summary.json": b"{}",
    "7.0/stdout": b"out",
    "7.0/stderr": b"err",
    "7.0/sub/a.dat": b"a" * 3_000_000,
    "jim/summary.json": b"{}",
}


def job(tmp_path, members=MEMBERS, *, size=1, job_type="executable", programs=(), **result):
    tar = tmp_path / "result/7.tar"
    tar.parent.mkdir()
    with tarfile.open(tar, "w", format=tarfile.PAX_FORMAT) as packed:
        for name, content in members.items():
            told = tarfile.TarInfo(name)
            told.size, told.mode = len(content), 0o700 if name in programs else 0o600
            packed.addfile(told, io.BytesIO(content))
    told = {"tar": str(tar), **result} if members else {}
    return GridJob(
        *(7, "k", job_type, "me", Step.FINISHED, size, 0, "", "", "completed", "", told, True, 1, 0, 0.0, "", "", "{}")
    )


@pytest.fixture
def there(tmp_path):
    (tmp_path / "there").mkdir()
    return tmp_path / "there"


def places(there, *names, tar="", **files):
    files = {name: f"{there}/{name}" for name in names} | files
    return {"directory": str(there), "files": files, "tar": tar}


def found(there):
    return {str(each.relative_to(there)): each.read_bytes() for each in there.rglob("*") if each.is_file()}


@pytest.mark.parametrize("name", ["two\nlines", "漢" * 85, "x" * 255, "-dash", "$(id)", " ", "a'b\"c\\"])
def test_a_program_may_call_its_outputs_as_it_likes(tmp_path, there, name):
    place(job(tmp_path, {"7.0/stdout": b"", f"7.0/{name}": b"mine"}), {"directory": str(there), "files": {"./": there}})
    assert found(there) == {name: b"mine"}


def test_a_program_that_was_left_can_be_executed_in_its_place(tmp_path, there):
    place(job(tmp_path, {"7.0/a": b"#!", "7.0/b": b""}, programs=["7.0/a"]), places(there, "a", "b"))
    assert [(there / name).stat().st_mode & 0o7777 for name in ("a", "b")] == [0o755, 0o644]


def test_only_what_is_asked_for_comes_and_a_directory_below_is_made(tmp_path, there):
    place(job(tmp_path), places(there, "stdout", "sub/a.dat", "missing"))
    assert found(there) == {"stdout": b"out", "sub/a.dat": b"a" * 3_000_000}


def test_placing_again_gives_the_same_files_and_replaces_others(tmp_path, there):
    done = job(tmp_path)
    (there / "stdout").symlink_to(tmp_path / "elsewhere")
    for _ in range(2):
        place(done, places(there, "stdout", "stderr"))
        assert found(there) == {"stdout": b"out", "stderr": b"err"}
    assert not (tmp_path / "elsewhere").exists()


def test_stdout_and_stderr_may_share_a_file_and_null_is_none(tmp_path, there):
    done = job(tmp_path)
    place(done, places(there, stdout=f"{there}/both", stderr=f"{there}/both"))
    assert found(there) == {"both": b"outerr"}
    place(done, places(there, stdout=os.devnull, stderr=os.devnull))
    assert not Path(os.devnull).is_file()


def test_without_a_tar_there_are_empty_streams(tmp_path, there):
    place(job(tmp_path, {}), places(there, "stdout", "stderr", "a.dat", tar=f"{there}/all.tar"))
    assert found(there) == {"stdout": b"", "stderr": b""}


def test_a_split_one_has_its_tar_and_what_lies_beside_it(tmp_path, there):
    done = job(tmp_path, size=2, job_type="pythia_monte_carlo", beside=["mass.svg"])
    (tmp_path / "result/mass.svg").write_bytes(b"<svg/>")
    (tmp_path / "result/other.svg").write_bytes(b"<svg/>")
    place(done, places(there, "stderr", "mass.svg", "other.svg", stdout=f"{there}/z.tar", tar=f"{there}/z.tar"))
    whole = (tmp_path / "result/7.tar").read_bytes()
    assert found(there) == {"z.tar": whole, "stderr": b"", "mass.svg": b"<svg/>"}


def test_an_output_in_a_directory_that_was_not_left_is_left_out(tmp_path, there):
    place(job(tmp_path, {"7.0.failed/stdout": b"out"}), places(there, "stdout", "sub/a.dat"))
    assert found(there) == {"stdout": b"out"}


@pytest.mark.parametrize("end", ["failed", "killed"])
def test_what_a_program_has_left_that_did_not_complete_comes_like_outputs(tmp_path, there, end):
    left = {f"7.0.{end}/stdout": b"begun", f"7.0.{end}/stderr": b"oh", f"7.0.{end}/part": b"1"}
    place(job(tmp_path, left), places(there, "stdout", "stderr", "part"))
    assert found(there) == {"stdout": b"begun", "stderr": b"oh", "part": b"1"}


def test_a_tar_that_is_damaged_is_an_error_of_jim_s(tmp_path, there):
    done = job(tmp_path)
    (tmp_path / "result/7.tar").write_bytes(b"no tar" * 1000)
    with pytest.raises(JimError, match=r"result/7.tar is no whole tar"):
        place(done, places(there, "stdout"))


def test_a_program_may_have_a_tar_of_its_own(tmp_path, there):
    done = job(tmp_path, {"7.0/stdout": b"", "7.0/my.tar": b"mine"})
    place(done, places(there, "my.tar", tar=f"{there}/my.tar"))
    assert found(there) == {"my.tar": b"mine"}


def test_nobody_sees_a_part(tmp_path, there, monkeypatch):
    names = []
    real = os.fsync

    def look(descriptor):
        names.append([each.name for each in there.iterdir()])
        real(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    place(job(tmp_path), places(there, "stdout"))
    assert names == [[".stdout.jim"], ["stdout"]]  # then its name is durable, too


def test_a_full_disk_leaves_nothing_and_names_the_place(tmp_path, there, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device.*there/stdout"):
        place(job(tmp_path), places(there, "stdout"))
    assert found(there) == {}


def test_it_waits_for_no_pipe(tmp_path, there):
    for name in ("stdout", ".stdout.jim"):
        os.mkfifo(there / name)
    place(job(tmp_path), places(there, "stdout"))
    assert found(there) == {"stdout": b"out"}


def test_a_directory_that_is_away_is_not_made(tmp_path, there):
    there.rmdir()
    with pytest.raises(FileNotFoundError):
        place(job(tmp_path), places(there, "sub/a.dat"))
    assert not there.exists()


def test_a_directory_that_is_asked_for_comes_whole_also_without_a_slash_at_its_end(tmp_path, there):
    done = job(tmp_path, {"7.0/stdout": b"", "7.0/sub/a": b"a", "7.0/sub/deep/b": b"b", "7.0/subway": b"c"})
    place(done, places(there, "sub"))
    assert found(there) == {"sub/a": b"a", "sub/deep/b": b"b"}


@pytest.mark.parametrize("name", ["my_stdout.last.txt", "old_stderr.last/data", "x.stdout.last"])
def test_a_name_that_only_resembles_the_end_of_a_stream_stays_as_it_is(tmp_path, there, name):
    place(job(tmp_path, {"7.0/stdout": b"", f"7.0/{name}": b"mine"}), places(there, name))
    assert found(there) == {name: b"mine"}


def test_the_end_of_a_stream_is_the_stream_where_nothing_else_of_it_is_left(tmp_path, there):
    """So an older version of JIM has packed it."""
    place(job(tmp_path, {"7.0/stdout.last": b"out", "7.0/stderr.last": b"err"}), places(there, "stdout", "stderr"))
    assert found(there) == {"stdout": b"out", "stderr": b"err"}


def test_a_program_may_call_an_output_like_the_end_of_a_stream(tmp_path, there):
    done = job(tmp_path, {"7.0/stdout.last": b"mine", "7.0/stdout": b"out"})
    place(done, places(there, "stdout", "stdout.last"))
    assert found(there) == {"stdout": b"out", "stdout.last": b"mine"}


@pytest.mark.parametrize("name", [f"7.{'9' * 5000}/x", "7.0/a\0b", f"{'9' * 5000}.0/x"])
def test_a_member_that_jim_never_writes_ends_no_keeper(tmp_path, there, name):
    """A payload may put another tar in the place of JIM's."""
    job_ = job(tmp_path, {"7.0/stdout": b"out"})
    odd = tarfile.TarInfo("odd")
    odd.pax_headers = {"path": name}
    with tarfile.open(job_.result["tar"], "a", format=tarfile.PAX_FORMAT) as packed:
        packed.addfile(odd)
    place(job_, {"directory": str(there), "files": {"stdout": f"{there}/out", "./": str(there)}})
    assert found(there) == {"out": b"out"}
