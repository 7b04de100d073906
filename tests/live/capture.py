"""Ask a lab's batch system everything its adapter asks, in good and bad times, and keep the answers byte for byte.

    PYTHONPATH=. .venv/bin/python tests/live/capture.py slurm DIRECTORY    # as root; the lab is up, with two nodes

A new version of a batch system gets a directory of its own in tests/captured. What its answers mean is written
beside them by hand, in expected.toml: see tests/unit/conformance.py. Takes some minutes, for limits are minutes.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
import tomllib
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

from jim.adapters.base import Adapter
from jim.adapters.condor import Condor
from jim.adapters.condor_transfer import CondorTransfer
from jim.adapters.sge import Sge
from jim.adapters.slurm import Slurm
from jim.idealizer.run import run
from jim.model import Answer, Batch, Resources

LABS = Path(os.environ.get("JIM_LABS", "/var/lib/jim-labs"))
USER = os.environ.get("LAB_USER", "griduser")
PAYLOADS = {"ok": "true", "sleep": "sleep 600", "seven": "exit 7", "segv": "kill -SEGV $$", "kill": "kill -KILL $$"}


class Capture:
    """One directory of answers."""

    def __init__(self, adapter: Adapter, place: Path) -> None:
        self.adapter, self.place, self.count = adapter, place, 0
        place.mkdir(parents=True)
        self.scripts = place.parent / f".{place.name}"
        self.scripts.mkdir(exist_ok=True)
        self.scripts.chmod(0o755)

    def ask(self, name: str, command: Sequence[str], *, limit: float = 60) -> Answer:
        """Run a command as the lab's user and keep what it said under a name that begins with the kind of question."""
        answer = run(command, limit=limit, account=USER)
        for ending, text in ((".txt", answer.out), (".stderr.txt", answer.err)):
            if text or (ending == ".txt" and not answer.err):
                (self.place / f"{name}{ending}").write_text(text)
        with (self.place / "NOTE").open("a") as file:
            file.write(f"{name}: exit {answer.code}: {shlex.join(command)}\n")
        return answer

    def batch(self, payload: str = "ok", size: int = 1, options: Sequence[str] = (), **asked: object) -> Batch:
        """Describe a submission of its own mark; the payload is a line of shell."""
        self.count += 1
        script = self.scripts / f"{self.count}.sh"
        script.write_text(f"#!/bin/sh\n{PAYLOADS.get(payload, payload)}\n")
        script.chmod(0o755)
        resources = Resources(**asked)  # type: ignore[arg-type]
        return Batch(f"jim-cafe0001-{self.count}-1", str(script), str(self.place), size, resources, tuple(options))

    def submit(self, name: str, *words: object, limit: float = 60, **more: object) -> str:
        """Submit, keep the answer, and give the batch id where there is one."""
        batch = self.batch(*words, **more)  # type: ignore[arg-type]
        answer = self.ask(f"submit{name}", self.adapter.submit_command(batch), limit=limit)
        return self.adapter.parse_submit(answer) if answer.code == 0 else ""

    def quietly(self, *words: object, **more: object) -> str:
        """Submit without keeping the answer."""
        batch = self.batch(*words, **more)  # type: ignore[arg-type]
        return self.adapter.parse_submit(run(self.adapter.submit_command(batch), limit=60, account=USER))

    def questions(self, when: str, ids: Sequence[str], *, limit: float = 60) -> None:
        """Ask everything once while something is wrong."""
        self.submit(when, limit=limit)
        self.ask(f"list{when}", self.adapter.query_command(), limit=limit)
        self.ask(f"history{when}", self.adapter.history_command(ids), limit=limit)
        self.ask(f"cancel{when}", self.adapter.cancel_command([(ids[0], 1)]), limit=limit)
        self.ask(f"change{when}", self.adapter.change_command("hold", [(ids[0], 1)]) or [], limit=limit)
        self.ask(f"ping{when}", self.adapter.ping_command(), limit=limit)


def frozen(pid_file: Path):
    """Stop a daemon for a while."""
    return stopped([int(pid_file.read_text())])


@contextmanager
def stopped(pids: Sequence[int]):
    """Stop some processes for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def operator(*command: str) -> str:
    """Run a command as root."""
    answer = run(command, limit=60)
    return answer.out + answer.err


def shown(command: Sequence[str], *words: str, gone: Sequence[str] = (), seconds: float = 200) -> None:
    """Wait until a command shows all these words, and none of those; any white space is one blank."""
    end = time.monotonic() + seconds
    while True:
        said = f" {' '.join(operator(*command).split())} "
        if all(word in said for word in words) and not any(word in said for word in gone):
            return
        if time.monotonic() > end:
            raise TimeoutError(f"{shlex.join(command)} does not show {words} without {gone}, but\n{said}")
        time.sleep(0.5)


SQUEUE = ["squeue", "--array", "--states=all", "--noheader", "--format=%i %T"]


def in_state(state: str, *ids: str) -> list[str]:
    """Say as SQUEUE does that these jobs are in a state."""
    return [f" {id_} {state} " for id_ in ids]


def named(number: int, state: str) -> str:
    """Say as qstat does that the job of so many a submission is in a state."""
    return f"<JB_name>jim-cafe0001-{number}-1</JB_name> <JB_owner>{USER}</JB_owner> <state>{state}</state>"


def slurm(place: Path) -> None:
    """Capture Slurm."""
    kept = Capture(Slurm(), place)
    adapter, ask, submit = kept.adapter, kept.ask, kept.quietly
    ask("list-empty", adapter.query_command())
    ids = {
        name: submit(payload, **more)
        for name, payload, more in (
            ("ok", "ok", {"size": 2}),
            ("seven", "seven", {}),
            ("segv", "segv", {}),
            ("kill", "kill", {}),
            ("limit", "sleep", {"wall_seconds": 60}),
            ("lost", "sleep", {"options": ["--nodelist=n2"]}),
            ("array", "sleep", {"size": 3, "options": ["--nodelist=n1"]}),
            ("suspended", "sleep", {"options": ["--nodelist=n1"]}),
            ("held", "sleep", {"size": 2, "options": ["--hold"]}),
            ("held by an operator", "sleep", {"options": ["--begin=now+1hour"]}),
            ("too long", "sleep", {"queue": "short", "wall_seconds": 6000}),
        )
    }
    run(["sbatch", "--job-name=\x1b[31ma\n1_1|x", "--hold", "--wrap", "true"], limit=60, account=USER)
    first = {name: f"{id_}_1" for name, id_ in ids.items()}
    shown(
        SQUEUE,
        *in_state("RUNNING", *(first[name] for name in ("limit", "lost", "array", "suspended"))),
        *in_state("COMPLETED", f"{ids['ok']}_1", f"{ids['ok']}_2"),
        *in_state("FAILED", *(first[name] for name in ("seven", "segv", "kill"))),
    )
    operator("scontrol", "suspend", first["suspended"])
    operator("scontrol", "hold", f"{ids['held by an operator']}_1")
    ask("cancel", adapter.cancel_command([(ids["array"], 1), (ids["held"], 2)]))
    ask("ping", adapter.ping_command())
    ask("list", adapter.query_command())
    shown(SQUEUE, *in_state("CANCELLED", first["array"]), gone=[f" {ids['held']}_2 "])
    ask("find", adapter.find_command("jim-cafe0001-7-1"))
    ask("find-nothing", adapter.find_command("jim-cafe0001-999-1"))
    with frozen(LABS / "slurm/pid/slurmd.n2.pid"):
        shown(SQUEUE, "NODE_FAIL")
        shown(SQUEUE, "TIMEOUT")
        ask("list-later", adapter.query_command())
        ask("history", adapter.history_command([*ids.values(), "99999"]))
    completed = Slurm({"history": ["grep", "-hE", str(LABS / "slurm/log/jobcomp.log")]})
    ask("history-jobcomp", completed.history_command([*ids.values(), "99999"]))
    ask("history-jobcomp-nothing", completed.history_command(["99999"]))
    missing = Slurm({"history": ["grep", "-hE", "/nodir/jobcomp.log"]})
    ask("history-jobcomp-missing", missing.history_command(["99999"]))
    ask("history-unknown", adapter.history_command(["99999"]))
    ask("history-none", adapter.history_command(["99998", "99999"]))
    ask("cancel-unknown", adapter.cancel_command([("99999", 1)]))
    ask(
        "cancel-foreign",
        adapter.cancel_command([(operator("sbatch", "--parsable", "--hold", "--wrap", "true").strip(), 0)]),
    )
    ask("change", adapter.change_command("release", [(ids["held"], 1)]) or [])
    ask("change-unknown", adapter.change_command("hold", [("99999", 1)]) or [])
    ask("change-ended", adapter.change_command("hold", [(ids["ok"], 1)]) or [])

    kept.submit("")
    kept.submit("-array", size=3)
    kept.submit("-array-too-large", size=100_001)
    kept.submit("-queue", queue="nosuch")
    kept.submit("-queue-closed", queue="closed")
    kept.submit("-queue-of-others", queue="groups")
    kept.submit("-memory", memory_mb=10_000_000)
    kept.submit("-cores", cores=10_000)
    kept.submit("-disk", disk_mb=10_000_000)
    for name, option in (("option", "--nonsense"), ("value", "--mem=much"), ("constraint", "--constraint=nosuch")):
        kept.submit(f"-{name}", options=[option])
    for name, option in (("gres", "--gres=nosuch:1"), ("reservation", "--reservation=nosuch"), ("licence", "-Lnosuch")):
        kept.submit(f"-{name}", options=[option])
    for name, content in (("no-shell", "true\n"), ("empty", "")):
        batch = kept.batch()
        Path(batch.script).write_text(content)
        ask(f"submit-script-{name}", adapter.submit_command(batch))
    batch = kept.batch()
    Path(batch.script).unlink()
    ask("submit-script-missing", adapter.submit_command(batch))

    with frozen(LABS / "slurm/pid/slurmctld.pid"):
        kept.questions("-frozen", [ids["array"]])
    munged = int(Path("/run/munge/munged.pid").read_text())
    os.kill(munged, signal.SIGKILL)
    kept.questions("-munge", [ids["array"]])
    os.kill(int((LABS / "slurm/pid/slurmctld.pid").read_text()), signal.SIGKILL)
    operator("runuser", "-u", "munge", "--", "/usr/sbin/munged", "--force")
    kept.questions("-down", [ids["array"]])


def slurm_accounts(place: Path) -> None:
    """Capture what only a Slurm with slurmdbd says, which enforces its limits.

    The lab: SLURM_LAB_ACCOUNTS=slurmdbd, and in SLURM_LAB_EXTRA AccountingStorageEnforce=associations,limits,qos and
    EnforcePartLimits=ALL.
    """
    kept = Capture(Slurm({"history": ["sacct"]}), place)
    adapter, ask, submit = kept.adapter, kept.ask, kept.quietly
    operator("sacctmgr", "-i", "add", "account", "grid")
    operator("sacctmgr", "-i", "add", "user", USER, "account=grid")
    ids = {
        name: submit(payload, **more)
        for name, payload, more in (
            ("ok", "ok", {"size": 2}),
            ("seven", "seven", {}),
            ("segv", "segv", {}),
            ("limit", "sleep", {"wall_seconds": 60}),
            ("array", "sleep", {"size": 3}),
            ("held", "sleep", {"size": 3, "options": ["--hold"]}),
        )
    }
    shown(SQUEUE, *in_state("RUNNING", *(f"{ids['array']}_{n}" for n in (1, 2, 3)), f"{ids['limit']}_1"))
    run(adapter.cancel_command([(ids["array"], 1), (ids["held"], 2)]), limit=60, account=USER)
    sacct = ["sacct", "--allusers", "--allocations", "--noheader", "--parsable2", "--format=jobid,state"]
    shown(sacct, f" {ids['limit']}_1|TIMEOUT", f" {ids['array']}_1|CANCELLED")
    ask("history", adapter.history_command([*ids.values(), "99999"]))
    ask("history-unknown", adapter.history_command(["99999"]))
    ask("list", adapter.query_command())
    kept.submit("")
    kept.submit("-account", account="nosuch")
    kept.submit("-qos", options=["--qos=nosuch"])
    kept.submit("-cores", cores=10_000)
    kept.submit("-wall", queue="short", wall_seconds=6000)
    operator("sacctmgr", "-i", "modify", "user", USER, "set", "MaxSubmitJobs=1")
    shown(["scontrol", "show", "assoc_mgr", "flags=assoc", f"users={USER}"], "MaxSubmitJobs=1")
    kept.submit("-limit", size=3)
    with frozen(LABS / "slurm/pid/slurmdbd.pid"):
        ask("history-frozen", adapter.history_command([ids["ok"]]))
    os.kill(int((LABS / "slurm/pid/slurmdbd.pid").read_text()), signal.SIGKILL)
    ask("history-down", adapter.history_command([ids["ok"]]))


def sge(place: Path) -> None:
    """Capture Grid Engine."""
    words = tomllib.loads((LABS / "sge/site.toml").read_text())["batch"]["commands"]
    kept = Capture(Sge(words), place)
    adapter, ask, submit = kept.adapter, kept.ask, kept.quietly
    environment, programs = words["ping"][:-1], words["ping"][-1].removesuffix("qconf")
    as_root = [*environment, f"{programs}qmod"]
    ask("list-empty", adapter.query_command())
    again = f"[ -e {kept.scripts}/$JOB_ID ] && sleep 600; : >{kept.scripts}/$JOB_ID; exit 99"
    kept.scripts.chmod(0o777)
    ids = {
        name: submit(payload, **more)
        for name, payload, more in (
            ("ok", "ok", {"size": 2}),
            ("seven", "seven", {}),
            ("segv", "segv", {}),
            ("kill", "kill", {}),
            ("limit", "trap '' USR2; sleep 600", {"wall_seconds": 5}),
            ("array", "sleep", {"size": 3}),
            ("deleting", "trap '' USR2; sleep 600; sleep 600", {}),
            ("suspended", "sleep", {}),
            ("held", "sleep", {"size": 2, "options": ["-h"]}),
            ("again", again, {}),
            ("waiting", "ok", {"size": 2, "options": ["-a", "203012312359"]}),
        )
    }
    odd = Batch("jim-odd", "/bin/sleep", "", 1)
    for name, more in (("a<b>&'c", []), ("jim-cafe0001-101-1", ["-o", "/nodir/x"])):
        command = [*adapter.submit_command(odd)[:-1], "-N", name, *more, "-b", "y", "/bin/sleep", "600"]
        run(command, limit=60, account=USER)
    qstat = [word.replace("$user", "*") for word in adapter.query_command()]
    number = {name: n for n, name in enumerate(ids, 1)}
    at_once = [f"jim-cafe0001-{number[name]}-1<" for name in ("ok", "seven", "segv", "kill")]
    run_on = [named(number[name], "r") for name in ("array", "deleting", "suspended")]
    shown(qstat, *run_on, named(number["again"], "Rr"), named(101, "Eqw"), gone=at_once)
    operator(*as_root, "-sj", ids["suspended"])
    ask("cancel", adapter.cancel_command([(ids["array"], 1), (ids["held"], 2)]))
    ask("cancel-registered", adapter.cancel_command([(ids["deleting"], 1)]))
    ask("cancel-again", adapter.cancel_command([(ids["deleting"], 1)]))
    ask("list", adapter.query_command())
    shown(qstat, gone=[f"jim-cafe0001-{number['limit']}-1<", named(number["array"], "dr")])
    for name in ("limit", "array"):  # the accounting comes late
        shown(adapter.history_command([ids[name]]), f"jim-cafe0001-{number[name]}-1")
    ask("list-later", adapter.query_command())
    ask("find", adapter.find_command("jim-cafe0001-6-1"))
    ask("history", adapter.history_command([*ids.values(), "99999"]))
    ask("history-nothing", adapter.history_command(["99999"]))
    missing = Sge({"history": ["grep", "-hE", "/nodir/accounting"]})
    ask("history-missing", missing.history_command(["99999"]))
    ask("cancel-unknown", adapter.cancel_command([("99999", 1), (ids["ok"], 1)]))
    ask("change", adapter.change_command("release", [(ids["held"], 1)]) or [])
    ask("change-unknown", adapter.change_command("hold", [("99999", 1)]) or [])
    ask("ping", adapter.ping_command())
    foreign = operator(*environment, f"{programs}qsub", "-terse", "-h", "-b", "y", "/bin/true").strip()
    ask("cancel-foreign", adapter.cancel_command([(foreign, 0)]))

    kept.submit("")
    kept.submit("-array", size=3)
    kept.submit("-warned", options=["-r", "y"])
    kept.submit("-array-too-large", size=75_001)
    kept.submit("-queue", queue="nosuch")
    kept.submit("-account", account="nosuch")
    kept.submit("-resource", options=["-l", "nosuch=1"])
    kept.submit("-option", options=["-nonsense"])
    kept.submit("-value", options=["-l", "h_rt=long"])
    kept.submit("-never", queue="all.q", cores=10_000, options=["-w", "e"])
    batch = kept.batch(cores=2)
    ask("submit-cores", ["nosuch" if word == "smp" else word for word in adapter.submit_command(batch)])
    Path(batch.script).unlink()
    ask("submit-script-missing", adapter.submit_command(batch))
    with frozen(LABS / "sge/qmaster/qmaster.pid"):
        kept.questions("-frozen", [ids["array"]], limit=5)
    os.kill(int((LABS / "sge/qmaster/qmaster.pid").read_text()), signal.SIGKILL)
    kept.questions("-down", [ids["array"]])


def condor(place: Path) -> None:
    """Capture HTCondor.

    The lab: in CONDOR_LAB_EXTRA EVENT_LOG=/var/lib/jim-labs/condor/log/EventLog and MAX_JOBS_PER_SUBMISSION=100.
    """
    words = tomllib.loads((LABS / "condor/site.toml").read_text())["batch"]["commands"]
    kept = Capture(Condor(words), place)
    adapter, ask, submit, scripts = kept.adapter, kept.ask, kept.quietly, kept.scripts
    as_user = ("runuser", "-u", USER, "--")
    log = ["log=" + str(scripts / "events")]
    scripts.chmod(0o777)
    ask("list-empty", adapter.query_command())
    ids = {
        name: submit(payload, **{"options": log, **more})
        for name, payload, more in (
            ("ok", "ok", {"size": 2}),
            ("seven", "seven", {}),
            ("segv", "segv", {}),
            ("kill", "kill", {}),
            ("limit", "sleep", {"wall_seconds": 10}),
            ("over", "sleep", {"options": [*log, "allowed_job_duration=6"]}),
            ("array", "sleep", {"size": 3}),
            ("suspended", "sleep", {}),
            ("held", "sleep", {"size": 2, "options": [*log, "hold=true"]}),
            ("held while it ran", "sleep", {}),
            ("idle", "sleep", {"memory_mb": 1_000_000}),
            ("held as its file is missing", "ok", {"options": [*log, f"input={scripts}/missing"]}),
        )
    }
    first = {name: f"{id_}.0" for name, id_ in ids.items()}
    shown([*as_user, *words["query"], "-af:j", "JobStatus"], f" {first['array']} 2 ", f" {first['suspended']} 2 ")
    ran = first["held while it ran"]
    shown([*as_user, *words["query"], "-af:j", "JobStatus"], f" {ran} 2 ")
    ask("change", adapter.change_command("suspend", [(ids["suspended"], 1)]) or [])
    ask("change-hold", adapter.change_command("hold", [(ids["held while it ran"], 1)]) or [])
    shown([*as_user, *words["query"], "-af:j", "JobStatus"], f" {ran} 5 ", f" {first['suspended']} 7 ")
    ask("list", adapter.query_command())
    ask("find", adapter.find_command("jim-cafe0001-7-1"))
    ask("find-nothing", adapter.find_command("jim-cafe0001-999-1"))
    ask("ping", adapter.ping_command())
    ask("change-release", adapter.change_command("release", [(ids["held while it ran"], 1)]) or [])
    ask("cancel", adapter.cancel_command([(ids["array"], 1), (ids["held"], 2)]))
    gone = [f" {first[name]} " for name in ("limit", "over", "held while it ran", "held as its file is missing")]
    shown([*as_user, *words["query"], "-af:j", "JobStatus"], gone=[*gone, f" {first['array']} "])
    ask("list-later", adapter.query_command())
    ask("cancel-idle", adapter.cancel_command([(ids["idle"], 0), (ids["suspended"], 0), (ids["held"], 1)]))
    all_ids = [*ids.values(), "99999"]
    ask("history", adapter.history_command(all_ids))
    ask("history-unknown", adapter.history_command(["99999"]))
    for name, file in (("log", scripts / "events"), ("EventLog", LABS / "condor/log/EventLog")):
        logged = Condor({"history": ["grep", "-hE", str(file)]})
        ask(f"history-{name}", logged.history_command(all_ids))
        ask(f"history-{name}-nothing", logged.history_command(["99999"]))
    missing = Condor({"history": ["grep", "-hE", "/nodir/EventLog"]})
    ask("history-log-missing", missing.history_command(["99999"]))
    ask("cancel-unknown", adapter.cancel_command([("99999", 1), ("99998", 0)]))
    ask("cancel-ended", adapter.cancel_command([(ids["ok"], 1)]))
    ask("change-unknown", adapter.change_command("hold", [("99999", 1)]) or [])
    ask("change-ended", adapter.change_command("release", [(ids["ok"], 1)]) or [])

    kept.submit("")
    kept.submit("-array", size=3)
    kept.submit("-array-too-large", size=101)
    kept.submit("-cores", cores=10_000)
    kept.submit("-option", options=["-nonsense"])
    kept.submit("-value", options=["request_gpus=much["])
    kept.submit("-attribute", options=["MY.1x=2"])
    kept.submit("-constraint", options=["requirements=(("])
    kept.submit("-group", account="nosuch")
    batch = kept.batch()
    Path(batch.script).unlink()
    ask("submit-script-missing", adapter.submit_command(batch))
    batch = kept.batch()
    ask("submit-directory-missing", adapter.submit_command(batch._replace(directory="/nodir")))

    master = (LABS / "condor/run/master.pid").read_text().strip()
    schedd = [int(pid) for pid in operator("pgrep", "-P", master, "-x", "condor_schedd").split()]
    with stopped(schedd):
        kept.questions("-frozen", [ids["array"]], limit=5)
    for pid in (int(master), *schedd):  # in this order, or it is started anew
        os.kill(pid, signal.SIGKILL)
    kept.questions("-down", [ids["array"]])


def condor_transfer(place: Path) -> None:
    """Capture what HTCondor says of jobs whose files it transfers; the same lab."""
    words = tomllib.loads((LABS / "condor/site.toml").read_text())["batch"]["commands"]
    kept = Capture(CondorTransfer(words), place)
    adapter, ask, scripts = kept.adapter, kept.ask, kept.scripts
    (scripts / "luggage").mkdir()
    scripts.chmod(0o777)

    def submit(name: str, *payload: object, **more: object) -> str:
        batch = kept.batch(*payload, **more)._replace(directory=str(scripts))  # type: ignore[arg-type]
        return adapter.parse_submit(ask(f"submit{name}", adapter.submit_command(batch)))

    back = "mkdir back"
    submit("", f"{back}; exit 7")
    submit("-array", f"{back}; : >back/$JIM_CONDOR_INDEX; sleep 600", size=3)
    submit("-nothing-back", "true")
    shown(
        ["runuser", "-u", USER, "--", *words["query"], "-af:j", "JobStatus"],
        *(f" 2.{process} 2 " for process in range(3)),
        gone=[" 1.0 ", " 3.0 "],
    )
    ask("list", adapter.query_command())
    ask("cancel", adapter.cancel_command([("2", 1)]))
    ask("history", adapter.history_command(["1", "2", "3"]))
    ask("find", adapter.find_command("jim-cafe0001-2-1"))
    batch = kept.batch()._replace(directory="/nodir")
    ask("submit-directory-missing", adapter.submit_command(batch))
    (scripts / "luggage").rmdir()
    ask("submit-luggage-missing", adapter.submit_command(kept.batch()._replace(directory=str(scripts))))
    batch = kept.batch()._replace(directory=str(scripts))
    Path(batch.script).unlink()
    ask("submit-script-missing", adapter.submit_command(batch))
    ask("cancel-unknown", adapter.cancel_command([("99999", 1)]))


if __name__ == "__main__":
    {
        "slurm": slurm,
        "slurm_accounts": slurm_accounts,
        "sge": sge,
        "condor": condor,
        "condor_transfer": condor_transfer,
    }[sys.argv[1]](Path(sys.argv[2]).absolute())
