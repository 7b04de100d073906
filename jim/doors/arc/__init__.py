"""The door of ARC: the scripts of shell/arc, which A-REX calls, submit and cancel jobs, and tell A-REX their ends."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim.doors.contract import Told
from jim.doors.own_language import JOB, OwnLanguage
from jim.errors import BadRequest
from jim.model import Standing

if TYPE_CHECKING:
    from jim.site.file import Site

WAITING, RUNNING, SUSPENDED, ENDED = b"waiting", b"running", b"suspended", b"ended"
LONGEST_REASON, PROGRESS_SECONDS = 500, 30.0  # A-REX asks once a minute


class Arc(OwnLanguage):
    """Answers for JIM's own scripts: a word, and of what has ended its exit code and reason; below it, the progress."""

    resumes = takes_cancelled = True  # arcget brings what is in the session directory
    progress_seconds = PROGRESS_SECONDS
    usage: Mapping[str, str] = {
        "submit": "usage: submit FILE (the grami file of a job of A-REX)",
        "cancel": "usage: cancel G (a grid job, such as 12)",
        "number": "usage: number FILE (the grami file of a job; prints the number of its last grid job)",
    }

    def accepted(self, number: int) -> bytes:
        """Return the id for A-REX, which names a grid job among those of all accounts."""
        return f"{os.getuid()}.{number}\n".encode()

    def state(self, told: Told) -> bytes:
        """Return the word, and the line of progress."""
        if told.standing.final:
            code = 0 if told.standing is Standing.DONE else told.exit_code or 1
            return b"%b %d %b\n" % (ENDED, code, plain(told.reason or told.standing.value).encode())
        words = {Standing.ACTIVE: RUNNING, Standing.SUSPENDED: SUSPENDED}
        return b"%b\n%b\n" % (words.get(told.standing, WAITING), plain(told.progress).encode())

    def is_final(self, answer: bytes) -> bool:
        """Tell whether the word says that the grid job has ended."""
        return answer.startswith(ENDED + b" ")

    def cancelled(self, answer: bytes) -> bytes:
        """Return nothing: the script's exit code says it."""
        return b""

    def refused(self, verb: str, message: str, error: Exception) -> bytes:
        """Return nothing: A-REX shows stderr to the user."""
        return b""

    def contact(self, asked: Mapping[str, Any]) -> str:
        """Return the URL by which clients know the job."""
        from jim.doors.arc.grami import variables

        return variables(asked[JOB]).get("GRID_GLOBAL_JOBURL", "")

    def dn(self, asked: Mapping[str, Any]) -> str:
        """Return the owner of the job."""
        from jim.doors.arc.request import owner

        return owner(asked[JOB])

    def do(self, verb: str, words: Sequence[str], site: Site) -> tuple[bytes, str]:
        """Print the number of the last grid job of a job of A-REX; nothing if there is none."""
        from jim.doors.arc.grami import read
        from jim.doors.generations import number_of_last

        if len(words) != 1:
            raise BadRequest(self.usage[verb])
        number = number_of_last(site.state, read(Path(words[0]))["gridid"])
        return (f"{number}\n".encode() if number else b""), "only a number was asked for"


def plain(text: str) -> str:
    """Return a text of one line that every file can have: an account may have written anything."""
    shown = "".join(each if each.isprintable() else " " for each in text)
    return shown.encode("utf-8", "replace").decode()[:LONGEST_REASON]


DOOR = Arc
