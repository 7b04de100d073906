"""A person without a browser: asks the application itself, and reads what comes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from html.parser import HTMLParser
from typing import Any

from jinja2.bccache import Bucket, BytecodeCache
from lxml import etree

from jim.pages.access import Access
from jim.pages.app import Pages, make_app
from jim.reading.view import look
from jim.statusdb.documents.xml import schema
from tests.unit.pages.grounds import Ground

PORT = 8123
PEER = {"REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "50000"}


@cache
def grammar() -> etree.RelaxNG:
    """Give the grammar of the documents."""
    return etree.RelaxNG(etree.fromstring(schema()))


class Compiled(BytecodeCache):
    """What templates become, kept for the applications of all tests."""

    def __init__(self) -> None:
        self.found: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.found:
            bucket.bytecode_from_string(self.found[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.found[bucket.key] = bucket.bytecode_to_string()


COMPILED = Compiled()


class Person:
    """Who looks at the pages of a state directory."""

    def __init__(self, ground: Ground, *, logged_in: bool = True, controls: bool = False) -> None:
        self.access = Access(b"key", PORT, uid=1000, peer=lambda *_: 1000, token="f00d", controls=controls)
        self.pages, self.woken = Pages(self.access, look, lambda state: self.woken.append(state)), []  # type: ignore[var-annotated]
        self.pages.marks.time = self._later
        self.pages.rates.take = lambda _: True  # type: ignore[method-assign]  # tests ask faster than people
        self.app, self.ground, self._now = make_app(self.pages), ground, 0.0
        self.app.jinja_env.bytecode_cache = COMPILED
        self.client = self.app.test_client()
        self.anew = True  # each page is asked for long after the one before
        if logged_in:
            assert self.get("/jobs?token=f00d").status_code == 303

    def _later(self) -> float:
        """Let each look be one of another minute."""
        self._now += 60
        return self._now

    def within_a_minute(self) -> None:
        """Let the rest be of one minute, so that only what has changed is made anew."""
        self.pages.marks.time = lambda: 6000.0

    def get(self, path: str, **headers: str) -> Any:
        """Ask for a page."""
        if self.anew:
            self.pages.renew()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        host = named.pop("Host", f"127.0.0.1:{PORT}")
        answer = self.client.get(path, headers={**named, "Host": host}, environ_overrides=PEER)
        if answer.status_code == 200 and answer.content_type == "application/xml":
            grammar().assertValid(etree.fromstring(answer.data))  # every document of every test
        return answer

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Any:
        """Send a form, as a browser does from a page of this site."""
        host = f"127.0.0.1:{PORT}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Host": host, "Origin": f"http://{host}", **named}
        return self.client.post(path, data=fields, headers=sent, environ_overrides=PEER)

    def page(self, path: str) -> Page:
        """Read a page that is there."""
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[-800:])
        assert answer.content_type == "text/html; charset=utf-8"
        return Page(answer.text)

    def json(self, path: str) -> Any:
        """Read a document."""
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:800])
        assert answer.content_type == "application/json"
        return json.loads(answer.text)


def addresses(person: Person, **named: str) -> list[str]:
    """Give an address for each route of the application: of grid job 1, local job 0, or as named."""
    words = {"number": "1", "n": "0", "name": "stdout", "host": "wn1", "verb": "cancel", "task": "mc", "p": "0"} | named
    rule = re.compile(r"<(?:\w+(?:\([^)]*\))?:)?(\w+)>")
    return [rule.sub(lambda each: words[each[1]], route.rule) for route in person.app.url_map.iter_rules()]


class Page(HTMLParser):
    """What stands on a page: elements with their attributes, the text, and the text of each table row."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html, self.elements, self.texts = html, [], []  # type: ignore[var-annotated]
        self.rows: list[list[str]] = []
        self.names: list[str] = []  # of rows
        self.inside = False  # of a table
        self.feed(html)
        kept = [(row, name) for row, name in zip(self.rows, self.names, strict=True) if row]
        self.rows, self.names = [row for row, _ in kept], [name for _, name in kept]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = self.inside or tag == "table"
        if tag in ("tr", "table"):  # the caption of a table is in no row
            self.rows.append([])
            self.names.append(dict(attrs).get("id") or "")
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self.inside = False

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.inside and self.rows and self.rows[-1]:
            self.rows[-1][-1] = f"{self.rows[-1][-1]}{data}"

    @property
    def text(self) -> str:
        """All text, with single spaces."""
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        """Give the attributes of each element that has these."""
        found = [attributes for name, attributes in self.elements if name == tag]
        return [each for each in found if all(each.get(name) == value for name, value in wanted.items())]

    def links(self) -> list[str]:
        """Give where links lead."""
        return [each["href"] for each in self.all("a") if "href" in each]

    def ids(self) -> list[str]:
        """Give the ids of the rows of the list."""
        named = [row for row, name in zip(self.rows, self.names, strict=True) if re.match(r"(job|n)-\d", name)]
        return [row[0].strip() for row in named]
