"""A batch system made to fail: JIM's own wrapper stands before the site's real commands."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from jim.sandbox import shell_directory
from jim.site import Site
from jim.site_check import FAILED, OK, Finding
from jim.sitetest.ground import Ground
from jim.sitetest.levels import LIMIT_SECONDS, LOOK, once

# What `shell/jim-glitch` does instead of the truth, call after call; then it tells the truth.
GLITCHES = (
    ("obeyed, its answer lost", {"submit": ("lost",), "query": ("empty", "empty", "garbage", "hang")}),
    ("not obeyed, exit 0 and no word", {"submit": ("empty",), "find": ("empty", "down"), "query": ("down",)}),
    ("obeyed, an answer of garbage", {"submit": ("garbage",), "find": ("empty",), "query": ("empty", "garbage")}),
    ("obeyed, and never returned", {"submit": ("hang",), "history": ("down", "empty")}),
)
PIECES = 3
JOBS = PIECES * len(GLITCHES)
COMMAND_SECONDS = 5.0


def glitch(site: Site) -> Iterator[Finding]:
    """Submit through commands that fail, hang and lie; nothing may be lost, run twice, or end wrongly."""
    with tempfile.TemporaryDirectory(prefix="jim-glitch-") as name:
        plan = Path(name)
        with Ground(site, command_seconds=COMMAND_SECONDS) as ground:
            ground.precede(str(shell_directory() / "jim-glitch"), name)
            yield from (_one(ground, plan, *each) for each in GLITCHES)


def _one(ground: Ground, plan: Path, how: str, lies: dict[str, tuple[str, ...]]) -> Finding:
    """Let one grid job meet one kind of failed submission, and failed questions."""
    name = f"submit: {how}"
    for verb, calls in lies.items():
        for number, lie in enumerate(calls):
            (plan / f"{verb}.{number}.{lie}").touch()
    job = ground.submit_many(how, "exit 0", PIECES, environment=ground.environment)
    if not ground.until(lambda: ground.finished(job), LIMIT_SECONDS):
        return Finding(name, FAILED, f"not finished after {LIMIT_SECONDS:.0f} s: {ground.story(job)}", LOOK)
    if not ground.completed(job):
        return Finding(name, FAILED, f"a wrong end: {ground.story(job)}", LOOK)
    kept = once(ground, job, PIECES)
    return Finding(name, OK if kept.level == OK else FAILED, kept.said, kept.todo)
