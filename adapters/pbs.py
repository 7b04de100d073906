"""OpenPBS and PBS Professional from version 14, with listings in JSON. Torque and Slurm's qsub have their own modules.

A server lists everybody's jobs, and an environment may make that JSON invalid. JIM repairs most of it. A site can
choose text instead by giving `-f` itself. From OpenPBS 20 on, a listing as text can be limited to one account, which is
faster; with JSON, `-u` prints only a table.

    [batch.commands]
    query = ["qstat", "-u", "mcprod", "-f", "-w"]
    find = ["qstat", "-u", "mcprod", "-f", "-w"]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from jim.adapters.base import COUNT, LICENCES, TERMS, DeclaredAdapter, by_id, option
from jim.adapters.listings.qstat import HEAD, Facts, from_json, from_text
from jim.adapters.messages import pbs as messages
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, Resources, State

STATES = {
    "Q": State.SUBMITTED,
    "W": State.SUBMITTED,  # waits for its start time
    "T": State.SUBMITTED,  # on the way to another server
    "M": State.SUBMITTED,  # with another server
    "H": State.HELD,
    "R": State.RUNNING,
    "E": State.COMPLETING,
    "S": State.SUSPENDED,
    "U": State.SUSPENDED,
    "F": State.FAILED,  # ended, like the following; unless it exited 0
    "X": State.FAILED,  # a member of an array
    "C": State.FAILED,  # as in Torque
}
# A negative exit status is the server's own reason.
REASONS = {
    -1: "could not be started",
    -2: "failed after its files were staged",
    -3: "could not be started, to be tried again",
    -11: "was to be run again",
    -26: "virtual memory limit",
    -27: "memory limit",
    -28: "CPU time limit",
    -29: "wall time limit",
}
SIGNALS_ABOVE = 256  # a higher exit status is a signal
NOT_JSON = "if this goes on, `qstat -f -w` in [batch.commands] asks for text instead"
JSON = ("-F", "json")
ID, INDEX = re.compile(r"[0-9]+(?:\[([0-9]+)\])?(?:\..+)?"), re.compile(r"\[[0-9]+\]")
COMMANDS: dict[str, tuple[str, ...]] = {
    "submit": ("qsub",),
    **dict.fromkeys(("query", "history", "find", "ping", "queues"), ("qstat",)),
    "cancel": ("qdel",),
    "hold": ("qhold",),
    "release": ("qrls",),
    "nodes": ("pbsnodes",),
}
# A request must not change by name what JIM or the site limits.
NO_LIMIT = (
    r"(?!(.*,)?(?i:n?cpus|n?gpus|p?v?mem|\w*put|\w*walltime|select|place|nodes|nodect|host|vnode|file|nice|mpiprocs|"
    r"ompthreads|exec_\w+|preempt_\w+)\b)"
)
CHANGES: dict[str, tuple[str, ...]] = {"hold": (), "release": ()}  # only operators may suspend


class Pbs(DeclaredAdapter):
    """A batch id is `4.server`, or `4[].server` for an array, whose member 2 is `4[2].server`."""

    name = capacity = "pbs"
    commands = COMMANDS
    index_variable, id_variable = "PBS_ARRAY_INDEX", "PBS_JOBID"
    array_limit, name_length = 10_000, 230  # the server has max_array_size
    unclear, full, transient = messages.UNCLEAR, messages.FULL, messages.TRANSIENT
    permanent, gone = messages.PERMANENT, messages.GONE
    pinging: tuple[str, ...] = ("-B",)
    changing = CHANGES
    histories = ("qstat",)
    special: Mapping[str, str] = {"gpus": COUNT, "constraint": NO_LIMIT + TERMS, "licences": NO_LIMIT + LICENCES}
    whole_node: tuple[str, ...] = ("-l", "place=excl")
    # -f: no qsub stays in the background to submit later jobs. -S: not the account's login shell.
    submitting: tuple[str, ...] = ("-f", "-S", "/bin/sh", "-m", "n", "-j", "oe", "-o", "/dev/null")
    reasons: Mapping[int, str] = REASONS
    printed_id = r"[1-9][0-9]*(?:\[\])?\.[\w.-]+"
    listing: tuple[str, ...] = ("-t", "-f", *JSON)
    ended: tuple[str, ...] = ("-x",)

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        # JIM's words come last, because the last one counts. No -V: the job gets the account's environment.
        return [
            *self.commands["submit"],
            *batch.options,
            *option("-q", asked.queue and self.quote(asked.queue)),
            *option("-A", asked.account and self.quote(asked.account)),
            *option("-l", ",".join(self.wanted(asked)) or None),
            *("-N", batch.mark, *self.array(batch.size), *self.submitting),
            self.quote(batch.script),
        ]

    @staticmethod
    def quote(word: str) -> str:
        """Quote a word for the submit command."""
        return word

    def wanted(self, asked: Resources) -> Iterator[str]:
        """Return the resources to request. PBS itself has none for disk; the site's words may have one."""
        if asked.wall_seconds:
            yield f"walltime={asked.wall_seconds}"
        gpus, terms = self.need("gpus", asked), self.terms(asked)
        if asked.cores or asked.memory_mb or gpus or terms:
            more = [f":mem={asked.memory_mb}mb"] * bool(asked.memory_mb) + [f":ngpus={gpus}"] * bool(gpus)
            more += [f":{name}={value or 'True'}" for name, value in terms]
            yield f"select=1:ncpus={asked.cores or 1}{''.join(more)}"
        for name, count in self.licences(asked):
            yield f"{name}={count}"

    def array(self, size: int) -> list[str]:
        """Request an array. PBS refuses arrays of one, and arrays that it may not run again; claims prevent that."""
        return ["-r", "y", "-J", f"1-{size}"] if size > 1 else ["-r", "n"]

    def batch_id(self, told: str) -> str:
        return INDEX.sub("[]", told)

    def query_command(self) -> list[str]:
        return [*self.commands["query"], *self.form("query")]

    def parse_query(self, answer: Answer) -> Listing:
        return self.seen(answer, self.output(answer), "query")

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], *self.form("find")]

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        whole = dict.fromkeys((id_, 0) for id_, _ in ids)  # PBS cannot change a member of an array
        return super().change_command(verb, list(whole))

    def names(self, ids: Ids) -> list[str]:
        """Return the names of jobs, and of members of arrays as ranges."""
        return [id_.replace("[]", f"[{each}]") for id_, runs in by_id(ids).items() for each in runs or [""]]

    def word(self, id_: str, jobs: Mapping[str, Facts]) -> str:
        """Return the word for a job's state. Only a whole array can be held."""
        word = jobs[id_]["job_state"]
        return "H" if word == "Q" and jobs.get(self.batch_id(id_), {}).get("job_state") == "H" else word

    def mark(self, name: str, index: str | None) -> str:
        """Return the name with which a job was submitted; `index` is that of a member of an array."""
        return name

    def form(self, command: str) -> tuple[str, ...]:
        """Return the options for the form of a listing. If the site gives -f itself, the listing is text."""
        as_text = "-f" in self.commands[command]
        return tuple(word for word in self.listing if not (as_text and word in JSON))

    def seen(self, answer: Answer, text: str, command: str) -> Listing:
        """Read a listing."""
        in_json = set(JSON) <= set(self.form(command)) and not text.startswith(HEAD)
        try:
            jobs, listing = from_json(text) if in_json else from_text(text), {}
            for id_, job in jobs.items():
                if named := ID.fullmatch(id_):
                    mark, word = self.mark(job["job_name"], named[1]), self.word(id_, jobs)
                    listing[self.batch_id(id_), int(named[1] or 1)] = _observation(job, mark, word, self.reasons)
            return listing
        except json.JSONDecodeError as error:
            raise Unclear(f"{answer.facts()}; {NOT_JSON}") from error
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise Unclear(answer.facts()) from error


def _observation(job: Facts, mark: str, word: str, reasons: Mapping[int, str]) -> Observation:
    state, status = STATES.get(word, State.UNKNOWN), int(job.get("exit_status", 0))
    if state is not State.FAILED:
        comment = job.get("comment", "") if state is State.SUBMITTED else ""  # else it says since when the job runs
        never = comment.startswith("Can Never Run")
        return Observation(state, mark, reason=comment if never else "", word=word, waits="" if never else comment)
    if "exit_status" not in job or status < 0:
        reason = reasons.get(status, f"exit status {status}") if status else job.get("comment", "")
        return Observation(state, mark, reason=reason, word=word)
    if status > SIGNALS_ABOVE:
        return Observation(state, mark, signal=status - SIGNALS_ABOVE, word=word)
    return Observation(State.FAILED if status else State.COMPLETED, mark, code=status, word=word)


ADAPTER = Pbs
