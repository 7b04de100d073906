"""The pages as a WSGI application: access, common headers, and errors as pages."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
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
from jim.pages import shown, task_looks
from jim.pages.access import Access, Large, Rates
from jim.pages.addresses import CONVERTERS, in_full
from jim.pages.admission import DOING, admit, require_look, seen_lines
from jim.pages.assets import hashed, sent
from jim.pages.cache import SOON_SECONDS, Cache
from jim.pages.forms import Forms
from jim.pages.made import HTML, Made, accepted, answer, name_of_page
from jim.pages.marks import MINUTE, Marks, Moment, Opening, beat_of
from jim.pages.pictures import svg
from jim.pages.proxied import Proxied
from jim.pages.refusals import failed
from jim.pages.tokens import Role, Tokens
from jim.reading import filters, lists, quantities
from jim.reading.hosts import Host, all_hosts
from jim.reading.job.history import MOST
from jim.reading.job.names import name_of, took
from jim.reading.progress import progress
from jim.reading.site.accounts import Accounts
from jim.reading.site.site_view import health
from jim.reading.slow_disks import Patience
from jim.reading.view import View, look
from jim.site import file as site_file

log = logging.getLogger(__name__)
ROUTES = (
    *("overview", "grid_jobs", "grid_job", "local_job", "files", "hosts", "query", "site", "schema", "metrics"),
    *("health", "tasks", "task", "task_parts", "wishes.control", "wishes.task_control", "wishes.aside"),
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
Make = Callable[..., Made]
Send = Callable[..., Response]
Files = Callable[..., Sequence[Path]]  # of a view, and of the names in the address of a page


@dataclass
class Pages:
    """The state that all pages share."""

    access: Access | Proxied
    open: Callable[[], View] = look
    wake: Callable[[Path], None] = lambda _: None  # the keeper; without a call, it looks a moment later
    accounts: Accounts | None = None  # of a page over a whole site, which has no other pages
    rates: Rates = field(default_factory=Rates)
    large: Large = field(default_factory=Large)
    tokens: Tokens = field(default_factory=lambda: Tokens(site_file.load().state))
    disk: Patience = field(default_factory=Patience)
    opening: Opening = field(init=False)
    marks: Marks = field(init=False)
    cache: Cache = field(init=False)
    forms: Forms = field(init=False)
    static: dict[str, tuple[str, bytes]] = field(
        default_factory=lambda: hashed(Path(__file__).with_name("static")),
    )

    def __post_init__(self) -> None:
        self.opening = Opening(lambda: self.open())
        self.marks = Marks(self._opened, lambda read: self.disk(read))
        self.cache = Cache(self._opened)
        self.forms = Forms(self.access.key)

    def _opened(self) -> View:
        view = self.opening()
        view.disk = self.disk
        return view

    @contextmanager
    def viewing(self, seconds: float = PAGE_SECONDS) -> Iterator[View]:
        """Read a snapshot of the store, for a limited time."""
        view = self._opened()
        with closing(view.store), view.store.snapshot(), view.store.seen.at_most(seconds):
            yield view

    def removed_at(self, number: int) -> str:
        """Return when a grid job was removed; empty if that is not known."""
        with self.viewing() as view:
            return view.store.removals.at(number)

    def why(self, view: View, job: GridJob) -> str:
        """Return the reason of a grid job; with very many local jobs it takes a while to find."""
        if job.size <= MOST or job.step is Step.FINISHED:
            return view.why(job)
        name = f"why {job.id}"
        _, words = self.cache.answer(name, lambda other: other.why(other.grid_job(job.id)), 0.0, of_files=True)
        return words or job.reason

    def black_holes(self, seconds: float = SOON_SECONDS) -> list[Host]:
        """Return the black holes among the hosts, as far as they have been found out."""
        _, hosts = self.cache.answer("black holes", _black_holes, seconds)
        return list(hosts or ())

    def renew(self) -> None:
        """Show everybody what is so now: somebody has done something."""
        self.marks.forget()
        self.cache.renew()

    def html(self, view: View, template: str, **more: Any) -> Made:
        """Render a page."""
        seen, now = health(view), view.now()
        beat = beat_of(view, seen.heart)
        facts = {
            "why": Reasons(self, view).of,
            "view": view,
            "now": now,
            "beat": beat,
            "health": seen,
            "here": request.full_path.rstrip("?"),
            "site_name": view.site.site.name,
            "may_look": g.role is not Role.SEE,
            "may_control": g.role is Role.CONTROL,
            "who": g.who,
            **more,
        }
        body = render_template(template, **facts).encode(errors="backslashreplace")
        return Made(body, HTML, now, beat, seen.seen)

    def add(
        self,
        app: Flask,
        rule: str,
        make: Make,
        *formats: str,
        name: str = "",
        files: Files | None = None,
        seconds: int = MINUTE,
        document: Send | None = None,
    ) -> None:
        """Serve a page at a rule, and its other formats at the rule with a suffix; a large XML document is sent apart.

        A page changes if its grid job does, or without one if any does, or if one of its files does; and else after
        so many seconds.
        """
        name, rule = name or make.__name__, in_full(rule)
        moment = partial(self._moment, files, seconds)
        app.add_url_rule(rule, name, self._serving(make, "", formats, moment, document))
        for each in formats:
            if each != "html":
                mirror = f"{'/index' if rule == '/' else rule}.{each}"
                app.add_url_rule(mirror, f"{name}.{each}", self._serving(make, each, formats, moment, document))

    def _moment(self, files: Files | None, seconds: int, **names: Any) -> Moment | None:
        """Return the present moment of a page; pages of tasks show that of the site."""
        moment = self.marks.of(None if "task" in names else names.get("number"), seconds)
        if moment is None or files is None:
            return moment
        return self.marks.with_files(moment, request.path, lambda view: files(view, **names))

    def _serving(
        self,
        make: Make,
        fixed: str,
        formats: tuple[str, ...],
        moment_of: Callable[..., Moment | None],
        document: Send | None,
    ) -> Send:
        def serve(**names: Any) -> Response:
            kind = fixed or accepted(formats)
            if kind == "xml":
                require_look()
                if document:
                    return document(self, **names)
            cached = name_of_page(kind)
            moment = moment_of(**names) if kind == "html" else None  # ages in a document are those of now
            mark = moment.mark if moment else ""
            tag = self.cache.tag(cached, mark)
            if tag and tag in request.headers.get("If-None-Match", ""):
                return answer(Made(b"", HTML), tag, moment)
            made, tag = self.cache.page(cached, mark, lambda: self._make(make, kind, names))
            return answer(made, tag, moment if tag == self.cache.tag(cached, mark) else None)

        return serve

    def _make(self, make: Make, kind: str, names: dict[str, Any]) -> Made:
        with self.viewing(PAGE_SECONDS if kind == "html" else DOCUMENT_SECONDS) as view:
            made: Made = make(self, view, kind, **names)
        return made


def _black_holes(view: View) -> list[Host]:
    return [each for each in all_hosts(view) if each.hole]


class Reasons:
    """The reasons of the grid jobs of one page, each found out once."""

    def __init__(self, pages: Pages, view: View) -> None:
        self._pages, self._view, self._told = pages, view, dict[int, str]()

    def of(self, job: GridJob) -> str:
        """Return the reason of a grid job."""
        if job.id not in self._told:
            self._told[job.id] = self._pages.why(self._view, job)
        return self._told[job.id]


def require_no_filter() -> None:
    """Refuse filters on a page that has none."""
    filters.read({}, request.args.items(multi=True))


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
    entries = ("/", "/jobs", "/tasks", "/hosts", "/query", "/site") if pages.accounts is None else ("/",)
    hidden = ("/query", "/site") if g.get("role", Role.SEE) is Role.SEE else ()
    return [(each, each[1:].capitalize() or "Overview") for each in entries if each not in hidden]


def _in_templates(pages: Pages) -> dict[str, Any]:
    return {
        "static": lambda name: f"{_root()}/static/{pages.static[name][0]}",
        "svg": svg,
        "words": quantities,
        "cut": shown.cut,
        "time_of": shown.time_of,
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
    if request.endpoint in DOING and response.status_code == 303:
        pages.renew()
    took = time.monotonic() - g.get("began", time.monotonic())
    refused = request.endpoint in DOING and response.status_code != 303
    about = f"{request.method} {shown.visible(request.path)} {response.status_code}"
    log.log(logging.WARNING if refused else logging.INFO, "%s %.0f ms %s", about, 1000 * took, _user(pages))
    return response


def _user(pages: Pages) -> str:
    who = shown.visible(g.get("who", "")) or "nobody"
    return f"{who}{pages.access.through(request.environ)}"
