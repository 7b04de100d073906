"""LSF 10.1, which lists in JSON: bsub, bjobs, bkill, bstop, bresume.

bjobs knows of an ended job for CLEAN_PERIOD, an hour by default. What ended longer ago is told by its exit record.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence

from jim.adapters.base import Adapter, by_id, option
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

STATES = {
    **dict.fromkeys(("PEND", "WAIT", "PROV"), State.SUBMITTED),
    "PSUSP": State.HELD,
    "RUN": State.RUNNING,
    **dict.fromkeys(("USUSP", "SSUSP"), State.SUSPENDED),
    **dict.fromkeys(("DONE", "PDONE"), State.COMPLETED),
    **dict.fromkeys(("EXIT", "PERR"), State.FAILED),
    # UNKWN and ZOMBI say that its host cannot be reached; either may run on.
}
FIELDS = ("-o", "jobid jobindex stat exit_code exit_reason job_name", "-json")
NONE_FOUND = (r"^No (unfinished |matching )?job found", r"^Job <\S+> is not found")
SIGNALS_ABOVE = 128  # an exit code above it is a signal
NOT_DONE = 255  # the exit code of any failure, such as one unknown id among many
COMMANDS = {
    "submit": ("bsub",),
    **dict.fromkeys(("query", "history", "find"), ("bjobs",)),
    "cancel": ("bkill",),
    **dict.fromkeys(("hold", "suspend"), ("bstop",)),
    **dict.fromkeys(("release", "resume"), ("bresume",)),
    "ping": ("bqueues",),  # it asks mbatchd, which lsid does not
}


class Lsf(Adapter):
    """Every submission is an array: the index of a job that is none would be 0."""

    name = "lsf"
    commands = COMMANDS
    index_variable, id_variable = "LSB_JOBINDEX", "LSB_JOBID"
    array_limit, name_length = 1000, 4000  # MAX_JOB_ARRAY_SIZE
    can_suspend = True
    transient = (
        r"LSF is down|LIM is down|configuration is not ready yet|request from non-LSF host",
        r"cannot connect to LSF|connection refused by server",
        r"job limit|does not have enough job slots|pending job threshold",  # own jobs must end first
        r"queue has been closed",
        r"no job id can be used now",
    )
    permanent = (
        r"no such queue",
        r"too many processors",
        r"(error in|error near) .*(section|select|rusage)",
        r"cannot be used in the resource requirement section",
        r"user permission denied",
        r"bad (job name|\w+ (value|specification|limit)|argument)",
        r"request aborted by esub",
        r"illegal option|unknown option|usage: b",
        r"array size exceeds|job array .*too (big|large)",
    )
    gone = (r"job has already finished", r"no matching job found", r"is not found")

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        reserved = [f"{what}={mb}MB" for what, mb in (("mem", asked.memory_mb), ("tmp", asked.disk_mb)) if mb]
        needs = ["span[hosts=1]"] * bool(asked.cores) + [f"rusage[{':'.join(reserved)}]"] * bool(reserved)
        # Ours come last, for the last one counts. LSF makes a shell line of what is to be run.
        return [
            *self.commands["submit"],
            *batch.options,
            *option("-q", asked.queue),
            *option("-P", asked.account),
            *option("-n", asked.cores),
            *option("-M", asked.memory_mb, "MB"),
            *option("-W", asked.wall_seconds and -(-asked.wall_seconds // 60)),  # in minutes, as LSF counts
            *(["-R", " ".join(needs)] if needs else []),
            *("-J", f"{batch.mark}[1-{batch.size}]", "-rn", "-env", "PATH", "-o", "/dev/null"),
            shlex.quote(batch.script),
        ]

    def parse_submit(self, answer: Answer) -> str:
        found = re.search(r"^Job <([1-9][0-9]*)> is submitted to .*queue", self.output(answer), re.ASCII | re.MULTILINE)
        if not found:
            raise Unclear(answer.facts())
        return found[1]

    def query_command(self) -> list[str]:
        return [*self.commands["query"], "-a", *FIELDS]

    def parse_query(self, answer: Answer) -> Listing:
        ended = answer.code is not None and answer.code >= 0
        none = ended and not answer.out and self.says(NONE_FOUND, answer.err.strip())
        return {} if none else _seen(answer, self.output(answer))

    def history_command(self, ids: Sequence[str]) -> list[str]:
        return [*self.commands["history"], "-a", *FIELDS, *ids]

    def parse_history(self, answer: Answer) -> Listing:
        some_unknown = answer.code == NOT_DONE and answer.out
        return _seen(answer, answer.out) if some_unknown else self.parse_query(answer)

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], "-a", *FIELDS]

    def cancel_command(self, ids: Ids) -> list[str]:
        return [*self.commands["cancel"], *_names(ids)]

    def change_command(self, verb: str, ids: Ids) -> list[str]:
        return [*self.commands[verb], *_names(ids)]

    def ping_command(self) -> list[str]:
        return list(self.commands["ping"])


def _seen(answer: Answer, text: str) -> Listing:
    try:
        records = json.loads(text, strict=False)["RECORDS"]
        return dict(_observation(record) for record in records if "ERROR" not in record)  # an unknown id
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unclear(answer.facts()) from error


def _observation(record: Mapping[str, str]) -> tuple[tuple[str, int], Observation]:
    word, index = record["STAT"], int(record["JOBINDEX"] or 0) or 1
    state = STATES.get(word, State.UNKNOWN)
    told = record["EXIT_CODE"]
    code = int(told) if told.isdecimal() else 0 if state is State.COMPLETED else None
    signal = code - SIGNALS_ABOVE if code and code > SIGNALS_ABOVE else None
    reason = record["EXIT_REASON"].strip("-")
    if not state.final:
        code = signal = None
    mark = record["JOB_NAME"].removesuffix(f"[{index}]")
    return (record["JOBID"].partition("[")[0], index), Observation(
        state, mark, None if signal else code, signal, reason, word
    )


def _names(ids: Ids) -> list[str]:
    members = {id_: ",".join(indices) for id_, indices in by_id(ids).items()}
    return [f"{id_}[{indices}]" if indices else id_ for id_, indices in members.items()]


ADAPTER = Lsf
