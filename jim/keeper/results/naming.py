"""Names outputs in the tar: stdout and stderr as the request says, others with the stem that the job type gives them.

With a stem, names are unique without their folders, too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping

from jim.errors import JimError
from jim.files import passes
from jim.handlers.base import Handler, has_variable
from jim.jobs import GridJob
from jim.model import Verb
from jim.request import handler_of
from jim.statusdb.store import Store
from jim.trust.plugins import foreign
from jim.workdir.tar import stemmed

log = logging.getLogger(__name__)
STREAMS = ("stdout", "stderr")
LONGEST_STEM, LONGEST_NAME = 100, 255  # characters; bytes that a file system takes
ODD = re.compile(r"[^\w+-]+", re.ASCII)


class Naming:
    """The names of the outputs of one grid job."""

    def __init__(self, job: GridJob, handlers: str, store: Store) -> None:
        """Find the job type; `handlers` is the directory of the site's own ones."""
        self._job, self._digits, self._store = job, max(4, len(str(job.size - 1))), store
        self._streams = {name: value for name in STREAMS if isinstance(value := job.request.get(name), str)}
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
        plain = set(outputs)
        names_: dict[str, str] = {}
        for name, new in self._of_streams(n).items():
            if name in plain and new not in plain and new not in names_.values():
                names_[name] = new
        for name in sorted(plain - names_.keys()) if self._handler else ():
            stem = ODD.sub("_", self._stem(name))[:LONGEST_STEM]
            new = stemmed(name, f"{stem}_{n:0{self._digits}d}") if stem else name
            if new not in plain and new not in names_.values() and len(new.rpartition("/")[2].encode()) <= LONGEST_NAME:
                names_[name] = new
        return names_

    def _of_streams(self, n: int) -> Mapping[str, str]:
        """Return the names that the request gives stdout and stderr of a local job; a splitter may vary them."""
        if not any(map(has_variable, self._streams.values())):
            return self._streams
        own = self._store.local_job(self._job.id, n).piece.attributes
        return {name: str(own.get(name, usual)) for name, usual in self._streams.items()}

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
