"""Slurm's own qsub, qstat and qdel, by what they were seen to print: PBS in their looks, Slurm in their answers."""

from __future__ import annotations

import shlex

from tests.fake_batch.dialect import Ping, Said, options
from tests.fake_batch.dialects.pbs import UNKNOWN
from tests.fake_batch.dialects.slurm import DOWN, NO_ANSWER, NOT_SUBMITTED, POLICY
from tests.fake_batch.dialects.torque import Torque
from tests.fake_batch.engine import Phase

WORDS = {Phase.PENDING: "Q", Phase.HELD: "Q", Phase.RUNNING: "R", Phase.SUSPENDED: "S", Phase.ODD: "U"}
SBATCH = """\
There was an error running the Slurm sbatch command.
The command was:
'/usr/bin/sbatch -o /dev/null --no-requeue job.sh 2>&1'
and the output was:
'{}'
"""
BLOCK = """\
Job Id:\t{id}
\tJob_Name = {name}
\tJob_Owner = griduser@localhost
\tjob_state = {word}
\tqueue = main
\tPriority = {priority}
\tResource_List.nodect = 1
\tResource_List.ncpus = 1

"""


class PbsWrappers(Torque):
    name = "pbs_wrappers"
    id_form = "([0-9]+)"
    submitting = "-q -A -l -N -r -v -m -j -o"
    listing = {"flags": "-f -Q", "valued": ""}
    holding = "-h"
    forgets_cancelled = True
    troubles = {
        "submit down": Said(1, SBATCH.format(NOT_SUBMITTED + DOWN)),
        "submit full": Said(1, SBATCH.format(f"sbatch: error: QOSMaxSubmitJobPerUserLimit\n {NOT_SUBMITTED}{POLICY}")),
        "submit refused": Said(1, SBATCH.format(NOT_SUBMITTED + "Invalid partition name specified\n")),
        "submit unclear": Said(1, SBATCH.format(NOT_SUBMITTED + NO_ANSWER)),
        "tell down": Said(1, "qdel: Kill job error on job id 1: " + DOWN),
        "tell unclear": Said(1, "qdel: Kill job error on job id 1: " + NO_ANSWER),
        "down": Said(8, "", "Problem loading jobs.\n"),
        "unclear": Said(8, "", NO_ANSWER),
    }

    def read_qsub(self, words):
        return super().read_qsub([*words[:-1], *shlex.split(words[-1])])  # they make a shell line of their words

    def read_qstat(self, words):
        given, _ = options("qstat", words, **self.listing, code=2)
        return Ping() if "-Q" in given else super().read_qstat(words)

    def id(self, job, index=""):
        return str(job.id)

    def told(self, ask, tasks, now):
        known = [task for task in tasks if self.in_queue(task, now)]
        wanted = [task for task in known if not ask.ids or str(task.job.id) in ask.ids]
        return Said(0, "".join(map(self.block, wanted))) if wanted else Said(UNKNOWN)

    def block(self, task):
        word = WORDS.get(task.phase, "C")
        return BLOCK.format(
            id=task.job.id, name=task.mark, word=word, priority=0 if task.phase is Phase.HELD else 4294900726
        )

    def obeyed(self, tell, unknown):
        return Said(1 if unknown else 0)

    def pong(self):
        return Said(0, "Queue              Max   Tot   Ena   Str   Que   Run   Hld   Wat   Trn   Ext T\n")

    def environment(self, task):
        told = {"SLURM_JOB_ID": str(task.job.id), "PBS_JOBID": str(task.job.id)}
        return told | ({"SLURM_RESTART_COUNT": str(task.starts - 1)} if task.starts > 1 else {})


DIALECT = PbsWrappers
