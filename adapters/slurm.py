"""Slurm, as version 22.05 speaks: sbatch, squeue, scancel, scontrol.

How jobs ended is asked of squeue, which knows for some minutes (MinJobAge). A site that keeps accounts says

    [batch.commands]
    history = ["sacct"]                                                 # slurmdbd
    history = ["grep", "-hE", "/var/log/slurm/jobcomp.log"]             # JobCompType=jobcomp/filetxt
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jim.adapters.base import Adapter, by_id, option
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

COMMANDS = {
    "submit": ("sbatch",),
    **dict.fromkeys(("query", "history", "find"), ("squeue",)),
    "cancel": ("scancel",),
    **dict.fromkeys(("change", "ping"), ("scontrol",)),
}
STATES = {
    **dict.fromkeys(("PENDING", "CONFIGURING", "REQUEUED"), State.SUBMITTED),
    **dict.fromkeys(("REQUEUE_HOLD", "SPECIAL_EXIT"), State.HELD),
    # Something of a completing job may still live.
    **dict.fromkeys(("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING"), State.RUNNING),
    **dict.fromkeys(("SUSPENDED", "STOPPED"), State.SUSPENDED),
    **dict.fromkeys(("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL"), State.FAILED),
    **dict.fromkeys(("BOOT_FAIL", "DEADLINE", "PREEMPTED"), State.FAILED),
    "CANCELLED": State.KILLED,
}
REASONS = {
    "TIMEOUT": "time limit",
    "OUT_OF_MEMORY": "out of memory",
    "NODE_FAIL": "the node failed",
    "BOOT_FAIL": "the node did not boot",
    "DEADLINE": "deadline",
    "PREEMPTED": "preempted",
    "CANCELLED": "cancelled",
}
# What no end of another job will change.
NEVER = re.compile(
    r"BadConstraints|DependencyNeverSatisfied|Invalid(Account|QOS)|(Account|QOS)NotAllowed|Partition(Config|\w+Limit)"
    r"|(Assoc|QOS)(Max\w+Per(Job|Node)\w*|Min\w+)|MaxMemPerLimit|Reservation(Deleted|Invalid)"
)
LISTING = ("--me", "--states=all", "--array", "--Format=JobArrayID:|,State:|,exit_code:|,Reason:|,Name:|.")
ACCOUNTS = ("--allocations", "--parsable2", "--format=JobID,State,ExitCode,Reason,JobName")
HEADER = re.compile(r"^JOBID\|(?:[^|\n]*\|){4}\.\n", re.MULTILINE)
FIELDS = (
    r"(?P<id>[0-9]+)(?:_(?P<index>[0-9]+))?\|(?P<word>[A-Z_]+)[^|\n]*\|"
    r"(?P<exit>[0-9]+(:[0-9]+)?)\|(?P<reason>[^|\n]*)\|"
)
# Somebody's name may hold anything, even a newline: it comes last, and a line has an end of its own. But what looks
# like another job is one: this line has lost its end. 500+0 is part of a heterogeneous job, which is never ours.
LISTED = re.compile(r"(?P<part>[0-9]+\+)?" + FIELDS + r"(?P<name>.*?)\|\.\n", re.DOTALL)
JOB = re.compile(FIELDS)
ENDED = (
    re.compile(rf"^{FIELDS}(?P<name>[^|\n]*)(\|\.)?\n", re.MULTILINE),
    re.compile(
        r"^JobId=.* Name=(?P<name>.*) JobState=(?P<word>\w+) (?P<reason>).* ArrayJobId=(?P<id>[0-9]+)"
        r" ArrayTaskId=(?P<index>[0-9]+) .* ExitCode=(?P<exit>[0-9]+:[0-9]+) *\n",
        re.MULTILINE,
    ),
)


class Slurm(Adapter):
    """Every submission is an array, so that a job is always named by array and index."""

    name = "slurm"
    commands = COMMANDS
    index_variable, id_variable = "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID"
    restart_variable = "SLURM_RESTART_COUNT"
    can_avoid = True
    array_limit = 1000  # MaxArraySize is 1001 by default, and counts 0
    # end_is_death stays false: a job of a node that cannot be reached ends in the books only.
    # sbatch itself tries again for two minutes where it is told to come later: only the last answer counts.
    unclear = (
        r"socket timed out on send/recv|connection timed out (reading|writing)|delayed socket error",
        r"zero bytes were transmitted|message (send|receive) failure|communication shutdown failure",
        r"unable to contact slurm controller \((send|receive|shutdown) failure\)",
        r"unexpected message received|header lengths are longer|insane message length",
        r"munge decode failed|auth_g_verify",  # of the answer
        # Of the request or the answer, but for one that could not even be written; or the directory of users is down.
        r"(?s)\A(?!.*(munge encode failed|auth_g_create)).*(protocol authentication error|authentication credential)",
        r"unable to resolve (user|group) ID",
    )
    full = (
        r"(Max|Grp)SubmitJob",  # an association's or a QOS's
        # MaxJobCount, of everybody's jobs: each task of an array counts, so that fewer may be taken.
        r"submission failed: (resource temporarily unavailable|MaxJobCount|unable to create job record)",
        r"submission failed: invalid job array specification",  # ours is valid, but for MaxArraySize
    )
    transient = (
        r"\(connect failure\)|communication connection failure|in standby mode|rate limit exceeded",
        r"munge encode failed|auth_g_create",
        r"partition not available \(inactive or drain\)|requested nodes are busy|submissions disabled",
        r"try again (later|in a bit)",
        r"problem talking to the database|I/O error writing script/environment",
    )
    permanent = (
        r"submission failed: (invalid|requested (node|operation not|reservation|time|topology|GRES)|more processors)",
        r"submission failed: (pathname|user's group|memory required|no partition|multiple partition|duplicate generic)",
        r"submission failed: (job (dependency|--batch|size specification)|circular|burst buffer)",
        r"submission failed: (node count|CPU count|task \w+) specification invalid",
        r"submission failed: job violates accounting/QOS policy",
        r"sbatch: error: invalid (.* specif|numeric value|--)",
        r"unrecognized option",
        r"unable to open file|batch script is empty|does not look like a batch script",
        r"access/permission denied|access denied to requested reservation",
    )
    gone = (r"invalid job id specified", r"job has already finished", r"already completing or completed")

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        # Ours come last, for the last one counts.
        return [
            *self.commands["submit"],
            *batch.options,
            *option("--partition=", asked.queue),
            *option("--account=", asked.account),
            *option("--cpus-per-task=", asked.cores),
            *option("--mem=", asked.memory_mb, "M"),
            *option("--tmp=", asked.disk_mb, "M"),
            *option("--time=", asked.wall_seconds and -(-asked.wall_seconds // 60)),  # in minutes, as Slurm counts
            *option("--exclude=", ",".join(each.partition(".")[0] for each in batch.avoid) or None),  # nodes, not hosts
            *("--parsable", "--no-requeue", f"--job-name={batch.mark}", f"--array=1-{batch.size}"),
            # Of our environment, which is scrubbed: any other word makes Slurm start a login shell for each job.
            *("--export=ALL", "--chdir=/", "--output=/dev/null", "--error=/dev/null"),
            batch.script,
        ]

    def parse_submit(self, answer: Answer) -> str:
        found = re.search(r"^([1-9][0-9]*)(;.+)?\n\Z", self.output(answer), re.ASCII | re.MULTILINE)
        if not found:
            raise Unclear(answer.facts())
        return found[1]

    def query_command(self) -> list[str]:
        return [*self.commands["query"], *LISTING]

    def parse_query(self, answer: Answer) -> Listing:
        text = self.output(answer)
        line = HEADER.search(text)
        seen = {}
        while line and line.end() < len(text):
            line = LISTED.match(text, line.end())  # where the last one ended: nothing is passed over
            if line and JOB.search(line["name"]):
                line = None
            elif line and not line["part"]:
                key, seen[key] = _observation(line)
        if not line:
            raise Unclear(answer.facts())
        return seen

    def history_command(self, ids: Sequence[str]) -> list[str]:
        words = self.commands["history"]
        if self.asks_history_of("grep"):
            return [*words, "-e", rf" ArrayJobId=({'|'.join(ids)}) "]
        return [*words, *(ACCOUNTS if self.asks_history_of("sacct") else LISTING), f"--jobs={','.join(ids)}"]

    def parse_history(self, answer: Answer) -> Listing:
        none = answer.code == 1 and (self.says(self.gone, answer.err) or not answer.err)  # grep says nothing
        text = "" if none else self.output(answer)
        return dict(_observation(line) for form in ENDED for line in form.finditer(text))

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], *LISTING, f"--name={mark}"]

    def cancel_command(self, ids: Ids) -> list[str]:
        return [*self.commands["cancel"], *_names(ids)]

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        if verb not in ("hold", "release"):
            return None  # suspending is for operators
        return [*self.commands["change"], verb, ",".join(_names(ids))]

    def ping_command(self) -> list[str]:
        return [*self.commands["ping"], "ping"]


def _observation(line: re.Match[str]) -> tuple[tuple[str, int], Observation]:
    word, reason = line["word"], line["reason"].replace("None", "")
    state = STATES.get(word, State.UNKNOWN)
    code = signal = None
    if word in REASONS:  # which says more than an exit code, as nobody exited
        reason = REASONS[word]
    elif state.final:
        code, signal = _end(line["exit"])
        if word == "COMPLETED" and code == 0:
            state = State.COMPLETED
        elif code == 0:  # so Slurm could not even start it
            code = None
        reason = reason if code is signal is None else ""
    elif state is State.SUBMITTED and ("held" in reason.lower() or reason.startswith("JobHold")):
        state = State.HELD
    elif state is State.SUBMITTED:
        reason = reason if NEVER.fullmatch(reason) else ""  # else it waits for others to end
    key = line["id"], int(line["index"] or 1)
    return key, Observation(state, line["name"], code, signal, reason, word)


def _end(text: str) -> tuple[int | None, int | None]:
    """Read `code:signal`, or what wait() gives, as squeue tells it. Signals 53 and 125 are words of Slurm's own."""
    first, _, second = text.partition(":")
    code, signal = (int(first), int(second)) if second else (int(first) >> 8, int(first) & 127)
    return (code, None) if not signal else (None, signal if signal < 32 else None)


def _names(ids: Ids) -> list[str]:
    return [f"{id_}_[{','.join(indices)}]" if indices else id_ for id_, indices in by_id(ids).items()]


ADAPTER = Slurm
