"""Links that Sphinx does not make: to source files, to what is made from the code, and to words of the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from docs_site import glossary, sources
from docs_site.markdown_text import ROOT

NO_WORDS_IN = (nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.thead, nodes.image, nodes.raw)
NO_NAMES_IN = (nodes.title, nodes.reference)
NAMED_ALONE = ("settings", "splitters")  # other names stand for several things
VERB = re.compile(r"jim ([a-z]+)\b(?!-)")


class SourceLinks(SphinxTransform):
    """Lets links to source files and folders lead to their pages."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Turn each of them into a link to a page."""
        names = self.env.project.docnames
        for node in [*self.document.findall(download_reference), *self.document.findall(pending_xref)]:
            name = sources.name_of(sources.target_of(self.env.docname, node["reftarget"]))
            if node["reftype"] == "myst" and name in names:
                link = pending_xref("", *node.children, refdomain="std", reftype="doc", refexplicit=True)
                link.update_basic_atts({"ids": [], "classes": []})
                link["refdoc"], link["reftarget"], link["refwarn"] = self.env.docname, f"/{name}", True
                node.replace_self(link)


class CodeNames(SphinxPostTransform):
    """Links each setting, splitter and verb at its first use on a page to the page that is made of it."""

    default_priority = 690  # when all other links are made

    def run(self, **_: Any) -> None:
        """Go through the page once."""
        linked = {self.env.docname}
        for literal in list(self.document.findall(nodes.literal)):
            name = self._page_of(literal.astext())
            if name and name not in linked and not any(isinstance(each, NO_NAMES_IN) for each in _around(literal)):
                linked.add(name)
                uri = self.app.builder.get_relative_uri(self.env.docname, name)
                link = nodes.reference("", "", internal=True, refuri=uri, classes=["name"])
                literal.replace_self(link)
                link += literal

    def _page_of(self, words: str) -> str:
        verb = VERB.match(words)
        names = (f"reference/verbs/{verb[1]}",) if verb else (f"reference/{each}/{words}" for each in NAMED_ALONE)
        return next((each for each in names if each in self.env.project.docnames), "")


class GlossaryWords(SphinxPostTransform):
    """Links each word of the glossary at its first use on a page; in the glossary, wherever it is slanted."""

    default_priority = 700  # when all other links are made

    def run(self, **_: Any) -> None:
        """Go through the page once."""
        self.words = glossary.Glossary((ROOT / f"{glossary.PAGE}.md").read_text())
        self.linked: set[str] = set()
        self.is_glossary = self.env.docname == glossary.PAGE
        if self.is_glossary:
            self._name_rows()
        for text in list(self.document.findall(nodes.Text)):
            if not any(isinstance(each, NO_WORDS_IN) for each in _around(text)):
                self._link(text)

    def _name_rows(self) -> None:
        for row in self.document.findall(nodes.row):
            entry = self.words.entry_of(row[0].astext().split(",")[0])
            if entry and isinstance(row.parent, nodes.tbody):
                row["ids"].append(entry.anchor)

    def _link(self, text: nodes.Text) -> None:
        slanted = isinstance(text.parent, nodes.emphasis)
        if self.is_glossary and not slanted:
            return
        parts: list[nodes.Node] = []
        at = 0
        for begin, end, entry in self.words.uses(str(text), slanted=slanted):
            if entry.anchor in self.linked:
                continue
            if not self.is_glossary:
                self.linked.add(entry.anchor)
            parts += [nodes.Text(text[at:begin]), self._reference(text[begin:end], entry)]
            at = end
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[at:])])

    def _reference(self, words: str, entry: glossary.Entry) -> nodes.reference:
        page = self.app.builder.get_relative_uri(self.env.docname, glossary.PAGE)
        link = nodes.reference("", words, internal=True, refuri=f"{page}#{entry.anchor}", classes=["word"])
        link["reftitle"] = entry.meaning
        return link


def _around(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node
