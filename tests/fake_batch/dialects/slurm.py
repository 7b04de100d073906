"""Slurm 22.05, by what it was seen to print."""

from __future__ import annotations

import re

from tests.fake_batch.dialect import Ask, Dialect, Ping, Said, Tell, Usage, array, grep, options, script
from tests.fake_batch.engine import Phase, Submission

SBATCH = (
    "--partition --account --cpus-per-task --mem --tmp --time --exclude --job-name --array --export --chdir --output "
    "--error"
)
LIVE = {
    Phase.PENDING: ("PENDING", "Priority"),
    Phase.HELD: ("PENDING", "JobHeldUser"),
    Phase.RUNNING: ("RUNNING", "None"),
    Phase.SUSPENDED: ("SUSPENDED", "None"),
    Phase.ODD: ("REVOKED", "None"),
}
COLUMNS = {"JobArrayID": "JOBID", "State": "STATE", "exit_code": "EXIT_CODE", "Reason": "REASON", "Name": "NAME"}
ACCOUNTS = "JobID,State,ExitCode,Reason,JobName"
COMPLETION = (
    "JobId={id} UserId=griduser(1001) GroupId=griduser(1001) Name={name} JobState={word} Partition=main TimeLimit=60 "
    "StartTime=2026-11-21T08:32:50 EndTime=2026-11-21T08:32:50 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/ "
    "ReservationName= Tres=cpu=1,mem=256M,node=1,billing=1 Account= QOS= WcKey= Cluster=unknown "
    "SubmitTime=2026-11-21T08:32:48 EligibleTime=2026-11-21T08:32:50 ArrayJobId={id} ArrayTaskId={index} "
    "DerivedExitCode=0:0 ExitCode={end} \n"
)
DOWN = "Unable to contact slurm controller (connect failure)\n"
NO_ANSWER = "Socket timed out on send/recv operation\n"
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n"
NOT_SUBMITTED = "sbatch: error: Batch job submission failed: "


class Slurm(Dialect):
    name = "slurm"
    id_form = r"([0-9]+)(?:_\[([0-9,-]+)\])?"
    keeps = 300.0  # MinJobAge
    log = "/var/log/slurm/jobcomp.log"
    histories = ("sacct", "jobcomp")
    forgets_cancelled = True
    troubles = {
        "submit down": Said(1, "", NOT_SUBMITTED + DOWN),
        "submit full": Said(1, "", f"sbatch: error: AssocGrpSubmitJobsLimit\n{NOT_SUBMITTED}{POLICY}"),
        "submit refused": Said(
            1, "", f"sbatch: error: invalid partition specified: x\n{NOT_SUBMITTED}Invalid partition name specified\n"
        ),
        "submit unclear": Said(1, "", NOT_SUBMITTED + NO_ANSWER),
        "tell down": Said(8, "", "scancel: error: Kill job error on job id 1: " + DOWN),
        "tell unclear": Said(140, "", "scancel: error: Kill job error on job id 1: " + NO_ANSWER),
        "ping down": Said(1, "Slurmctld(primary) at login is DOWN\n"),
        "down": Said(1, "", "slurm_load_jobs error: " + DOWN),
        "unclear": Said(1, "", "slurm_load_jobs error: " + NO_ANSWER),
    }  # fmt: skip

    def read_sbatch(self, words):
        given, rest = options("sbatch", words, flags="--parsable --no-requeue", valued=SBATCH)
        if given.get("--export") != "ALL":
            raise Usage(1, "a login shell would be started for each job\n")
        return Submission(given["--job-name"], array("sbatch", given["--array"]), script("sbatch", rest), said=given)

    def read_squeue(self, words):
        given, rest = options("squeue", words, flags="--me --array", valued="--states --Format --jobs --name")
        if rest:
            raise Usage(1, f"squeue: error: Unrecognized option: {rest[0]}\n")
        return Ask(given, tuple(filter(None, given.get("--jobs", "").split(","))))

    def read_sacct(self, words):
        given, _ = options("sacct", words, flags="--allocations --parsable2", valued="--format --jobs")
        if given["--format"] != ACCOUNTS or "--allocations" not in given or "--parsable2" not in given:
            raise Usage(1, "sacct: steps would be told, too, or other columns\n")
        return Ask({"sacct": ""}, tuple(given["--jobs"].split(",")))

    def read_scancel(self, words):
        return Tell("cancel", self.numbers(words))

    def read_scontrol(self, words):
        if words == ["ping"]:
            return Ping()
        if len(words) != 2 or words[0] not in ("hold", "release"):
            raise Usage(1, f"invalid keyword: {words[0]}\n")
        return Tell(words[0], self.numbers(re.split(r",(?![^[]*\])", words[1])))  # no comma between brackets

    def accepted(self, job):
        return Said(0, f"{job.id}\n" if "--parsable" in job.asked.said else f"Submitted batch job {job.id}\n")

    def told(self, ask, tasks, now):
        if "grep" in ask.given:
            return grep(ask.ids, "".join(_completion(task) for task in tasks if self.accounted(task, now)))
        if "sacct" in ask.given:
            wanted = [task for task in tasks if str(task.job.id) in ask.ids and self.remembered(task)]
            lines = [ACCOUNTS.replace(",", "|"), *(self._account(task, now) for task in wanted)]
            return Said(0, "\n".join(lines) + "\n")
        known = {str(task.job.id) for task in tasks if self.in_queue(task, now)}
        if len(ask.ids) == 1 and not known & set(ask.ids):
            return Said(1, "", "slurm_load_jobs error: Invalid job id specified\n")
        columns = [each.partition(":") for each in ask.given["--Format"].split(",")]
        lines = ["".join(COLUMNS[name] + end for name, _, end in columns)]
        for task in tasks:
            if self.in_queue(task, now) and self._wanted(ask, task):
                values = dict(zip(COLUMNS, self._values(task), strict=True))
                lines.append("".join(values[name] + end for name, _, end in columns))
        return Said(0, "\n".join(lines) + "\n")

    def _wanted(self, ask, task):
        if task.phase is Phase.ENDED and ask.given.get("--states") != "all":
            return False
        if ask.ids and str(task.job.id) not in ask.ids:
            return False
        return ask.given.get("--name", task.mark) == task.mark

    def _values(self, task):
        word, reason = LIVE.get(task.phase) or _end(task)
        status = (task.code or 0) << 8 | (task.signal or 0)
        return f"{task.job.id}_{task.index}", word, str(status), reason, task.mark

    def _account(self, task, now):
        """Write a line of sacct, whose books may say long afterwards that a job runs."""
        ended = self.accounted(task, now)
        word = _end(task)[0] if ended else LIVE.get(task.phase, LIVE[Phase.RUNNING])[0]
        end = _exit(task) if ended else "0:0"
        return f"{task.job.id}_{task.index}|{word}{' by 1001' * (word == 'CANCELLED')}|{end}|None|{task.mark}"

    def pong(self):
        return Said(0, "Slurmctld(primary) at login is UP\n")

    def environment(self, task):
        told = {"SLURM_ARRAY_JOB_ID": str(task.job.id), "SLURM_ARRAY_TASK_ID": str(task.index)}
        return told | ({"SLURM_RESTART_COUNT": str(task.starts - 1)} if task.starts > 1 else {})


def _end(task):
    if task.why:
        return {
            "cancelled": ("CANCELLED", "None"),
            "node": ("NODE_FAIL", "None"),
            "limit": ("TIMEOUT", "TimeLimit"),
        }[task.why]
    if task.signal:
        return "FAILED", "JobLaunchFailure"  # so it says of every signal
    return ("COMPLETED", "None") if task.code == 0 else ("FAILED", "NonZeroExitCode")


def _exit(task):
    return "0:0" if task.why else f"{task.code or 0}:{task.signal or 0}"


def _completion(task):
    return COMPLETION.format(id=task.job.id, index=task.index, name=task.mark, word=_end(task)[0], end=_exit(task))


DIALECT = Slurm
