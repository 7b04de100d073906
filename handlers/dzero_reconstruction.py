"""D0 reconstruction: d0reco turns each file of raw data into a reconstructed one."""

from __future__ import annotations

from jim.handlers.base import Attribute
from jim.handlers.shared.sam import SAM, WORD, OverFiles, split_by


class DzeroReconstruction(OverFiles):
    """A local job has some files of the dataset, by default ten (`files_per_job` of FileBased)."""

    attributes = split_by("FileBased") | SAM
    attributes |= {"d0_release_version": Attribute(str, "release of D0's software", required=True, pattern=WORD)}
    release, program, phases = "d0_release_version", "d0reco", ("d0reco",)


HANDLER = DzeroReconstruction
