"""LSF 10.1, which lists in JSON: bsub, bjobs, bkill, bstop, bresume.

bjobs knows of an ended job for CLEAN_PERIOD, an hour by default. A site that wants to know for longer says

    [batch.commands]
    history = ["bhist", "-n", "0"]                                      # 0: all of its log files
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
# bhist -l: a head for each job, then a line for each thing that happened to it, after a date.
JOB = re.compile(
    r"^Job <(?P<id>[0-9]+)(?:\[(?P<index>[0-9]+)\])?>, (?:Job Name <(?P<name>[^>]*)>, )?User <", re.MULTILINE
)
EVENT = re.compile(r"^\w{3} \w{3} +[0-9]+ [0-9:]{8}(?: [0-9]{4})?: (.*)$", re.MULTILINE)
SUMMARY = "\nSummary of time in seconds spent in various states by "  # after the last of them
FOLD = "\n" + 21 * " "  # where a line of 80 characters goes on
EXITED = re.compile(r"Exited(?: with exit code (?P<code>[0-9]+)| by (?:LSF )?signal (?P<signal>[0-9]+))?\b")
BEGINS_AGAIN = ("Dispatched", "Starting", "Pending", "Running")
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
    unclear = (
        r"communication time ?out|daemon not responding|failed in sending/receiving a message|system call failed",
        r"xdr (operation|encode/decode) error|batch protocol error|(batch daemon|library) internal error",
        r"unknown user",  # whom LSF knows, but for a directory of users that is down
    )
    full = (
        r"job limit|does not have enough (per-\w+ )?job slots|pending job threshold",
        r"job array index too large",  # MAX_JOB_ARRAY_SIZE
    )
    transient = (
        r"LSF is down|LIM is down|configuration is not ready yet|request from non-LSF host",
        r"cannot connect to LSF|connection refused by server|timeout on connect|cannot locate master LIM",
        r"queue has been closed",
        r"no job id can be used now",
    )
    permanent = (
        r"no such queue|user cannot use the queue|queue (only accepts|does not accept|name must be specified)",
        r"too (many|few) processors",
        r"cannot exceed queue's",  # hard limits, or resource reservation
        r"(error in|error near) .*(section|select|rusage)",
        r"cannot be used in the resource requirement section",
        r"user permission denied|not in (the )?specified (user|project) group|no such user/host group",
        r"bad (job name|host name|user group|\w+ (value|specification|limit|name)|resource requirement|argument)",
        r"host group is not used by the queue",
        r"request aborted by esub",
        r"illegal option|unknown option|usage: b",
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
        asked = ("-l", "-UF") if self.asks_history_of("bhist") else FIELDS
        return [*self.commands["history"], "-a", *asked, *ids]

    def parse_history(self, answer: Answer) -> Listing:
        if JOB.match(answer.out.lstrip()) and answer.code in (0, NOT_DONE):
            return _ended(answer)
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


def _ended(answer: Answer) -> Listing:
    """Read what bhist says of jobs that have ended; what it says of others does not matter."""
    text = answer.out.replace(FOLD, "")
    heads = list(JOB.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = {}
    for head, end in zip(heads, ends, strict=True):
        summary = text.find(SUMMARY, head.end(), end)
        if summary < 0:
            raise Unclear(answer.facts())
        index = int(head["index"] or 1)
        seen = _end([each[1] for each in EVENT.finditer(text, head.end(), summary)])
        if seen:
            name = (head["name"] or "").removesuffix(f"[{index}]")
            found[head["id"], index] = seen._replace(mark=name)
    return found


def _end(events: Sequence[str]) -> Observation | None:
    """Read the last end of a job, unless it began anew."""
    end = None
    for event in events:
        exited = EXITED.match(event)
        if event.startswith(BEGINS_AGAIN):
            end = None
        elif event.startswith("Done successfully"):
            end = Observation(State.COMPLETED, "", 0, word="DONE")
        elif exited:
            end = _failed(exited["code"] or "", exited["signal"])
        elif event.startswith("Completed <exit>"):
            end = (end or _failed(""))._replace(reason=event.partition("; ")[2].rstrip("."))
    return end


def _failed(code: str, signal: str | None = None) -> Observation:
    number = int(code) if code.isdecimal() else 0
    killed = int(signal or 0) or max(0, number - SIGNALS_ABOVE)
    told = None if killed or not code.isdecimal() else number
    return Observation(State.FAILED, "", told, killed or None, word="EXIT")


def _observation(record: Mapping[str, str]) -> tuple[tuple[str, int], Observation]:
    word, index = record["STAT"], int(record["JOBINDEX"].strip("-") or 0) or 1
    state = STATES.get(word, State.UNKNOWN)
    mark, reason = record["JOB_NAME"].removesuffix(f"[{index}]"), record["EXIT_REASON"].strip("-")
    seen = Observation(state, mark, reason=reason, word=word)
    if state is State.COMPLETED:
        seen = seen._replace(code=0)
    elif state.final:
        end = _failed(record["EXIT_CODE"])
        seen = seen._replace(code=end.code, signal=end.signal)
    return (record["JOBID"].partition("[")[0], index), seen


def _names(ids: Ids) -> list[str]:
    members = {id_: ",".join(indices) for id_, indices in by_id(ids).items()}
    return [f"{id_}[{indices}]" if indices else id_ for id_, indices in members.items()]


ADAPTER = Lsf
