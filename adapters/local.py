"""The local batch system, `jim.localbatch`, which JIM uses by its command line like any other."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from jim.adapters.base import Adapter, option
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

STATES = {
    "pending": State.SUBMITTED,
    "held": State.HELD,
    "running": State.RUNNING,
    "suspended": State.SUSPENDED,
    "ending": State.COMPLETING,  # its script has ended; leftover processes are being killed
    "ended": State.FAILED,  # unless its exit code is 0
    "cancelled": State.KILLED,
}


class Local(Adapter):
    """One machine; jobs are processes that outlive JIM."""

    name = "local"
    index_variable, id_variable = "LOCALBATCH_INDEX", "LOCALBATCH_ID"
    array_limit, name_length = 10_000, 200
    end_is_death = leaves_nothing = True  # leftover processes of a task are killed before its end is reported
    can_suspend, capacity = True, "local"
    # SQLite may have stored the transaction all the same.
    unclear = (r"cannot record: disk I/O error", r"done, but cannot answer")
    transient = (
        r"cannot record: (database is locked|database or disk is full|unable to open database)",
        r"has no queue\.db",
    )
    permanent = (r"localbatch: (argument|unrecognized|the following arguments)",)
    gone = (r"unknown job",)

    def __init__(self, commands: Mapping[str, Sequence[str]] | None = None, area: str = "") -> None:
        program = (sys.executable, "-P", "-s", "-m", "jim.localbatch", "--area", area)
        self.commands = {
            "submit": (*program, "submit"),
            "query": (*program, "list"),
            "history": (*program, "history"),
            "find": (*program, "find"),
            "cancel": (*program, "cancel"),
            "change": program,  # each change and the set-up have their own verbs
            "ping": (*program, "ping"),
            "nodes": (*program, "ping"),
        }
        super().__init__(commands, area)

    def set_up_command(self, slots: int) -> list[str]:
        return [*self.commands["change"], "init", "--slots", str(slots or os.cpu_count() or 1)]

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        return [
            *self.commands["submit"],
            *batch.options,
            *("--name", batch.mark, "--array", str(batch.size)),
            *option("--wall", asked.wall_seconds),
            *option("--memory-mb", asked.memory_mb),
            *option("--queue", asked.queue),
            batch.script,
        ]

    def parse_submit(self, answer: Answer) -> str:
        id_ = self.output(answer)
        if not re.fullmatch(r"[1-9][0-9]*\n", id_, re.ASCII):
            raise Unclear(answer.facts())
        return id_.strip()

    def query_command(self) -> list[str]:
        return list(self.commands["query"])

    def parse_query(self, answer: Answer) -> Listing:
        return {
            (id_, int(index)): Observation(STATES.get(word, State.UNKNOWN), mark, word=word)
            for id_, index, word, mark in self._lines(answer, 4)
        }

    def history_command(self, ids: Sequence[str]) -> list[str]:
        return [*self.commands["history"], *ids]

    def parse_history(self, answer: Answer) -> Listing:
        return {(line[0], int(line[1])): _observation(line) for line in self._lines(answer, 7)}

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], mark]

    def parse_find(self, answer: Answer) -> Listing:
        return self.parse_history(answer)

    def cancel_command(self, ids: Ids) -> list[str]:
        return [*self.commands["cancel"], *_names(ids)]

    def change_command(self, verb: str, ids: Ids) -> list[str]:
        return [*self.commands["change"], verb, *_names(ids)]

    def ping_command(self) -> list[str]:
        return list(self.commands["ping"])

    def _lines(self, answer: Answer, width: int) -> Iterator[list[str]]:
        """Return the fields of each line, after a check by the frame that every line is there and whole."""
        frame = re.fullmatch(
            r"jobs ([0-9]+)\n((?:[1-9][0-9]*\|[1-9][0-9]*\|.+\n)*)end\n", self.output(answer), re.ASCII
        )
        lines = [line.split("|") for line in frame[2].split("\n")[:-1]] if frame else []
        if not frame or len(lines) != int(frame[1]) or any(len(line) != width for line in lines):
            raise Unclear(answer.facts())
        return iter(lines)


def _observation(line: Sequence[str]) -> Observation:
    _, _, word, code, signal, reason, mark = line
    state = State.COMPLETED if (word, code) == ("ended", "0") else STATES.get(word, State.UNKNOWN)
    exit_code, ended_by = (int(value) if value.isdecimal() else None for value in (code, signal))
    return Observation(state, mark, exit_code, ended_by, "" if reason == "-" else reason, word)


def _names(ids: Ids) -> list[str]:
    return [f"{id_}.{index}" if index else id_ for id_, index in ids]


ADAPTER = Local
