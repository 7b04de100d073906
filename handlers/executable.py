"""Any program, run once, or once for each piece that a splitter makes of its input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from jim.errors import BadRequest
from jim.handlers.base import PROGRAM, SPLITTING, Attribute, Attributes, Handler, Work
from jim.model import Job, Piece

IN_TAR = r"(?=.{1,200}$)[^/]*[^/.\s][^/]*"  # the name of a file, without a directory
CALL = {
    "executable": Attribute(
        str,
        "the program: an absolute path, the name of a file among inputs, or a name found on the worker's PATH",
        required=True,
        pattern=PROGRAM,
    ),
    "arguments": Attribute("list", "the program's arguments", default=[]),
    "stdin": Attribute(str, "file to send along, which each local job reads as its standard input", pattern=r".*\S.*"),
    "stdout": Attribute(str, "name that the standard output gets in the tar, instead of stdout", pattern=IN_TAR),
    "stderr": Attribute(str, "name that the standard error gets in the tar, instead of stderr", pattern=IN_TAR),
}
WORKING = {
    "directory": Attribute(
        str, "absolute path of the directory in which the program runs, instead of an own one", pattern=r"/.*"
    ),
}


class Executable(Handler):
    """One local job that runs a program with its arguments; with a splitter, one for each piece of the input."""

    attributes: Mapping[str, Attribute] = {**CALL, **WORKING, **SPLITTING}

    def check(self, request: Attributes) -> None:
        """Refuse a name that cannot be printed, and a directory in which several local jobs would work."""
        if not request["executable"].isprintable():
            raise BadRequest(f"{request['executable']!r} holds characters that cannot be printed", "executable")
        _require_sent(request)
        if request.get("directory") and request.get("splitter"):
            raise BadRequest(
                "goes only with one local job, because several would write the same files; without this attribute, "
                "each local job has a directory of its own",
                "directory",
            )

    def work(self, request: Attributes) -> Work:
        """Return one piece."""
        return Work(pieces=(Piece(arguments=tuple(request["arguments"])),))

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Return the program and its arguments; last come those that an earlier attempt left for this one, if any."""
        return (*_program(request), *piece.arguments, *job.recovery)


def _sent(request: Attributes) -> str:
    """Return the path of the program if it is sent along with the local jobs."""
    name = request["executable"].removeprefix("./")
    return next((each for each in request.get("inputs") or () if each.rpartition("/")[2] == name), "")


def _require_sent(request: Attributes) -> None:
    program, sent = request["executable"], _sent(request)
    if program.startswith("./") and not sent:
        raise BadRequest(
            f"{program} is not among inputs: send it along, with inputs = [{json.dumps(program[2:])}], "
            "or give an absolute path",
            "executable",
        )


def _program(request: Attributes) -> tuple[str, ...]:
    """Return the words that start the program: what is sent along lies in the local job's own directory."""
    if not _sent(request):
        return (request["executable"],)
    name = request["executable"].removeprefix("./")
    if request.get("directory"):  # the program works elsewhere
        return ("/bin/sh", "-c", 'exec "$JIM_INPUT/$0" "$@"', name)
    return (f"./{name}",)


HANDLER = Executable
