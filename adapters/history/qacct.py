"""qacct, the Grid Engine program that reads its accounting file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from jim.adapters.history.accounting import Accounting
from jim.adapters.sge import installed
from jim.errors import Unclear
from jim.model import Answer

ONE_BY_ONE = 'ids=$1; shift; for id in $ids; do "$@" -j "$id"; done; :'  # it takes one job for each call
NOT_THERE = re.compile(r"error: job id [0-9]+ not found")
# Each field of a job has its own line; a line of = begins a job.
SAID = {
    "jobname": "name",
    "jobnumber": "id",
    "taskid": "index",
    "failed": "failed",
    "exit_status": "status",
    "ru_maxrss": "memory",
    "maxvmem": "after all these",
}


class Qacct(Accounting):
    """Only a few jobs at once: qacct reads the whole file for each."""

    words = installed("qacct")
    most_asked = 10

    def command(self, ids: Sequence[str]) -> list[str]:
        return ["sh", "-c", ONE_BY_ONE, "qacct", " ".join(ids), *self.first_words]

    def ends(self, answer: Answer) -> Iterable[Mapping[str, str]]:
        """Read the fields of each job, completely or not at all."""
        self.found(answer)  # or it has failed
        if not all(NOT_THERE.fullmatch(line) for line in answer.err.splitlines()):
            raise Unclear(answer.facts())
        first, *jobs = re.split(r"^={20,}\n", answer.out, flags=re.MULTILINE)
        for job in jobs:
            facts = dict(re.findall(r"^(\w+) +([^\s]+)", job, re.MULTILINE))
            if first or not SAID.keys() <= facts.keys() or not facts["exit_status"].isdecimal():
                raise Unclear(answer.facts())
            facts["taskid"] = facts["taskid"] if facts["taskid"].isdecimal() else "1"  # of a job that is not an array
            yield {SAID[name]: facts[name] for name in SAID}


HISTORY = Qacct
