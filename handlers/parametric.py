"""Any program, run once for each argument set."""

from __future__ import annotations

from collections.abc import Mapping

from jim.errors import BadRequest
from jim.handlers.base import Attribute, Attributes, Work
from jim.handlers.executable import CALL, Executable
from jim.model import Piece

MOST_WORDS = 5_000_000  # the common arguments are copied into each piece; this bounds the copies


class Parametric(Executable):
    """One local job for each argument set; the common arguments come first."""

    attributes: Mapping[str, Attribute] = {
        **CALL,
        "arguments": Attribute("list", "first arguments, the same in every local job", default=[]),
        "argument_sets": Attribute("lists", "further arguments: one list for each local job", required=True),
    }

    def check(self, request: Attributes) -> None:
        """Refuse a request without any argument set: it has no work."""
        super().check(request)
        if not request["argument_sets"]:
            raise BadRequest("expected at least one argument set, found none", "argument_sets")
        common, sets = len(request["arguments"]), len(request["argument_sets"])
        if common * sets > MOST_WORDS:
            raise BadRequest(
                f"{common:,} common arguments × {sets:,} argument sets = {common * sets:,} words, "
                f"more than the {MOST_WORDS:,} that JIM keeps for one grid job",
                "arguments",
            )

    def work(self, request: Attributes) -> Work:
        """Return one piece for each argument set."""
        common = request["arguments"]
        return Work(pieces=tuple(Piece(arguments=(*common, *each)) for each in request["argument_sets"]))


HANDLER = Parametric
