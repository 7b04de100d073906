"""Any program, run on the files of a SAM dataset."""

from __future__ import annotations

from collections.abc import Sequence

from jim.handlers.base import Attributes
from jim.handlers.executable import CALL, Executable
from jim.handlers.shared.sam import SAM, OfSAM, split_by
from jim.model import Job, Piece


class SAMAnalysis(OfSAM, Executable):
    """A local job runs the program with its arguments, followed by the names of its files, by default ten."""

    attributes = {name: one for name, one in SAM.items() if name != "program"} | CALL | split_by("FileBased")

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Return the command; the file names follow arguments that an earlier attempt left."""
        return (*super().command_and_arguments(request, job, piece), *piece.files)


HANDLER = SAMAnalysis
