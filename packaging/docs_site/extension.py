"""What Sphinx does beside: pages from the code, the sidebar, and pages that fit a phone."""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.project import Project
from sphinx.transforms import SphinxTransform

from docs_site import commands, declarations, sidebar, sources
from docs_site.links import CodeNames, GlossaryWords, SourceLinks
from docs_site.markdown_text import ROOT, Page

CODE = re.compile(r'(?<=<span class="pre">)[^<]{8,}(?=</span>)')
BREAK_BEHIND = re.compile(r"(?<=\w)[._/=,:-]+(?=\w)|[a-z](?=[A-Z][a-z])")
PICTURE = re.compile(r'(<img [^>]*src="([^"]+)"[^>]*/>)')
SIDEBARS: dict[str, str] = {}  # of a build, by folder


class Pages(Project):
    """The written pages, and those that are made: these lie where the site is built, and nowhere in the repository."""

    def __init__(self, srcdir: str, source_suffix: dict[str, str], made: Path) -> None:
        super().__init__(srcdir, source_suffix)
        self.made = made
        self.names = {each.name for each in written(made)}

    def discover(self, *_: object, **__: object) -> set[str]:
        """Find all pages; one of docs/ that the sidebar does not have is found too, and Sphinx complains of it."""
        found = {each.relative_to(ROOT).with_suffix("").as_posix() for each in (ROOT / "docs").rglob("*.md")}
        self.docnames = {*self.names, *sidebar.WRITTEN, *found}
        return self.docnames

    def doc2path(self, docname: str, basedir: bool = True) -> str:
        """Return where a page lies."""
        if basedir and docname in self.names:
            return str(self.made / f"{docname}.md")
        return super().doc2path(docname, basedir)


def written(place: Path) -> Iterator[Page]:
    """Write the pages that are made, and yield them."""
    shutil.rmtree(place, ignore_errors=True)
    for maker in (commands.pages, declarations.pages, sources.pages):
        for each in maker():
            file = place / f"{each.name}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(each.text)
            yield each


class Places(SphinxTransform):
    """Gives a page that is made the place below the source that its name says, where Sphinx wants all pages."""

    default_priority = 5  # before the first transform asks

    def apply(self, **_: Any) -> None:
        """Set it."""
        self.document["source"] = str(Path(self.env.srcdir, f"{self.env.docname}.md"))


def _take_pages(app: Sphinx) -> None:
    made = Path(app.doctreedir).parent / "pages"
    app.project = app.env.project = Pages(str(app.srcdir), app.project.source_suffix, made)


def _add_sidebar(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == sidebar.FRONT:
        source[0] += sidebar.tables_of_contents()


def _fit_phones(_app: Sphinx, _name: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Let long names break where a reader expects it, and pictures lead to themselves, where they can be enlarged."""
    if "body" in context:
        breakable = CODE.sub(lambda found: BREAK_BEHIND.sub(r"\g<0><wbr>", found[0]), context["body"])
        context["body"] = PICTURE.sub(r'<a class="picture" href="\2">\1</a>', breakable)


def _share_sidebars(app: Sphinx, name: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Make one sidebar for all pages of a folder that do not stand in it: one for each takes half of the time."""
    make = context.get("toctree")
    if make and name in app.env.metadata and "orphan" in app.env.metadata[name]:
        context["toctree"] = lambda **how: _sidebar_of(posixpath.dirname(name), lambda: make(**how))


def _sidebar_of(folder: str, make: Callable[[], str]) -> str:
    if folder not in SIDEBARS:
        SIDEBARS[folder] = make()
    return SIDEBARS[folder]


def _put_front_page(app: Sphinx, error: Exception | None) -> None:
    """Copy it to where readers of a folder, and web servers, look for it."""
    if not error:
        shutil.copyfile(Path(app.outdir, f"{sidebar.FRONT}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("builder-inited", _take_pages)
    app.connect("source-read", _add_sidebar)
    app.connect("html-page-context", _fit_phones)
    app.connect("html-page-context", _share_sidebars, priority=100)  # before the theme asks for it
    app.connect("build-finished", _put_front_page)
    app.add_transform(Places)
    app.add_transform(SourceLinks)
    app.add_post_transform(CodeNames)
    app.add_post_transform(GlossaryWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
