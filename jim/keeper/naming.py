"""Names outputs in the tar: if the job type gives them a stem, their names are unique without their folders, too."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping

from jim.errors import JimError
from jim.files import passes
from jim.handlers.base import Handler
from jim.jobs import GridJob
from jim.model import Verb
from jim.plugins import foreign
from jim.request import handler_of
from jim.workdir.tar import stemmed

log = logging.getLogger(__name__)
LONGEST_STEM, LONGEST_NAME = 100, 255  # characters; bytes that a file system takes
ODD = re.compile(r"[^\w+-]+", re.ASCII)


class Naming:
    """The names of the outputs of one grid job."""

    def __init__(self, job: GridJob, handlers: str) -> None:
        """Find the job type; `handlers` is the directory of the site's own ones."""
        self._job, self._digits = job, max(4, len(str(job.size - 1)))
        self._handler: Handler | None = None
        try:
            handler = handler_of(job.job_type, handlers)
            self._handler = None if type(handler).stem is Handler.stem else handler
        except (JimError, OSError) as error:
            if isinstance(error, OSError) and passes(error) and job.wish != Verb.CANCEL:
                raise
            self._keep_plain(error)

    def names(self, n: int, outputs: Iterable[str]) -> Mapping[str, str]:
        """Return the names in the tar of the outputs of a completed local job, where these differ from their own."""
        if self._handler is None:
            return {}
        plain = set(outputs)
        told: dict[str, str] = {}
        for name in sorted(plain):
            stem = ODD.sub("_", self._stem(name))[:LONGEST_STEM]
            new = stemmed(name, f"{stem}_{n:0{self._digits}d}") if stem else name
            if new not in plain and new not in told.values() and len(new.rpartition("/")[2].encode()) <= LONGEST_NAME:
                told[name] = new
        return told

    def _stem(self, name: str) -> str:
        if self._handler is None:
            return ""
        try:
            with foreign("stem"):
                return str(self._handler.stem(self._job.request, name) or "")
        except (JimError, OSError) as error:
            self._keep_plain(error)
            return ""

    def _keep_plain(self, error: Exception) -> None:
        """Let all further outputs keep their names: a tar is worth more than names."""
        self._handler = None
        log.warning("%d: the job type gives no stem, so outputs keep their own names: %s", self._job.id, error)
