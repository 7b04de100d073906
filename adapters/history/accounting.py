"""The accounting file of Grid Engine, one line a job, and the meaning of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from jim.adapters.base import History
from jim.adapters.sge import CELL, ROOT
from jim.model import Answer, Listing, Observation, State

# accounting(5): name, id, failed, exit_status, ru_maxrss, task.
ENDED = re.compile(
    r"^(?:[^:\n]*:){4}(?P<name>[^:\n]*):(?P<id>[0-9]+):(?:[^:\n]*:){5}(?P<failed>[0-9]+):(?P<status>[0-9]+):"
    r"(?:[^:\n]*:){3}(?P<memory>[0-9]+)\.[0-9]+:(?:[^:\n]*:){18}(?P<index>[0-9]+):.*\n",
    re.MULTILINE,
)
# Values of the field "failed".
REASONS = {
    "0": "",
    "37": "time or memory limit",
    "100": "",
}
NEVER_RAN = {
    "26": "its output file could not be opened",
    "27": "its shell was not found",
    "28": "its directory could not be entered",
}
RUNS_AGAIN = ("24", "25")


class Accounting(History):
    """The accounting file, searched with grep."""

    words: tuple[str, ...] = ("grep", "-hE", f"{ROOT}/{CELL}/common/accounting")

    def command(self, ids: Sequence[str]) -> list[str]:
        return [*self.first_words, "-e", f"^([^:]*:){{5}}({'|'.join(ids)}):"]

    def read(self, answer: Answer) -> Listing:
        # Whoever collected the exit status knows the memory that the job used. Other ends are not certain: a job that
        # was deleted by force, or whose shepherd died, may still live. The former even has exit status 0.
        told = [end for end in self.ends(answer) if re.search("[1-9]", end["memory"]) or end["failed"] in NEVER_RAN]
        return dict(_ended(end) for end in told if end["failed"] not in RUNS_AGAIN)

    def ends(self, answer: Answer) -> Iterable[Mapping[str, str]]:
        """Return the fields of each job: id, index, name, failed, status and memory."""
        return map(re.Match.groupdict, ENDED.finditer(self.found(answer)))


def _ended(line: Mapping[str, str]) -> tuple[tuple[str, int], Observation]:
    failed, status = line["failed"], int(line["status"])
    code = status if failed == "0" else None
    signal = status - 128 if failed != "0" and status > 128 else None
    reason = (REASONS | NEVER_RAN).get(failed, f"Grid Engine's failure {failed}")
    state = State.COMPLETED if code == 0 else State.FAILED
    key = line["id"], max(1, int(line["index"]))
    return key, Observation(state, line["name"], code, signal, reason, f"failed {failed}")


HISTORY = Accounting
