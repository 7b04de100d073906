"""Where what belongs to JIM lies beside its modules: scripts, and the documents that messages send people to."""

from __future__ import annotations

from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
SHELL = TREE / "jim/shell"  # doors and wrapper; a checkout has a link there


def guide(page: str, tree: Path = TREE) -> str:
    """Return where a page of the documents is: as a clone has it, or as `make install` or a package has put it."""
    up = 2 if tree.parent.parts[-2:] == ("lib", "jim") else tree.parent.name == "libexec"
    installed = tree.parents[up] / "share/jim/docs"
    return f"{installed}/{page}" if up and installed.is_dir() else f"docs/{page}"
