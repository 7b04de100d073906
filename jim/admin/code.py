"""The site's own code: its job types, splitters, analysers and steps."""

from __future__ import annotations

from pathlib import Path

from jim.errors import JimError
from jim.evidence.analysis import analyser
from jim.request import handler_of, job_types
from jim.site.file import Site
from jim.site.rules import SPLIT
from jim.work.site_steps import step
from jim.work.splitters import find, is_own, known


def load_all(site: Site) -> tuple[list[str], list[str]]:
    """Load all code that a keeper may need, and return the names: job types, and splitters with functions."""
    own = site.site.handlers
    _compile_all(own)
    types = sorted(name for name in job_types(own) if "." in name)
    analysers = {handler_of(each, own).analyser for each in types} | {site.limits.analyser}
    named = sorted(filter(None, analysers))
    for name in named:
        analyser(name, own)
    steps = [name for name in site.site.steps if name != SPLIT]
    for name in steps:
        step(name, own)
    splitters = [name for name in known(own) if is_own(find(name, own))]
    return types, [*splitters, *named, *steps]


def _compile_all(own: str) -> None:
    """Refuse a file of the site that Python cannot read: a job type or splitter in it would be found by nobody."""
    for file in sorted(Path(own).rglob("*.py")) if own else ():
        try:
            compile(file.read_bytes(), file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:  # or a NUL byte
            raise JimError(f"cannot read {file.relative_to(own)}: {type(error).__name__}: {error}") from error
