"""Shows what the check of a connection to a gatekeeper has found."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator

from jim.admin.finding import FAILED, Finding, untried
from jim.cli.text import say_finding, say_json
from jim.errors import BadSite


def proved(findings: Iterable[Finding], gatekeeper: str, with_a_job: Callable[[], Finding]) -> Iterator[Finding]:
    """Yield findings, and what a job of this account has shown; none goes through a connection that is incomplete."""
    failed = False
    for each in findings:
        failed = failed or each.level == FAILED
        yield each
    if not failed and not os.getuid():
        yield untried(gatekeeper)
    elif not failed:
        print("a job is on its way through the gatekeeper: some two minutes, at most ten", file=sys.stderr)
        yield with_a_job()


def checked(findings: Iterable[Finding], *, as_json: bool) -> int:
    """Show findings as they come, or as one document; return the exit code."""
    found = []
    for each in findings:
        found.append(each)
        if not as_json:
            say_finding(each)
            sys.stdout.flush()  # a job that is tried takes minutes
    failed = any(each.level == FAILED for each in found)
    if as_json:
        names = ("name", "level", "said", "todo")
        say_json({"ok": not failed, "checks": [{name: getattr(each, name) for name in names} for each in found]})
    return BadSite.exit_code if failed else 0
