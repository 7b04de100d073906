"""OpenPBS and PBS Professional, from 14 on, which list in JSON. Torque and Slurm's qsub have modules of their own.

A server lists the jobs of everybody, and what somebody has in his environment may make that JSON invalid. Most of it is
mended. A site can ask for text instead by saying `-f` itself. From OpenPBS 20 on, text may be that of one account
alone, which is quicker; with JSON, `-u` gives but a table.

    [batch.commands]
    query = ["qstat", "-u", "mcprod", "-f", "-w"]
    find = ["qstat", "-u", "mcprod", "-f", "-w"]
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from jim.adapters.base import Adapter, by_id, option
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, Resources, State

STATES = {
    **dict.fromkeys("QWTM", State.SUBMITTED),  # queued; waiting for a time; on the way to, or with, another server
    "H": State.HELD,
    "R": State.RUNNING,
    "E": State.COMPLETING,
    **dict.fromkeys("SU", State.SUSPENDED),
    **dict.fromkeys("FXC", State.FAILED),  # ended, so is a member of an array, so does Torque say; unless it exited 0
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
SIGNALS_ABOVE = 256  # an exit status above it is a signal
UNKNOWN_JOB, ENDED_JOB = 153, 35  # exit codes, given for one of several ids, too
NO_HISTORY = (r"not configured to maintain job history",)
NO_HISTORY_CODES = 0, 36  # of the server's 36 qstat itself makes a 0
# What is mended of JSON. qstat has written environments as they are, and as a number whatever strtod() takes: 005, .5,
# inf, nothing at all. The tokens are a string, a word, or where a word lacks; within strings, escapes.
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}:,"\n\r\t ]+|:(?=[\n\r\t ]*[,}])', re.DOTALL)
ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
NOT_JSON = "if that goes on, `qstat -f -w` in [batch.commands] asks for text instead, see docs/adapters.md"
JSON = ("-F", "json")
# In a listing that is text each job has a head, then attributes, each a line; long ones go on in lines that begin with
# a tab, but for those of Slurm's qstat, where attributes do. A name, which the owner follows, an environment and the
# words of a submission may hold anything, even what looks like another line: what comes first counts. But a second name
# is that of a job whose head is lost.
HEAD = "Job Id:"
JOB = re.compile(
    r"(?P<id>[0-9]+(?:\[[0-9]*\])?(?:\.\S+)?)\n[ \t]+Job_Name = (?P<name>(?s:.*?))\n(?=[ \t]+Job_Owner = )"
    r"(?P<told>(?:\t\S+ = .*\n)+|(?: +\S+ = .*\n(?:\t.*\n)*)+)(?P<rest>(?s:.*))"
)
READ = re.compile(r"\n[ \t]+(job_state|[Ee]xit_status|comment|Priority) = (.*)")
FREE = re.compile(r"\n[ \t]+(?:Variable_List|[Ss]ubmit_arg\w*) = ")
NAMED = re.compile(r"\n[ \t]+Job_Name = ")
JOINED = re.compile(r" = .*(?:\t| {4})\S+ = ")  # two of them in a line
# What is read of JSON, which has some twenty of a job.
TOLD = {"Job_Name": "job_name", "job_state": "job_state", "Exit_status": "exit_status", "comment": "comment"}
Facts = Mapping[str, str]  # what is told of a job, names in lower case
ID, INDEX = re.compile(r"[0-9]+(?:\[([0-9]+)\])?(?:\..+)?"), re.compile(r"\[[0-9]+\]")
COMMANDS: dict[str, tuple[str, ...]] = {
    "submit": ("qsub",),
    **dict.fromkeys(("query", "history", "find", "ping"), ("qstat",)),
    "cancel": ("qdel",),
    "hold": ("qhold",),
    "release": ("qrls",),
}


class Pbs(Adapter):
    """A batch id is `4.server`, or `4[].server` for an array, whose member 2 is `4[2].server`."""

    name = "pbs"
    commands = COMMANDS
    index_variable, id_variable = "PBS_ARRAY_INDEX", "PBS_JOBID"
    array_limit, name_length = 10_000, 230  # max_array_size is the server's own
    # Of a request that was sent: a connection that was never made says so in front.
    unclear: tuple[str, ...] = (
        r"(?m)^(?!.*cannot connect to server).*(premature end of (message|file)|end of file|protocol (failure|error))",
    )
    full: tuple[str, ...] = (
        r"maximum number of jobs\b.* already in (queue|complex)",
        r"would exceed (queue .*|complex)'s per-\w+ limit",  # the others are limits on resources, of all his jobs
        r"array job exceeds",
    )
    transient: tuple[str, ...] = (
        r"cannot connect to server",
        r"connection refused|no free connections|connection table full|server shutting down",
        r"would exceed .*limit",  # own jobs must end first
        r"pbs_iff: |(invalid|expired) credential",
        r"queue is not enabled|resource temporarily unavailable|failed to save job",
    )
    permanent: tuple[str, ...] = (
        r"unknown (queue|resource)|access to queue is denied|no default queue",
        r"unauthorized request",
        r"illegal attribute or resource value|undefined attribute|cannot set attribute",
        r"violates queue and/or server resource limits|resource limit exceeds|rejected by all possible destinations",
        r'resource invalid in "select"|cannot be used with "?select|without "select"|duplicated resource within',
        r"invalid account",
        r"illegal -\w value|invalid option|usage: q|name (is )?too long|jobscript size exceeded",
        r"script.*: no such file",
    )
    gone: tuple[str, ...] = (r"unknown job id", r"job has finished")

    # -f: no qsub stays behind in the background, to hand over the next jobs. -S: not the account's login shell.
    submitting: tuple[str, ...] = ("-f", "-S", "/bin/sh", "-m", "n", "-j", "oe", "-o", "/dev/null")
    reasons: Mapping[int, str] = REASONS
    printed_id = r"[1-9][0-9]*(?:\[\])?\.[\w.-]+"
    listing: tuple[str, ...] = ("-t", "-f", *JSON)
    ended: tuple[str, ...] = ("-x",)

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        # Ours come last, for the last one counts. The job gets the account's environment: no -V.
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
        """Write a word as the submit command wants it."""
        return word

    def wanted(self, asked: Resources) -> Iterator[str]:
        """Give the resources to ask for. None of PBS's own is the disk: the site's words may ask for it."""
        if asked.wall_seconds:
            yield f"walltime={asked.wall_seconds}"
        if asked.cores or asked.memory_mb:
            memory = f":mem={asked.memory_mb}mb" if asked.memory_mb else ""
            yield f"select=1:ncpus={asked.cores or 1}{memory}"

    def array(self, size: int) -> list[str]:
        """Ask for an array. PBS takes none that it may not run again, and none of one: claims do the rest."""
        return ["-r", "y", "-J", f"1-{size}"] if size > 1 else ["-r", "n"]

    def parse_submit(self, answer: Answer) -> str:
        found = re.search(rf"^({self.printed_id})\n\Z", self.output(answer), re.ASCII | re.MULTILINE)
        if not found:
            raise Unclear(answer.facts())
        return found[1]

    def batch_id(self, told: str) -> str:
        return INDEX.sub("[]", told)

    def query_command(self) -> list[str]:
        return [*self.commands["query"], *self._form("query")]

    def parse_query(self, answer: Answer) -> Listing:
        return self._seen(answer, self.output(answer), self._form("query"))

    def history_command(self, ids: Sequence[str]) -> list[str]:
        return [*self.commands["history"], *self.ended, *self._form("history"), *ids]

    def parse_history(self, answer: Answer) -> Listing:
        if answer.code in NO_HISTORY_CODES and self.says(NO_HISTORY, answer.err):
            return {}
        some_unknown = answer.code in (UNKNOWN_JOB, ENDED_JOB)
        return self._seen(answer, answer.out if some_unknown else self.output(answer), self._form("history"))

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], *self._form("find")]

    def cancel_command(self, ids: Ids) -> list[str]:
        return [*self.commands["cancel"], *self.names(ids)]

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        if verb not in ("hold", "release"):
            return None  # suspending is for operators
        return [*self.commands[verb], *dict.fromkeys(id_ for id_, _ in ids)]  # of an array, only the whole

    def ping_command(self) -> list[str]:
        return [*self.commands["ping"], "-B"]

    def names(self, ids: Ids) -> list[str]:
        """Name jobs, and members of arrays as ranges."""
        return [id_.replace("[]", f"[{each}]") for id_, runs in by_id(ids).items() for each in runs or [""]]

    def word(self, id_: str, jobs: Mapping[str, Facts]) -> str:
        """Give the word for a job's state. Of an array only the whole can be held."""
        word = jobs[id_]["job_state"]
        return "H" if word == "Q" and jobs.get(self.batch_id(id_), {}).get("job_state") == "H" else word

    def mark(self, name: str, index: str | None) -> str:
        """Give the name under which a job was submitted; `index` is that of a member of an array."""
        return name

    def _form(self, command: str) -> tuple[str, ...]:
        """Give the options that a listing is asked for with. A site that says -f itself gets it as text."""
        as_text = "-f" in self.commands[command]
        return tuple(word for word in self.listing if not (as_text and word in JSON))

    def _seen(self, answer: Answer, text: str, form: Sequence[str]) -> Listing:
        in_json = set(JSON) <= set(form) and not text.startswith(HEAD)
        try:
            jobs, listing = _from_json(text) if in_json else _from_text(text), {}
            for id_, job in jobs.items():
                named = ID.fullmatch(id_)
                if named:
                    mark, word = self.mark(job["job_name"], named[1]), self.word(id_, jobs)
                    listing[self.batch_id(id_), int(named[1] or 1)] = _observation(job, mark, word, self.reasons)
            return listing
        except json.JSONDecodeError as error:
            raise Unclear(f"{answer.facts()}; {NOT_JSON}") from error
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise Unclear(answer.facts()) from error


def _from_json(text: str) -> dict[str, Facts]:
    """Read what is told of each job, or raise ValueError. Nothing is completed: what was cut off stays cut off."""
    try:
        told = json.loads(text, strict=False)  # environments may hold control characters
    except ValueError:
        told = json.loads(TOKEN.sub(_mended, text), strict=False)
    if "pbs_version" not in told:
        raise ValueError(text)
    jobs = told.get("Jobs", {})
    return {id_: {ours: str(job[name]) for name, ours in TOLD.items() if name in job} for id_, job in jobs.items()}


def _mended(token: re.Match[str]) -> str:
    """Write a token as JSON wants it: a backslash that escapes nothing stands for itself, a word is a string."""
    if token[0].startswith('"'):
        return ESCAPE.sub(lambda found: found[0] if found[1] else r"\\", token[0])
    return ':""' if token[0] == ":" else json.dumps(token[0])


def _from_text(text: str) -> dict[str, Facts]:
    """Read what is told of each job, or raise ValueError: a line that was spoilt must not cost a job."""
    if text and not (text.startswith(HEAD) and text.endswith("\n\n")):
        raise ValueError(text)
    blocks = [JOB.fullmatch(block) for block in re.split(rf"^{HEAD}[ \t]*", text, flags=re.MULTILINE)[1:]]
    jobs = {block["id"]: _facts(block) for block in blocks if block}
    servers = Counter(id_.partition(".")[2] for id_ in jobs)
    cut = any(servers[one] == 1 and other.startswith(one) for one, other in permutations(servers, 2))
    if cut or not all(blocks):
        raise ValueError(text)
    return jobs


def _facts(job: re.Match[str]) -> Facts:
    told, rest = job["told"], job["rest"]
    free = FREE.search(told)
    if JOINED.search(told, 0, free.start() if free else len(told)):
        raise ValueError(job[0])
    if rest.strip() and (not free or NAMED.search(told + rest)):
        raise ValueError(job[0])
    return {name.lower(): value for name, value in reversed(READ.findall(told + rest))} | {"job_name": job["name"]}


def _observation(job: Facts, mark: str, word: str, reasons: Mapping[int, str]) -> Observation:
    state, status = STATES.get(word, State.UNKNOWN), int(job.get("exit_status", 0))
    if state is not State.FAILED:
        comment = job.get("comment", "")
        never = state is State.SUBMITTED and comment.startswith("Can Never Run")
        return Observation(state, mark, reason=comment if never else "", word=word)
    if "exit_status" not in job:
        return Observation(state, mark, reason=job.get("comment", ""), word=word)
    if status < 0:
        return Observation(state, mark, reason=reasons.get(status, f"exit status {status}"), word=word)
    if status > SIGNALS_ABOVE:
        return Observation(state, mark, signal=status - SIGNALS_ABOVE, word=word)
    return Observation(State.FAILED if status else State.COMPLETED, mark, code=status, word=word)


ADAPTER = Pbs
