"""Grid Engine 8.1.9, by what it was seen to print."""

from __future__ import annotations

from itertools import takewhile

from tests.fake_batch.dialect import Ask, Dialect, Ping, Said, Tell, Usage, array, grep, options, script
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
MESSAGES = """\
<?xml version='1.0'?>
<message  xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/message.xsd">
  <element>
    <SME_global_message_list>
      <element>
        <MES_message_number>28</MES_message_number>
        <MES_message>All queues dropped because of overload or full</MES_message>
      </element>
    </SME_global_message_list>
  </element>
</message>
"""
# accounting(5): the memory that it used, ru_maxrss, is told by whoever reaped a job.
ACCOUNT = (
    "all.q:node1:griduser:griduser:{name}:{id}:sge:0:1795251345:1795251347:1795251348:{failed}:{status}:1:0.018900:"
    "0.000000:{memory}:0:0:0:0:217:0:0:0.000000:8:0:0:0:1:6:NONE:defaultdepartment:NONE:1:{index}:0.018900:0.000000:"
    "0.000000:NONE:0.000000:NONE:0.000000:0:0\n"
)
QACCT = """\
==============================================================
qname        all.q
hostname     node1
jobname      {name}
jobnumber    {id}
taskid       {index}
failed       {failed}
exit_status  {status}
ru_wallclock 1s
ru_maxrss    {kilobytes}KB
cpu          0.006s
maxvmem      0.000B
"""


class Sge(Dialect):
    name = "sge"
    log = "/var/lib/gridengine/default/common/accounting"
    histories = ("qacct",)
    id_form = r"([0-9]+)(?:\.([0-9,-]+))?"
    forgets_cancelled = True
    limits_arrays = True
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
        if words[:2] == ["sh", "-c"]:  # qacct for each of these, one after the other
            ids, *words = words[4:]
            return self.read(words)._replace(ids=tuple(ids.split()))
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
        if words == ["-xml", "-j"]:
            return Ask({"messages": ""})
        given, _ = options("qstat", words, flags="-xml", valued="-g -u")
        if (given["-g"], given["-u"]) != ("d", "$user"):
            raise Usage(1, "arrays would be folded, or the jobs of others listed\n")
        return Ask(given)

    def read_qacct(self, words):
        options("qacct", words)
        return Ask({"qacct": ""})

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
        ends = [_account(task) for task in tasks if self.accounted(task, now)]
        if "grep" in ask.given:
            return grep(ask.ids, "".join(ACCOUNT.format(**end) for end in ends))
        if "qacct" in ask.given:
            found = [QACCT.format(**end) for id_ in ask.ids for end in ends if str(end["id"]) == id_]
            unknown = [id_ for id_ in ask.ids if not any(str(end["id"]) == id_ for end in ends)]
            return Said(0, "".join(found), "".join(f"error: job id {id_} not found\n" for id_ in unknown))
        if "messages" in ask.given:
            return Said(0, MESSAGES)
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
    """Give what the accounts say of an end. Of one that nobody saw it is no more than a word, and a good one."""
    facts = {"name": task.mark, "id": task.job.id, "index": task.index}
    if not task.reaped:
        return facts | {"failed": 0, "status": 0, "memory": "0.000000", "kilobytes": "0.000"}
    seen = facts | {"memory": "4672.000000", "kilobytes": "4.672"}
    if task.why or task.signal or task.code is None:
        return seen | {"failed": 37 if task.why == "limit" else 100, "status": 128 + (task.signal or 9)}
    return seen | {"failed": 0, "status": task.code}


DIALECT = Sge
