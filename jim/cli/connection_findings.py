"""Shows what the check of a connection to a gatekeeper has found."""

from __future__ import annotations

from collections.abc import Iterable

from jim.admin.finding import FAILED, Finding
from jim.cli.text import say_finding, say_json
from jim.errors import BadSite


def checked(findings: Iterable[Finding], *, as_json: bool) -> int:
    """Show findings as they come, or as one document; return the exit code."""
    found = []
    for each in findings:
        found.append(each)
        if not as_json:
            say_finding(each)
    failed = any(each.level == FAILED for each in found)
    if as_json:
        names = ("name", "level", "said", "todo")
        say_json({"ok": not failed, "checks": [{name: getattr(each, name) for name in names} for each in found]})
    return BadSite.exit_code if failed else 0
