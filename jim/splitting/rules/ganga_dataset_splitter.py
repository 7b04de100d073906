"""GangaDatasetSplitter: so many files to a job, in the order given, of no more than so many files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jim.splitting.errors import SplitterConfiguration
from jim.splitting.kinds import Kind, whole
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import SplitJob

NAME = "GangaDatasetSplitter"
ALL = -1


def _most(given: Any) -> int:
    return ALL if given is None else int(whole(ALL).read(given))


@dataclass(frozen=True)
class Parameters:
    """What GangaDatasetSplitter takes."""

    files_per_subjob: int = parameter(5, whole(1), "files of one job")
    max_files: int = parameter(ALL, Kind("a whole number, or -1 for all", _most), "files in all", "maxFiles")


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Cut the files; those that a pattern stands for must have been found before."""
    if not work.files:
        raise SplitterConfiguration("files", (), "there are no files to split over")
    files = work.files if p.max_files == ALL else work.files[: p.max_files]
    for number, start in enumerate(range(0, len(files), p.files_per_subjob)):
        yield SplitJob(number, None, files[start : start + p.files_per_subjob])
