"""Any program, run once, or once for each piece that a splitter makes of its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jim.errors import BadRequest
from jim.handlers.base import PROGRAM, SPLITTING, Attribute, Attributes, Handler, Work
from jim.model import Job, Piece

CALL = {
    "executable": Attribute(
        str, "the program: an absolute path, or a name found on the worker's PATH", required=True, pattern=PROGRAM
    ),
    "arguments": Attribute("list", "the program's arguments", default=[]),
}


class Executable(Handler):
    """One local job that runs a program with its arguments; with a splitter, one for each piece of the input."""

    attributes: Mapping[str, Attribute] = {**CALL, **SPLITTING}

    def check(self, request: Attributes) -> None:
        """Refuse a program whose name has characters that cannot be printed."""
        if not request["executable"].isprintable():
            raise BadRequest(f"{request['executable']!r} holds characters that cannot be printed", "executable")

    def work(self, request: Attributes) -> Work:
        """Return one piece."""
        return Work(pieces=(Piece(arguments=tuple(request["arguments"])),))

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Return the program and its arguments; last come those that an earlier attempt left for this one, if any."""
        return (request["executable"], *piece.arguments, *job.recovery)


HANDLER = Executable
