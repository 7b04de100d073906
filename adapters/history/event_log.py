"""A job event log of HTCondor: EVENT_LOG of the schedd's configuration, or the `log` of all jobs of an account."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jim.adapters.base import History
from jim.adapters.condor import BY_A_PERSON, exited
from jim.errors import Unclear
from jim.model import Answer, Listing, Observation, State

# The head of an event, whose date has many forms; the next line; the code of a hold.
EVENT = re.compile(
    r"^(?P<word>000|005|009|012) \((?P<id>[0-9]+)\.(?P<process>[0-9]+)\.[0-9]+\) .*\n"
    r"[ \t]+(?P<line>.*)\n(?:\tCode (?P<code>[0-9]+) .*\n)?",
    re.MULTILINE,
)
ACCEPTED, ENDED, ABORTED, PUT_ON_HOLD = "000", "005", "009", "012"
END = re.compile(r"\((?:1\) Normal|0\) Abnormal) termination \((?P<how>return value|signal) (?P<number>[0-9]+)\)")


class EventLog(History):
    """The event log, searched with grep."""

    words = ("grep", "-hE", "/var/log/condor/EventLog")

    def command(self, ids: Sequence[str]) -> list[str]:
        return [*self.first_words, "-A2", "-e", rf"^0(00|05|09|12) \(0*({'|'.join(ids)})\."]

    def find_command(self, mark: str) -> list[str]:
        return [*self.first_words, "-B1", "-e", f"^[[:blank:]]+{mark}$"]  # the note below the head of an event

    def read(self, answer: Answer) -> Listing:
        text = self.found(answer)
        if text.strip() and not EVENT.search(text):
            raise Unclear(answer.facts())
        return logged(text)


def accepted(text: str) -> Listing:
    """Read from a job event log which jobs were accepted, whatever happened to them later."""
    events = (event for event in EVENT.finditer(text) if event["word"] == ACCEPTED)
    return {_key(event): Observation(State.UNKNOWN, event["line"], word=ACCEPTED) for event in events}


def _key(event: re.Match[str]) -> tuple[str, int]:
    return str(int(event["id"])), int(event["process"]) + 1


def logged(text: str) -> Listing:
    """Read the last events of each job from a job event log."""
    marks: dict[tuple[str, int], str] = {}
    held: dict[tuple[str, int], str] = {}
    ended: dict[tuple[str, int], Observation] = {}
    for event in EVENT.finditer(text):
        key, word, line = _key(event), event["word"], event["line"]
        end = END.fullmatch(line) if word == ENDED else None
        if word == ACCEPTED:  # after a crash ids are used again: earlier events belong to another job
            marks[key] = line
            held.pop(key, None)
            ended.pop(key, None)
        elif word == PUT_ON_HOLD and event["code"] and int(event["code"]) not in BY_A_PERSON:
            held[key] = line
        elif end:
            number, normal = int(end["number"]), end["how"] == "return value"
            ended[key] = exited(marks.get(key, ""), number if normal else None, None if normal else number, word)
        elif word == ABORTED:
            ended[key] = Observation(State.FAILED, marks.get(key, ""), reason=held.get(key, line), word=word)
    return ended


HISTORY = EventLog
