"""The site's own code: its job types, splitters, analysers and steps."""

from __future__ import annotations

from jim.evidence.analysis import analyser
from jim.request import handler_of, job_types
from jim.site.file import Site
from jim.site.rules import SPLIT
from jim.work.site_steps import step
from jim.work.splitters import find, is_own, known


def load_all(site: Site) -> tuple[list[str], list[str]]:
    """Load all code that a keeper may need, and return the names: job types, and splitters with functions."""
    own = site.site.handlers
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
