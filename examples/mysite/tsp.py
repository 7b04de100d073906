"""task-spooler (tsp), a queue of commands on one machine: the example of docs/adapters.md."""

import os
import re

from jim.adapters.base import Adapter
from jim.errors import Unclear
from jim.model import Observation, State

STATES = {"queued": State.SUBMITTED, "running": State.RUNNING, "finished": State.FAILED}  # unless it exited 0
HEAD = re.compile(r"ID +State +Output .* Command \[run=([0-9]+)/[0-9]+\]\n")
JOB = re.compile(r"([0-9]+) +(\w+) +.*?(?: (-?[0-9]+) +[0-9./]+)? *\[(jim-[\w-]+)(?:\*([0-9]+))?\].*\n")
# It takes one id a call, and would signal whatever now has the process id of a job that has ended.
CANCEL = (
    'for id do state=$(tsp -s "$id") || failed=$?; '
    'case $state in queued) tsp -r "$id";; running) tsp -k "$id";; esac || failed=$?; done; exit ${failed-0}'
)


class Tsp(Adapter):
    """One queue for each state directory; the name of a job is its label, with the slots that it takes."""

    name = "tsp"
    index_variable, id_variable = "TS_ARRAY_INDEX", "TS_JOBID"  # the former is never set: index 1
    array_limit = 1
    transient = ("queue full", "server didn.t come up")
    permanent = ("wrong option", "missing argument")
    gone = ("not finished or not running", "cannot be (removed|stated)")

    def __init__(self, commands=None, area=""):
        # A job is a child of the command that submits it: what marks that command must not mark the job.
        alone = ("env", "-u", "JIM_COMMAND_OF", "-u", "PYTHONPATH", "-u", "LC_ALL")
        own = (*alone, f"TS_SOCKET={area}/socket", f"TMPDIR={area}", f"TS_SLOTS={os.cpu_count()}")
        words = dict.fromkeys(("submit", "query", "history", "find", "ping"), (*own, "tsp"))
        self.commands = words | {"cancel": (*own, "sh", "-c", CANCEL, "tsp")}
        super().__init__(commands, area)

    def set_up_command(self, slots):
        return [*self.ping_command(), str(slots or os.cpu_count())]

    def submit_command(self, batch):
        asked = batch.resources
        label = [f"{batch.mark}*{asked.cores}", "-N", str(asked.cores)] if asked.cores else [batch.mark]
        limit = ["timeout", "--kill-after=60", str(asked.wall_seconds)] if asked.wall_seconds else []
        return [*self.commands["submit"], *batch.options, "-B", "-L", *label, *limit, batch.script]

    def parse_submit(self, answer):
        if not re.fullmatch(r"[0-9]+\n", self.output(answer), re.ASCII):
            raise Unclear(answer.facts())
        return answer.out.strip()

    def query_command(self):
        return [*self.commands["query"], "-l"]

    def parse_query(self, answer):
        head, *lines = self.output(answer).splitlines(keepends=True) or [""]
        jobs = [JOB.fullmatch(line) for line in lines if line.count("[jim-") == 1]  # more: it has lost its end
        whole = HEAD.fullmatch(head) and len(jobs) == len(lines) and all(jobs)
        if not whole or int(HEAD.fullmatch(head)[1]) != sum(int(job[5] or 1) for job in jobs if job[2] == "running"):
            raise Unclear(answer.facts())
        return {(job[1], 1): observation(*job.group(2, 3, 4)) for job in jobs}

    def history_command(self, ids):
        return [*self.commands["history"], "-l"]

    def parse_history(self, answer):
        return self.parse_query(answer)

    def find_command(self, mark):
        return [*self.commands["find"], "-l"]

    def cancel_command(self, ids):
        return [*self.commands["cancel"], *(id_ for id_, _ in ids)]

    def ping_command(self):
        return ["sh", "-c", 'mkdir -p "$0" && exec "$@"', self.area, *self.commands["ping"], "-S"]


def observation(word, level, mark):
    """Read what tsp says of a job; -1 stands for any signal."""
    state = STATES.get(word, State.UNKNOWN)
    if state is not State.FAILED:
        return Observation(state, mark, word=word)
    if level in (None, "-1"):
        return Observation(state, mark, reason="ended by a signal" if level else "", word=word)
    return Observation(State.COMPLETED if level == "0" else State.FAILED, mark, int(level), word=word)


ADAPTER = Tsp
