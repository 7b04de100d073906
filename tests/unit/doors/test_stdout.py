"""Standard output whose failures are told from those of other files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]
START = "from jim.doors import stdout; from jim.errors import Unheard; import sys; stdout.prepare()\n"


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
    with stdout.or_else("the request was accepted as grid job 7"):
        print(7)
except Unheard as error:
    sys.stderr.write(str(error))
stdout.give_up()
"""
    done = run(program, to)
    assert done.returncode == 0
    assert why in done.stderr
    assert done.stderr.endswith("; the request was accepted as grid job 7")


def test_a_file_that_is_opened_with_stdout_closed_does_not_get_its_number():
    done = run("""sys.stderr.write(str(open("/dev/null").fileno() > 2))\nstdout.give_up()""", ">&-")
    assert (done.returncode, done.stderr) == (0, "True")


def test_good_output_arrives():
    done = run('with stdout.or_else("x"):\n    print("grid job 7")', "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "grid job 7\n", "")
