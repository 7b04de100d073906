"""OpenPBS, by its documentation."""

from __future__ import annotations

import json

from tests.fake_batch.dialect import Ask, Dialect, Ping, Said, Tell, Usage, array, options, script
from tests.fake_batch.engine import Phase, Submission

WORDS = {Phase.PENDING: "Q", Phase.HELD: "H", Phase.RUNNING: "R", Phase.SUSPENDED: "S", Phase.ODD: "Y"}
SUBMITTING = "-q -A -l -N -J -r -S -m -j -o"
UNKNOWN, NO_SERVER = 153, 162


class Pbs(Dialect):
    name = "pbs"
    server = "scheduler"
    id_form = r"([0-9]+)(?:\[([0-9,-]*)\])?\.scheduler"
    submitting = SUBMITTING
    array_option, index_variable = "-J", "PBS_ARRAY_INDEX"
    listing = {"flags": "-t -f -x -B", "valued": "-F -u"}
    holding = ""
    troubles = {
        "submit full": Said(38, "", "qsub: Maximum number of jobs for user griduser already in complex\n"),
        "submit refused": Said(170, "", "qsub: Unknown queue\n"),
        "submit unclear": Said(183, "", "qsub: Premature end of message\n"),
        "submit down": Said(NO_SERVER, "", "qsub: cannot connect to server scheduler (errno=15010)\n"),
        "tell down": Said(NO_SERVER, "", "qdel: cannot connect to server scheduler (errno=15010)\n"),
        "tell unclear": Said(183, "", "qdel: Premature end of message\n"),
        "down": Said(255, "", "qstat: cannot connect to server scheduler (errno=15010)\n"),
        "unclear": Said(183, "", "qstat: Premature end of message\n"),
    }  # fmt: skip

    def read_qsub(self, words):
        given, rest = options("qsub", words, flags="-f", valued=self.submitting, code=2)
        many = self.array_option in given
        size = array("qsub", given[self.array_option]) if many else 1
        if many and size == 1:
            raise Usage(1, "qsub: illegal -J value\n")
        return Submission(given["-N"], size, script("qsub", rest), array=many, said=given)

    def read_qstat(self, words):
        given, rest = options("qstat", words, **self.listing, code=2)
        return Ping() if "-B" in given else Ask(given, tuple(rest))

    def read_qdel(self, words):
        return Tell("cancel", self.numbers(words))

    def read_qhold(self, words):
        return Tell("hold", self._whole(words))

    def read_qrls(self, words):
        return Tell("release", self._whole(words))

    def _whole(self, words):
        _, rest = options("qhold", words, valued=self.holding)
        targets = self.numbers(rest)
        if any(index for _, index in targets):
            raise Usage(1, "qhold: Request invalid for a member of an array\n")
        return targets

    def accepted(self, job):
        return Said(0, f"{self.id(job)}\n")

    def id(self, job, index=""):
        """Name a job, an array or a member of one."""
        return f"{job.id}[{index}].{self.server}" if job.asked.array else f"{job.id}.{self.server}"

    def told(self, ask, tasks, now):
        # A member that has ended is listed for as long as its array lives.
        alive = {task.job.id for task in tasks if task.job.asked.array and task.phase is not Phase.ENDED}
        wanted = [task for task in tasks if task.job.id in alive or self._wanted(ask, task, now)]
        if ask.ids:
            numbers = {number for number, _ in self.numbers(ask.ids)}
            wanted = [task for task in wanted if task.job.id in numbers]
            unknown = [id_ for id_ in ask.ids if not any(task.job.id == self.numbers([id_])[0][0] for task in wanted)]
            err = "".join(f"qstat: Unknown Job Id {id_}\n" for id_ in unknown)
            return Said(UNKNOWN if unknown else 0, self.print(wanted, ask), err)
        return Said(0, self.print(wanted, ask))

    def _wanted(self, ask, task, now):
        return self.in_queue(task, now) or ("-x" in ask.given and self.accounted(task, now))

    def print(self, tasks, ask):
        """Print what is told of these tasks."""
        if ask.given.get("-F") != "json" or "-t" not in ask.given:
            return "Job id            Name             User              Time Use S Queue\n"
        jobs = {}
        for task in tasks:
            if task.job.asked.array:
                held = any(each.job is task.job and each.phase is Phase.HELD for each in tasks)
                whole = {"Job_Name": task.mark, "job_state": "H" if held else "B", "array": "True"}
                jobs.setdefault(self.id(task.job), whole)
            jobs[self.id(task.job, task.index)] = self._facts(task)
        head = {"timestamp": 1656686588, "pbs_version": "20.0.1", "pbs_server": self.server}
        return json.dumps(head | ({"Jobs": jobs} if jobs else {}), indent=4) + "\n"

    def _facts(self, task):
        many = task.job.asked.array
        word = ("X" if many else "F") if task.phase is Phase.ENDED else WORDS[task.phase]
        if many and task.phase is Phase.HELD:
            word = "Q"  # only the whole is held
        facts = {"Job_Name": task.mark, "Job_Owner": "griduser@login", "job_state": word, "queue": "workq"}
        status = exit_status(task) if task.phase is Phase.ENDED else None
        return facts | ({"Exit_status": status} if status is not None else {})

    def obeyed(self, tell, unknown):
        program = {"cancel": "qdel", "hold": "qhold", "release": "qrls"}[tell.verb]
        lines = [f"{program}: Unknown Job Id {id_}.{self.server}\n" for id_, _ in unknown]
        return Said(UNKNOWN if lines else 0, "", "".join(lines))

    def pong(self):
        return Said(0, "Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n")

    def environment(self, task):
        told = {"PBS_JOBID": self.id(task.job, task.index)}
        return told | ({self.index_variable: str(task.index)} if task.job.asked.array else {})


def exit_status(task):
    """Give what PBS says of an end: the exit code, 256 and a signal above it, or its own reason below zero."""
    if task.why:
        return {"cancelled": 271 if task.starts else None, "limit": -29, "node": -11}[task.why]
    return 256 + task.signal if task.signal else task.code


DIALECT = Pbs
