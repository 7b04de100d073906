"""The pages as a WSGI application: access, common headers, and errors as pages."""

from __future__ import annotations

import importlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask, Response, g, render_template, request
from jinja2 import StrictUndefined

from jim import __version__
from jim.jobs import GridJob, public
from jim.model import Step
from jim.pages import shown, svg, task_looks
from jim.pages.access import Access, Large, Rates
from jim.pages.addresses import CONVERTERS, in_full
from jim.pages.admission import DOING, admit, require_look, seen_lines
from jim.pages.assets import hashed, sent
from jim.pages.beside import Beside, Find
from jim.pages.forms import Forms
from jim.pages.lately import Lately
from jim.pages.live import CSV, HTML, JSON, XML, Made, Renderings, tag_of
from jim.pages.locked import Opening
from jim.pages.measured import Measured
from jim.pages.proxied import Proxied
from jim.pages.refusals import failed
from jim.pages.tokens import Role, Tokens
from jim.pages.watching import Moment, Watch, beat_of
from jim.reading import filters, lists, quantities
from jim.reading.job.history import MOST
from jim.reading.job.names import name_of, took
from jim.reading.patience import Patience
from jim.reading.progress import progress
from jim.reading.site.accounts import Accounts
from jim.reading.site.site_view import health
from jim.reading.view import View, look
from jim.site import file as site_file

log = logging.getLogger(__name__)
ROUTES = (
    *("overview", "grid_jobs", "grid_job", "local_job", "files", "hosts", "query", "site", "schema", "metrics"),
    *("health", "control", "tasks", "task", "task_parts", "task_control"),
)
OF_SITE = ("accounts",)
PAGE_SECONDS, DOCUMENT_SECONDS = 4.0, 20.0  # limits for reading the store
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
KINDS = {"html": HTML, "json": JSON, "csv": CSV, "xml": XML}
Make = Callable[..., Made]
Send = Callable[..., Response]


@dataclass
class Pages:
    """The state that all pages share."""

    access: Access | Proxied
    open: Callable[[], View] = look
    wake: Callable[[Path], None] = lambda _: None  # the keeper; without a call, it looks a moment later
    accounts: Accounts | None = None  # of a page over a whole site, which has no other pages
    rates: Rates = field(default_factory=Rates)
    large: Large = field(default_factory=Large)
    renderings: Renderings = field(default_factory=Renderings)
    tokens: Tokens = field(default_factory=lambda: Tokens(site_file.load().state))
    disk: Patience = field(default_factory=Patience)
    measured: Measured = field(default_factory=Measured)
    opening: Opening = field(init=False)
    lately: Lately = field(init=False)
    forms: Forms = field(init=False)
    watch: Watch = field(init=False)
    beside: Beside = field(init=False)
    static: dict[str, tuple[str, bytes]] = field(
        default_factory=lambda: hashed(Path(__file__).with_name("static")),
    )

    def __post_init__(self) -> None:
        self.opening = Opening(lambda: self.open())
        self.lately = Lately(self._opened)
        self.forms = Forms(self.access.key)
        self.watch = Watch(self._opened, lambda: self.lately.news, lambda: self.renderings.clock())
        self.beside = Beside(self._opened, lambda read: self.disk(read), lambda: self.renderings.clock())

    def _opened(self) -> View:
        view = self.opening()
        view.disk = self.disk
        return view

    @contextmanager
    def viewing(self, seconds: float = PAGE_SECONDS) -> Iterator[View]:
        """Read a snapshot of the store, for a limited time."""
        view = self._opened()
        with closing(view.store), view.store.snapshot(), view.store.at_most(seconds):
            yield view

    def removed_at(self, number: int) -> str:
        """Return when a grid job was removed; empty if that is not known."""
        with self.viewing() as view:
            return view.store.removed_at(number)

    def why(self, view: View, job: GridJob) -> str:
        """Return the reason of a grid job; with very many local jobs it takes a while to find."""
        if job.size <= MOST or job.step is Step.FINISHED:
            return view.why(job)
        name = f"why {job.id}"
        _, words = self.lately.get(name, lambda other: other.why(other.grid_job(job.id)), 0.0, of_files=True)
        return words or job.reason

    def html(self, view: View, template: str, **more: Any) -> Made:
        """Render a page."""
        seen, now = health(view), view.now()
        facts = {
            "why": Reasons(self, view).of,
            "view": view,
            "now": now,
            "health": seen,
            "here": request.full_path.rstrip("?"),
            "site_name": view.site.site.name,
            "may_look": g.role is not Role.SEE,
            "may_control": g.role is Role.CONTROL,
            "who": g.who,
            **more,
        }
        body = render_template(template, **facts).encode(errors="backslashreplace")
        return Made(body, HTML, now, beat_of(view, seen.heart), seen.seen)

    def add(
        self,
        app: Flask,
        rule: str,
        make: Make,
        *formats: str,
        name: str = "",
        versioned: bool = False,
        files: Find | None = None,
        document: Send | None = None,
    ) -> None:
        """Serve a page at a rule, and its other formats at the rule with a suffix; a large XML document is sent apart.

        A versioned page changes only if its grid job changes, or without one if any does, or if one of its files does.
        """
        name, rule = name or make.__name__, in_full(rule)
        moment = partial(self.beside.at, self.watch, files) if versioned else None
        app.add_url_rule(rule, name, self._serving(make, "", formats, moment, document))
        for each in formats:
            if each != "html":
                mirror = f"{'/index' if rule == '/' else rule}.{each}"
                app.add_url_rule(mirror, f"{name}.{each}", self._serving(make, each, formats, None, document))

    def _serving(
        self,
        make: Make,
        fixed: str,
        formats: tuple[str, ...],
        told: Callable[..., Moment | None] | None,
        document: Send | None,
    ) -> Send:
        def serve(**names: Any) -> Response:
            kind = fixed or accepted(formats)
            if kind == "xml":
                require_look()
                if document:
                    return document(self, **names)
            cached = f"{g.role} {kind} {g.root} {request.full_path}"
            moment = told(**names) if told and kind == "html" else None
            if moment and tag_of(cached, moment.mark) in request.headers.get("If-None-Match", ""):
                return unchanged(moment, tag_of(cached, moment.mark))
            mark = moment.mark if moment else ""
            return answer(self.renderings.get(cached, lambda: self._make(make, kind, names), mark), cached)

        return serve

    def _make(self, make: Make, kind: str, names: dict[str, Any]) -> Made:
        with self.viewing(PAGE_SECONDS if kind == "html" else DOCUMENT_SECONDS) as view:
            made: Made = make(self, view, kind, **names)
        return made


class Reasons:
    """The reasons of the grid jobs of one page, each found out once."""

    def __init__(self, pages: Pages, view: View) -> None:
        self._pages, self._view, self._told = pages, view, dict[int, str]()

    def of(self, job: GridJob) -> str:
        """Return the reason of a grid job."""
        if job.id not in self._told:
            self._told[job.id] = self._pages.why(self._view, job)
        return self._told[job.id]


def accepted(formats: tuple[str, ...]) -> str:
    """Return the format that the browser prefers; HTML in doubt."""
    if len(formats) < 2:
        return formats[0]
    best = request.accept_mimetypes.best_match([KINDS[each].partition(";")[0] for each in formats], "text/html")
    return next(each for each in formats if KINDS[each].startswith(str(best)))


def require_no_filter() -> None:
    """Refuse filters on a page that has none."""
    filters.read({}, request.args.items(multi=True))


def as_json(document: Any) -> Made:
    """Return a document in the form that the command line prints."""
    return Made(f"{json.dumps(document, indent=2)}\n".encode(), JSON)


def as_csv(name: str, head: tuple[str, ...], rows: Iterable[Sequence[object]], following: str = "") -> Made:
    """Return a table for spreadsheets; a header names the address of the following page."""
    return Made(shown.as_csv(head, rows), CSV, headers=shown.headers_of_csv(name, following))


def answer(made: Made, name: str, tag: str = "") -> Response:
    """Return the content, or 304 if the browser has it already."""
    tag = tag or f'"{made.tag(name)}"'
    same = made.status == 200 and tag in request.headers.get("If-None-Match", "")
    response = Response(b"" if same else made.body, 304 if same else made.status, content_type=made.kind)
    response.headers["ETag"] = tag
    for header, value in (("Now", made.now), ("Keeper-Seen", made.keeper_seen), ("Batch-Seen", made.batch_seen)):
        if value:
            response.headers[f"JIM-{header}"] = value
    response.headers.extend(made.headers)
    return response


def unchanged(moment: Moment, tag: str) -> Response:
    """Say that the browser has the content already, and how fresh it is."""
    return answer(Made(b"", HTML, moment.now, moment.keeper_seen, moment.batch_seen), "", f'"{tag}"')


def make_app(pages: Pages) -> Flask:
    """Return the application with all pages."""
    app = Flask("jim.pages", static_folder=None, template_folder="templates", root_path=str(Path(__file__).parent))
    app.jinja_options = {
        **app.jinja_options,
        "finalize": shown.finalize,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    app.jinja_env.globals.update(_in_templates(pages))
    app.context_processor(lambda: {"root": _root(), "menu": _menu(pages)})
    app.url_map.converters |= CONVERTERS
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    for name in OF_SITE if pages.accounts else ROUTES:
        importlib.import_module(f"jim.pages.routes.{name}").add(app, pages)
    app.add_url_rule("/static/<name>", "static", lambda name: sent(pages.static, name))
    app.before_request(lambda: admit(pages.access, pages.tokens, pages.rates))
    app.after_request(lambda response: _finish(pages, response))
    app.register_error_handler(Exception, lambda error: failed(error, pages.removed_at))
    return app


def _root() -> str:
    return str(g.get("root", ""))


def _menu(pages: Pages) -> list[tuple[str, str]]:
    """Return the pages of the menu, for whoever asks."""
    entries = ("/", "/jobs", "/tasks", "/hosts", "/query", "/schema", "/site") if pages.accounts is None else ("/",)
    hidden = ("/query", "/site") if g.get("role", Role.SEE) is Role.SEE else ()
    return [(each, each[1:].capitalize() or "Overview") for each in entries if each not in hidden]


def _in_templates(pages: Pages) -> dict[str, Any]:
    return {
        "static": lambda name: f"{_root()}/static/{pages.static[name][0]}",
        "svg": svg,
        "words": quantities,
        "cut": shown.cut,
        "sentence": shown.sentence,
        "address": lambda *parts: f"{_root()}{shown.address(*parts)}",
        "task_address": lambda name: f"{_root()}{shown.address('tasks', name)}",
        "counted": lists.counted,
        **task_looks.IN_TEMPLATES,
        "progress": progress,
        "name_of": name_of,
        "took": took,
        "public": public,
        "seen_lines": seen_lines,
        "version": __version__,
    }


def _finish(pages: Pages, response: Response) -> Response:
    for name, value in SECURITY.items():
        response.headers[name] = value
    response.headers.setdefault("Cache-Control", "private, no-cache")
    response.headers.add("Vary", "Accept, Authorization, Cookie")
    took = time.monotonic() - g.get("began", time.monotonic())
    pages.measured.add(request.endpoint or "none", response.status_code, took)
    refused = request.endpoint in DOING and response.status_code != 303
    about = f"{request.method} {shown.visible(request.path)} {response.status_code}"
    log.log(logging.WARNING if refused else logging.INFO, "%s %.0f ms %s", about, 1000 * took, _user(pages))
    return response


def _user(pages: Pages) -> str:
    who = shown.visible(g.get("who", "")) or "nobody"
    return f"{who}{pages.access.through(request.environ)}"
