"""A finding: the answer to one question about a site."""

from __future__ import annotations

from dataclasses import dataclass, replace

OK, WARNING, FAILED = "ok", "warning", "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question."""

    name: str
    level: str
    said: str
    todo: str = ""

    def named(self, name: str) -> Finding:
        """Return it as the answer to a question of this name."""
        return replace(self, name=name)


def expected(name: str, good: bool, what: str, todo: str) -> Finding:
    """Say that something is as it must be, or that it is not so."""
    return Finding(name, OK, what) if good else Finding(name, FAILED, f"not so: {what}", todo)


def untried(gatekeeper: str) -> Finding:
    """Say that root's check proves nothing with a job: grid jobs run as accounts."""
    todo = f"run `jim {gatekeeper} check` as an account that may submit jobs"
    return Finding("job", WARNING, "no job was tried, because root called this check", todo)
