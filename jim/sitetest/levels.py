"""What each level of the site test asks, and what its findings say."""

from __future__ import annotations

import shutil
import tarfile
import time
from collections.abc import Iterator

from jim.idealizer.run import run
from jim.model import State
from jim.opening import adapter_of
from jim.site import Site
from jim.site_check import FAILED, OK, WARNING, Finding
from jim.sitetest.ground import Ground

ARRAY = 20
LIMIT_SECONDS = 900.0  # a busy queue may let a job wait; a test that waits longer says so
WALL_SECONDS = 60  # the shortest limit that all batch systems know
LOOK = "see `jim site check`, and the batch system's own log of these jobs"


def config(site: Site) -> Iterator[Finding]:
    """Find the commands, ask whether the batch system answers, and list the queue."""
    adapter = adapter_of(site)
    missing = sorted({words[0] for words in adapter.commands.values() if not shutil.which(words[0])})
    if missing:
        todo = "install them, or set their full path in [batch.commands]"
        yield Finding("commands", FAILED, f"not found: {', '.join(missing)}", todo)
        return
    yield Finding("commands", OK, f"all {len(adapter.commands)} commands of {adapter.name} are there")
    if site.batch.system == "local":
        return  # its daemon belongs to a state directory: the test's own is not there yet
    for name, command in (("health", adapter.ping_command()), ("listing", adapter.query_command())):
        answer = run(command, limit=site.batch.command_seconds)
        level, todo = (OK, "") if answer.code == 0 else (FAILED, "see that this account may run this command")
        yield Finding(name, level, answer.facts() if answer.code else f"answers after {answer.seconds:.2f} s", todo)


def batch(site: Site) -> Iterator[Finding]:
    """Run one job."""
    with Ground(site) as ground:
        began = time.monotonic()
        job = ground.submit("one", "exit 0", environment=ground.environment)
        yield _within(ground, "one job", job, began)


def _within(ground: Ground, name: str, job: int, began: float) -> Finding:
    if not ground.until(lambda: ground.finished(job), LIMIT_SECONDS):
        return Finding(name, FAILED, f"not finished after {LIMIT_SECONDS:.0f} s: {ground.story(job)}", LOOK)
    if not ground.completed(job):
        return Finding(name, FAILED, ground.story(job), LOOK)
    return Finding(name, OK, f"completed after {time.monotonic() - began:.1f} s")


def roundtrip(site: Site) -> Iterator[Finding]:
    """Bring back an output, an exit code, a signal, and a passed time limit."""
    with Ground(site) as ground:
        common = {"environment": ground.environment}
        output = ground.submit("output", "echo forty-two >answer", outputs=["answer"], **common)
        code = ground.submit("code", "exit 7", **common)
        signal = ground.submit("signal", "kill -9 $$", **common)
        limit = ground.submit("limit", "sleep 1200", wall_seconds=WALL_SECONDS, **common)
        everything = (output, code, signal, limit)
        ground.until(lambda: ground.finished(*everything), LIMIT_SECONDS)
        yield _output(ground, output)
        yield _failure(ground, "exit code 7", code, "exit 7")
        yield _failure(ground, "signal 9", signal, "signal 9")
        yield _failure(ground, "time limit", limit, "")


def _output(ground: Ground, job: int) -> Finding:
    if not ground.completed(job):
        return Finding("output", FAILED, ground.story(job), LOOK)
    with tarfile.open(ground.site.work / str(job) / "result" / f"{job}.tar") as tar:
        member = tar.extractfile(f"{job}.0/answer")
        content = member.read() if member else b""
    if content != b"forty-two\n":
        return Finding("output", FAILED, f"the tar holds {content!r} instead of 'forty-two'", LOOK)
    return Finding("output", OK, "written there, verified, and in the tar here")


def _failure(ground: Ground, name: str, job: int, words: str) -> Finding:
    """See that a job that fails on purpose is known to have failed, and why."""
    if not ground.finished(job):
        return Finding(name, FAILED, f"not known to have ended: {ground.story(job)}", LOOK)
    local = ground.local_job(job)
    if local.state is not State.FAILED:
        return Finding(name, FAILED, f"it is {local.state.value}: {ground.story(job)}", LOOK)
    if words not in local.reason:
        return Finding(name, WARNING, f"failed, but with the reason {local.reason!r}", LOOK)
    return Finding(name, OK, f"known as failed: {local.reason}")


def array(site: Site) -> Iterator[Finding]:
    """Run an array, and find the output of each local job in the tar, once."""
    with Ground(site) as ground:
        began = time.monotonic()
        job = ground.submit_many("array", "echo $1 >number", ARRAY, outputs=["number"], environment=ground.environment)
        done = _within(ground, f"array of {ARRAY}", job, began)
        yield done
        if done.level == OK:
            yield once(ground, job, ARRAY)
            with tarfile.open(ground.site.work / str(job) / "result" / f"{job}.tar") as tar:
                names = [name for name in tar.getnames() if name.endswith("/number")]
            right = sorted(names) == sorted(f"{job}.{n}/number" for n in range(ARRAY))
            yield Finding(
                "outputs", OK if right else FAILED, f"{len(names)} of {ARRAY} are in the tar", LOOK * (not right)
            )


def once(ground: Ground, job: int, pieces: int) -> Finding:
    """Hold what the payloads noted themselves against what should have run."""
    started = [tuple(name.split(".")[1:3]) for name in ground.starts(job)]
    twice = len(started) - len(set(started))
    lost = pieces - len({n for n, _ in started})
    said = f"{pieces} local jobs: {lost} lost, {twice} attempts started twice"
    return Finding("exactly once", FAILED if lost or twice else OK, said, LOOK if lost or twice else "")


def load(site: Site, pieces: int) -> Iterator[Finding]:
    """Run many, and tell how fast they go through."""
    with Ground(site) as ground:
        began = time.monotonic()
        job = ground.submit_many("load", "exit 0", pieces, environment=ground.environment)
        done = _within(ground, f"load of {pieces:,}", job, began)
        seconds = time.monotonic() - began
        yield done if done.level != OK else Finding(done.name, OK, f"{done.said}, {pieces / seconds:,.1f} a second")
        yield once(ground, job, pieces)
