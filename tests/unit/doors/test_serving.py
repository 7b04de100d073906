"""Errors become exit codes and one sentence, in one place; failures of stdout are told from those of other files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jim.doors.serving import serve
from jim.errors import BadRequest, BadSite

HOME = Path(__file__).parents[3]
START = "from jim.doors import serving; from jim.errors import Unheard; import sys; serving.prepare()\n"


@pytest.fixture
def served():
    """Serve an action that fails, and return the exit code with what was said."""

    def fails(error):
        said = []

        def action():
            raise error

        return serve(action, lambda message, _: said.append(message)), said

    return fails


def test_an_action_that_does_not_fail_gives_its_own_code_and_says_nothing():
    assert serve(lambda: 6, lambda *_: pytest.fail("nothing is to be said")) == 6


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadRequest("no"), BadRequest.exit_code, ["no"]),
        (BadSite("no"), BadSite.exit_code, ["no"]),
        (OSError("odd"), 1, ["OSError: odd"]),
        (ZeroDivisionError("odd"), 70, ["ZeroDivisionError: odd"]),
        (KeyboardInterrupt(), 130, []),
    ],
)
def test_each_kind_of_error_has_its_exit_code_and_its_words(served, error, code, said):
    assert served(error) == (code, said)


@pytest.mark.parametrize(
    ("number", "todo"),
    [
        (errno.ENOSPC, "No space left on device; free space or inodes on its disk, and try again"),
        (errno.EROFS, "Read-only file system; its disk is read-only at present"),
        (errno.EIO, "Input/output error; `jim site check` may tell more"),
    ],
)
def test_an_error_of_a_file_names_the_file_and_what_to_do(served, number, todo):
    assert served(OSError(number, os.strerror(number), "/work/x")) == (1, [f"/work/x: {todo}"])


def test_a_directory_that_is_gone_under_a_command_is_told(served, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError) as lost:
        os.getcwd()  # noqa: PTH109 - its error is what is tested
    assert served(lost.value) == (1, ["the current directory is gone; `cd` to another one"])
    assert served(FileNotFoundError(errno.ENOENT, "No such file or directory", "/work/x"))[1] == [
        "/work/x: No such file or directory; `jim site check` may tell more"
    ]


def test_a_library_that_is_missing_is_told_with_how_to_install_it_and_a_module_of_jim_is_a_fault(served):
    code, (said,) = served(ModuleNotFoundError("No module named 'lxml.etree'", name="lxml.etree"))
    assert (code, said.partition(",")[0][:10]) == (BadSite.exit_code, "lxml.etree")
    assert served(ModuleNotFoundError("No module named 'jim.x'", name="jim.x"))[0] == 70


def run(program, to):
    words = [sys.executable, "-P", "-s", "-c", START + program]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {to}', "sh", *words],
        env={"PYTHONPATH": str(HOME)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("to", "why"), [(">/dev/full", "cannot write to stdout: No space left on device"), (">&-", "stdout is closed")]
)
def test_output_that_nobody_can_read_is_an_error_that_says_what_was_done(to, why):
    program = """
try:
    with serving.or_else("the request was accepted as grid job 7"):
        print(7)
except Unheard as error:
    sys.stderr.write(str(error))
serving.give_up()
"""
    done = run(program, to)
    assert done.returncode == 0
    assert why in done.stderr
    assert done.stderr.endswith("; the request was accepted as grid job 7")


def test_a_file_that_is_opened_with_stdout_closed_does_not_get_its_number():
    done = run("""sys.stderr.write(str(open("/dev/null").fileno() > 2))\nserving.give_up()""", ">&-")
    assert (done.returncode, done.stderr) == (0, "True")


def test_good_output_arrives():
    done = run('with serving.or_else("x"):\n    print("grid job 7")', "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "grid job 7\n", "")
