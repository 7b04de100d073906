"""Where what belongs to JIM lies beside its modules: scripts, and the documents that messages send people to."""

from __future__ import annotations

from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
SHELL = TREE / "jim/shell"  # doors and wrapper; a checkout has a link there


def guide(page: str, tree: Path = TREE) -> str:
    """Return where a page of the documents is: as a clone has it, or as `make install` has put it."""
    installed = tree.parents[1] / "share" / "jim" / "docs"
    return f"{installed}/{page}" if tree.parent.name == "libexec" and installed.is_dir() else f"docs/{page}"
