"""The cache of pages, and of the answers to slow questions that pages show: entries of a mark and a value.

A value whose mark is that of the present moment is up to date, and nothing is made for whoever asks for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from jim.errors import JimError
from jim.pages.made import Made, tag_of
from jim.reading.view import View

log = logging.getLogger(__name__)
# A page of what always changes, or of what has no mark, is good for a while, and longer if it took long to make.
FRESH_SECONDS, LONGEST_FRESH = 1.0, 5.0
SHARE = 0.02  # of a core: the most that one page may take, with any number of viewers
MOST_NAMED, MOST_KEPT, MOST_BYTES = 1000, 100, 32 * 1024 * 1024
EVERY_SECONDS = 10.0
TIMES_LONGER = 20  # an answer that took one second is good for at least 20
STILL_SECONDS = 60.0  # if nothing in the store has changed, the answer is good for so long
FIRST_SECONDS = 1.5  # the first request waits so long
SOON_SECONDS = 0.03  # a page for which the answer is only a part of many waits so long
AT_ONCE = 2  # so that a short search seldom waits for a long one
MOST_ANSWERS = 20
MOST_SECONDS = 60.0
Find = Callable[[View], Any]


@dataclass(eq=False)
class Entry:
    """A value, and the mark of the moment that it shows. Times are those of a clock that nobody can set."""

    mark: str = ""
    value: Any = None
    until: float = 0.0  # until then it is not made anew
    turn: threading.Lock = field(default_factory=threading.Lock)  # one makes a page, and the others wait for it


@dataclass(eq=False)
class News:
    """The number of the last change of an answer: what a page remembers of the answer, which need not be kept."""

    change: int = 0


@dataclass(eq=False)
class Answer(Entry):
    """The answer to a slow question, for which nobody has to wait."""

    at: str = ""  # the time, for people
    news: News = field(default_factory=News)
    found_at: float = 0.0
    took: float = 0.0
    busy: bool = False
    made: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class Page(Entry):
    """A page, and the slow answers that it shows, with their changes."""

    shows: list[tuple[News, int]] = field(default_factory=list)

    def is_of(self, mark: str) -> bool:
        """Tell whether it shows this moment."""
        return bool(mark) and self.mark == mark and all(news.change == change for news, change in self.shows)

    def tag(self, name: str, made: Made | None) -> str:
        """Return its ETag; an empty text for one without a mark of which no content is kept."""
        if self.mark:
            return tag_of(name, f"{self.mark} {[change for _, change in self.shows]}")
        return tag_of(name, made.mark or made.body) if made else ""


@dataclass
class Cache:
    """The last pages, each shared by all who may see the same, and the last answers to slow questions."""

    open: Callable[[], View]
    clock: Callable[[], float] = time.monotonic
    cost: Callable[[], float] = time.thread_time
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(AT_ONCE))
    _pages: dict[str, Page] = field(default_factory=dict)  # the last used one comes last, as in `_answers`
    _answers: dict[str, Answer] = field(default_factory=dict)
    _making: threading.local = field(default_factory=threading.local)  # the answers that this thread's page shows
    _changes: Iterator[int] = field(default_factory=lambda: count(1))
    _acts: int = 0

    def tag(self, name: str, mark: str) -> str:
        """Return the ETag of a page of this moment; empty if there is none. Its content need not be kept any more."""
        with self._lock:
            page = self._pages.get(name)
            return page.tag(name, None) if page and page.is_of(mark) else ""

    def page(self, name: str, mark: str, make: Callable[[], Made]) -> tuple[Made, str]:
        """Return a page and its ETag, made now if need be; the name says whose eyes the page is for."""
        page = self._last(self._pages, name, Page, MOST_NAMED)
        with page.turn:
            made: Made | None = page.value
            if made is None or not (page.is_of(mark) or self.clock() <= page.until):
                made = self._make(page, mark, make)
                self._drop()
            return made, page.tag(name, made)

    def answer(
        self, name: str, find: Find, seconds: float = FIRST_SECONDS, *, of_files: bool = False
    ) -> tuple[str, Any]:
        """Return the last answer and its time, and find it anew if it is old. Only the first request waits for it.

        An answer that comes from files, too, such as claims, may change while the store does not.
        """
        answer = self._last(self._answers, name, Answer, MOST_ANSWERS)
        with self._lock:
            if not answer.busy and (self.clock() > answer.until or not answer.made.is_set()):
                answer.busy = True
                threading.Thread(target=self._find, args=(name, answer, find, of_files), daemon=True).start()
        answer.made.wait(seconds)
        change = answer.news.change  # first: if another value comes now, the page is not of this moment
        if (shows := getattr(self._making, "shows", None)) is not None:
            shows.append((answer.news, change))
        return answer.at, answer.value

    def renew(self) -> None:
        """Let no page be shown again only because it is young: somebody has done something."""
        with self._lock:
            self._acts += 1
            for page in self._pages.values():
                page.until = 0.0

    def _last(self, kept: dict[str, Any], name: str, new: Callable[[], Any], most: int) -> Any:
        with self._lock:
            entry = kept[name] = kept.pop(name, None) or new()
            if len(kept) > most:
                del kept[next(iter(kept))]
        return entry

    def _make(self, page: Page, mark: str, make: Callable[[], Made]) -> Made:
        began, acts = self.cost(), self._acts
        shows: list[tuple[News, int]] = []
        self._making.shows = shows
        try:
            made = make()
        finally:
            self._making.shows = None
        seconds = min(LONGEST_FRESH, max(FRESH_SECONDS, (self.cost() - began) / SHARE))
        with self._lock:
            page.mark, page.value, page.shows = mark, made, shows
            page.until = self.clock() + seconds if acts == self._acts else 0.0
        return made

    def _drop(self) -> None:
        """Keep no more contents than there is room for; the marks of the other pages stay."""
        with self._lock:
            pages, size = 0, 0
            for page in reversed(self._pages.values()):
                if page.value is not None:
                    pages, size = pages + 1, size + len(page.value.body)
                    if pages > MOST_KEPT or (size > MOST_BYTES and pages > 1):
                        page.value = None

    def _find(self, name: str, answer: Answer, find: Find, of_files: bool) -> None:
        with self._turn:
            began = self.clock()
            try:
                view = self.open()
                with closing(view.store), view.store.snapshot(), view.store.seen.at_most(MOST_SECONDS):
                    version = view.store.version()
                    mark, old = str(version), began - answer.found_at > STILL_SECONDS
                    if of_files or version is None or mark != answer.mark or old:
                        self._take(answer, mark, find(view), view.now())
                        answer.found_at = self.clock()
                        answer.took = answer.found_at - began
                answer.made.set()
            except (JimError, OSError) as error:
                log.error("%s cannot be computed: %s", name, error)
                answer.took = self.clock() - began
            finally:
                answer.until = self.clock() + max(EVERY_SECONDS, TIMES_LONGER * answer.took)
                answer.busy = False

    def _take(self, answer: Answer, mark: str, value: Any, at: str) -> None:
        # Of the same version of the store, only ages in it may differ, and what files say.
        another = not answer.news.change or (mark != answer.mark and value != answer.value)
        answer.mark, answer.value, answer.at = mark, value, at
        if another:
            answer.news.change = next(self._changes)
