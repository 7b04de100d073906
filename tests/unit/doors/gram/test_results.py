"""What JIM delivers to GRAM."""

import errno
import os

import pytest

from jim.doors.gram.results import deliver
from tests.gram.script import DONE, FAILED, description, ended

# Results


def test_a_single_program_s_own_files_come_back(place):
    tar = ended(place, DONE)
    pairs = [["result.dat", "https://x/r"], ["all.tar", "https://x/t"], ["missing", "https://x/m"]]
    for _ in range(2):
        assert deliver(place.site, 7, description(place.directory, filestageout=pairs)) == DONE
        results = [f"jim-results/{name}" for name in ("result.dat", "all.tar")]
        contents = [(place.directory / name).read_bytes() for name in ("out", "err", *results)]
        assert contents == [b"out", b"err", b"42", tar]


@pytest.mark.parametrize("end", ["failed", "killed"])  # a site may end a job by `jim cancel`
def test_outputs_of_a_program_that_failed_come_back_like_others(place, end):
    ended(place, FAILED, members={f"7.0.{end}/stdout": b"out", f"7.0.{end}/result.dat": b"42"})
    pairs = [["result.dat", "https://x/r"]]
    assert deliver(place.site, 7, description(place.directory, filestageout=pairs)) == FAILED
    assert (place.directory / "jim-results/result.dat").read_bytes() == b"42"


@pytest.mark.parametrize("name", ["../../work/5/result/5.tar", "../made/result.dat", "a/../../../5.tar"])
def test_no_name_of_an_output_leads_out_of_the_directory_for_outputs(place, name):
    """A link to the tar would take the place of the result of another grid job."""
    ended(place, DONE)
    there = place.directory / "job"
    other = place.directory / "work/5/result/5.tar"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"of somebody else")
    said = deliver(
        place.site, 7, description(place.directory, jobdir=[str(there)], filestageout=[[name, "https://x/r"]])
    )
    assert b"must be a name inside the directory of the job" in said
    assert other.read_bytes() == b"of somebody else"
    assert not other.is_symlink()
    assert not there.exists()


@pytest.mark.parametrize("named", [[["all.tar", "https://x/t"]], [["result.dat", "https://x/r"]], []])
def test_a_link_that_a_payload_has_put_where_the_tar_was_hands_nothing_out(place, named):
    ended(place, DONE, job_type="executable" if named else "pythia_monte_carlo")
    (place.directory / "id").write_bytes(b"a key")
    (place.directory / "7.tar").unlink()
    (place.directory / "7.tar").symlink_to(place.directory / "id")
    said = deliver(place.site, 7, description(place.directory, filestageout=named))
    assert b"7.tar is a link" in said
    assert not any((place.directory / name).exists() for name in ("out", "jim-results"))


def test_a_link_in_the_place_of_the_result_hands_nothing_out_and_tells_no_end(place):
    """It proves nothing: the directory may come back, and a later poll delivers."""
    ended(place, DONE)
    (place.directory / "G/result").mkdir(parents=True)
    (place.directory / "7.tar").rename(place.directory / "G/result/7.tar")
    place.store.set_grid_job(7, result={"tar": str(place.directory / "G/result/7.tar")})
    asked = description(place.directory, filestageout=[["all.tar", "https://x/t"]])
    for each in ("G", "G/result"):
        (place.directory / each).rename(place.directory / "aside")
        (place.directory / each).symlink_to(place.directory / "aside")
        assert deliver(place.site, 7, asked) == b"\n"
        (place.directory / each).unlink()
        (place.directory / "aside").rename(place.directory / each)
    assert not (place.directory / "jim-results/all.tar").exists()
    assert deliver(place.site, 7, asked) == DONE


def test_the_tar_has_a_second_name_and_no_link_that_could_be_led_elsewhere(place, monkeypatch):
    ended(place, DONE)
    asked = description(place.directory, filestageout=[["all.tar", "https://x/t"]])
    for _ in range(2):  # a job manager may ask twice
        assert deliver(place.site, 7, asked) == DONE
    tar, other = place.directory / "jim-results/all.tar", place.directory / "7.tar"
    assert (tar.is_symlink(), tar.samefile(other)) == (False, True)
    monkeypatch.setattr(os, "link", _elsewhere)
    assert deliver(place.site, 7, asked) == DONE
    assert (tar.is_symlink(), tar.samefile(other)) == (True, True)


def _elsewhere(*_, **__):
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def test_jobs_with_one_name_do_not_meet(place):
    """Each has a directory of its own from GRAM; the directory that a description names may be the same."""
    ended(place, DONE)
    there = place.directory / "job"
    pairs = [["result.dat", "https://x/r"]]
    assert deliver(place.site, 7, description(place.directory, jobdir=[str(there)], filestageout=pairs)) == DONE
    assert (there / "jim-results/result.dat").read_bytes() == b"42"
    assert not (place.directory / "result.dat").exists()


@pytest.mark.parametrize(
    "request_", [{"job_type": "pythia_monte_carlo"}, {"job_type": "parametric", "outputs": ["result.dat"]}]
)
def test_of_a_job_type_that_leaves_files_the_tar_comes_back(place, request_):
    tar = ended(place, FAILED, size=3, **request_)
    assert deliver(place.site, 7, description(place.directory)) == FAILED
    assert (place.directory / "out").read_bytes() == tar


OF_MANY = {
    "summary.json": b"{}",
    "7.0/stdout": b"zero\n",
    "7.0/stderr": b"e0 ",
    "7.2/stdout": b"two\n" * 300_000,
    "7.10/stdout": b"ten\n",
    "7.10/stderr": b"e10 ",
    "7.1.failed/stdout": b"end of one\n",
    "7.1.failed/stderr": b"e1 ",
    "7.3/stderr.last": b"e3 ",  # of a failed one, from an older version
    "7.4.failed/stdout.unverified": b"perhaps not all of it",
    "7.5.killed/stdout": b"not asked for any more",
}


@pytest.mark.parametrize("job_type", ["executable", "parametric"])
def test_of_many_runs_of_a_program_each_stdout_comes_back_whole(place, job_type):
    tar = ended(place, FAILED, size=11, members=OF_MANY, job_type=job_type)
    pairs = [["all.tar", "https://x/t"]]
    for _ in range(2):
        assert deliver(place.site, 7, description(place.directory, filestageout=pairs)) == FAILED
        assert (place.directory / "out").read_bytes() == b"zero\nend of one\n" + b"two\n" * 300_000 + b"ten\n"
        assert (place.directory / "err").read_bytes() == b"e0 e1 e3 e10 "
        assert (place.directory / "jim-results/all.tar").read_bytes() == tar
    assert deliver(place.site, 7, description(place.directory, stdout=["both"], stderr=["both"])) == FAILED
    both = (place.directory / "both").read_bytes()
    assert (both[:16], both[-17:]) == (b"zero\nend of one\n"[:16], b"ten\ne0 e1 e3 e10 ")


def test_what_a_program_with_outputs_writes_comes_back_beside_its_tar(place):
    ended(place, DONE, size=2, job_type="parametric", outputs=["result.dat"])
    assert deliver(place.site, 7, description(place.directory, filestageout=[["all.tar", "https://x/t"]])) == DONE
    assert (place.directory / "out").read_bytes() == b"out"


def test_an_output_brings_its_directory_along(place):
    ended(place, DONE)
    assert deliver(place.site, 7, description(place.directory, filestageout=[["made/all.tar", "https://x/t"]])) == DONE
    assert (place.directory / "jim-results/made/all.tar").read_bytes() == (place.directory / "7.tar").read_bytes()


def test_stdout_and_stderr_may_share_a_file(place):
    ended(place, DONE)
    for _ in range(2):
        assert deliver(place.site, 7, description(place.directory, stdout=["both"], stderr=["./both"])) == DONE
        assert (place.directory / "both").read_bytes() == b"outerr"


def test_what_cannot_be_delivered_is_told(place):
    ended(place, DONE)
    said = deliver(place.site, 7, description(place.directory, stdout=["/nowhere/out"]))
    reason = b"cannot deliver the results: No such file or directory: /nowhere/out"
    assert said == b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:%s\nGRAM_SCRIPT_ERROR:155\n\n" % reason


def test_a_full_disk_is_waited_for(place):
    ended(place, DONE)
    assert deliver(place.site, 7, description(place.directory, stdout=["/dev/full"])) == b"\n"


@pytest.mark.parametrize("link", ["jim-results", "jim-results/result.dat", "jim-results/all.tar"])
def test_no_link_of_a_payload_leads_what_is_delivered_elsewhere(place, link):
    """Payloads can write into the directory that GRAM makes for a job."""
    ended(place, DONE)
    there, other = place.directory / "job", place.directory / "other"
    for each in (there / "jim-results", other):
        each.mkdir(parents=True)
    for name in ("result.dat", "all.tar"):
        (other / name).write_bytes(b"theirs")
    if link == "jim-results":
        (there / link).rmdir()
    (there / link).symlink_to(other if link == "jim-results" else other / link.rpartition("/")[2])
    pairs = [[name, f"https://x/{name}"] for name in ("result.dat", "all.tar")]
    said = deliver(place.site, 7, description(place.directory, jobdir=[str(there)], filestageout=pairs))
    assert {each.read_bytes() for each in other.iterdir()} == {b"theirs"}
    assert said == DONE or b"cannot deliver the results" in said


@pytest.mark.parametrize("name", ["out", "jim-results/result.dat"])
def test_a_pipe_of_a_payload_is_not_waited_for(place, name):
    """One process of GRAM serves many jobs, and waits for six hours."""
    ended(place, DONE)
    (place.directory / "jim-results").mkdir()
    os.mkfifo(place.directory / name)
    with pytest.MonkeyPatch.context() as patched:
        opened = os.open
        patched.setattr(os, "open", lambda path, how, *more, **named: opened(path, how | os.O_NONBLOCK, *more, **named))
        said = deliver(place.site, 7, description(place.directory, filestageout=[["result.dat", "https://x/r"]]))
    assert said == DONE or b"is a pipe" in said
