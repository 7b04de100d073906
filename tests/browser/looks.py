"""How pages are looked at in a browser, and what is asked of each."""

from __future__ import annotations

import os
from pathlib import Path

HOME = Path(__file__).parents[2]
AXE = Path(os.environ.get("AXE", HOME / ".venv/axe/node_modules/axe-core/axe.min.js"))  # from npm: see the Makefile
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"width": 320, "color_scheme": "light"},
}


def violations(page) -> list[str]:
    """Ask axe, evaluated in the page under the page's own policy."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']} ({len(each['nodes'])}: {each['nodes'][0]['html'][:200]}) "
        f"{each['nodes'][0].get('failureSummary', '')[:300]}"
        for each in found["violations"]
    ]


def reach(page, name: str, most: int = 120) -> None:
    """Go on by the tab key to a link or button, and see that the focus is seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        now = page.evaluate(
            "(document.activeElement.getAttribute('aria-label') || document.activeElement.innerText || '').trim()"
        )
        if now == name:
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", "where the focus is, is seen"
            return
    raise AssertionError(f"{name} is not reached")
