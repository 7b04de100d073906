"""The grammars that job types name for what their payloads publish."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from jim.errors import JimError
from jim.request import handler_of, job_types
from jim.trust.plugins import foreign


@lru_cache(256)
def grammars_of(job_type: str, own: str = "") -> Mapping[str, Path]:
    """Return the files of a job type's grammars by namespace; `own` is the site's directory.

    A job type that is no longer installed has none.
    """
    try:
        handler = handler_of(job_type, own)
        with foreign(f"published of {job_type!r}"):
            beside = Path(str(sys.modules[type(handler).__module__].__file__)).parent
            return {str(namespace): beside / Path(name).name for namespace, name in handler.published.items()}
    except (JimError, OSError):
        return {}


def all_grammars(own: str = "") -> Iterator[tuple[str, str, Path]]:
    """Yield the grammars of all job types: job type, namespace, file."""
    for job_type in sorted(job_types(own)):
        for namespace, file in grammars_of(job_type, own).items():
            yield job_type, namespace, file
