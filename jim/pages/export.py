"""Writes the pages of one grid job as linked static files, to send to a colleague."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from jim.errors import BadRequest, JimError
from jim.jobs import GridJob
from jim.pages.access import Access, Rates
from jim.pages.app import Pages, make_app
from jim.reading.groups import BADLY
from jim.reading.view import View, look

ROWS, MOST_ROW_PAGES = 200, 5
MOST_PAGES, MOST_LOGS = 1_000, 100  # pages of local jobs; failed or killed local jobs with logs
POLICY = "default-src 'none'; style-src 'self' file:; img-src 'self' file:"
TARGET = re.compile(r' (href|src)="([^"]*)"')
DROPPED = re.compile(r"<script\b[^>]*></script>|<form\b.*?</form>", re.DOTALL)


def export(number: int, to: Path) -> list[Path]:
    """Write the pages of a grid job into a directory; return the files, the first page first."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise BadRequest(f"{to} exists and is not an empty directory")
    access = Access(os.urandom(32), 0, uid=0, peer=lambda *_: 0)
    pages = Pages(access, look)
    pages.rates = Rates(count().__next__)
    view = look()
    with closing(view.store):
        names = dict(_names(view, number))
    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    ask = _asking(pages, access.token)
    found = {path: content for path in names if (content := ask(path)) is not None}
    names = {path: names[path] for path in found}
    for name, content in pages.static.values():
        if not name.endswith(".js"):
            _write(to / name, content)
            names[f"/static/{name}"] = name
    for path, content in found.items():
        _write(to / names[path], _linked(content, path, names) if names[path].endswith(".html") else content)
    return [to / names[path] for path in found]


def _asking(pages: Pages, token: str) -> Callable[[str], bytes | None]:
    """Return a function that renders a page; the function returns None for a missing log."""
    client: Any = make_app(pages).test_client()
    peer = {"REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "1"}

    def ask(path: str) -> bytes | None:
        answer = client.get(path, headers={"Host": "localhost"}, environ_overrides=peer)
        if answer.status_code == 410:
            return None
        if answer.status_code >= 400:
            raise JimError(f"{path} cannot be shown: {answer.status}")
        body: bytes = answer.get_data()
        return body

    ask(f"/jobs?token={token}")
    return ask


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o644)


def _names(view: View, number: int) -> Iterator[tuple[str, str]]:
    """Yield the pages to write, with their files."""
    job = view.grid_job(number)
    base = f"/jobs/{number}"
    yield f"{base}?limit={ROWS}", "index.html"
    for ending in ("json", "xml"):
        yield f"{base}.{ending}", f"{number}.{ending}"
    yield f"{base}/explain.json", "explain.json"
    if job.size:
        yield from _of_local_jobs(view, base, job)


def _of_local_jobs(view: View, base: str, job: GridJob) -> Iterator[tuple[str, str]]:
    for page in range(1, min(MOST_ROW_PAGES, -(-job.size // ROWS))):
        yield f"{base}?after={page * ROWS - 1}&limit={ROWS}", f"rows-{page + 1}.html"
    for state in view.store.counts(job.id).keys() & set(BADLY):
        yield f"{base}?state={state.value}&limit={ROWS}", f"{state.value}.html"
    bad = view.store.local_jobs(job.id, BADLY, limit=MOST_PAGES)
    for n in list(dict.fromkeys([*(each.n for each in bad), *range(job.size)]))[:MOST_PAGES]:
        yield f"{base}/{n}", f"{n}.html"
    for each in bad[:MOST_LOGS]:
        if each.attempt:
            for log in ("stdout", "stderr", "log"):
                yield f"{base}/{each.n}/log/{log}?attempt={each.attempt}", f"{each.n}-{each.attempt}-{log}.html"


def _linked(content: bytes, path: str, names: dict[str, str]) -> bytes:
    """Point links to the files; remove links to pages that are not written."""
    base = path.partition("?")[0]
    files = names | {each.partition("?")[0]: name for each, name in names.items() if name == "index.html"}

    def to_file(found: re.Match[str]) -> str:
        where = found[2].replace("&amp;", "&")
        if where.startswith("#"):
            return found[0]
        whole = f"{base}{where}" if where.startswith("?") else where
        name = files.get(whole) or files.get(f"{whole}&limit={ROWS}")
        return f' {found[1]}="{name}"' if name else ""

    text = TARGET.sub(to_file, DROPPED.sub("", content.decode()))
    head = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return text.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}', 1).encode()
