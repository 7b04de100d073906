"""Chunks of files, which FileBased and MinFileBased make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jim.splitting.checked_values import FLAG, whole
from jim.splitting.files_and_jobs import File
from jim.splitting.parameters import Common, parameter


@dataclass(frozen=True)
class ChunkParameters(Common):
    """The parameters of splitters that count files."""

    files_per_job: int = parameter(10, whole(1), "number of files in a job")
    jobs_per_group: int = parameter(0, whole(), "number of jobs in a job group; 0: no limit")
    respect_run_boundaries: bool = parameter(
        False, FLAG, "true: a new job begins where the lowest run of the files changes"
    )
    include_parents: bool = parameter(False, FLAG, "true: each job names the parents of its input files")

    def chunks(self, files: Iterable[File]) -> Iterator[list[File]]:
        """Split files in the given order. The last chunk may have fewer files, and so may a chunk before a new run."""
        chunk: list[File] = []
        for file in files:
            other_run = chunk and self.respect_run_boundaries and file.lowest_run != chunk[0].lowest_run
            if other_run or len(chunk) == self.files_per_job:
                yield chunk
                chunk = []
            chunk.append(file)
        if chunk:
            yield chunk
