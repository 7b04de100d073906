"""The levels of the site test, and the words of their findings."""

from __future__ import annotations

import tarfile
import time
from collections.abc import Iterator
from functools import partial

from jim.admin.finding import FAILED, OK, WARNING, Finding
from jim.admin.trial import advice, asking
from jim.admin.trial.trial_site import TrialSite
from jim.evidence.verdict import OF_TIME
from jim.model import Kind, Reason, State
from jim.trust.plugins import foreign

ARRAY, ROUNDTRIP = 20, 5
HISTORY_SECONDS = 60.0  # Grid Engine writes its accounting 15 s after the end of a job, by default
LIMIT_SECONDS = 900.0  # jobs may wait in a busy queue; a test without progress for longer says so
WALL_SECONDS = 60  # the shortest limit that all batch systems accept
ENFORCED_SECONDS = 240  # batch systems enforce a limit with this much delay: they check from time to time
MOST_IDS = 5
EXIT_1 = Reason(Kind.EXIT, {"code": 1}, "exit 1")
SIGNAL_9 = Reason(Kind.KILLED, {"signal": 9}, "killed by signal 9")
# The kinds of an end at a time limit: by JIM and most batch systems, by Grid Engine, by a wrapper after a warning.
LIMITED = {*OF_TIME, Kind.OVER_TIME, Kind.TIME_OR_MEMORY, Kind.WARNED}


def config(trial: TrialSite) -> Iterator[Finding]:
    """Check that the batch system answers, lists its queue, and reports how a job has ended."""
    for question in (asking.health, asking.listing, asking.history):
        with foreign(trial.fault):
            found = question(trial.site)
        yield found


def batch(trial: TrialSite) -> Iterator[Finding]:
    """Run one job, and ask a history again that had no file because no job had ended before."""
    fresh = asking.history(trial.site).level == WARNING
    began = time.monotonic()
    done = outcome(trial, "one job", trial.submit("one", "exit 0"), began)
    yield done
    if fresh and done.level == OK:
        yield _history_by_now(trial)


def _history_by_now(trial: TrialSite) -> Finding:
    """Wait for the history of the first job: some batch systems write theirs after a while."""
    until, last = time.monotonic() + HISTORY_SECONDS, asking.history(trial.site)
    while last.level == WARNING and time.monotonic() < until:
        trial.until(partial(_is_past, time.monotonic() + 1.0), HISTORY_SECONDS)
        last = asking.history(trial.site)
    if last.level != WARNING:
        return last
    said = f"a job has ended, and {HISTORY_SECONDS:g} s later the history still has no file: {last.said}"
    return Finding(last.name, FAILED, said, advice.of_no_history(trial.site))


def _is_past(moment: float) -> bool:
    return time.monotonic() > moment


def outcome(trial: TrialSite, name: str, job: int, began: float) -> Finding:
    """Wait for a grid job, and check that it has completed."""
    trial.until(lambda: trial.over(job), LIMIT_SECONDS)
    seconds = time.monotonic() - began
    if not trial.finished(job):
        return unfinished(trial, name, job, seconds)
    if not trial.completed(job):
        return failed(trial, name, job, trial.story(job))
    return Finding(name, OK, f"completed after {seconds:.1f} s")


def unfinished(trial: TrialSite, name: str, job: int, seconds: float) -> Finding:
    """Explain why a grid job has not ended; waiting in the queue is not a failure."""
    story = trial.story(job)
    if trial.queued(job):
        said = f"still waits in the queue after {seconds:.0f} s: {story}"
        return Finding(name, WARNING, said, advice.of_waiting(trial.site))
    return failed(trial, name, job, f"not finished after {seconds:.0f} s: {story}")


def failed(trial: TrialSite, name: str, job: int, said: str, todo: str = "") -> Finding:
    """Describe a failed grid job, with its batch jobs, because the test's own files are removed."""
    ids = trial.batch_jobs(job)
    told = f"{said}; batch job {', '.join([*ids[:MOST_IDS], *['…'] * (len(ids) > MOST_IDS)])}" if ids else said
    return Finding(name, FAILED, told, todo or advice.of(trial.site, trial.reasons(job), silent=trial.silent))


# Roundtrip


def roundtrip(trial: TrialSite) -> Iterator[Finding]:
    """Check an output, exit codes, a signal, and an exceeded time limit."""
    began = time.monotonic()
    output = trial.submit("output", "echo forty-two >answer; exit 0", outputs=["answer"])
    # A shell reports 137 for a command that SIGKILL has ended; JIM treats it like the signal.
    ends = {
        trial.submit("exit 1", "exit 1"): ("exit 1", EXIT_1),
        trial.submit("exit 137", "exit 137"): ("exit 137", SIGNAL_9),
        trial.submit("signal 9", "kill -9 $$"): ("signal 9", SIGNAL_9),
    }
    limit = trial.submit("limit", f"sleep {WALL_SECONDS + ENFORCED_SECONDS}", wall_seconds=WALL_SECONDS)
    trial.until(lambda: trial.over(output, *ends, limit), LIMIT_SECONDS)
    seconds = time.monotonic() - began
    for job in (output, *ends, limit):
        name = "output and exit 0" if job == output else "time limit" if job == limit else ends[job][0]
        if not trial.finished(job):
            yield unfinished(trial, name, job, seconds)
        elif job == output:
            yield _output(trial, name, job)
        elif job == limit:
            yield _limited(trial, name, job)
        else:
            yield _ended(trial, name, job, ends[job][1])


def _output(trial: TrialSite, name: str, job: int) -> Finding:
    if not trial.completed(job):
        return failed(trial, name, job, trial.story(job))
    content = _member(trial, job, f"{job}.0/answer")
    if content != b"forty-two\n":
        said = f"the tar holds {content!r} instead of 'forty-two'"
        return failed(trial, name, job, said, advice.of_outputs(trial.site))
    return Finding(name, OK, "written on the worker node, verified, and in the tar on this machine")


def _tar(trial: TrialSite, job: int) -> tarfile.TarFile:
    return tarfile.open(trial.site.work / str(job) / "result" / f"{job}.tar")


def _member(trial: TrialSite, job: int, name: str) -> bytes | None:
    with _tar(trial, job) as tar:
        member = tar.extractfile(name) if name in tar.getnames() else None
        return member.read() if member else None


def _ended(trial: TrialSite, name: str, job: int, expected: Reason) -> Finding:
    """Check that JIM knows how a job failed that fails on purpose."""
    local = trial.local_job(job)
    so = local.kind is expected.kind and expected.facts.items() <= local.facts.items()
    if local.state is State.FAILED and so:
        return Finding(name, OK, f"JIM knows that it failed: {local.reason}")
    return failed(trial, name, job, f"expected a failure with {expected.words!r}, found {trial.story(job)}")


def _limited(trial: TrialSite, name: str, job: int) -> Finding:
    """Check that a job ended for its time limit and for no other reason."""
    local = trial.local_job(job)
    if local.state is State.COMPLETED:
        said = f"a job with a limit of {WALL_SECONDS} s ran to its end after {WALL_SECONDS + ENFORCED_SECONDS} s"
        return failed(trial, name, job, said, advice.of_unlimited(trial.site))
    if local.state is State.FAILED and LIMITED & {local.kind, local.facts.get("cause")}:
        return Finding(name, OK, f"JIM knows that it failed: {local.reason}")
    said = f"expected a failure for its time limit of {WALL_SECONDS} s, found {trial.story(job)}"
    return failed(trial, name, job, said)


# Arrays and load


def array(trial: TrialSite) -> Iterator[Finding]:
    """Run an array, and check that the tar has the output of each local job once."""
    began = time.monotonic()
    job = trial.submit_many("array", "echo $1 >number", ARRAY, outputs=["number"])
    done = outcome(trial, f"array of {ARRAY}", job, began)
    yield done
    if done.level == OK:
        yield once(trial, job, ARRAY)
        with _tar(trial, job) as tar:
            names = [name for name in tar.getnames() if name.endswith("/number")]
        if sorted(names) == sorted(f"{job}.{n}/number" for n in range(ARRAY)):
            yield Finding("outputs", OK, f"{ARRAY} of {ARRAY} are in the tar")
        else:
            said = f"{len(names)} of {ARRAY} are in the tar"
            yield failed(trial, "outputs", job, said, advice.of_outputs(trial.site))


def once(trial: TrialSite, job: int, pieces: int) -> Finding:
    """Compare the payloads' own notes with the attempts that should have run."""
    started = [tuple(name.split(".")[1:3]) for name in trial.starts(job)]
    twice = len(started) - len(set(started))
    lost = pieces - len({n for n, _ in started})
    said = f"{pieces} local jobs: {lost} lost, {twice} attempts started twice"
    if lost or twice:
        return failed(trial, "exactly once", job, said, advice.of_twice(trial.site))
    return Finding("exactly once", OK, said)


def load(trial: TrialSite, pieces: int) -> Iterator[Finding]:
    """Run many local jobs, and report their rate."""
    began = time.monotonic()
    job = trial.submit_many("load", "exit 0", pieces)
    done = outcome(trial, f"load of {pieces:,}", job, began)
    seconds = time.monotonic() - began
    yield done if done.level != OK else Finding(done.name, OK, f"{done.said}, {pieces / seconds:,.1f} a second")
    if done.level == OK:
        yield once(trial, job, pieces)
