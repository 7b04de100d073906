"""Makes requests of pieces of a request: for what is undone, for smaller pieces, for one piece alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jim.handlers.base import SPLITTING, Attributes
from jim.model import Piece
from jim.splitting.files_and_jobs import Mask, SplitJob, files_from
from jim.splitting.recovery import document_of

OF_ITS_OWN = ("key", "task")  # what no second request may have


def recovering(request: Attributes, undone: Iterable[Piece]) -> dict[str, Any]:
    """Return a request for the work that these pieces of a request have not done."""
    files = {each.lfn: each for each in files_from(request["input_files"])}
    named: set[str] = set()
    documents = []
    for piece in undone:
        named.update(piece.files)
        job = SplitJob(0, None, tuple(files[lfn] for lfn in piece.files), Mask.from_record(dict(piece.mask)))
        documents.append(document_of(job))
    rest = [each for each in request["input_files"] if each["lfn"] in named]
    again = {**request, "dataset": None, "input_files": rest, "recovery": {"documents": documents}}
    return {name: value for name, value in again.items() if value and name != "key"}


def smaller(request: Attributes, piece: Piece, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request that splits one piece of a request again, with other parameters."""
    given = {"splitter_parameters": {**request["splitter_parameters"], **parameters}}
    return {**request, **recovering(request, [piece]), **given}


def copied(request: Attributes, piece: Piece) -> dict[str, Any]:
    """Return a request for the work of one piece alone, without a key or a herd.

    If the job type itself gives the files to its program, the new request is split again, but has only the files of
    this piece.
    """
    if piece.files and request["job_type"] != "executable":
        files = [each for each in request["input_files"] if each["lfn"] in piece.files]
        alone = {**request, **piece.attributes, "dataset": None, "input_files": files or list(piece.files)}
        return {name: value for name, value in alone.items() if value and name not in OF_ITS_OWN}
    alone = {name: value for name, value in {**request, **piece.attributes}.items() if name not in SPLITTING}
    if "arguments" in request:  # also if the job type has argument sets
        alone.pop("argument_sets", None)
        alone |= {"job_type": "executable", "arguments": list(piece.arguments)}
    if piece.events:
        alone["events"] = piece.events
        alone["events_per_job"] = piece.events
    return {name: value for name, value in alone.items() if value and name not in OF_ITS_OWN}
