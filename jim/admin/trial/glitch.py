"""Makes a batch system fail: JIM's own wrapper stands before the site's real commands."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from jim.admin.finding import OK, Finding
from jim.admin.trial.levels import LIMIT_SECONDS, failed, once, outcome, unfinished
from jim.admin.trial.trial_site import TrialSite
from jim.guide import SHELL
from jim.model import State

Lies = Mapping[str, tuple[str, ...]]
# The faults of `shell/jim-glitch`, call after call; after these it passes the truth.
GLITCHES: tuple[tuple[str, Lies], ...] = (
    ("obeyed, its answer lost", {"submit": ("lost",), "query": ("empty", "empty", "garbage", "hang")}),
    ("not obeyed, exit 0 and no word", {"submit": ("empty",), "find": ("empty", "down"), "query": ("down",)}),
    ("obeyed, an answer of garbage", {"submit": ("garbage",), "find": ("empty",), "query": ("empty", "garbage")}),
    ("obeyed, and never returned", {"submit": ("hang",), "history": ("down", "empty"), "ping": ("down", "hang")}),
)
# Not obeyed; not obeyed and silent; obeyed, but the answer lost.
CANCEL: Lies = {"cancel": ("down", "empty", "lost")}
PIECES = 3
JOBS = PIECES * len(GLITCHES) + 1
PAYLOAD_SECONDS = 5  # a job that ends at once gives no time to ask about it


def glitch(trial: TrialSite) -> Iterator[Finding]:
    """Submit and cancel through commands that fail, hang and lie. No job may be lost, run twice, or end wrongly."""
    with tempfile.TemporaryDirectory(prefix="jim-glitch-") as name:
        plan = Path(name)
        with trial.preceded(str(SHELL / "jim-glitch"), name):
            for how, lies in GLITCHES:
                yield _submitted(trial, plan, how, lies)
            yield _cancelled(trial, plan)


def _tell(plan: Path, lies: Lies) -> None:
    """Arrange faults; drop earlier ones that no call has met."""
    for each in plan.iterdir():
        each.unlink(missing_ok=True)
    for verb, calls in lies.items():
        for number, lie in enumerate(calls):
            (plan / f"{verb}.{number}.{lie}").touch()


def _submitted(trial: TrialSite, plan: Path, how: str, lies: Lies) -> Finding:
    """Let one grid job meet one kind of failed submission, and failed queries."""
    name, began = f"submit: {how}", time.monotonic()
    _tell(plan, lies)
    job = trial.submit_many(how, f"sleep {PAYLOAD_SECONDS}", PIECES)
    found = outcome(trial, name, job, began)
    if found.level != OK:
        return found
    kept = once(trial, job, PIECES)
    return Finding(name, kept.level, f"{kept.said}; {_met(plan, lies)}", kept.todo)


def _met(plan: Path, lies: Lies) -> str:
    """Report how many faults were met: a short job leads to few queries."""
    arranged = sum(map(len, lies.values()))
    return f"faults met: {arranged - len(list(plan.iterdir()))} of {arranged}"


def _cancelled(trial: TrialSite, plan: Path) -> Finding:
    """Check that a failed or unanswered cancel is repeated until the job has ended."""
    name, began = "cancel: not obeyed twice, then its answer lost", time.monotonic()
    _tell(plan, CANCEL)
    job = trial.submit("cancel", "exec sleep 3600")
    trial.until(lambda: bool(trial.starts(job)) or trial.in_vain(job), LIMIT_SECONDS)
    begun = bool(trial.starts(job))
    trial.cancel(job)
    if not (begun and trial.until(lambda: trial.finished(job), LIMIT_SECONDS)):
        return unfinished(trial, name, job, time.monotonic() - began)
    met = _met(plan, CANCEL)
    if trial.local_job(job).state is State.KILLED:
        return Finding(name, OK, f"killed after {time.monotonic() - began:.1f} s; {met}")
    todo = "check in the batch system's log what its cancel command does, and check batch.commands.cancel"
    return failed(trial, name, job, f"the job was not killed: {trial.story(job)}; {met}", todo)
