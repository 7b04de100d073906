"""HTCondor 8.6 and newer: condor_submit without a file, condor_q and condor_history in JSON.

Here HTCondor transfers no files: worker nodes and scheduler see the same work directory, and have the same
FileSystemDomain. `condor_transfer` is for other sites. HTCondor has no queues; the queue of a request becomes the
attribute JimQueue of its jobs, for the site's own policy. Further requirements of a site go into the submit command:

    [batch.commands]
    submit = ["condor_submit", "requirements=HasPython"]
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from jim.adapters.base import COUNT, LICENCES, TERMS, DeclaredAdapter
from jim.adapters.messages import condor as messages
from jim.errors import Refused, Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

IDLE, REMOVED, COMPLETED, HELD = 1, 3, 4, 5
STATES = {
    IDLE: State.SUBMITTED,
    2: State.RUNNING,
    REMOVED: State.COMPLETING,  # still in the queue, but about to leave it
    COMPLETED: State.COMPLETING,  # likewise
    HELD: State.HELD,
    6: State.RUNNING,  # transferring output
    7: State.SUSPENDED,
}
# What HTCondor is told to remove: a started job that is idle again, which would run twice; a job that is held, but not
# by a person, which would stay for ever; a job beyond its time limit. HTCondor checks about once a minute. A started
# job could start again before that, so `requirements` lets it match no machine.
UNWANTED = (
    f"(JobStatus == {IDLE} && {{}} > 0) || (JobStatus == {HELD} && HoldReasonCode =!= 1 && HoldReasonCode =!= 15)"
)
# The time of suspensions does not count.
RAN = "time() - JobCurrentStartDate - ifThenElse(CumulativeSuspensionTime =?= undefined, 0, CumulativeSuspensionTime)"
OVERDUE = f" || (JobStatus == 2 && {RAN} > {{}})"
ONCE = "({} > 0) =!= true"
REQUIRED = re.compile(r"requirements\s*=(.*)", re.IGNORECASE | re.DOTALL)
BY_A_PERSON = (1, 15)  # HoldReasonCode: a user's hold, later or at the submission
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
COMMANDS = {
    "submit": ("condor_submit",),
    **dict.fromkeys(("query", "find", "ping", "pending"), ("condor_q",)),
    "history": ("condor_history",),
    "cancel": ("condor_rm",),
    "hold": ("condor_hold",),
    "release": ("condor_release",),
    "suspend": ("condor_suspend",),
    "resume": ("condor_continue",),
    "nodes": ("condor_status",),
}
# HTCondor itself requires what the job asks for, but only of what the requirements do not name.
NO_LIMIT = r"(?!(.*,)?(?i:(total\w*|request|target|my)?(memory|cpus|gpus|disk)|machine|utsnamenodename)\b)"
CHANGES: dict[str, tuple[str, ...]] = dict.fromkeys(("hold", "release", "suspend", "resume"), ())


class Condor(DeclaredAdapter):
    """A submission is a cluster; its index 1 is process 0."""

    name = "condor"
    commands = COMMANDS
    index_variable, id_variable = "JIM_CONDOR_INDEX", "JIM_CONDOR_CLUSTER"  # set by the submit description
    array_limit, name_length = 10_000, 200
    can_suspend, can_avoid, capacity = True, True, "condor"
    special: Mapping[str, str] = {"gpus": COUNT, "constraint": NO_LIMIT + TERMS, "licences": LICENCES}
    began: str = "NumJobStarts"  # the attribute that counts the starts of a job
    unclear, full, transient = messages.UNCLEAR, messages.FULL, messages.TRANSIENT
    permanent, gone = messages.PERMANENT, messages.GONE
    printed = r"^{id}\.0 - \1\.[0-9]+\n\Z"
    listing = ("-constraint", "JimMark =!= undefined", "-json", "-attributes", f"{TOLD},LastRejMatchReason")
    finding = ("-constraint", 'JimMark == "{mark}"', "-json", "-attributes", TOLD)
    pinging, changing = ("-totals",), CHANGES
    histories = ("condor_history", "event_log")

    def submit_command(self, batch: Batch) -> list[str]:
        # Arguments `name=value` and -queue replace a submit file. If a name comes twice, the last value counts.
        return [
            *self.commands["submit"],
            *batch.options,
            *("-terse", "-batch-name", batch.mark),
            *(f"{name}={value}" for name, value in self.description(batch).items()),
            *("-queue", str(batch.size)),
        ]

    def parse_query(self, answer: Answer) -> Listing:
        return _all_told(read(answer, self.output(answer), _queued))

    def names(self, ids: Ids) -> list[str]:
        return [f"{id_}.{index - 1}" if index else id_ for id_, index in ids]

    def description(self, batch: Batch) -> dict[str, str]:
        """Describe the jobs, with only what the request asks for."""
        asked = batch.resources
        terms = [f"{name} == {_literal(value)}" if value else f"{name} =?= true" for name, value in self.terms(asked)]
        licences = ",".join(f"{name}:{count}" for name, count in self.licences(asked))
        required = [found[1] for word in (*self.commands["submit"], *batch.options) if (found := REQUIRED.match(word))]
        once = ONCE.format(self.began)
        # The name that a machine gives itself; `Machine` has a domain of HTCondor's own.
        elsewhere = [f'TARGET.UtsnameNodename =!= "{host}"' for host in batch.avoid]
        said = {
            "executable": batch.script.replace("$", "$(DOLLAR)"),
            "initialdir": batch.directory.replace("$", "$(DOLLAR)"),
            "MY.JimMark": f'"{batch.mark}"',
            "submit_event_notes": batch.mark,  # appears in a job event log
            "requirements": " && ".join(f"({each})" for each in (*required[-1:], *terms, once, *elsewhere)),
            "periodic_remove": UNWANTED.format(self.began)
            + (OVERDUE.format(asked.wall_seconds) if asked.wall_seconds else ""),
            "MY.PeriodicRemoveReason": WHY,
            "MY.JimQueue": asked.queue and f'"{_word(asked.queue)}"',
            "accounting_group": asked.account and _word(asked.account),
            "request_cpus": asked.cores and str(asked.cores),
            "request_gpus": self.need("gpus", asked),
            "concurrency_limits": licences,
            "request_memory": asked.memory_mb and str(asked.memory_mb),
            "request_disk": asked.disk_mb and str(asked.disk_mb * 1024),
        }
        return ALWAYS | {name: value for name, value in said.items() if value}


def read(answer: Answer, text: str, seen: Callable[[Mapping[str, Any]], Observation]) -> Listing:
    """Read a list of jobs in JSON."""
    try:
        jobs = json.loads(text) if text.strip() else []  # without any job there may be no list either
        return {(str(int(job["ClusterId"])), int(job["ProcId"]) + 1): seen(job) for job in jobs}
    except (ValueError, KeyError, TypeError) as error:
        raise Unclear(answer.facts()) from error


def _word(value: str) -> str:
    """Refuse everything that could be more than one word in a description."""
    if not re.fullmatch(r"[\w.@:/-]+", value, re.ASCII):
        raise Refused(f"queue or account {value!r}: expected letters, digits and . @ : / - _")
    return value


def _literal(value: str) -> str:
    """Return a value as HTCondor compares it: a number, true, false, or a text, which has no quotes in it."""
    return value if re.fullmatch(r"\d+(\.\d+)?|(?i:true|false)", value, re.ASCII) else f'"{value}"'


def _queued(job: Mapping[str, Any]) -> Observation:
    word = job["JobStatus"]
    reason = job.get("HoldReason") or "" if word == HELD else ""
    waits = str(job.get("LastRejMatchReason") or "") if word == IDLE else ""
    state = STATES.get(word, State.UNKNOWN)
    return Observation(state, job.get("JimMark", ""), reason=reason, word=str(word), waits=waits)


def _all_told(listing: Listing) -> Listing:
    """Say of all idle jobs of a cluster what the negotiator says of one: they are alike, so it looks at one alone."""
    words = {id_: seen.waits for (id_, _), seen in listing.items() if seen.waits}
    if not words:
        return listing
    return {
        key: seen._replace(waits=words[key[0]]) if seen.state is State.SUBMITTED and key[0] in words else seen
        for key, seen in listing.items()
    }


def exited(mark: str, code: int | None, signal: int | None, word: str) -> Observation:
    """Return an end by exit code or signal."""
    return Observation(State.COMPLETED if code == 0 else State.FAILED, mark, code, signal, word=word)


ADAPTER = Condor
