"""Follows every link of a folder of HTML: to files, to anchors, to pictures and style sheets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href")}  # by a browser, without a click
IN_STYLE = re.compile(r"url\(([^)]*)\)|@import\s+[\"']([^\"']*)")


@dataclass
class Sheet(HTMLParser):
    """One page: its anchors, and what it leads to or loads."""

    text: str
    anchors: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)
    leads: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" and value in self.anchors:
                self.twice.add(value)
            elif name == "id":
                self.anchors.add(value)
            elif (tag, name) in LOADED:
                self.loads.add(value)
            elif (tag, name) == ("a", "href"):
                self.leads.add(value)


class Crawled:
    """A folder of HTML, read whole: what is wrong in it, and how much was looked at."""

    def __init__(self, place: Path) -> None:
        self.place = place.resolve()
        self.sheets = {file: Sheet(file.read_text()) for file in sorted(self.place.rglob("*.html"))}
        self.followed, self.outside, self.faults = 0, set(), []
        for file, sheet in self.sheets.items():
            self.faults += [f"{self._name(file)}: two anchors {each}" for each in sorted(sheet.twice)]
            for link in sorted(sheet.leads):
                self._follow(file, link)
            for link in sorted(sheet.loads):
                self._load(file, link)
        for file in sorted(self.place.rglob("*.css")):
            for found in IN_STYLE.finditer(file.read_text()):
                self._load(file, (found[1] or found[2] or "").strip("\"'"))

    def _name(self, file: Path) -> str:
        return file.relative_to(self.place).as_posix()

    def _load(self, file: Path, link: str) -> None:
        if urlsplit(link).scheme not in ("", "data"):
            self.faults.append(f"{self._name(file)}: asks {link}")
        elif not link.startswith("data:"):
            self._follow(file, link)

    def _follow(self, file: Path, link: str) -> None:
        parts = urlsplit(link)
        if parts.scheme in ("http", "https", "mailto"):
            self.outside.add(link)
            return
        self.followed += 1
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if parts.scheme or parts.path.startswith("/") or not target.is_relative_to(self.place):
            self.faults.append(f"{self._name(file)}: {link} leads out of the site")
        elif not target.is_file():
            self.faults.append(f"{self._name(file)}: {link} is not there")
        elif parts.fragment and target.suffix == ".html" and not self._has(target, unquote(parts.fragment)):
            self.faults.append(f"{self._name(file)}: {link} has no such anchor")

    def _has(self, target: Path, anchor: str) -> bool:
        return anchor in self.sheets[target].anchors

    def reached(self, start: str) -> set[str]:
        """Return the pages to which clicks lead from one."""
        found, new = set(), {start}
        while new:
            found |= new
            links = {(self.place / name, link) for name in new for link in self.sheets[self.place / name].leads}
            targets = {(file.parent / unquote(urlsplit(link).path)).resolve() for file, link in links if _is_path(link)}
            new = {each.relative_to(self.place).as_posix() for each in targets if each.suffix == ".html"}
            new -= found
        return found


def _is_path(link: str) -> bool:
    return not urlsplit(link).scheme and bool(urlsplit(link).path)
