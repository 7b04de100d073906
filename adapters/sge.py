"""Son of Grid Engine 8.1: qsub, qstat, qdel, qalter, qconf, and the accounting file.

Other batch systems also have a qsub, so each command has its full path and its variables. A site with other paths than
Debian's gives them command by command:

    [batch.commands]
    submit = ["env", "SGE_ROOT=/opt/sge", "SGE_CELL=default", "/opt/sge/bin/lx-amd64/qsub"]
    history = ["grep", "-hE", "/opt/sge/default/common/accounting"]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from xml.parsers import expat

from jim.adapters.base import COUNT, LICENCES, TERMS, DeclaredAdapter, by_id, option
from jim.adapters.listings import scheduler_messages
from jim.adapters.messages import sge as messages
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, Resources, State

ROOT, CELL = "/var/lib/gridengine", "default"


def installed(name: str) -> tuple[str, ...]:
    """Return the path of a Grid Engine program, as Debian installs it."""
    return "env", f"SGE_ROOT={ROOT}", f"SGE_CELL={CELL}", f"/usr/lib/gridengine/{name}"


COMMANDS = {
    "submit": installed("qsub"),
    **dict.fromkeys(("query", "find", "nodes", "pending"), installed("qstat")),
    "history": ("grep", "-hE", f"{ROOT}/{CELL}/common/accounting"),
    "cancel": installed("qdel"),
    "change": installed("qalter"),
    **dict.fromkeys(("ping", "queues"), installed("qconf")),
}
CHANGES = {"hold": ("-h", "u"), "release": ("-h", "U")}  # only operators may suspend
# A request must not change by name what JIM or the site limits.
NO_LIMIT = (
    r"(?!(.*,)?(?i:h_|s_|hostname|qname|slots|num_proc|[hqs]\b|p\b|gpu\b|"
    r"(\w*mem|virtual|swap)_(free|total|used|rsvd|size)|(m_)?mem\b|mem_?(req|limit)|mfree|[mvs][ftusr]\b))"
)
LISTING = re.compile(r"<\?xml[^>]*>\s*<job_info\b")
FIELD = re.compile(r"<(JB_job_number|JB_name|state|tasks)>([^<]*)</")
BETWEEN = re.compile(r"</[^>]*>\s*[^<\s]")  # text that may only begin another field: a field with it is damaged
# d: being deleted; R: restarted; h: on hold, which does not stop what runs.
STATES = (
    (r"E[hR]*(qw|wq)", State.FAILED),  # it could not start; it stays until it is deleted or cleared
    (r"hR?(qw|wq)", State.HELD),
    (r"R?(qw|wq|q)", State.SUBMITTED),
    (r"d?h?R?[rt]?[sST]", State.SUSPENDED),
    (r"d?h?R?[rt]", State.RUNNING),
)


class Sge(DeclaredAdapter):
    """Every submission is an array: in other jobs SGE_TASK_ID is not a number."""

    name = "sge"
    commands = COMMANDS
    index_variable, id_variable, restart_variable = "SGE_TASK_ID", "JOB_ID", "RESTARTED"
    can_avoid, capacity = True, "sge"
    array_limit = 75_000
    end_is_death = True  # execd writes the accounting of a job, which qacct reads, once all its processes are dead
    # The names depend on the site; these are the usual ones. Memory is counted for each slot.
    parallel_environment, memory_resource, gpu_resource = "smp", "h_vmem", "gpu"
    special: Mapping[str, str] = {"gpus": COUNT, "constraint": NO_LIMIT + TERMS, "licences": NO_LIMIT + LICENCES}
    unclear, full, transient = messages.UNCLEAR, messages.FULL, messages.TRANSIENT
    permanent, gone = messages.PERMANENT, messages.GONE
    printed = r"^{id}\.1-[0-9]+:1\n\Z"
    listing, pinging = ("-xml", "-g", "d", "-u", "$user"), ("-sss",)  # qstat itself replaces $user
    changing = CHANGES
    histories = ("accounting", "qacct")

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        # JIM's words come last, because the last one counts. There is no option for disk space; the site's words may
        # have one.
        return [
            *self.commands["submit"],
            *batch.options,
            *option("-q", asked.queue),
            *option("-P", asked.account),
            *(["-pe", self.parallel_environment, str(asked.cores)] if (asked.cores or 1) > 1 else []),
            *option("-l", asked.wall_seconds and f"h_rt={asked.wall_seconds}"),
            *option("-l", asked.memory_mb and f"{self.memory_resource}={-(-asked.memory_mb // (asked.cores or 1))}M"),
            *(word for name, value in self.wanted(asked) for word in option("-l", f"{name}={value}")),
            *option("-l", f"hostname=!({'|'.join(batch.avoid)})" if batch.avoid else None),
            *("-terse", "-r", "n", "-N", batch.mark, "-t", f"1-{batch.size}"),
            # No -notify: it warns of SIGKILL, but also of SIGSTOP, so every suspension would end the job.
            *("-S", "/bin/sh", "-wd", "/", "-j", "y", "-o", "/dev/null"),
            batch.script,
        ]

    def wanted(self, asked: Resources) -> list[tuple[str, str]]:
        """Return what else is asked for; a resource without a value is one that a host has or not."""
        gpus = self.need("gpus", asked)
        terms = [(name, value or "true") for name, value in self.terms(asked)]
        return [*terms, *([(self.gpu_resource, gpus)] if gpus else []), *self.licences(asked)]

    def parse_query(self, answer: Answer) -> Listing:
        text = self.output(answer)
        text = text[max(0, text.find("<?xml")) :]
        if not LISTING.match(text) or "<!" in text or BETWEEN.search(text):  # no document type, so no entities
            raise Unclear(answer.facts())
        try:
            # The parser proves that the XML is whole, so the fields can be found by a pattern: a tree takes three times
            # as long.
            expat.ParserCreate().Parse(text, True)
            return dict(_listed(dict(FIELD.findall(job))) for job in text.split("<job_list")[1:])
        except (expat.ExpatError, KeyError, ValueError) as error:
            raise Unclear(answer.facts()) from error

    def waits_command(self) -> list[str]:
        return [*self.commands["query"], "-xml", "-j"]  # without an id: the scheduler's words about all jobs

    def parse_waits(self, answer: Answer) -> Mapping[str, str]:
        try:
            return scheduler_messages.read(self.output(answer))
        except ValueError as error:
            raise Unclear(answer.facts()) from error

    def names(self, ids: Ids) -> list[str]:
        return [name for id_, indices in by_id(ids).items() for name in [f"{id_}.{each}" for each in indices] or [id_]]


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


ADAPTER = Sge
