"""What HTCondor says, with a shared work directory and of jobs whose files it transfers."""

from __future__ import annotations

import os
import signal
import tomllib
from pathlib import Path

from jim.adapters.condor import Condor
from jim.adapters.condor_transfer import CondorTransfer
from tests.live.capture.asking import ENDING, LABS, USER, Capture, operator, shown, stopped, told_by


def condor(place: Path) -> None:
    """Capture HTCondor.

    The lab: in CONDOR_LAB_EXTRA EVENT_LOG=/var/lib/jim-labs/condor/log/EventLog and MAX_JOBS_PER_SUBMISSION=100.
    """
    words = tomllib.loads((LABS / "condor/site.toml").read_text())["batch"]["commands"]
    kept = Capture(Condor(words), place)
    adapter, ask, scripts = kept.adapter, kept.ask, kept.scripts
    as_user = ("runuser", "-u", USER, "--")
    log = ["log=" + str(scripts / "events")]
    scripts.chmod(0o777)
    ask("list-empty", adapter.query_command())
    ids = kept.all(
        *ENDING,
        ("limit", "sleep", {"wall_seconds": 10}),
        ("over", "sleep", {"options": [*log, "allowed_job_duration=6"]}),
        ("array", "sleep", {"size": 3}),
        ("suspended", "sleep", {}),
        ("held", "sleep", {"size": 2, "options": [*log, "hold=true"]}),
        ("held while it ran", "sleep", {}),
        ("idle", "sleep", {"memory_mb": 1_000_000}),
        ("held as its file is missing", "ok", {"options": [*log, f"input={scripts}/missing"]}),
        options=log,
    )
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
        logged = told_by(Condor, "event_log", ["grep", "-hE", str(file)])
        ask(f"history-{name}", logged.history_command(all_ids))
        ask(f"history-{name}-nothing", logged.history_command(["99999"]))
    missing = told_by(Condor, "event_log", ["grep", "-hE", "/nodir/EventLog"])
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
