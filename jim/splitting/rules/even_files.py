"""EvenFiles: so many jobs, with about equal numbers of files, in the given order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.errors import SplitterConfiguration
from jim.splitting.files_and_jobs import SplitJob
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "EvenFiles"


@dataclass(frozen=True)
class Parameters:
    """The parameters of EvenFiles."""

    jobs: int = parameter(1, whole(1), "number of jobs; fewer, if there are fewer files")


def full(_job: SplitJob, _p: Parameters) -> bool:
    """Tell that more files may always change the last job."""
    return False


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Split the files; the first jobs have the files that are left over."""
    files = work.to_read
    if not files:
        raise SplitterConfiguration("files", (), "there are no files to split")
    each, left = divmod(len(files), min(p.jobs, len(files)))
    begin = 0
    for number in range(min(p.jobs, len(files))):
        end = begin + each + (number < left)
        yield SplitJob(number, None, files[begin:end])
        begin = end
