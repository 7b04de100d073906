"""HTCondor 24, by its documentation."""

from __future__ import annotations

import json
import re

from tests.fake_batch.dialect import Ask, Dialect, Ping, Said, Tell, Usage, grep, options
from tests.fake_batch.engine import Phase, Submission

IDLE, RUNNING, REMOVED, COMPLETED, HELD, SUSPENDED = 1, 2, 3, 4, 5, 7
NUMBERS = {
    Phase.PENDING: IDLE,
    Phase.HELD: HELD,
    Phase.RUNNING: RUNNING,
    Phase.SUSPENDED: SUSPENDED,
    Phase.ODD: 42,
}
ASKING = {"flags": "-json -totals", "valued": "-constraint -attributes"}
EVENT = "{word} ({id:03}.{process:03}.000) 11/22 02:34:16 {head}\n{line}\n...\n"
HOST = "<127.0.0.1:9618?addrs=127.0.0.1-9618&alias=login&noUDP&sock=schedd_4511_1037>"


class Condor(Dialect):
    name = "condor"
    log = "/var/log/condor/EventLog"
    histories = ("event_log",)
    began = "NumJobStarts"
    id_form = r"([0-9]+)(?:\.([0-9]+))?"
    restarts = False  # what is submitted says that a job which began and is idle is to be removed
    troubles = {
        "submit down": Said(1, "", "\nERROR: Can't find address of local schedd\n"),
        "submit full": Said(
            1, "", "\nERROR: Failed to create cluster\nNumber of submitted jobs would exceed MAX_JOBS_PER_OWNER\n"
        ),
        "submit refused": Said(1, "", "\nERROR: Failed to parse command file (line 3).\n"),
        "submit unclear": Said(1, "", "\nERROR: Failed to commit job submission into the queue.\n"),
        "down": Said(1, "", "-- Failed to fetch ads from: <192.0.2.41:9618> : schedd.example.org\n"),
        "unclear": Said(1, "", "SECMAN:2007:Failed to end classad message.\n"),
    }

    def read_condor_submit(self, words):
        said = dict(re.findall(r"(?m)^([\w.]+)=(.*)$", "\n".join(words)))
        others = [word for word in words if not re.match(r"[\w.]+=", word)]
        given, rest = options("condor_submit", others, flags="-terse", valued="-batch-name -queue")
        if rest or "-queue" not in given or "-terse" not in given:
            raise Usage(1, '\nERROR: no "queue" commands -- no jobs queued\n')
        if f"{self.began} > 0" not in said.get("periodic_remove", ""):
            raise Usage(1, "it would be run again\n")
        executable = said["executable"].replace("$(DOLLAR)", "$")
        return Submission(said["MY.JimMark"].strip('"'), int(given["-queue"]), executable, said=said)

    def read_condor_q(self, words):
        given, ids = options("condor_q", words, **ASKING)
        return Ping() if "-totals" in given else Ask(given | {"queue": "yes"}, tuple(ids))

    def read_condor_history(self, words):
        given, ids = options("condor_history", words, flags="-json", valued="-constraint -attributes -limit")
        return Ask(given, tuple(ids))

    def read_condor_rm(self, words):
        return self._tell("cancel", words)

    def read_condor_hold(self, words):
        return self._tell("hold", words)

    def read_condor_release(self, words):
        return self._tell("release", words)

    def read_condor_suspend(self, words):
        return self._tell("suspend", words)

    def read_condor_continue(self, words):
        return self._tell("resume", words)

    def _tell(self, verb, words):
        found = [re.fullmatch(self.id_form, word) for word in words]
        return Tell(verb, tuple((int(each[1]), int(each[2]) + 1 if each[2] else 0) for each in found))

    def accepted(self, job):
        return Said(0, f"{job.id}.0 - {job.id}.{job.asked.size - 1}\n")

    def told(self, ask, tasks, now):
        if "grep" in ask.given:
            begun = "".join(_begun(task) for task in tasks)
            return grep(ask.ids, begun + "".join(_logged(task) for task in tasks if self.accounted(task, now)))
        if "queue" in ask.given:
            wanted = [task for task in tasks if self.in_queue(task, now)]
        else:
            wanted = [task for task in reversed(tasks) if self.accounted(task, now)]
        wanted = [task for task in wanted if not ask.ids or str(task.job.id) in ask.ids]
        ads = [ad for ad in map(_ad, wanted) if _meets(ad, ask.given.get("-constraint", ""))]
        ads = ads[: int(ask.given.get("-limit", len(ads)))]
        chosen = ask.given["-attributes"].split(",")
        texts = [json.dumps({name: ad[name] for name in chosen if name in ad}, indent=2) for ad in ads]
        return Said(0, "[\n" + "\n,\n".join(texts) + "\n]\n" if texts else "")

    def obeyed(self, tell, unknown):
        word = {"cancel": "remove", "resume": "continue"}.get(tell.verb, tell.verb)
        lines = [f"Couldn't find/{word} all jobs in cluster {id_}\n" for id_, _ in unknown]
        return Said(1 if lines else 0, "", "".join(lines))

    def pong(self):
        return Said(0, "Total for query: 0 jobs; 0 completed, 0 removed, 0 idle, 0 running, 0 held, 0 suspended\n")

    def environment(self, task):
        text = task.job.asked.said["environment"].strip('"')
        if task.job.asked.said["JimIndex"] != "$(Process)+1":
            raise ValueError(task.job.asked.said["JimIndex"])
        text = text.replace("$(ClusterId)", str(task.job.id)).replace("$INT(JimIndex)", str(task.index))
        return dict(each.split("=", 1) for each in text.split())


def _ad(task):
    marked = {"JimMark": task.mark} if "MY.JimMark" in task.job.asked.said else {}  # a person's own job has none
    ad = {"ClusterId": task.job.id, "ProcId": task.index - 1} | marked
    if task.phase is not Phase.ENDED:
        held = {"HoldReason": "via condor_hold (by user griduser)"} if task.phase is Phase.HELD else {}
        return ad | {"JobStatus": NUMBERS[task.phase]} | held
    if task.why or (task.code, task.signal) == (None, None):
        words = {"cancelled": "via condor_rm (by user griduser)", "limit": "time limit"}
        again = "it had begun, and was put back into the queue"
        return ad | {"JobStatus": REMOVED, "RemoveReason": words.get(task.why, again)}
    if task.signal:
        return ad | {"JobStatus": COMPLETED, "ExitBySignal": True, "ExitSignal": task.signal}
    return ad | {"JobStatus": COMPLETED, "ExitBySignal": False, "ExitCode": task.code}


def _event(task, word, head, line):
    return EVENT.format(word=word, id=task.job.id, process=task.index - 1, head=head, line=line)


def _begun(task):
    return _event(task, "000", f"Job submitted from host: {HOST}", f"    {task.job.asked.said['submit_event_notes']}")


def _logged(task):
    """Write how a job ended into the job event log."""
    ad = _ad(task)
    if ad["JobStatus"] == REMOVED:
        return _event(task, "009", "Job was aborted.", f"\t{ad['RemoveReason']}")
    how = f"(0) Abnormal termination (signal {task.signal})\n\t(0) No core file"
    normal = (
        f"(1) Normal termination (return value {task.code})\n\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Remote Usage"
    )
    return _event(task, "005", "Job terminated.", "\t" + (how if task.signal else normal))


def _meets(ad, constraint):
    equals = re.fullmatch(r'(\w+) == "([^"]*)"', constraint)
    if equals:
        return ad.get(equals[1]) == equals[2]
    defined = re.fullmatch(r"(\w+) =!= undefined", constraint)
    if constraint and not defined:
        raise Usage(1, f"Error: Invalid constraint expression: {constraint}\n")
    return not defined or defined[1] in ad


DIALECT = Condor
