"""What a Slurm says, with its own job completion file and with slurmdbd."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from jim.adapters.slurm import Slurm
from jim.command import run
from tests.live.capture.asking import ENDING, LABS, USER, Capture, frozen, operator, shown, told_by

SQUEUE = ["squeue", "--array", "--states=all", "--noheader", "--format=%i %T"]


def in_state(state: str, *ids: str) -> list[str]:
    """Say as SQUEUE does that these jobs are in a state."""
    return [f" {id_} {state} " for id_ in ids]


def slurm(place: Path) -> None:
    """Capture Slurm."""
    kept = Capture(Slurm(), place)
    adapter, ask = kept.adapter, kept.ask
    ask("list-empty", adapter.query_command())
    ids = kept.all(
        *ENDING,
        ("limit", "sleep", {"wall_seconds": 60}),
        ("lost", "sleep", {"options": ["--nodelist=n2"]}),
        ("array", "sleep", {"size": 3, "options": ["--nodelist=n1"]}),
        ("suspended", "sleep", {"options": ["--nodelist=n1"]}),
        ("held", "sleep", {"size": 2, "options": ["--hold"]}),
        ("held by an operator", "sleep", {"options": ["--begin=now+1hour"]}),
        ("too long", "sleep", {"queue": "short", "wall_seconds": 6000}),
    )
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
    completed = told_by(Slurm, "jobcomp", ["grep", "-hE", str(LABS / "slurm/log/jobcomp.log")])
    ask("history-jobcomp", completed.history_command([*ids.values(), "99999"]))
    ask("history-jobcomp-nothing", completed.history_command(["99999"]))
    missing = told_by(Slurm, "jobcomp", ["grep", "-hE", "/nodir/jobcomp.log"])
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
    kept = Capture(told_by(Slurm, "sacct", ["sacct"]), place)
    adapter, ask = kept.adapter, kept.ask
    operator("sacctmgr", "-i", "add", "account", "grid")
    operator("sacctmgr", "-i", "add", "user", USER, "account=grid")
    ids = kept.all(
        ("ok", "ok", {"size": 2}),
        ("seven", "seven", {}),
        ("segv", "segv", {}),
        ("limit", "sleep", {"wall_seconds": 60}),
        ("array", "sleep", {"size": 3}),
        ("held", "sleep", {"size": 3, "options": ["--hold"]}),
    )
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
