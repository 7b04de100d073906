"""Slurm, tested with 22.05: sbatch, squeue, scancel, scontrol."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jim.adapters.base import COUNT, NAME, DeclaredAdapter, by_id, option
from jim.adapters.messages import slurm as messages
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

COMMANDS = {
    "submit": ("sbatch",),
    **dict.fromkeys(("query", "history", "find", "pending"), ("squeue",)),
    "cancel": ("scancel",),
    **dict.fromkeys(("change", "ping"), ("scontrol",)),
    "nodes": ("sinfo",),
}
# Words that tell more about an end than the exit code does.
ENDS_BY_WORD = {
    "TIMEOUT": (State.FAILED, "time limit"),
    "OUT_OF_MEMORY": (State.FAILED, "out of memory"),
    "NODE_FAIL": (State.FAILED, "the node failed"),
    "BOOT_FAIL": (State.FAILED, "the node did not boot"),
    "DEADLINE": (State.FAILED, "deadline"),
    "PREEMPTED": (State.FAILED, "preempted"),
    "CANCELLED": (State.KILLED, "cancelled"),
}
STATES = {word: state for word, (state, _) in ENDS_BY_WORD.items()} | {
    "PENDING": State.SUBMITTED,
    "CONFIGURING": State.SUBMITTED,
    "REQUEUED": State.SUBMITTED,
    "REQUEUE_HOLD": State.HELD,
    "SPECIAL_EXIT": State.HELD,
    "RUNNING": State.RUNNING,
    "COMPLETING": State.RUNNING,  # some of its processes may still live
    "STAGE_OUT": State.RUNNING,
    "SIGNALING": State.RUNNING,
    "RESIZING": State.RUNNING,
    "SUSPENDED": State.SUSPENDED,
    "STOPPED": State.SUSPENDED,
    "COMPLETED": State.FAILED,  # `observation` asks for exit code 0 as well
    "FAILED": State.FAILED,
}
LISTING = ("--me", "--states=all", "--array", "--Format=JobArrayID:|,State:|,exit_code:|,Reason:|,Name:|.")
HEADER = re.compile(r"^JOBID\|(?:[^|\n]*\|){4}\.\n", re.MULTILINE)
FIELDS = (
    r"(?P<id>[0-9]+)(?:_(?P<index>[0-9]+))?\|(?P<word>[A-Z_]+)[^|\n]*\|"
    r"(?P<exit>-?[0-9]+(:[0-9]+)?)\|(?P<reason>[^|\n]*)\|"
)
# A name may hold anything, even a newline, so the name comes last, and each line ends with a mark. If a name contains
# what looks like another job, the line has lost its end. An id such as 500+0 is part of a heterogeneous job, which JIM
# never submits.
LISTED = re.compile(r"(?P<part>[0-9]+\+)?" + FIELDS + r"(?P<name>.*?)\|\.\n", re.DOTALL)
JOB = re.compile(FIELDS)
LICENCE = rf"{NAME}(@[\w.-]{{1,64}})?(:{COUNT})?"  # slurmdbd adds the name of its server to a licence that it counts
FEATURE = r"[A-Za-z][\w.:+-]{0,63}"
# Names with commas, all of which a node must have; or an expression of Slurm's own. Commas in an expression would mean
# something else than they say: Slurm reads `a&b|c` from the left.
FEATURES = rf"{FEATURE}(,{FEATURE}){{0,19}}|[(\[!]{{0,4}}[A-Za-z][\w.:+&|!*()\[\]-]{{0,200}}"


class Slurm(DeclaredAdapter):
    """Every submission is an array, so every job has an array id and an index."""

    name = "slurm"
    commands = COMMANDS
    index_variable, id_variable = "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID"
    restart_variable = "SLURM_RESTART_COUNT"
    can_avoid, capacity = True, "slurm"
    # Features have no values.
    special: Mapping[str, str] = {
        "gpus": COUNT,
        "constraint": FEATURES,
        "licences": rf"{LICENCE}(,{LICENCE}){{0,19}}",
    }
    whole_node = ("--exclusive", "--mem=0")
    array_limit = 1000  # MaxArraySize is 1001 by default, and counts 0
    # end_is_death stays false: the accounting may report the end of a job that still runs, on a node out of reach.
    unclear, full, transient = messages.UNCLEAR, messages.FULL, messages.TRANSIENT
    permanent, gone = messages.PERMANENT, messages.GONE
    printed = r"^{id}(;.+)?\n\Z"
    listing, finding, pinging = LISTING, (*LISTING, "--name={mark}"), ("ping",)
    histories = ("squeue", "jobcomp", "sacct")

    def submit_command(self, batch: Batch) -> list[str]:
        asked, gpus = batch.resources, self.need("gpus", batch.resources)
        # JIM's arguments come last: of two equal ones, the last counts.
        return [
            *self.commands["submit"],
            *batch.options,
            *option("--partition=", asked.queue),
            *option("--account=", asked.account),
            *option("--cpus-per-task=", asked.cores),
            *option("--mem=", asked.memory_mb, "M"),
            *option("--tmp=", asked.disk_mb, "M"),
            *option("--gres=", f"gpu:{gpus}" if gpus else None),
            *option("--constraint=", self.need("constraint", asked).replace(",", "&") or None),
            *option("--licenses=", self.need("licences", asked) or None),
            *option("--time=", asked.wall_seconds and -(-asked.wall_seconds // 60)),  # in minutes, as in Slurm
            *option("--exclude=", ",".join(each.partition(".")[0] for each in batch.avoid) or None),  # nodes, not hosts
            *("--parsable", "--no-requeue", f"--job-name={batch.mark}", f"--array=1-{batch.size}"),
            # JIM's environment is scrubbed; any other word makes Slurm start a login shell for each job.
            *("--export=ALL", "--chdir=/", "--output=/dev/null", "--error=/dev/null"),
            batch.script,
        ]

    def parse_query(self, answer: Answer) -> Listing:
        text = self.output(answer)
        line = HEADER.search(text)
        if not line:
            raise Unclear(answer.facts())
        seen, end = {}, line.end()
        while end < len(text):
            line = LISTED.match(text, end)  # begins where the last match ended: nothing is skipped
            if not line or JOB.search(line["name"]):
                raise Unclear(answer._replace(out=text[end:].partition("\n")[0], err="").facts())
            end = line.end()
            if not line["part"]:
                key, job = observation(line)
                seen[key] = job
        return seen

    def names(self, ids: Ids) -> list[str]:
        return [f"{id_}_[{','.join(indices)}]" if indices else id_ for id_, indices in by_id(ids).items()]

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        if verb not in ("hold", "release"):
            return None  # only operators may suspend
        return [*self.commands["change"], verb, ",".join(self.names(ids))]


def observation(line: re.Match[str]) -> tuple[tuple[str, int], Observation]:
    """Read a line about a job: the groups id, index, word, exit, reason and name."""
    word, reason = line["word"], line["reason"].replace("None", "")
    state = STATES.get(word, State.UNKNOWN)
    code = signal = None
    waits = ""
    if word in ENDS_BY_WORD:
        state, reason = ENDS_BY_WORD[word]
    elif state.final:
        code, signal = _code_and_signal(line["exit"])
        if word == "COMPLETED" and code == 0:
            state = State.COMPLETED
        elif code == 0:  # so Slurm could not even start it
            code = None
        reason = "" if code is not None or signal is not None else reason
    elif state is State.SUBMITTED and ("held" in reason.lower() or reason.startswith("JobHold")):
        state = State.HELD
    elif state is State.SUBMITTED and not messages.WAITS_FOR_EVER.fullmatch(reason):
        reason, waits = "", reason  # it waits for others to end
    key = line["id"], int(line["index"] or 1)
    return key, Observation(state, line["name"], code, signal, reason, word, waits=waits)


def _code_and_signal(text: str) -> tuple[int | None, int | None]:
    """Read `code:signal`, or squeue's value of wait(). Signals 53, 125 and 127 (of -1) are Slurm's own words."""
    first, _, second = text.partition(":")
    code, signal = (int(first), int(second)) if second else (int(first) >> 8, int(first) & 127)
    return (code, None) if not signal else (None, signal if signal < 32 else None)


ADAPTER = Slurm
