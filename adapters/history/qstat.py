"""qstat, which knows ended jobs as long as the server keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from jim.adapters.base import History
from jim.adapters.pbs import Pbs
from jim.model import Answer, Listing

UNKNOWN_JOB, ENDED_JOB = 153, 35  # exit codes; also used if only one of several ids is unknown
NO_HISTORY = (r"not configured to maintain job history",)
NO_HISTORY_CODES = 0, 36  # qstat turns the server's 36 into 0


class Qstat(History):
    """A listing of these ids only; of PBS itself with -x, which shows ended jobs."""

    words = ("qstat",)
    adapter: Pbs

    def command(self, ids: Sequence[str]) -> list[str]:
        return [*self.first_words, *self.adapter.ended, *self.adapter.form("history"), *ids]

    def read(self, answer: Answer) -> Listing:
        if answer.code in NO_HISTORY_CODES and self.adapter.says(NO_HISTORY, answer.err):
            return {}
        some_unknown = answer.code in (UNKNOWN_JOB, ENDED_JOB)
        return self.adapter.seen(answer, answer.out if some_unknown else self.adapter.output(answer), "history")


HISTORY = Qstat
