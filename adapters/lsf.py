"""LSF 10.1, with listings in JSON: bsub, bjobs, bkill, bstop, bresume.

A bjobs that knows the field `pend_reason` also says why jobs wait. One that does not know it lists nothing at all, so a
site asks for it by giving the fields itself:

    [batch.commands]
    query = ["bjobs", "-o", "jobid jobindex stat exit_code exit_reason job_name pend_reason"]
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from jim.adapters.base import COUNT, LICENCES, TERMS, DeclaredAdapter, by_id, option
from jim.adapters.messages import lsf as messages
from jim.errors import Unclear
from jim.model import Answer, Batch, Ids, Listing, Observation, State

STATES = {
    "PEND": State.SUBMITTED,
    "WAIT": State.SUBMITTED,
    "PROV": State.SUBMITTED,
    "PSUSP": State.HELD,
    "RUN": State.RUNNING,
    "USUSP": State.SUSPENDED,
    "SSUSP": State.SUSPENDED,
    "DONE": State.COMPLETED,
    "PDONE": State.COMPLETED,
    "EXIT": State.FAILED,
    "PERR": State.FAILED,
    # UNKWN and ZOMBI mean that the host cannot be reached; the job may still run.
}
# A request must not change by name what JIM or the site limits, nor say where or for how long something is reserved.
NO_LIMIT = (
    r"(?!(.*,)?(?i:mem|maxmem|swp|maxswp|tmp|maxtmp|ngpus\w*|gpu\w*|slots?|ncpus|nprocs|ncores|nthreads|hname|duration|"
    r"decay|any)\b)"
)
FIELDS = ("-o", "jobid jobindex stat exit_code exit_reason job_name", "-json")
NONE_FOUND = (r"^No (unfinished |matching )?job found", r"^Job <\S+> is not found")
SIGNALS_ABOVE = 128  # a higher exit code is a signal
NOT_DONE = 255  # the exit code of any failure, such as one unknown id among many
COMMANDS = {
    "submit": ("bsub",),
    **dict.fromkeys(("query", "history", "find"), ("bjobs",)),
    "cancel": ("bkill",),
    **dict.fromkeys(("hold", "suspend"), ("bstop",)),
    **dict.fromkeys(("release", "resume"), ("bresume",)),
    **dict.fromkeys(("ping", "queues"), ("bqueues",)),  # it asks mbatchd; lsid does not
    "nodes": ("bhosts",),
}
CHANGES: dict[str, tuple[str, ...]] = dict.fromkeys(("hold", "release", "suspend", "resume"), ())


class Lsf(DeclaredAdapter):
    """Every submission is an array: other jobs would have index 0."""

    name = "lsf"
    special: Mapping[str, str] = {"gpus": COUNT, "constraint": NO_LIMIT + TERMS, "licences": NO_LIMIT + LICENCES}
    commands = COMMANDS
    index_variable, id_variable = "LSB_JOBINDEX", "LSB_JOBID"
    array_limit, name_length = 1000, 4000  # MAX_JOB_ARRAY_SIZE
    can_suspend, capacity, whole_node = True, "lsf", ("-x",)
    unclear, full, transient = messages.UNCLEAR, messages.FULL, messages.TRANSIENT
    permanent, gone = messages.PERMANENT, messages.GONE
    printed = r"^Job <{id}> is submitted to .*queue"
    listing, changing = ("-a", *FIELDS), CHANGES
    histories = ("bjobs", "bhist")

    def submit_command(self, batch: Batch) -> list[str]:
        asked = batch.resources
        reserved = [f"{what}={mb}MB" for what, mb in (("mem", asked.memory_mb), ("tmp", asked.disk_mb)) if mb]
        reserved += [f"{name}={count}" for name, count in self.licences(asked)]
        terms = [f"{name}=={value}" if value else name for name, value in self.terms(asked)]
        gpus = self.need("gpus", asked)
        needs = [f"select[{' && '.join(terms)}]"] * bool(terms) + ["span[hosts=1]"] * bool(asked.cores)
        needs += [f"rusage[{':'.join(reserved)}]"] * bool(reserved)
        # JIM's words come last, because the last one counts. LSF turns the command into a shell line.
        return [
            *self.commands["submit"],
            *batch.options,
            *option("-q", asked.queue),
            *option("-P", asked.account),
            *option("-n", asked.cores),
            *option("-M", asked.memory_mb, "MB"),
            *option("-W", asked.wall_seconds and -(-asked.wall_seconds // 60)),  # in minutes, as in LSF
            *option("-gpu", f"num={gpus}" if gpus else None),
            *(["-R", " ".join(needs)] if needs else []),
            *("-J", f"{batch.mark}[1-{batch.size}]", "-rn", "-env", "PATH", "-o", "/dev/null"),
            shlex.quote(batch.script),
        ]

    def query_command(self) -> list[str]:
        own = self.commands["query"]
        return [*own, *(word for word in self.listing if word not in FIELDS[:2] or "-o" not in own)]

    def parse_query(self, answer: Answer) -> Listing:
        ended = answer.code is not None and answer.code >= 0
        none = ended and not answer.out and self.says(NONE_FOUND, answer.err.strip())
        return {} if none else listed(answer, self.output(answer))

    def names(self, ids: Ids) -> list[str]:
        members = {id_: ",".join(indices) for id_, indices in by_id(ids).items()}
        return [f"{id_}[{indices}]" if indices else id_ for id_, indices in members.items()]


def listed(answer: Answer, text: str) -> Listing:
    """Read a listing of bjobs; it also reports unknown ids."""
    try:
        records = json.loads(text, strict=False)["RECORDS"]
        return dict(_observation(record) for record in records if "ERROR" not in record)  # an unknown id
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unclear(answer.facts()) from error


def failed(code: str, signal: str | None = None) -> Observation:
    """Return an end without success, by its exit code or signal."""
    number = int(code) if code.isdecimal() else 0
    killed = int(signal or 0) or max(0, number - SIGNALS_ABOVE)
    told = None if killed or not code.isdecimal() else number
    return Observation(State.FAILED, "", told, killed or None, word="EXIT")


def _observation(record: Mapping[str, str]) -> tuple[tuple[str, int], Observation]:
    word, index = record["STAT"], int(record["JOBINDEX"].strip("-") or 0) or 1
    state = STATES.get(word, State.UNKNOWN)
    mark, reason = record["JOB_NAME"].removesuffix(f"[{index}]"), record["EXIT_REASON"].strip("-")
    waits = record.get("PEND_REASON", "").strip("-") if state is State.SUBMITTED else ""
    seen = Observation(state, mark, reason=reason, word=word, waits=waits)
    if state is State.COMPLETED:
        seen = seen._replace(code=0)
    elif state.final:
        end = failed(record["EXIT_CODE"])
        seen = seen._replace(code=end.code, signal=end.signal)
    return (record["JOBID"].partition("[")[0], index), seen


ADAPTER = Lsf
