"""The job types that a site offers: JIM's own, and those of the site that can be loaded."""

from __future__ import annotations

from jim import request
from jim.errors import BadRequest


def job_types(own: str = "") -> list[str]:
    """List JIM's job types, and then the site's own."""
    known = sorted(request.job_types(own), key=lambda name: ("." in name, name))
    return [name for name in known if "." not in name or _loads(name, own)]


def _loads(name: str, own: str) -> bool:
    try:
        request.handler_of(name, own)
    except BadRequest:
        return False
    return True
