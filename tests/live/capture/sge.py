"""What a Grid Engine says."""

from __future__ import annotations

import os
import signal
import tomllib
from pathlib import Path

from jim.adapters.sge import Sge
from jim.command import run
from jim.model import Batch
from tests.live.capture.asking import ENDING, LABS, USER, Capture, frozen, operator, shown, told_by


def named(number: int, state: str) -> str:
    """Say as qstat does that the job of so many a submission is in a state."""
    return f"<JB_name>jim-cafe0001-{number}-1</JB_name> <JB_owner>{USER}</JB_owner> <state>{state}</state>"


def sge(place: Path) -> None:
    """Capture Grid Engine."""
    words = tomllib.loads((LABS / "sge/site.toml").read_text())["batch"]["commands"]
    kept = Capture(Sge(words), place)
    adapter, ask = kept.adapter, kept.ask
    environment, programs = words["ping"][:-1], words["ping"][-1].removesuffix("qconf")
    as_root = [*environment, f"{programs}qmod"]
    ask("list-empty", adapter.query_command())
    again = f"[ -e {kept.scripts}/$JOB_ID ] && sleep 600; : >{kept.scripts}/$JOB_ID; exit 99"
    kept.scripts.chmod(0o777)
    ids = kept.all(
        *ENDING,
        ("limit", "trap '' USR2; sleep 600", {"wall_seconds": 5}),
        ("array", "sleep", {"size": 3}),
        ("deleting", "trap '' USR2; sleep 600; sleep 600", {}),
        ("suspended", "sleep", {}),
        ("held", "sleep", {"size": 2, "options": ["-h"]}),
        ("again", again, {}),
        ("waiting", "ok", {"size": 2, "options": ["-a", "203012312359"]}),
    )
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
    missing = told_by(Sge, "accounting", ["grep", "-hE", "/nodir/accounting"])
    ask("history-missing", missing.history_command(["99999"]))
    qacct = [*environment, f"{programs}qacct"]
    accounts = told_by(Sge, "qacct", qacct)
    ask("history-qacct", accounts.history_command([*ids.values(), "99999"]))
    ask("history-qacct-nothing", accounts.history_command(["99999"]))
    ask("history-qacct-missing", told_by(Sge, "qacct", [*qacct, "-f", "/nodir/accounting"]).history_command(["99999"]))
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
