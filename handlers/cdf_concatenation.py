"""CDF production: concatenates small files run by run."""

from __future__ import annotations

from jim.handlers.base import Attribute
from jim.handlers.shared.sam import SAM, WORD, Merging, split_by


class CDFConcatenation(Merging):
    """A local job makes one file, by default of at most 1 GB; events of two runs are never in one file."""

    attributes = split_by("ParentlessMergeBySize") | SAM
    attributes |= {
        "cdf_release_version": Attribute(str, "release of CDF's software", required=True, pattern=WORD),
        "splitter_parameters": attributes["splitter_parameters"]._replace(default={"merge_across_runs": False}),
    }
    release, program = "cdf_release_version", "cdf_concatenate"


HANDLER = CDFConcatenation
