"""What a form sends, and what it leaves in the inbox."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.pages.browser import Page
from tests.unit.pages.grounds import Ground


def wishes(ground: Ground) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((ground.site.state / "inbox").glob("wish-*"))]


def fields(page: Page) -> dict[str, str]:
    """Give the hidden fields of the form that does it."""
    at = page.html.index('<form method="post"')
    return {each["name"]: each.get("value", "") for each in Page(page.html[at:]).all("input", type="hidden")}
