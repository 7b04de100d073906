"""Records what an administrator has done, for `jim actions`; what is asked of grid jobs is in their journals."""

from __future__ import annotations

from jim.clock import Clock
from jim.doors import inbox
from jim.site.acts import Act, record
from jim.site.file import Site


def acted(site: Site, verb: str, of: str = "", *, shared: bool = False) -> None:
    """Record what was done just now, in the state directory; with `shared`, for all accounts of the site."""
    act = Act(Clock().utc(), verb, of, inbox.by("the command line"))
    record(site.shared_acts if shared else site.acts, act)
