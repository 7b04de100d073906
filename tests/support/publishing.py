"""What the accounts of a site publish: for tests of what reads it."""

from __future__ import annotations

import json
from pathlib import Path

from jim.site.file import Site

AT = "2026-01-31T11:59:00.000Z"


def summary(**more: object) -> str:
    jobs = [
        {"id": 1, "status": "running", "counts": {"running": 2, "failed": 1}},
        {"id": 2, "status": "running", "counts": {"running": 3}},
        {"id": 3, "status": "submitted", "counts": {}},
    ]
    return json.dumps({"site": "x", "at": AT, "seen": AT, "trouble": "", "jobs": jobs, **more})


def publish(site: Site, name: str, text: str | None = None) -> Path:
    place = site.state.parent / ".published" / name
    place.mkdir()
    if text is not None:
        (place / "summary.json").write_text(text)
    return place / "summary.json"
