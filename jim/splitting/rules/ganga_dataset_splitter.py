"""GangaDatasetSplitter: so many files in a job, in the given order, and at most so many files in all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jim.splitting.checked_values import Kind, whole
from jim.splitting.errors import SplitterConfiguration
from jim.splitting.files_and_jobs import SplitJob
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "GangaDatasetSplitter"
ALL = -1


def _most(given: Any) -> int:
    return ALL if given is None else int(whole(ALL).read(given))


@dataclass(frozen=True)
class Parameters:
    """The parameters of GangaDatasetSplitter."""

    files_per_subjob: int = parameter(5, whole(1), "number of files in a job")
    max_files: int = parameter(
        ALL, Kind("a whole number, or -1 for all", _most), "total number of files to take; -1: all", "maxFiles"
    )


def full(job: SplitJob, p: Parameters) -> bool:
    """Tell whether more files would make another job."""
    return len(job.files) >= p.files_per_subjob


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Split the files. A pattern must have been replaced by its files before."""
    if not work.files:
        raise SplitterConfiguration("files", (), "there are no files to split")
    files = work.files if p.max_files == ALL else work.files[: p.max_files]
    for number, start in enumerate(range(0, len(files), p.files_per_subjob)):
        yield SplitJob(number, None, files[start : start + p.files_per_subjob])
