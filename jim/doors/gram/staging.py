"""Which files of this machine GRAM itself would copy or link for a job: it does so as the account, and asks nobody.

JIM's Perl module asks here before GRAM stages in, and before GRAM stages out; the door asks at the submission.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

from jim.doors.gram.request import Description, place_of
from jim.errors import BadRequest
from jim.site.realm import Opener

# GRAM's names, without underscores, and the users' names.
PAIRS = {
    "filestagein": "file_stage_in",
    "filestageinshared": "file_stage_in_shared",
    "filestageout": "file_stage_out",
    "filestreamout": "stdout",
}
CACHE = "GLOBUS_GASS_CACHE_DEFAULT"
STREAMS = ("executable", "stdin", "stdout", "stderr")
OF_FILE = re.compile(r"file:(?://[^/]*)?(?=/)", re.IGNORECASE)
OF_ELSEWHERE = re.compile(r"[A-Za-z][\w+.-]*://")
WILD = re.compile(r"[*?\[\]{}]")  # GRAM's copy program looks for all files that fit
OF_PROCESS = re.compile(r"/+(proc|dev/fd|dev/std[a-z]+)(/|$)")  # each process has files of its own there


def require_foreign_files(description: Description, opener: Opener) -> None:
    """Refuse a job for which GRAM would read, write or link files of JIM's own."""
    for about, text in _texts(description):
        for path in _local(description, text):
            if WILD.search(path) or OF_PROCESS.match(os.path.normpath(f"/{path}")):
                raise BadRequest(
                    f"{path[:200]} must be the name of one file, without * ? [ ] {{ }}, and not in /proc", about
                )
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):  # then GRAM cannot reach it either
                opener.require_outside(path, about)


def _texts(description: Description) -> Iterator[tuple[str, str]]:
    """Yield what a description names as files or URLs, with the name of the attribute."""
    for name, about in PAIRS.items():
        for pair in description.get(name, []):
            yield from ((about, text) for text in (pair if isinstance(pair, list) else [pair]) if isinstance(text, str))
    for pair in description.get("environment", []):  # the base class of GRAM's modules lets the user choose the cache
        if isinstance(pair, list) and pair[:1] == [CACHE] and all(isinstance(each, str) for each in pair):
            yield from (("environment", text) for text in pair[1:])
    for name in STREAMS:
        yield from ((name, text) for text in description.get(name, []) if isinstance(text, str) and ":" in text)


def _local(description: Description, text: str) -> set[str]:
    """Return the paths of this machine that a file or URL may mean; none if it is a URL of elsewhere."""
    if scheme := OF_FILE.match(text):
        path = text[scheme.end() :]
        return {path, unquote(path)}
    return set() if OF_ELSEWHERE.match(text) else {place_of(description, text)}
