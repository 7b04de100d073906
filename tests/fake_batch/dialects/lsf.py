"""LSF 10.1, by its documentation."""

from __future__ import annotations

import json
import re
import shlex

from tests.fake_batch.dialect import Ask, Dialect, Ping, Said, Tell, Usage, options, script
from tests.fake_batch.engine import Phase, Submission

WORDS = {Phase.PENDING: "PEND", Phase.HELD: "PSUSP", Phase.RUNNING: "RUN", Phase.SUSPENDED: "USUSP", Phase.ODD: "UNKWN"}
FAILED = 255
BHIST = """\

Job <{id}[{index}]>, Job Name <{mark}[{index}]>, User <griduser>, Project <default>, Command </work/job.sh>
{events}
Summary of time in seconds spent in various states by  Tue Jan  6 11:16:08
  PEND     PSUSP    RUN      USUSP    SSUSP    UNKWN    TOTAL
  1        0        123      0        0        0        124
"""
BEGUN = ("Dispatched 1 Task(s) on Host(s) <node1>, Allocated 1 Slot(s) on Host(s) <node1>", "Starting (Pid 13523)")


class Lsf(Dialect):
    name = "lsf"
    id_form = r"([0-9]+)(?:\[([0-9,-]+)\])?"
    keeps = 3600.0  # CLEAN_PERIOD
    histories = ("bhist",)
    troubles = {
        "submit down": Said(FAILED, "", "LSF is down. Please wait ...\n"),
        "submit full": Said(
            FAILED, "", "User or one of user's groups does not have enough job slots. Job not submitted.\n"
        ),
        "submit refused": Said(FAILED, "", "No such queue. Job not submitted.\n"),
        "submit unclear": Said(FAILED, "", "Contacting batch daemon: Communication timeout\n"),
        "down": Said(FAILED, "", "LSF is down. Please wait ...\n"),
        "unclear": Said(FAILED, "", "batch system daemon not responding ... still trying\n"),
    }

    def read_bsub(self, words):
        given, rest = options("bsub", words, flags="-rn", valued="-q -P -n -M -W -R -J -env -o", code=FAILED)
        found = re.fullmatch(r"([\w.-]+)\[1-([1-9][0-9]*)\]", given["-J"])
        if not found:
            raise Usage(FAILED, "Bad job name. Job not submitted.\n")
        return Submission(found[1], int(found[2]), script("bsub", shlex.split(" ".join(rest)), FAILED), said=given)

    def read_bjobs(self, words):
        given, ids = options("bjobs", words, flags="-a -json", valued="-o", code=FAILED)
        return Ask(given, tuple(ids))

    def read_bhist(self, words):
        given, ids = options("bhist", words, flags="-a -l -UF", valued="-n", code=FAILED)
        if not {"-a", "-l", "-UF"} <= given.keys():
            raise Usage(FAILED, "what has ended would not be told, or not all of it, or in folded lines\n")
        return Ask({"bhist": ""}, tuple(ids))

    def read_bkill(self, words):
        return Tell("cancel", self.numbers(words))

    def read_bstop(self, words):
        return Tell("stop", self.numbers(words))

    def read_bresume(self, words):
        return Tell("go on", self.numbers(words))

    def read_bqueues(self, words):
        return Ping()

    def accepted(self, job):
        return Said(0, f"Job <{job.id}> is submitted to default queue <normal>.\n")

    def told(self, ask, tasks, now):
        if "bhist" in ask.given:
            found = [_lived(task, ended=self.accounted(task, now)) for task in tasks if str(task.job.id) in ask.ids]
            rule = "-" * 78 + "\n"
            return Said(0, rule.join(found)) if found else Said(FAILED, "", "No matching job found\n")
        known = [
            task for task in tasks if self.in_queue(task, now) and ("-a" in ask.given or task.phase is not Phase.ENDED)
        ]
        unknown = [id_ for id_ in ask.ids if not any(str(task.job.id) == id_ for task in known)]
        wanted = [task for task in known if not ask.ids or str(task.job.id) in ask.ids]
        fields = ask.given["-o"].upper().split()
        records = [{name: value for name, value in _record(task).items() if name in fields} for task in wanted]
        records += [{"JOBID": id_, "ERROR": f"Job <{id_}> is not found"} for id_ in unknown]
        whole = {"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}
        return Said(FAILED if unknown else 0, json.dumps(whole, indent=2) + "\n")

    def obeyed(self, tell, unknown):
        lines = [f"Job <{id_}>: No matching job found\n" for id_, _ in unknown]
        return Said(FAILED if lines else 0, "", "".join(lines))

    def pong(self):
        return Said(0, "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP\n")

    def environment(self, task):
        return {"LSB_JOBID": str(task.job.id), "LSB_JOBINDEX": str(task.index)}


def _record(task):
    code = reason = ""
    word = WORDS.get(task.phase, "DONE")
    if task.phase is Phase.ENDED and task.code != 0:
        word, code = "EXIT", str(128 + task.signal if task.signal else task.code or "")
        code, reason = {
            "cancelled": ("130", "TERM_OWNER: job killed by owner"),
            "limit": ("140", "TERM_RUNLIMIT: job killed after reaching LSF run time limit"),
            "node": ("", "TERM_UNKNOWN: unknown reason"),
        }.get(task.why, (code, ""))
    return {
        "JOBID": str(task.job.id),
        "JOBINDEX": str(task.index),
        "STAT": word,
        "EXIT_CODE": code,
        "EXIT_REASON": reason,
        "JOB_NAME": f"{task.mark}[{task.index}]",
    }


def _lived(task, *, ended):
    """Tell the life of a job, as bhist does."""
    events = ["Submitted from host <head>, to Queue <normal>, CWD </>, Output File </dev/null>"]
    events += BEGUN * task.starts
    if ended and task.code == 0:
        events.append("Done successfully. The CPU time used is 0.1 seconds")
    elif ended:
        record = _record(task)
        how = f" with exit code {record['EXIT_CODE']}" * bool(record["EXIT_CODE"])
        how = f" by signal {task.signal}" if task.signal else how
        events.append(f"Exited{how}. The CPU time used is 0.1 seconds")
        events.append("; ".join(filter(None, ("Completed <exit>", record["EXIT_REASON"]))))
    lines = "".join(f"Tue Jan  6 11:14:04: {event};\n" for event in events)
    return BHIST.format(id=task.job.id, index=task.index, mark=task.mark, events=lines)


DIALECT = Lsf
