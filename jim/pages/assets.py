"""The style, the script and the picture of all pages, by names that never mean another content."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from pathlib import Path

from flask import Response

from jim.errors import UnknownJob

Assets = Mapping[str, tuple[str, bytes]]  # by name: the name with its hash, and the content


def hashed(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Return the files of a folder by names that contain their hash: such a file never changes."""
    found = {}
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:12]
        found[path.name] = f"{path.stem}.{digest}{path.suffix}", content
    return found


def sent(assets: Assets, name: str) -> Response:
    """Send a file by the name with its hash; browsers keep it."""
    for known, content in assets.values():
        if known == name:
            kind = mimetypes.guess_type(name)[0] or "text/plain"
            response = Response(content, content_type=f"{kind}; charset=utf-8")
            response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
            return response
    raise UnknownJob(f"there is no file {name}")
