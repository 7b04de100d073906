"""Torque, by its documentation: text instead of JSON, and no history but what is listed for a while."""

from __future__ import annotations

from tests.fake_batch.dialect import Said
from tests.fake_batch.dialects.pbs import SUBMITTING, WORDS, Pbs, exit_status
from tests.fake_batch.engine import Phase

BLOCK = """\
Job Id: {id}
    Job_Name = {name}
    Job_Owner = griduser@login.example.org
    job_state = {word}
    queue = batch
    server = {server}
    Checkpoint = u
{more}    Variable_List = PBS_O_QUEUE=batch,PBS_O_HOME=/home/griduser,
\tPBS_O_LOGNAME=griduser,PBS_O_WORKDIR=/

"""
QUEUED = (
    "Maximum number of jobs already in queue for user MSG=total number of current user's jobs exceeds the queue limit"
)


class Torque(Pbs):
    name = "torque"
    server = "server.example.org"
    id_form = r"([0-9]+)(?:\[([0-9,-]*)\])?(?:\.server\.example\.org)?"
    submitting = f"{SUBMITTING} -t"
    array_option, index_variable = "-t", "PBS_ARRAYID"
    listing = {"flags": "-t -f -B", "valued": "-u"}
    keeps = 300.0  # keep_completed
    troubles = Pbs.troubles | {
        "submit down": Said(111, "", "qsub: cannot connect to server server (errno=111) Connection refused\n"),
        "submit full": Said(228, "", f"qsub: submit error ({QUEUED})\n"),
        "submit refused": Said(170, "", "qsub: submit error (Unknown queue MSG=cannot locate queue)\n"),
    }  # fmt: skip

    def print(self, tasks, ask):
        return "".join(map(self.block, tasks))

    def block(self, task):
        """Print what is told of one task."""
        ended = task.phase is Phase.ENDED
        status = exit_status(task) if ended else None
        return BLOCK.format(
            id=self.id(task.job, task.index),
            name=f"{task.mark}-{task.index}" if task.job.asked.array else task.mark,
            word="C" if ended else WORDS[task.phase],
            server=self.server,
            more="" if status is None else f"    exit_status = {status}\n",
        )


DIALECT = Torque
