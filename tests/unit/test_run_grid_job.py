"""Errors become exit codes and one sentence, in one place."""

import errno

import pytest

from jim.errors import BadRequest, BadSite
from jim.run_grid_job import serve


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
    import os

    assert served(OSError(number, os.strerror(number), "/work/x")) == (1, [f"/work/x: {todo}"])


def test_a_library_that_is_missing_is_told_with_how_to_install_it_and_a_module_of_jim_is_a_fault(served):
    code, (said,) = served(ModuleNotFoundError("No module named 'lxml.etree'", name="lxml.etree"))
    assert (code, said.partition(",")[0][:10]) == (BadSite.exit_code, "lxml.etree")
    assert served(ModuleNotFoundError("No module named 'jim.x'", name="jim.x"))[0] == 70
