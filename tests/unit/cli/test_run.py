"""jim run: what its command line becomes, and refusals. tests/unit/localbatch/test_run.py runs programs."""

from __future__ import annotations

import errno
import io
import json

import pytest

from jim import run_grid_job
from jim.cli import run
from jim.errors import BadRequest, Unheard
from jim.model import State
from jim.work import program


@pytest.fixture
def script(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name in ("ok.sh", "bin/inner.sh"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ok.sh"


@pytest.fixture
def handed_in(home, monkeypatch):
    """The requests that were handed in; nobody follows their grid jobs."""
    found = []

    def submit(file, **more):
        found.append(json.loads(file.read_text()) | more)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_grid_job, "submit", submit)
    return found


@pytest.mark.parametrize(
    "error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), Unheard("cannot write to stdout: full")]
)
def test_output_that_nobody_can_read_is_an_error(tmp_path, monkeypatch, capsys, error):
    class Gone(io.StringIO):
        class buffer:  # noqa: N801 - as streams name it
            @staticmethod
            def write(_):
                raise error

    (tmp_path / "stdout").write_bytes(b"long")
    monkeypatch.setattr(run, "log_files", lambda *_: {"stdout": tmp_path / "stdout", "stderr": tmp_path / "none"})
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Gone())
        with pytest.raises(type(error)):
            run._print(None, None)
    assert capsys.readouterr().err == ""


def test_output_that_cannot_be_read_is_told_and_the_rest_is_printed(tmp_path, monkeypatch, capfdbinary):
    (tmp_path / "stdout").symlink_to("stderr")
    (tmp_path / "stderr").write_bytes(b"all is well")
    monkeypatch.setattr(run, "log_files", lambda *_: {name: tmp_path / name for name in ("stdout", "stderr")})
    run._print(None, None)
    out, err = capfdbinary.readouterr()
    assert (out, err.startswith(b"jim: "), err.endswith(b"\nall is well")) == (b"", True, True)


def test_output_that_is_not_where_the_site_file_says_is_no_empty_output(home, script, monkeypatch):
    home.add(size=1)
    home.send(0, state="confirmed", batch_id="4711")
    home.store.set_attempt(
        1, 1, 1, host="n", started="2026-01-31T11:00:00.000Z", verdict="completed", record="code 0\n"
    )
    home.move(0, State.COMPLETED)
    home.finish()
    monkeypatch.setattr(run_grid_job, "submit", lambda *_, **__: 1)
    code, out, err = home.run("run", "./ok.sh")
    assert (code, out) == (0, "")
    assert f"jim: warning: what 1.0 has printed is not there: {home.site.work}/1 was removed, is not mounted, or" in err
    log = home.site.work / "1/s1/run.1/stdout"
    log.parent.mkdir(parents=True)
    log.touch()
    assert "warning" not in home.run("run", "./ok.sh")[2]


PROGRAM = {"job_type": "executable", "arguments": []}
SH = PROGRAM | {"executable": "sh"}


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        (["./ok.sh"], PROGRAM | {"executable": "./ok.sh", "inputs": ["{}/ok.sh"]}),
        (["ok.sh"], PROGRAM | {"executable": "./ok.sh", "inputs": ["{}/ok.sh"]}),
        (["bin/inner.sh"], PROGRAM | {"executable": "./inner.sh", "inputs": ["{}/bin/inner.sh"]}),
        (
            ["--input", "bin", "--input", "bin/inner.sh", "./ok.sh"],
            PROGRAM | {"executable": "./ok.sh", "inputs": ["{0}/ok.sh", "{0}/bin", "{0}/bin/inner.sh"]},
        ),
        (["--output", "a.dat", "--output", "*.root", "sh"], SH | {"outputs": ["a.dat", "*.root"]}),
        (["--input", "ok.sh", "sh", "ok.sh"], SH | {"arguments": ["ok.sh"], "inputs": ["{}/ok.sh"]}),
        (["/bin/echo"], PROGRAM | {"executable": "/bin/echo"}),
        (["sh", "-c", "--name", "a b"], PROGRAM | {"executable": "sh", "arguments": ["-c", "--name", "a b"]}),
        (
            ["--name", "x", "--cores", "2", "--wall-seconds", "60", "--queue", "long", "sh"],
            PROGRAM | {"executable": "sh", "name": "x", "cores": 2, "wall_seconds": 60, "queue": "long"},
        ),
        (
            ["--each", "a  b", "sh", "-x"],
            {"job_type": "parametric", "executable": "sh", "arguments": ["-x"], "argument_sets": [["a"], ["b"]]},
        ),
    ],
)
def test_a_command_line_becomes_a_request(home, script, handed_in, words, request_):
    home.run("run", *words)
    if "inputs" in request_:
        request_ = request_ | {"inputs": [each.format(script.parent) for each in request_["inputs"]]}
    assert handed_in == [request_]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "the following arguments are required: PROGRAM (see"),
        (["--input", "nosuch", "sh"], "nosuch: No such file"),
        (["./nosuch"], "there is no file"),
        (["./bin"], "/bin is a directory, and no program"),
        (["nosuch"], "nor a program of this name in a directory of PATH"),
        (["--each", " ", "sh"], "--each needs at least one word"),
        (["--cores", "0", "sh"], "argument --cores: '0': expected a number from 1"),
        (["--queue", "a;b", "sh"], "jim: queue: 'a;b' is not possible"),
        (["--name", " ", "sh"], "jim: name: ' ' is not possible"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_handed_in(home, script, words, told):
    code, out, err = home.run("run", *words)
    assert (code, out) == (2, "")
    assert told in err
    assert list((home.site.state / "inbox").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["sh", "bin/inner.sh", "-x", "nosuch"], ["bin/inner.sh"]),
        (["--each", "ok.sh nosuch", "sh"], ["ok.sh"]),
        (["--input", "ok.sh", "sh", "ok.sh", "/bin/sh", ".", "bin"], []),
        (["./ok.sh", "ok.sh", "", "a" * 5000, "a\0"], []),
    ],
)
def test_arguments_that_name_files_here_are_told_of(home, script, handed_in, words, left):
    _, _, err = home.run("run", *words)
    told = [
        f"jim: warning: {each} is a file here, but is not sent along: `jim run --input {each} …` sends it"
        for each in left
    ]
    assert [line for line in err.splitlines() if "--input" in line] == told


def test_a_program_by_its_whole_path_that_may_not_be_executed_here_is_told_of(home, script, handed_in):
    assert "cannot be executed" not in home.run("run", str(script))[2]
    script.chmod(0o644)
    told = home.run("run", str(script))[2]
    assert f"jim: warning: {script} cannot be executed here; `chmod +x` allows it\n" in told
    assert [each["executable"] for each in handed_in] == [str(script)] * 2


def test_a_file_here_that_has_the_name_of_a_program_on_path_is_told_of(home, script, handed_in):
    script.with_name("date").write_text("#!/bin/sh\n")
    told = home.run("run", "date")[2]
    assert "jim: warning: the date on PATH runs; `jim run ./date …` sends the one here along\n" in told
    assert "on PATH" not in home.run("run", "true")[2] + home.run("run", "./date")[2]
    assert [each["executable"] for each in handed_in] == ["date", "true", "./date"]


def test_each_behind_the_program_is_told_of(home, script, handed_in):
    said = (
        "jim: warning: --each stands behind ./ok.sh, which gets it: `jim run --each WORDS ./ok.sh …` makes local jobs\n"
    )
    assert said in home.run("run", "./ok.sh", "--each", "a b c")[2]
    assert "jim: warning: --each=" not in home.run("run", "./ok.sh", "--each=a b")[2]
    assert said in home.run("run", "./ok.sh", "--each=a b")[2]
    assert (
        "behind"
        not in home.run("run", "--each", "a b", "./ok.sh", "each")[2]
        + home.run("run", "--each", "--each", "./ok.sh")[2]
    )
    assert handed_in[0]["arguments"] == ["--each", "a b c"]


def test_whoever_interrupts_is_told_that_it_goes_on(home, script, monkeypatch):
    def follow(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jim.cli.run.follow", follow)
    code, out, err = home.run("run", "sh")
    assert (code, out) == (130, "")
    assert "1 runs on: `jim watch 1` follows it, `jim cancel 1` cancels it" in err


def test_a_bare_name_in_a_directory_like_tmp_is_no_program_of_a_stranger(script, monkeypatch):
    script.parent.chmod(0o1777)
    monkeypatch.setattr(program, "ROOT", script.stat().st_uid + 4711)
    monkeypatch.setattr("os.geteuid", lambda: script.stat().st_uid + 4712)
    with pytest.raises(BadRequest, match=r"ok\.sh belongs to another account"):
        run._program("ok.sh")
    assert run._program("./ok.sh")["executable"] == "./ok.sh"
