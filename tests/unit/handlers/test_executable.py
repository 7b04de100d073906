"""The job type executable."""

import re

import pytest

from jim.errors import BadRequest
from jim.model import Job, Piece
from jim.request import check

JOB = Job(grid_job=12, key="k", n=0, attempt=1)


def checked(**attributes):
    return check(attributes)


# executable and parametric


def test_executable_is_one_piece_with_its_arguments():
    handler, request = checked(job_type="executable", executable="/bin/echo", arguments=["a b", "", "-n"])
    (piece,) = handler.work(request).pieces
    assert piece == Piece(arguments=("a b", "", "-n"))
    assert tuple(handler.command_and_arguments(request, JOB, piece)) == ("/bin/echo", "a b", "", "-n")


def test_executable_needs_no_arguments_and_takes_those_of_an_earlier_attempt():
    handler, request = checked(job_type="executable", executable="true")
    (piece,) = handler.work(request).pieces
    again = Job(12, "k", 0, 2, recovery=("--from", "7"))
    assert tuple(handler.command_and_arguments(request, again, piece)) == ("true", "--from", "7")


@pytest.mark.parametrize("program", ["/bin/sh", "sh", "/opt/my program/run", "g++", "/opt/été", "x-y", "..."])
def test_programs_that_are_possible(program):
    assert checked(job_type="executable", executable=program)[1]["executable"] == program


@pytest.mark.parametrize(
    "program",
    [
        "",
        "-n",
        "--help",
        "./run",
        "bin/run",
        "../run",
        "/",
        "-/bin/sh",
        "/bin/sh\n",
        "s\th",
        "/bin/\x7f",
        "/bin/\x9b1m",
        "/a\u2028b",
        "a\u2028b",
        "a\x85b",
    ],
)
@pytest.mark.parametrize("more", [{"job_type": "executable"}, {"job_type": "parametric", "argument_sets": [[]]}])
def test_programs_that_are_refused(more, program):
    with pytest.raises(BadRequest) as refused:
        checked(executable=program, **more)
    assert refused.value.about == "executable"


# A program that is sent along


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "my prog"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def words(**attributes):
    handler, request = checked(job_type="executable", arguments=["a b"], **attributes)
    (piece,) = handler.work(request).pieces
    return tuple(handler.command_and_arguments(request, JOB, piece))


@pytest.mark.parametrize("name", ["my prog", "./my prog"])
def test_a_program_among_the_inputs_is_run_from_there(program, name):
    assert words(executable=name, inputs=[str(program)]) == ("./my prog", "a b")
    elsewhere = ("/bin/sh", "-c", 'exec "$JIM_INPUT/$0" "$@"', "my prog", "a b")
    assert words(executable=name, inputs=[str(program)], directory="/tmp") == elsewhere


def test_the_same_name_at_another_place_is_another_program(program):
    assert words(executable="/bin/my prog", inputs=[str(program)]) == ("/bin/my prog", "a b")


def test_a_program_that_is_not_sent_is_refused(program):
    told = """./run is not among inputs: send it along, with inputs = ["run"], or give an absolute path"""
    with pytest.raises(BadRequest, match=re.escape(told)):
        checked(job_type="executable", executable="./run", inputs=[str(program)])
