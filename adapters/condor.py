"""HTCondor, from 8.6 on: condor_submit without a file, condor_q and condor_history in JSON.

Nothing is transferred: the worker nodes and the scheduler see the same work directory, and have the same
FileSystemDomain. There are no queues; the queue that a request names becomes the attribute JimQueue of its jobs, for
the site's own policy. A policy of the site's or other words go into the submit command:

    [batch.commands]
    submit = ["condor_submit", "-name", "schedd.example.org", "requirements=HasPython"]

How jobs ended is asked of condor_history, or read from a job event log, where the site names one: EVENT_LOG of the
schedd's configuration, or the `log` that [batch] options give to all jobs of an account.

    [batch.commands]
    history = ["grep", "-hE", "/var/log/condor/EventLog"]
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jim.adapters.base import Adapter
from jim.errors import Refused, Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

REMOVED, COMPLETED, HELD = 3, 4, 5
STATES = {
    1: State.SUBMITTED,  # idle
    2: State.RUNNING,
    REMOVED: State.COMPLETING,  # still in the queue: being removed
    COMPLETED: State.COMPLETING,  # still in the queue: about to leave it
    HELD: State.HELD,
    6: State.RUNNING,  # transferring output
    7: State.SUSPENDED,
}
# What HTCondor would run again, keep for ever, or let run on is removed: a job that began and is idle, one that is
# held but not by a person, one that runs beyond its time. It looks once a minute or so: so what began may require no
# machine, either.
UNWANTED = "(JobStatus == 1 && {} > 0) || (JobStatus == 5 && HoldReasonCode =!= 1 && HoldReasonCode =!= 15)"
# Time in which it was suspended does not count.
RAN = "time() - JobCurrentStartDate - ifThenElse(CumulativeSuspensionTime =?= undefined, 0, CumulativeSuspensionTime)"
OVERDUE = f" || (JobStatus == 2 && {RAN} > {{}})"
ONCE = "({} > 0) =!= true"
REQUIRED = re.compile(r"requirements\s*=(.*)", re.IGNORECASE | re.DOTALL)
BY_A_PERSON = (1, 15)  # HoldReasonCode: once it was there, or as it was submitted
WHY = (
    'ifThenElse(JobStatus == 2, "time limit", '
    'ifThenElse(JobStatus == 5, HoldReason, "it had begun, and was put back into the queue"))'
)
ALWAYS = {
    "universe": "vanilla",
    "should_transfer_files": "NO",
    "transfer_executable": "false",
    "getenv": "false",
    "notification": "never",
    "JimIndex": "$(Process)+1",
    "environment": '"JIM_CONDOR_CLUSTER=$(ClusterId) JIM_CONDOR_INDEX=$INT(JimIndex)"',
}
TOLD = (
    "ClusterId,ProcId,JobStatus,JimMark,ExitCode,ExitSignal,ExitBySignal,"
    "HoldReason,LastHoldReason,LastHoldReasonCode,RemoveReason"
)
# In a job event log: the head of an event, with a date in one of many forms; the line below; the code of a hold.
EVENT = re.compile(
    r"^(?P<word>000|005|009|012) \((?P<id>[0-9]+)\.(?P<process>[0-9]+)\.[0-9]+\) .*\n"
    r"[ \t]+(?P<line>.*)\n(?:\tCode (?P<code>[0-9]+) .*\n)?",
    re.MULTILINE,
)
ACCEPTED, ENDED, ABORTED, PUT_ON_HOLD = "000", "005", "009", "012"
END = re.compile(r"\((?:1\) Normal|0\) Abnormal) termination \((?P<how>return value|signal) (?P<number>[0-9]+)\)")
COMMANDS = {
    "submit": ("condor_submit",),
    **dict.fromkeys(("query", "find", "ping"), ("condor_q",)),
    "history": ("condor_history",),
    "cancel": ("condor_rm",),
    "hold": ("condor_hold",),
    "release": ("condor_release",),
    "suspend": ("condor_suspend",),
    "resume": ("condor_continue",),
}


class Condor(Adapter):
    """A submission is a cluster; index 1 of it is process 0."""

    name = "condor"
    commands = COMMANDS
    index_variable, id_variable = "JIM_CONDOR_INDEX", "JIM_CONDOR_CLUSTER"  # set by what is submitted
    array_limit, name_length = 10_000, 200
    can_suspend = True
    began: str = "NumJobStarts"  # the attribute that tells how often a job has begun
    # The schedd that refuses what is to be committed says why; one that was lost by then has no such line.
    unclear = (r"failed to commit job submission into the queue\.(?!\s+ERROR: )", r"\A\s*SECMAN:")
    full = (r"would exceed MAX_JOBS_(PER_OWNER|SUBMITTED|PER_SUBMISSION)", r"exceeds SUBMIT_MAX_PROCS_IN_CLUSTER")
    transient = (
        r"can't find address of (local )?schedd",
        r"failed to connect to (local )?queue manager",
        r"failed to create (cluster|proc)",  # of a transaction that is given up then
        r"failed to fetch ads from",
    )
    permanent = (
        r"failed to parse|parse error in expression",
        r"failed to commit job submission into the queue\.\s+ERROR: ",
        r"(can't|cannot) (open|access) executable|executable file .* (has zero length|does not exist)",
        r"no \"?queue\"? commands|invalid attribute name|requires (another|at least one) argument|^usage:",
        r"no such directory",
    )
    gone = (r"job \S+ not found", r"couldn't find/\w+ (all|some|any)", r"already marked for removal")

    def submit_command(self, batch: Batch) -> list[str]:
        # Words `name=value` and -queue make a file with a description needless. The last of a name counts.
        return [
            *self.commands["submit"],
            *batch.options,
            *("-terse", "-batch-name", batch.mark),
            *(f"{name}={value}" for name, value in self.description(batch).items()),
            *("-queue", str(batch.size)),
        ]

    def parse_submit(self, answer: Answer) -> str:
        found = re.search(r"^([1-9][0-9]*)\.0 - \1\.[0-9]+\n\Z", self.output(answer), re.ASCII | re.MULTILINE)
        if not found:
            raise Unclear(answer.facts())
        return found[1]

    def query_command(self) -> list[str]:
        return [*self.commands["query"], "-constraint", "JimMark =!= undefined", "-json", "-attributes", TOLD]

    def parse_query(self, answer: Answer) -> Listing:
        return self._listing(answer, _queued)

    def history_command(self, ids: Sequence[str]) -> list[str]:
        words = self.commands["history"]
        if self.asks_history_of("grep"):
            return [*words, "-A2", "-e", rf"^0(00|05|09|12) \(0*({'|'.join(ids)})\."]
        return [*words, "-json", "-attributes", TOLD, *ids]

    def parse_history(self, answer: Answer) -> Listing:
        if self.asks_history_of("grep") and answer.code == 1 and not answer.err:  # so grep says that there is nothing
            return {}
        return _logged(answer.out) if EVENT.search(self.output(answer)) else self._listing(answer, _ended)

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], "-constraint", f'JimMark == "{mark}"', "-json", "-attributes", TOLD]

    def cancel_command(self, ids: Ids) -> list[str]:
        return [*self.commands["cancel"], *_names(ids)]

    def change_command(self, verb: str, ids: Ids) -> list[str]:
        return [*self.commands[verb], *_names(ids)]

    def ping_command(self) -> list[str]:
        return [*self.commands["ping"], "-totals"]

    def description(self, batch: Batch) -> dict[str, str]:
        """Describe the jobs; only what was asked for is said, the rest is the site's."""
        asked = batch.resources
        required = [found[1] for word in (*self.commands["submit"], *batch.options) if (found := REQUIRED.match(word))]
        said = {
            "executable": batch.script.replace("$", "$(DOLLAR)"),
            "initialdir": batch.directory.replace("$", "$(DOLLAR)"),
            "MY.JimMark": f'"{batch.mark}"',
            "submit_event_notes": batch.mark,  # stands in a job event log
            "requirements": " && ".join(f"({each})" for each in (*required[-1:], ONCE.format(self.began))),
            "periodic_remove": UNWANTED.format(self.began)
            + (OVERDUE.format(asked.wall_seconds) if asked.wall_seconds else ""),
            "MY.PeriodicRemoveReason": WHY,
            "MY.JimQueue": asked.queue and f'"{_word(asked.queue)}"',
            "accounting_group": asked.account and _word(asked.account),
            "request_cpus": asked.cores and str(asked.cores),
            "request_memory": asked.memory_mb and str(asked.memory_mb),
            "request_disk": asked.disk_mb and str(asked.disk_mb * 1024),
        }
        return ALWAYS | {name: value for name, value in said.items() if value}

    def _listing(self, answer: Answer, seen: Callable[[Mapping[str, Any]], Observation]) -> Listing:
        text = self.output(answer)
        try:
            jobs = json.loads(text) if text.strip() else []  # of no job there may be no list either
            return {(str(int(job["ClusterId"])), int(job["ProcId"]) + 1): seen(job) for job in jobs}
        except (ValueError, KeyError, TypeError) as error:
            raise Unclear(answer.facts()) from error


def _word(value: str) -> str:
    """Let nothing through that could be more than a word in a description."""
    if not re.fullmatch(r"[\w.@:/-]+", value, re.ASCII):
        raise Refused(f"queue or account {value!r}: expected letters, digits and . @ : / - _")
    return value


def _queued(job: Mapping[str, Any]) -> Observation:
    word = job["JobStatus"]
    reason = job.get("HoldReason") or "" if word == HELD else ""
    return Observation(STATES.get(word, State.UNKNOWN), job.get("JimMark", ""), reason=reason, word=str(word))


def _ended(job: Mapping[str, Any]) -> Observation:
    word, mark = job["JobStatus"], job.get("JimMark", "")
    if word == REMOVED:
        held = "" if job.get("LastHoldReasonCode") in BY_A_PERSON else job.get("LastHoldReason")
        reason = next(filter(None, (job.get("HoldReason"), held, job.get("RemoveReason"))), "")
        return Observation(State.FAILED, mark, reason=reason, word=str(word))
    if word != COMPLETED:
        return Observation(State.UNKNOWN, mark, word=str(word))
    signal = job.get("ExitSignal") if job.get("ExitBySignal") else None
    return _exited(mark, None if signal else job.get("ExitCode"), signal, str(word))


def _exited(mark: str, code: int | None, signal: int | None, word: str) -> Observation:
    return Observation(State.COMPLETED if code == 0 else State.FAILED, mark, code, signal, word=word)


def accepted(text: str) -> Listing:
    """Read from a job event log which jobs there were, whatever became of them."""
    events = (event for event in EVENT.finditer(text) if event["word"] == ACCEPTED)
    return {_key(event): Observation(State.UNKNOWN, event["line"], word=ACCEPTED) for event in events}


def _key(event: re.Match[str]) -> tuple[str, int]:
    return str(int(event["id"])), int(event["process"]) + 1


def _logged(text: str) -> Listing:
    """Read a job event log: what its last words about each job are."""
    marks: dict[tuple[str, int], str] = {}
    held: dict[tuple[str, int], str] = {}
    ended: dict[tuple[str, int], Observation] = {}
    for event in EVENT.finditer(text):
        key, word, line = _key(event), event["word"], event["line"]
        exited = END.fullmatch(line) if word == ENDED else None
        if word == ACCEPTED:  # after a crash ids are given out again: what was said of another job does not count
            marks[key] = line
            held.pop(key, None)
            ended.pop(key, None)
        elif word == PUT_ON_HOLD and event["code"] and int(event["code"]) not in BY_A_PERSON:
            held[key] = line
        elif exited:
            number, normal = int(exited["number"]), exited["how"] == "return value"
            ended[key] = _exited(marks.get(key, ""), number if normal else None, None if normal else number, word)
        elif word == ABORTED:
            ended[key] = Observation(State.FAILED, marks.get(key, ""), reason=held.get(key, line), word=word)
    return ended


def _names(ids: Ids) -> list[str]:
    return [f"{id_}.{index - 1}" if index else id_ for id_, index in ids]


ADAPTER = Condor
