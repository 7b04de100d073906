"""Chunks of files, as FileBased and MinFileBased cut them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jim.splitting.kinds import FLAG, whole
from jim.splitting.parameters import Common, parameter
from jim.splitting.units import File


@dataclass(frozen=True)
class ChunkParameters(Common):
    """What splitters take that count files."""

    files_per_job: int = parameter(10, whole(1), "files of one job")
    jobs_per_group: int = parameter(0, whole(), "jobs of one job group; 0: any number")
    respect_run_boundaries: bool = parameter(False, FLAG, "a new job where the lowest run of the files changes")
    include_parents: bool = parameter(False, FLAG, "name the parents of the input files")

    def chunks(self, files: Iterable[File]) -> Iterator[list[File]]:
        """Cut files in the order given; the last chunk may be short, as is one before another run."""
        chunk: list[File] = []
        for file in files:
            other_run = chunk and self.respect_run_boundaries and file.lowest_run != chunk[0].lowest_run
            if other_run or len(chunk) == self.files_per_job:
                yield chunk
                chunk = []
            chunk.append(file)
        if chunk:
            yield chunk
