"""Pages of source files and folders to which the written pages lead: a reader of the site has no repository beside."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from docs_site.markdown_text import ROOT, Page, block, code, page
from docs_site.sidebar import WRITTEN

LINK = re.compile(r"(?<!!)(?<!\]\()\[[^\[\]]*\]\(([^()#\s:]+)(?:#[^()\s]*)?\)")
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".sh": "sh"}


def target_of(name: str, link: str) -> str:
    """Return where a link of a page leads to, from the root."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), link))


def name_of(path: str) -> str:
    """Name the page of a file."""
    return f"source/{path}"


def linked() -> list[str]:
    """Return the files and folders to which written pages lead."""
    found = {target_of(name, link) for name in WRITTEN for link in LINK.findall((ROOT / f"{name}.md").read_text())}
    return sorted(each for each in found if not each.endswith((".md", ".svg", ".png")) and (ROOT / each).exists())


def pages() -> Iterator[Page]:
    """Yield a page of each."""
    for path in linked():
        yield _folder(path) if (ROOT / path).is_dir() else _file(path)


def _file(path: str) -> Page:
    language = LANGUAGES.get((ROOT / path).suffix, "text")
    return page(name_of(path), code(path), block((ROOT / path).read_text(), language), above=("JIM", _up(path)))


def _folder(path: str) -> Page:
    files = sorted(each.name for each in (ROOT / path).iterdir() if each.name != "__pycache__")
    listed = "".join(f"- {code(each)}\n" for each in files)
    return page(name_of(path), code(path), "What lies there in the source:\n", listed, above=("JIM", _up(path)))


def _up(path: str) -> str:
    return "../" * (path.count("/") + 1) + "README.md"
