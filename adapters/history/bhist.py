"""bhist, which reads LSF's log files and knows jobs as long as these exist."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jim.adapters.base import History
from jim.adapters.lsf import NOT_DONE, failed, listed
from jim.errors import Unclear
from jim.model import Answer, Listing, Observation, State

# bhist -l: a head for each job, then a line with a date for each event.
JOB = re.compile(
    r"^Job <(?P<id>[0-9]+)(?:\[(?P<index>[0-9]+)\])?>, (?:Job Name <(?P<name>[^>]*)>, )?User <", re.MULTILINE
)
EVENT = re.compile(r"^\w{3} \w{3} +[0-9]+ [0-9:]{8}(?: [0-9]{4})?: (.*)$", re.MULTILINE)
SUMMARY = "\nSummary of time in seconds spent in various states by "  # after the last of the events
FOLD = "\n" + 21 * " "  # a line of 80 characters continues here
EXITED = re.compile(r"Exited(?: with exit code (?P<code>[0-9]+)| by (?:LSF )?signal (?P<signal>[0-9]+))?\b")
BEGINS_AGAIN = ("Dispatched", "Starting", "Pending", "Running")


class Bhist(History):
    """The events of each job, from all log files."""

    words: tuple[str, ...] = ("bhist", "-n", "0")
    form: tuple[str, ...] = ("-l", "-UF")

    def command(self, ids: Sequence[str]) -> list[str]:
        return [*self.first_words, "-a", *self.form, *ids]

    def read(self, answer: Answer) -> Listing:
        if JOB.match(answer.out.lstrip()) and answer.code in (0, NOT_DONE):
            return _ended(answer)
        some_unknown = answer.code == NOT_DONE and answer.out
        return listed(answer, answer.out) if some_unknown else self.adapter.parse_query(answer)


def _ended(answer: Answer) -> Listing:
    """Read the jobs that have ended; other jobs do not matter."""
    text = answer.out.replace(FOLD, "")
    heads = list(JOB.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = {}
    for head, end in zip(heads, ends, strict=True):
        summary = text.find(SUMMARY, head.end(), end)
        if summary < 0:
            raise Unclear(answer.facts())
        index = int(head["index"] or 1)
        told = _end([each[1] for each in EVENT.finditer(text, head.end(), summary)])
        if told:
            name = (head["name"] or "").removesuffix(f"[{index}]")
            found[head["id"], index] = told._replace(mark=name)
    return found


def _end(events: Sequence[str]) -> Observation | None:
    """Read the last end of a job, unless the job started again."""
    end = None
    for event in events:
        exited = EXITED.match(event)
        if event.startswith(BEGINS_AGAIN):
            end = None
        elif event.startswith("Done successfully"):
            end = Observation(State.COMPLETED, "", 0, word="DONE")
        elif exited:
            end = failed(exited["code"] or "", exited["signal"])
        elif event.startswith("Completed <exit>"):
            end = (end or failed(""))._replace(reason=event.partition("; ")[2].rstrip("."))
    return end


HISTORY = Bhist
