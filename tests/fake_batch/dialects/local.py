"""JIM's own local batch system, by what it was seen to print. The real one does not lie; here its words do."""

from __future__ import annotations

from tests.fake_batch.dialect import Ask, Dialect, Ping, Said, Tell, Usage, options, script
from tests.fake_batch.engine import Phase, Submission

WORDS = {
    Phase.PENDING: "pending",
    Phase.HELD: "held",
    Phase.RUNNING: "running",
    Phase.SUSPENDED: "suspended",
    Phase.ODD: "odd",
}


class Local(Dialect):
    name = "local"
    id_form = r"([0-9]+)(?:\.([0-9]+))?"
    restarts = loses_nodes = False
    troubles = {
        "submit refused": Said(2, "", "localbatch: argument --wall: invalid int value: 'x'\n"),
        "full": Said(75, "", "localbatch: cannot record: database or disk is full\n"),
        "down": Said(75, "", "localbatch: cannot record: database is locked\n"),
        "unclear": Said(74, "", "localbatch: cannot record: disk I/O error\n"),
    }

    def read(self, words):
        at = words.index("--area")
        if list(words[1:at]) != ["-P", "-s", "-m", "jim.localbatch"]:
            raise Usage(2, "python: error\n")
        return super().read(words[at + 2 :])

    def read_submit(self, words):
        given, rest = options("localbatch", words, valued="--name --array --wall --memory-mb --queue", code=2)
        return Submission(given["--name"], int(given["--array"]), script("localbatch", rest), said=given)

    def read_list(self, words):
        return Ask({"list": ""})

    def read_history(self, words):
        return Ask({"history": ""}, tuple(words))

    def read_find(self, words):
        return Ask({"find": words[0]})

    def read_cancel(self, words):
        return Tell("cancel", self.numbers(words))

    def read_hold(self, words):
        return Tell("hold", self.numbers(words))

    def read_release(self, words):
        return Tell("release", self.numbers(words))

    def read_suspend(self, words):
        return Tell("suspend", self.numbers(words))

    def read_resume(self, words):
        return Tell("resume", self.numbers(words))

    def read_ping(self, words):
        return Ping()

    def accepted(self, job):
        return Said(0, f"{job.id}\n")

    def told(self, ask, tasks, now):
        if "list" in ask.given:
            live = [task for task in tasks if task.phase is not Phase.ENDED]
            return _framed([f"{_place(task)}|{WORDS[task.phase]}|{task.mark}" for task in live])
        if "find" in ask.given:
            return _framed([_whole(task) for task in tasks if task.mark == ask.given["find"]])
        ended = [task for task in tasks if self.accounted(task, now) and str(task.job.id) in ask.ids]
        return _framed(list(map(_whole, ended)))

    def obeyed(self, tell, unknown):
        lines = [f"unknown job {id_}\n" for id_, _ in unknown]
        return Said(1 if lines else 0, "", "".join(lines))

    def pong(self):
        return Said(0, "slots 3 held 1 running 1 suspended 1\n")

    def environment(self, task):
        return {"LOCALBATCH_ID": str(task.job.id), "LOCALBATCH_INDEX": str(task.index)}


def _framed(lines):
    return Said(0, "\n".join([f"jobs {len(lines)}", *lines, "end"]) + "\n")


def _place(task):
    return f"{task.job.id}|{task.index}"


def _whole(task):
    if task.phase is not Phase.ENDED:
        return f"{_place(task)}|{WORDS[task.phase]}|-|-|-|{task.mark}"
    word = "cancelled" if task.why == "cancelled" else "ended"
    told = ["-" if each is None else str(each) for each in (task.code, task.signal)]
    reason = {"": "-", "cancelled": "cancelled", "limit": "wall time", "node": "ended while the daemon was down"}[
        task.why
    ]
    return "|".join([_place(task), word, *told, reason, task.mark])


DIALECT = Local
