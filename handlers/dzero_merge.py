"""D0 production: merges small files into large ones."""

from __future__ import annotations

from jim.handlers.base import Attribute
from jim.handlers.shared.sam import SAM, WORD, Merging, split_by


class DzeroMerge(Merging):
    """A local job makes one file, by default of at most 1 GB (`max_merge_size` of ParentlessMergeBySize)."""

    attributes = split_by("ParentlessMergeBySize") | SAM
    attributes |= {"d0_release_version": Attribute(str, "release of D0's software", required=True, pattern=WORD)}
    release, program = "d0_release_version", "d0merge"


HANDLER = DzeroMerge
