"""What is done to a real batch system and to JIM itself, and what became of the local jobs: counted, not believed.

make glitch-report    # as root; the same as the tests in test_faults.py, as a table
"""

from __future__ import annotations

import math
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by `python -P`, which leaves it out

import psutil

from jim.model import State
from tests.live.site import (
    LONG,
    MUNGED,
    QMASTER,
    ROOM,
    SLURMCTLD,
    SLURMDBD,
    USER,
    Daemon,
    LiveSite,
    install,
    operator,
    start_lab,
    until,
)

PIECES = 50
SGE_DELIVERS = 480  # five minutes after a crash it delivers anew what it was about to deliver
SLURM_MISSES = 600  # six minutes after a crash it sees that a node does not have what was to run there
UNKNOWN_END = "JIM could not find out how ended jobs ended (2 in a row)"
ACCOUNTS: dict[str, Any] = {"lab": {"SLURM_LAB_ACCOUNTS": "slurmdbd"}, "history": "sacct", "all_at_once": True}
DENIALS = {
    "slurm": (
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch: error: AssocMaxSubmitJobLimit",
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
    ),
    "sge": (
        "error: commlib error: got select error (Connection refused)",
        "Unable to run job: job rejected: only 10 jobs are allowed per user (current job count: 10).",
        "error: unable to send message to qmaster",
    ),
}
MOST_JOBS = "SLURM_LAB_MAXJOBS"
FAULTY = "command_seconds = 12.0"  # below what squeue waits for a frozen controller, above what sbatch does


CARRIERS = 4
BUNDLED = {"bundle": -(-PIECES // CARRIERS), "cores": 1, "memory_mb": 200}


# Its wrapper, and its carrier if it has one: all between it and the daemon of the batch system, from above.
KILL_ALL_ABOVE = """
up=$$ all=
until [ "${up:-1}" -le 1 ] || grep -q -e slurmstepd -e sge_shepherd /proc/$up/comm; do
    all="$up $all" up=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$up/status)
done
kill -KILL $all
"""


class Controller(NamedTuple):
    """The daemon that knows all jobs of a batch system, and what an operator may ask it."""

    daemon: Daemon
    is_up: tuple[str, ...]  # a command, and what it says when all is well
    another_job: tuple[str, ...]
    all_jobs: tuple[str, ...]


CONTROLLERS = {
    "slurm": Controller(
        SLURMCTLD,
        ("scontrol", "ping", "is UP"),
        ("sbatch", "--output=/dev/null", "--wrap=sleep 1"),
        ("squeue", "-h", "-t", "all", f"--user={USER}"),
    ),
    "sge": Controller(
        QMASTER,
        ("qconf", "-sss", os.uname().nodename),
        ("qsub", "-b", "y", "-o", "/dev/null", "-j", "y", "-N", "another", "/bin/sleep", "1"),
        ("qstat", "-u", USER),
    ),
}


class Counts(NamedTuple):
    """What became of the local jobs."""

    local_jobs: int
    lost: int  # no end is told of it
    twice: int  # an attempt that started twice, or two alive at once
    again: int  # a payload that had come to its end, and was done again: nobody had recorded it
    wrong: int  # another end than the one it had


class Fault(NamedTuple):
    """Something done to a batch system while JIM uses it; `make` returns the grid job."""

    what: str
    make: Callable[[LiveSite], int]
    end: str = "completed"
    lab: dict[str, object] = {}
    batch: str = FAULTY
    per_submission: int = 0
    history: str = ""  # who tells how jobs ended, where it is another one: the program of this name
    system: str = "slurm"
    limit: float = 240  # in which all has ended
    asks: dict[str, object] = {}
    all_at_once: bool = False  # or else, of a bundle, only a third

    @property
    def settings(self) -> dict[str, Any]:
        """What is special in the site file, and in all its requests."""
        more = f"[limits]\nper_submission = {self.per_submission}\n" if self.per_submission else ""
        return {"batch": self.batch, "more": more, "history": self.history, "asks": self.asks}

    def bundled(self) -> Fault:
        """Do the same to carriers: what counts batch jobs becomes as much less."""
        fewer = CARRIERS / PIECES
        at_once = BUNDLED["bundle"] if self.all_at_once else CARRIERS
        return self._replace(
            what=f"{self.what}; in {CARRIERS} carriers",
            per_submission=math.ceil(self.per_submission * fewer),
            lab={name: math.ceil(each * fewer) if name == MOST_JOBS else each for name, each in self.lab.items()},
            asks={**BUNDLED, "at_once": at_once},
        )


def count(site: LiveSite, job: int, end: str, pieces: int = PIECES) -> Counts:
    """Hold what JIM tells in the end against what the payloads wrote down."""
    told, files = site.tar(job)
    starts, ends = site.events("start", job), site.events("end", job)
    done = [n for n, _ in ends.elements()]
    twice = sum(starts.values()) - len(starts) + site.overlaps(job)
    wrong = 0
    for n, each in told.items():
        right = each["state"] == end and not _lives_on(site, job, n)
        if each["state"] == "completed":
            own = files.get(f"{job}.{n}/out.txt") == f"data {n} {each['attempt']}\n".encode()
            right = right and own and ends[n, each["attempt"]] == 1
        wrong += not right
    return Counts(pieces, pieces - len(told), twice, len(done) - len(set(done)), wrong)


def _lives_on(site: LiveSite, job: int, n: int) -> bool:
    """Tell whether a payload lives although its end is told; what it has started may take a moment longer."""
    try:
        until(lambda: not site.alive(job, n), "its payload is dead", 2)
    except AssertionError:
        return True
    return False


def _until_said(site: LiveSite, words: str, limit: float = 90) -> None:
    until(lambda: words in site.log(), f"the keeper says {words!r}", limit)


def _runs(site: LiveSite, job: int, least: int = 0) -> None:
    least = least or (CARRIERS * 2 if site.asks else PIECES // 2)
    until(lambda: len(site.events("start", job)) >= least, f"{least} of {job} run", 90)


def _controller(site: LiveSite) -> Daemon:
    return CONTROLLERS[site.system].daemon


def frozen_at_submit(site: LiveSite) -> int:
    with site.held("before", "submit") as hold:
        job = site.submit(PIECES)
        hold.there()
        with _controller(site).frozen():
            hold.go()
            _until_said(site, f"{job}: submission 1: ")  # the controller has got it, and says nothing
    return job


def frozen_at_query(site: LiveSite) -> int:
    job = site.submit(PIECES, body="sleep 3")
    _runs(site, job)
    with _controller(site).frozen():
        _until_said(site, "did not answer (1 in a row)")
    return job


def frozen_at_cancel(site: LiveSite) -> int:
    job = site.submit(PIECES, body=LONG)
    _runs(site, job)
    with site.held("before", "cancel") as hold:
        site.door("jim-cancel", str(job))
        hold.there()
        with _controller(site).frozen():
            hold.go()
            _until_said(site, "did not answer (1 in a row)")
    return job


def killed_after_submit(site: LiveSite) -> int:
    """Give the controller the chance to forget a job that it has accepted, and to give its id to another's job."""
    with site.held("after", "submit") as hold:
        job = site.submit(PIECES)
        hold.there()
        controller = CONTROLLERS[site.system]
        controller.daemon.kill()
        controller.daemon.start_again()
        *command, well = controller.is_up
        until(lambda: well in operator(*command), f"{controller.daemon.pid_file.stem} is up", 30)
        operator(*controller.another_job)
        hold.go()
    return job


def killed_while_they_run(site: LiveSite) -> int:
    # The controller has forgotten what had just begun, and has it killed: children first, as slurmd's linuxproc does.
    job = site.submit(PIECES, body="sleep 20 || exit")
    # Grid Engine delivers some minutes later what it was about to deliver then.
    _runs(site, job, 5 if site.system == "slurm" else PIECES)
    _controller(site).kill()
    _until_said(site, "(1 in a row)")
    _controller(site).start_again()
    if site.system == "slurm":
        until(lambda: _nodes_serve() and _have_ended(site, job), "all payloads have ended", SLURM_MISSES)
    return job


def _have_ended(site: LiveSite, job: int) -> bool:
    return len({n for n, _ in site.events("end", job)}) == PIECES


def _nodes_serve() -> bool:
    """Tell whether no node is drained, and let an operator resume those that are.

    The controller gives ids out again that it has forgotten, and drains a node that still kills the old job of such an
    id: "Duplicate jobid".
    """
    drained = operator("sinfo", "-h", "-t", "drain", "-o", "%N").split()
    if drained:
        operator("scontrol", "update", f"nodename={','.join(set(drained))}", "state=resume")
    return not drained


def taken_for_running(site: LiveSite) -> int:
    """Let nobody hear that some have died, long before their time limit of a minute."""
    body = f'[ "$JIM_ATTEMPT" -gt 1 ] || [ "$1" -ge 5 ] || {{ {LONG}; }}'
    job = site.submit(PIECES, body=body, wall_seconds=60)
    _runs(site, job, PIECES)
    until(lambda: len(site.events("end", job)) == PIECES - 5, "all others have ended", 90)
    daemons = {_daemon(site.wrapper(job, n)) for n in range(5)}
    for each in daemons:
        each.suspend()
    try:
        for each in (process for daemon in daemons for process in daemon.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # of a moment, or ended by the end of another
                each.kill()
        until(lambda: not operator("squeue", "-h", "-t", "running").strip(), "their time is over", 180)
    finally:
        for each in daemons:
            each.resume()
    return job


def munged_dead(site: LiveSite) -> int:
    first = site.submit(1)
    site.ended(first)
    MUNGED.kill()
    try:
        job = site.submit(PIECES)
        _until_said(site, f"{job}: submission 1: ")
    finally:
        MUNGED.start_again()
    return job


def munged_frozen(site: LiveSite) -> int:
    with MUNGED.frozen():
        job = site.submit(PIECES)
        _until_said(site, f"{job}: submission 1: ")
    return job


def lying(site: LiveSite) -> int:
    (site.place / "lying").touch()
    job = site.submit(PIECES, body="sleep 3")
    _until_said(site, f"{job}: submission 2: ")
    return job


def lying_at_cancel(site: LiveSite) -> int:
    job = site.submit(PIECES, body=LONG)
    _runs(site, job)
    (site.place / "lying").touch()
    site.door("jim-cancel", str(job))
    return job


def denying(site: LiveSite) -> int:
    """Let each submission be obeyed and denied, but the first of three: that answer would be believed."""
    (site.place / "denying").write_text("".join(f"{words}\n" for words in DENIALS[site.system]))
    return site.submit(PIECES, body="sleep 3")


def denying_at_cancel(site: LiveSite) -> int:
    (site.place / "denying").write_text("".join(f"{words}\n" for words in DENIALS[site.system]))
    job = site.submit(PIECES, body=LONG)
    until(lambda: site.called("submit"), "it is handed over")
    site.door("jim-cancel", str(job))
    return job


def wrappers_killed(site: LiveSite, by: Sequence[str] = ()) -> int:
    """Kill wrappers alone, at any moment of their payloads' lives."""
    job = site.submit(PIECES, body='[ "$JIM_ATTEMPT" -gt 1 ] || sleep "$((2 + $1 % 5))"', by=by)
    _runs(site, job, PIECES)
    for n in random.sample(range(PIECES), 20):
        with suppress(ProcessLookupError):
            os.kill(site.wrapper(job, n), signal.SIGKILL)
        time.sleep(random.uniform(0, 0.3))
    return job


def wrappers_killed_apart(site: LiveSite) -> int:
    return wrappers_killed(site, ("/usr/bin/timeout", "300"))


def stopped_and_thawed(site: LiveSite) -> int:
    """Stop all of some local jobs while no listing shows them, and thaw them when their successors have ended."""
    job = site.submit(PIECES, body='[ "$JIM_ATTEMPT" -gt 1 ] || [ "$1" -ge 5 ] || exec sleep 600')
    _runs(site, job, PIECES)
    daemons = {_daemon(site.wrapper(job, n)) for n in range(5)}
    stopped = [process for daemon in daemons for process in reversed(daemon.children(recursive=True))]
    for each in stopped:
        with suppress(psutil.NoSuchProcess):  # a `sleep` or `touch` of the toucher
            each.suspend()
    id_ = site.batch_id(job)
    hidden = site.place / "hidden"
    hidden.write_text("".join(f"{id_}_{n + 1}|\n" for n in range(len(daemons))))
    until(lambda: all(site.events("end", job)[n, 2] for n in range(5)), "their successors have ended", 180)
    for each in site.ledger.glob(f"{job}.*.overlap"):  # what is stopped holds its lock, but does nothing
        each.unlink()
    for each in stopped:
        with suppress(psutil.NoSuchProcess):
            each.resume()
    until(lambda: not any(each.is_running() for each in stopped), "what was thawed has ended", 20)
    hidden.unlink()
    return job


def _daemon(wrapper: int) -> psutil.Process:
    """Give the daemon of the batch system that has started a wrapper, or its carrier."""
    return next(each for each in psutil.Process(wrapper).parents() if each.name().startswith("slurmstepd"))


def full(site: LiveSite) -> int:
    """Hand in more than the controller takes at once."""
    return site.submit(PIECES)


def forgotten(site: LiveSite) -> int:
    """Let all end, some by force, and be forgotten by the batch system while no keeper runs."""
    body = f'[ "$JIM_ATTEMPT" -gt 1 ] || [ "$1" -ge 5 ] || {{\n{KILL_ALL_ABOVE}}}\nsleep 1'
    with site.held("after", "submit") as hold:
        job = site.submit(PIECES, body=body)
        hold.there()
        os.kill(site.keeper, signal.SIGKILL)
        hold.go()
    _runs(site, job, PIECES)
    until(lambda: not operator(*CONTROLLERS[site.system].all_jobs).strip(), "all are forgotten", 300)
    site.wake()
    return job


def _until_missed(site: LiveSite) -> None:
    """Wait until JIM misses what the accounts know; of what a carrier has run, it needs nothing of them."""
    _until_said(site, "finished as completed" if site.asks else UNKNOWN_END)


def accounts_dead(site: LiveSite) -> int:
    """Leave nobody who knows how they ended, for a while."""
    SLURMDBD.kill()
    try:
        job = forgotten(site)
        _until_missed(site)
    finally:
        SLURMDBD.start_again()
    return job


def accounts_frozen(site: LiveSite) -> int:
    with SLURMDBD.frozen():
        job = forgotten(site)
        _until_missed(site)
    return job


def keeper_killed(site: LiveSite) -> int:
    """Kill the keeper between the batch command and its answer, and again while they run."""
    with site.held("after", "submit") as hold:
        job = site.submit(PIECES, body="sleep 2")
        hold.there()
        os.kill(site.keeper, signal.SIGKILL)
        hold.go()
    site.wake()
    _runs(site, job, 5)
    until(site.beats, "the new keeper is there", 60)
    os.kill(site.keeper, signal.SIGKILL)
    site.wake()
    return job


def restored(site: LiveSite) -> int:
    """Put back the state directory as it was when the first of two submissions had just been handed over."""
    with site.held("after", "submit") as hold:
        job = site.submit(PIECES, body="sleep 3")
        hold.there()
        os.kill(site.keeper, signal.SIGKILL)
        backup = site.saved()
        hold.go()
    site.wake()
    until(lambda: len(site.events("end", job)) >= 5, "some have ended", 90)
    os.kill(site.keeper, signal.SIGKILL)
    site.put_back(backup)
    site.jim("site", "restored")
    site.wake()
    return job


FAULTS = {
    "frozen at submit": Fault("slurmctld stopped (SIGSTOP) during the answer to sbatch", frozen_at_submit),
    "frozen at query": Fault("slurmctld stopped during the answer to squeue, while local jobs ended", frozen_at_query),
    "frozen at cancel": Fault("slurmctld stopped during the answer to scancel", frozen_at_cancel, "killed"),
    "killed after submit": Fault(
        "slurmctld killed (-9) just after it had accepted a job, started again, another user's job submitted",
        killed_after_submit,
    ),
    "killed while they run": Fault(
        "slurmctld killed (-9) while local jobs ran, down for 3 s",
        killed_while_they_run,
        limit=SLURM_MISSES,
        all_at_once=True,
    ),
    "taken for running": Fault(
        "5 local jobs killed (-9) with their wrappers while slurmstepd was stopped: Slurm reported "
        "them as running until their time limit",
        taken_for_running,
        all_at_once=True,
    ),
    "munged dead": Fault("munged killed (-9) before a submission", munged_dead),
    "munged frozen": Fault("munged stopped before a submission", munged_frozen),
    "keeper killed": Fault(
        "JIM's keeper killed (-9) between sbatch and its answer, and again while local jobs ran", keeper_killed
    ),
    "forgotten": Fault(
        "all local jobs ended, 5 of them killed (-9) with their wrappers, and forgotten "
        "(MinJobAge) while no keeper ran",
        forgotten,
        all_at_once=True,
    ),
    "accounts dead": Fault(
        "the same, with slurmdbd killed (-9) before and started again later", accounts_dead, **ACCOUNTS
    ),
    "accounts frozen": Fault("the same, with slurmdbd stopped meanwhile", accounts_frozen, **ACCOUNTS),
    "lying": Fault(
        "sbatch and squeue that lie: sbatch prints nothing; squeue prints nothing, half a listing, "
        "or a listing without jobs",
        lying,
        per_submission=25,
    ),
    "lying at cancel": Fault(
        "scancel that reports success and does nothing, two times of three", lying_at_cancel, "killed"
    ),
    "denying": Fault("sbatch that obeys but reports failure: no connection, too many jobs, no answer", denying),
    "denying at cancel": Fault("the same, while the grid job is cancelled", denying_at_cancel, "killed"),
    "wrappers killed": Fault("20 wrappers killed (-9) alone, at random moments", wrappers_killed, all_at_once=True),
    "wrappers killed apart": Fault(
        "the same, with each payload in its own process group (timeout)", wrappers_killed_apart, all_at_once=True
    ),
    "stopped and thawed": Fault(
        "5 jobs stopped while squeue did not show them, and thawed when their successors had ended",
        stopped_and_thawed,
        all_at_once=True,
    ),
    "restored": Fault(
        "JIM's state directory restored to the moment after sbatch was answered; 5 or more local jobs had ended since",
        restored,
        per_submission=25,
    ),
    "full": Fault(
        "MaxJobCount of 20 reached by submissions of 8",
        full,
        lab={MOST_JOBS: 20},
        batch="command_seconds = 4.0",
        per_submission=8,
    ),
}
FAULTS |= {
    f"qmaster {name}": FAULTS[name]._replace(what=what, system="sge", limit=SGE_DELIVERS)
    for name, what in {
        "frozen at submit": "qmaster stopped (SIGSTOP) during the answer to qsub",
        "frozen at query": "qmaster stopped during the answer to qstat, while local jobs ended",
        "frozen at cancel": "qmaster stopped during the answer to qdel",
        "killed after submit": (
            "qmaster killed (-9) just after it had accepted a job, started again, another job submitted"
        ),
        "killed while they run": "qmaster killed (-9) while local jobs ran, started again",
        "keeper killed": "JIM's keeper killed (-9) between qsub and its answer, and again while local jobs ran",
        "forgotten": (
            "all local jobs ended, 5 of them killed (-9) with their wrappers, and forgotten by Grid "
            "Engine while no keeper ran"
        ),
        "lying": "qsub and qstat that lie in the same way as sbatch and squeue above",
        "lying at cancel": "qdel that reports success and does nothing, two times of three",
    }.items()
}


def do(fault: Fault, site: LiveSite) -> Counts:
    """Do it, wait for the end, count."""
    job = fault.make(site)
    try:
        site.ended(job, fault.limit)
    except AssertionError:  # it has no end within this time
        states = [State(each) for each in site.states(job).values()]
        return Counts(PIECES, PIECES - sum(each.final for each in states), 0, 0, 0)
    return count(site, job, fault.end)


def main() -> int:
    """Do all of it, and print what was counted as a table in Markdown."""
    if os.getuid():
        print(
            "make glitch-report needs root: it starts and hurts a Slurm and a Grid Engine of its own (Debian)",
            file=sys.stderr,
        )
        return 3
    place = Path(tempfile.mkdtemp(prefix="jim-live-"))
    place.chmod(0o755)
    environment = install(place)
    print("| what was done | local jobs | lost | twice | done twice | wrong end |\n|---|---:|---:|---:|---:|---:|")
    bad = 0
    for fault in (each for alone in FAULTS.values() for each in (alone, alone.bundled())):
        # After a crash a controller takes jobs of before for running, until their time is over.
        start_lab(fault.system, anew=True, **ROOM[fault.system] | fault.lab)
        site = LiveSite(place, fault.system, environment, **fault.settings)
        try:
            counts = do(fault, site)
        finally:
            site.close()
        print(f"| {fault.what} | {' | '.join(map(str, counts))} |", flush=True)
        bad += any(counts[1:])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
