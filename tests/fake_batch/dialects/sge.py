"""Grid Engine 8.1.9, by what it was seen to print."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from tests.fake_batch.dialect import Ask, Dialect, Ping, Said, Tell, Usage, array, options, script
from tests.fake_batch.engine import Phase, Submission

WORDS = {Phase.PENDING: "qw", Phase.HELD: "hqw", Phase.RUNNING: "r", Phase.SUSPENDED: "s", Phase.ODD: "qz"}
REFUSED = "error: commlib error: got select error (Connection refused)\n"
NOT_SENT = 'unable to send message to qmaster using port 16444 on host "login": got send error'
DOWN = f"{REFUSED}error: {NOT_SENT}\n"
LOST = 'error: commlib error: got read error (closing "login/qmaster/1")\n'
NOT_RUN = "{}Unable to run job: {}\nExiting.\n"
LISTED = """\
    <job_list state="{list}">
      <JB_job_number>{id}</JB_job_number>
      <JAT_prio>0.55500</JAT_prio>
      <JB_name>{name}</JB_name>
      <JB_owner>griduser</JB_owner>
      <state>{word}</state>
      <queue_name></queue_name>
      <slots>1</slots>
      <tasks>{index}</tasks>
    </job_list>
"""
LISTING = """\
<?xml version='1.0'?>
<job_info  xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd">
  <queue_info>
{begun}  </queue_info>
  <job_info>
{pending}  </job_info>
</job_info>
"""


class Sge(Dialect):
    name = "sge"
    id_form = r"([0-9]+)(?:\.([0-9,-]+))?"
    forgets_cancelled = True
    troubles = {
        "submit down": Said(1, "", NOT_RUN.format(REFUSED, NOT_SENT)),
        "submit full": Said(
            25, "", NOT_RUN.format("", "job rejected: only 1000 jobs are allowed per user (current job count: 1000)")
        ),
        "submit refused": Said(1, "", NOT_RUN.format("", 'Job was rejected because job requests unknown queue "x"')),
        "submit unclear": Said(1, "", NOT_RUN.format(LOST + REFUSED, NOT_SENT)),
        "down": Said(1, "", DOWN),
        "unclear": Said(1, "", LOST + DOWN),
    }

    def read(self, words):
        if words[0] == "env":  # each command is named by its path, with the variables that it needs
            variables = list(takewhile(lambda word: "=" in word, words[1:]))
            if {each.partition("=")[0] for each in variables} != {"SGE_ROOT", "SGE_CELL"}:
                raise Usage(1, "critical error: Please set the environment variable SGE_ROOT.\n")
            words = words[1 + len(variables) :]
        return super().read(words)

    def read_qsub(self, words):
        valued = "-q -P -pe -l -r -N -t -S -wd -j -o"
        given, rest = options("qsub", words, flags="-terse", valued=valued)
        if given["-r"] != "n":
            raise Usage(1, "it would be run again\n")
        return Submission(given["-N"], array("qsub", given["-t"]), script("qsub", rest), said=given)

    def read_qstat(self, words):
        given, _ = options("qstat", words, flags="-xml", valued="-g -u")
        if (given["-g"], given["-u"]) != ("d", "$user"):
            raise Usage(1, "arrays would be folded, or the jobs of others listed\n")
        return Ask(given)

    def read_grep(self, words):
        given, files = options("grep", words, flags="-hE", valued="-e")
        if [Path(file).name for file in files] != ["accounting"]:
            raise Usage(2, f"grep: {files}: No such file or directory\n")
        return Ask(given, (given["-e"],))

    def read_qdel(self, words):
        return Tell("cancel", self.numbers(words))

    def read_qalter(self, words):
        given, rest = options("qalter", words, valued="-h")
        return Tell({"u": "hold", "U": "release"}[given["-h"]], self.numbers(rest))

    def read_qconf(self, words):
        options("qconf", words, flags="-sss")
        return Ping()

    def accepted(self, job):
        return Said(0, f"{job.id}.1-{job.asked.size}:1\n")

    def told(self, ask, tasks, now):
        if ask.ids:
            lines = [_account(task) for task in tasks if self.accounted(task, now)]
            found = [line for line in lines if re.search(ask.ids[0], line)]
            return Said(0, "".join(found)) if found else Said(1)
        listed = {True: "", False: ""}
        for task in tasks:
            if task.phase is not Phase.ENDED:
                begun = task.phase not in (Phase.PENDING, Phase.HELD)
                word = "R" * (task.starts > 1 and begun) + WORDS[task.phase]
                listed[begun] += LISTED.format(
                    list="running" if begun else "pending", id=task.job.id, name=task.mark, word=word, index=task.index
                )
        return Said(0, LISTING.format(begun=listed[True], pending=listed[False]))

    def obeyed(self, tell, unknown):
        lines = [f'denied: job "{id_}" does not exist\n' for id_, _ in unknown]
        return Said(1 if lines else 0, "".join(lines))

    def pong(self):
        return Said(0, "login.example.org\n")

    def environment(self, task):
        return {"JOB_ID": str(task.job.id), "SGE_TASK_ID": str(task.index), "RESTARTED": str(int(task.starts > 1))}


def _account(task):
    """Write a line of the accounting file: 45 fields, of which few matter here."""
    failed, status = "0", task.code
    if task.why or task.signal or task.code is None:
        failed, status = ("37" if task.why == "limit" else "100"), 128 + (task.signal or 9)
    fields = ["0"] * 45
    fields[0:6] = "all.q", "node1", "griduser", "griduser", task.mark, str(task.job.id)
    fields[11:13], fields[35] = (failed, str(status)), str(task.index)
    return ":".join(fields) + "\n"


DIALECT = Sge
