"""pages.py DIRECTORY: turns links of installed pages into words where they lead to what is not installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINK = re.compile(r"\[([^\[\]]+)\]\(([^()#\s]+)(?:#[^()\s]*)?\)")


def without_dead_links(page: Path) -> str:
    """Return the text of a page; addresses outside of JIM stay as they are."""
    return LINK.sub(lambda link: link[0] if _is_there(page, link[2]) else link[1], page.read_text())


def _is_there(page: Path, target: str) -> bool:
    return ":" in target or (page.parent / target).exists()


if __name__ == "__main__":
    for each in Path(sys.argv[1]).rglob("*.md"):
        each.write_text(without_dead_links(each))
