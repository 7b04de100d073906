"""Grid Engine, as Son of Grid Engine 8.1 speaks: qsub, qstat, qdel, qalter, qconf; its accounting file.

Three families of commands are called qsub, so each is named by its path, with the variables that they need. A site
that is not as Debian installs it says so, command by command:

    [batch.commands]
    submit = ["env", "SGE_ROOT=/opt/sge", "SGE_CELL=default", "/opt/sge/bin/lx-amd64/qsub"]
    history = ["grep", "-hE", "/opt/sge/default/common/accounting"]     # or the words of qacct
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from xml.parsers import expat

from jim.adapters.base import Adapter, by_id, option
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

ROOT, CELL = "/var/lib/gridengine", "default"
PROGRAMS = {"submit": "qsub", "query": "qstat", "find": "qstat", "cancel": "qdel", "change": "qalter", "ping": "qconf"}
COMMANDS = {
    verb: ("env", f"SGE_ROOT={ROOT}", f"SGE_CELL={CELL}", f"/usr/lib/gridengine/{program}")
    for verb, program in PROGRAMS.items()
} | {"history": ("grep", "-hE", f"{ROOT}/{CELL}/common/accounting")}
NOT_THERE = re.compile(r"error: job id [0-9]+ not found")
QACCT = 'ids=$1; shift; for id in $ids; do "$@" -j "$id"; done; :'  # it takes one job a call
LISTING = re.compile(r"<\?xml[^>]*>\s*<job_info\b")
FIELD = re.compile(r"<(JB_job_number|JB_name|state|tasks)>([^<]*)</")
BETWEEN = re.compile(r"</[^>]*>\s*[^<\s]")  # text where only another field may begin: that one was spoilt
# d: being deleted; R: restarted; h: on hold, which does not stop what runs.
STATES = (
    (r"E[hR]*(qw|wq)", State.FAILED),  # it could not be started; it stays until it is deleted or cleared
    (r"hR?(qw|wq)", State.HELD),
    (r"R?(qw|wq|q)", State.SUBMITTED),
    (r"d?h?R?[rt]?[sST]", State.SUSPENDED),
    (r"d?h?R?[rt]", State.RUNNING),
)
# What stands in the accounting file under "failed".
REASONS = {"0": "", "100": "", "37": "time or memory limit"}
NEVER_RAN = {
    "26": "its output file could not be opened",
    "27": "its shell was not found",
    "28": "its directory could not be entered",
}
RUNS_AGAIN = ("24", "25")
# accounting(5): name, id, failed, exit_status, ru_maxrss, task.
ENDED = re.compile(
    r"^(?:[^:\n]*:){4}(?P<name>[^:\n]*):(?P<id>[0-9]+):(?:[^:\n]*:){5}(?P<failed>[0-9]+):(?P<status>[0-9]+):"
    r"(?:[^:\n]*:){3}(?P<memory>[0-9]+)\.[0-9]+:(?:[^:\n]*:){18}(?P<index>[0-9]+):.*\n",
    re.MULTILINE,
)
# And qacct: the same in lines of their own, a line of = before each job.
SAID = {"jobname": "name", "jobnumber": "id", "taskid": "index", "failed": "failed", "exit_status": "status"}
SAID |= {"ru_maxrss": "memory", "maxvmem": "after all these"}


class Sge(Adapter):
    """Every submission is an array: SGE_TASK_ID is no number in a job that is none."""

    name = "sge"
    commands = COMMANDS
    index_variable, id_variable, restart_variable = "SGE_TASK_ID", "JOB_ID", "RESTARTED"
    can_avoid = True
    array_limit = 75_000
    end_is_death = True  # as parse_history sees to it
    # The names of both are the site's; these are usual. Such memory is counted for each slot.
    parallel_environment, memory_resource = "smp", "h_vmem"
    # A qmaster that was asked, and did not answer, is looked for once more, and what came of that is said. So only who
    # was refused a connection, and had lost none before, has certainly not asked.
    unclear = (
        r"commlib error: (?!got select error \(connection refused\)|access denied)",
        r"(?s)\A(?!.*commlib error: ).*unable to (contact|send message to) ",
        r"failed (sending|receiving) gdi request|gdi mismatch",
    )
    full = (r"submit a job with more than [0-9]+ tasks",)
    transient = (
        r"only [0-9]+ jobs are allowed per (user|cluster)",  # an array counts as one: smaller ones only make more
        r"commlib error: (got select error \(connection refused\)|access denied)",
        r"unable to initialize environment because of error",
        r"JSV temporarily rejected job|rejected because it (can't|couldn't) be written",
    )
    permanent = (
        r"JSV rejected job",
        r"job (was )?rejected",
        r"unable to run job: (unknown resource|attribute .* is not a)",
        r"no suitable queues",
        r"unable to read script file",
        r"invalid option argument",
        r"not have the necessary privileges",
    )
    gone = (r"job \S+ does not exist", r"task \S+ does not exist", r"already in deletion")

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        # Ours come last, for the last one counts. No option says how much disk is wanted: the site's words may.
        return [
            *self.commands["submit"],
            *batch.options,
            *option("-q", asked.queue),
            *option("-P", asked.account),
            *(["-pe", self.parallel_environment, str(asked.cores)] if (asked.cores or 1) > 1 else []),
            *option("-l", asked.wall_seconds and f"h_rt={asked.wall_seconds}"),
            *option("-l", asked.memory_mb and f"{self.memory_resource}={-(-asked.memory_mb // (asked.cores or 1))}M"),
            *option("-l", f"hostname=!({'|'.join(batch.avoid)})" if batch.avoid else None),
            *("-terse", "-r", "n", "-N", batch.mark, "-t", f"1-{batch.size}"),
            # No -notify: it warns of SIGKILL, but also of SIGSTOP, and would turn every suspension into an end.
            *("-S", "/bin/sh", "-wd", "/", "-j", "y", "-o", "/dev/null"),
            batch.script,
        ]

    def parse_submit(self, answer: Answer) -> str:
        found = re.search(r"^([1-9][0-9]*)\.1-[0-9]+:1\n\Z", self.output(answer), re.MULTILINE)
        if not found:
            raise Unclear(answer.facts())
        return found[1]

    def query_command(self) -> list[str]:
        return [*self.commands["query"], "-xml", "-g", "d", "-u", "$user"]  # qstat itself replaces $user

    def parse_query(self, answer: Answer) -> Listing:
        text = self.output(answer)
        text = text[max(0, text.find("<?xml")) :]
        if not LISTING.match(text) or "<!" in text or BETWEEN.search(text):  # no document type, so no entities
            raise Unclear(answer.facts())
        try:
            # The parser proves that it is whole, and by that its fields can be told: a tree takes three times as long.
            expat.ParserCreate().Parse(text, True)
            return dict(_listed(dict(FIELD.findall(job))) for job in text.split("<job_list")[1:])
        except (expat.ExpatError, KeyError, ValueError) as error:
            raise Unclear(answer.facts()) from error

    @property
    def most_asked(self) -> int:
        """Few of qacct, which reads the whole of the file for each."""
        return 10 if self.asks_history_of("qacct") else super().most_asked

    def history_command(self, ids: Sequence[str]) -> list[str]:
        words = self.commands["history"]
        if self.asks_history_of("qacct"):
            return ["sh", "-c", QACCT, "qacct", " ".join(ids), *words]
        return [*words, "-e", f"^([^:]*:){{5}}({'|'.join(ids)}):"]

    def parse_history(self, answer: Answer) -> Listing:
        text = "" if answer.code == 1 and not answer.err else self.output(answer)  # so grep says that there is nothing
        ends = _accounted(answer) if self.asks_history_of("qacct") else map(re.Match.groupdict, ENDED.finditer(text))
        # Whoever reaped the job knows what memory it used. Other ends are only somebody's word: a job that was deleted
        # by force, or whose shepherd died, may live on. The former even stands there with exit 0.
        told = [end for end in ends if re.search("[1-9]", end["memory"]) or end["failed"] in NEVER_RAN]
        return dict(_ended(end) for end in told if end["failed"] not in RUNS_AGAIN)

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], "-xml", "-g", "d", "-u", "$user"]

    def cancel_command(self, ids: Ids) -> list[str]:
        return [*self.commands["cancel"], *_names(ids)]

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        if verb not in ("hold", "release"):
            return None  # suspending is for operators
        return [*self.commands["change"], "-h", "u" if verb == "hold" else "U", *_names(ids)]

    def ping_command(self) -> list[str]:
        return [*self.commands["ping"], "-sss"]


def _listed(job: dict[str, str]) -> tuple[tuple[str, int], Observation]:
    word = job["state"]
    state = _state(word)
    reason = f"{word}: it could not be started; qstat -j {job['JB_job_number']} says why" if state.final else ""
    return (job["JB_job_number"], int(job.get("tasks", "1"))), Observation(
        state, job["JB_name"], reason=reason, word=word, stays=state.final
    )


@cache
def _state(word: str) -> State:
    return next((state for pattern, state in STATES if re.fullmatch(pattern, word)), State.UNKNOWN)


def _accounted(answer: Answer) -> Iterator[dict[str, str]]:
    """Read what qacct says of each job, whole or not at all."""
    if not all(NOT_THERE.fullmatch(line) for line in answer.err.splitlines()):
        raise Unclear(answer.facts())
    first, *jobs = re.split(r"^={20,}\n", answer.out, flags=re.MULTILINE)
    for job in jobs:
        facts = dict(re.findall(r"^(\w+) +([^\s]+)", job, re.MULTILINE))
        if first or not SAID.keys() <= facts.keys() or not facts["exit_status"].isdecimal():
            raise Unclear(answer.facts())
        facts["taskid"] = facts["taskid"] if facts["taskid"].isdecimal() else "1"  # of a job that is no array
        yield {SAID[name]: facts[name] for name in SAID}


def _ended(line: Mapping[str, str]) -> tuple[tuple[str, int], Observation]:
    failed, status = line["failed"], int(line["status"])
    code = status if failed == "0" else None
    signal = status - 128 if failed != "0" and status > 128 else None
    reason = (REASONS | NEVER_RAN).get(failed, f"Grid Engine's failure {failed}")
    state = State.COMPLETED if code == 0 else State.FAILED
    key = line["id"], max(1, int(line["index"]))
    return key, Observation(state, line["name"], code, signal, reason, f"failed {failed}")


def _names(ids: Ids) -> list[str]:
    return [name for id_, indices in by_id(ids).items() for name in [f"{id_}.{each}" for each in indices] or [id_]]


ADAPTER = Sge
