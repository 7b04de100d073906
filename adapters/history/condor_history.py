"""condor_history, which asks the schedd about jobs that have left its queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jim.adapters.base import History
from jim.adapters.condor import BY_A_PERSON, COMPLETED, REMOVED, TOLD, exited, read
from jim.adapters.history.event_log import EVENT, logged
from jim.model import Answer, Listing, Observation, State

IN_JSON = ("-json", "-attributes", TOLD)


class CondorHistory(History):
    """In JSON. A job event log is read as well: a site's own program may replace condor_history."""

    words = ("condor_history",)

    def command(self, ids: Sequence[str]) -> list[str]:
        return [*self.first_words, *IN_JSON, *ids]

    def find_command(self, mark: str) -> list[str]:
        return [*self.first_words, "-constraint", f'JimMark == "{mark}"', "-limit", "1", *IN_JSON]

    def read(self, answer: Answer) -> Listing:
        text = self.adapter.output(answer)
        return logged(text) if EVENT.search(text) else read(answer, text, _ended)


def _ended(job: Mapping[str, Any]) -> Observation:
    word, mark = job["JobStatus"], job.get("JimMark", "")
    if word == REMOVED:
        held = "" if job.get("LastHoldReasonCode") in BY_A_PERSON else job.get("LastHoldReason")
        reason = next(filter(None, (job.get("HoldReason"), held, job.get("RemoveReason"))), "")
        return Observation(State.FAILED, mark, reason=reason, word=str(word))
    if word != COMPLETED:
        return Observation(State.UNKNOWN, mark, word=str(word))
    signal = job.get("ExitSignal") if job.get("ExitBySignal") else None
    return exited(mark, None if signal else job.get("ExitCode"), signal, str(word))


HISTORY = CondorHistory
