"""The door of HTCondor-CE: the scripts of shell/condor, which blahpd calls, submit jobs and print its lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim.doors.contract import Told
from jim.doors.own_language import OwnLanguage
from jim.errors import BadRequest, Missing, UnknownJob
from jim.model import Standing

if TYPE_CHECKING:
    from jim.doors.condor.tending import Tending
    from jim.doors.keeping import Keeper
    from jim.site.file import Site

IDLE, RUNNING, COMPLETED = 1, 2, 4  # HTCondor's own numbers
DONE = b" 0 No\\ error\n"
LONGEST_REASON = 450  # characters, of which each may need two: an ad must be shorter than 1,024 bytes
PROGRESS_SECONDS = 30.0


class Condor(OwnLanguage):
    """The lines that blahpd reads. HTCondor cancels a job that is held, and submits it again with the same key."""

    has_generations = True
    progress_seconds = PROGRESS_SECONDS
    usage: Mapping[str, str] = {
        "submit": "usage: submit FILE (the words of a call by blahpd, each ended by a zero byte)",
        "cancel": "usage: cancel G (a grid job, such as 12)",
    }
    _tending: Tending | None = None  # the keeper makes it in its first round

    @contextmanager
    def in_its_words(self, job: Mapping[str, Any]) -> Iterator[None]:
        """Make refusals use HTCondor's names. What its user has written as a number does not come this far."""
        try:
            with super().in_its_words(job):
                yield
        except Missing as error:
            hint = f"HTCondor drops numbers: write the value of +JIM_{error.about} in quotes"
            raise BadRequest(f"{error.words}; {hint}", error.about, told=error.told) from error

    def accepted(self, number: int) -> bytes:
        """Return the line with the job's id for blahpd, which calls the scripts of this name by it."""
        return f"BLAHP_JOBID_PREFIXjim/{time.strftime('%Y%m%d', time.gmtime())}/{number}\n".encode()

    def state(self, told: Told) -> bytes:
        """Return an ad, and for people a second line. Status 3 and 5 would put the job on hold, which cancels it."""
        if not told.standing.final:
            waits = told.standing in (Standing.ACCEPTED, Standing.PENDING) or not told.started
            return _ad(told.number, f"JobStatus={IDLE if waits else RUNNING};", told.progress)
        code = told.exit_code or 0
        reason = f'ExitReason="{_escaped(told.reason)}";' if told.reason else ""
        end = f"JobStatus={COMPLETED};ExitCode={code};{reason}"
        return _ad(told.number, end, f"{told.standing}{': ' if told.reason else ''}{told.reason}")

    def is_final(self, answer: bytes) -> bool:
        """Tell whether the ad says that the job is completed."""
        return answer.startswith(b"0[") and b";JobStatus=%d;" % COMPLETED in answer.partition(b"\n")[0]

    def cancelled(self, answer: bytes) -> bytes:
        """Return success: what has ended already is as good as cancelled."""
        return DONE

    def refused(self, verb: str, message: str, error: Exception) -> bytes:
        """Return the reason of a failed cancel; that of a submission is taken from stderr."""
        if verb != "cancel":
            return b""
        words = " ".join(_plain(message).split()).replace("\\", "/").replace(" ", "\\ ")
        return DONE if isinstance(error, UnknownJob) else f" 1 {words}\n".encode()

    def expect(self, site: Site, key: str, file: Path) -> None:
        """Make the directory in which status calls leave their traces."""
        from jim.doors.condor.tending import ASKED

        (site.state / ASKED).mkdir(mode=0o700, exist_ok=True)

    def tell(self, keeper: Keeper) -> None:
        """Write lines of progress beside split jobs, and look for jobs that nobody asks about."""
        from jim.doors.condor.tending import Tending

        self._tending = self._tending or Tending(self.name)
        self._tending(keeper)


def _ad(number: int, attributes: str, line: str) -> bytes:
    return f'0[BatchJobId="{number}";{attributes}]\n{_plain(line)}\n'.encode()


def _escaped(text: str) -> str:
    plain = _plain(text)[:LONGEST_REASON]
    return plain.replace("\\", "\\\\").replace('"', '\\"')


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text).encode("ascii", "replace").decode()


DOOR = Condor
