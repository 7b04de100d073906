"""/jobs/G/control/aside and back: put a grid job or a task that has failed out of the overview, and bring it back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from flask import Flask

from jim.pages.admission import DOING
from jim.pages.app import Pages
from jim.pages.laid_aside import LaidAside, name_of, named, not_over
from jim.pages.routes.wishes.wishing import Asked, Kind, WishPages
from jim.reading.job.effects import Effect
from jim.reading.view import View


class AsideVerb(StrEnum):
    """What can be done."""

    ASIDE = "aside"
    BACK = "back"


FIELDS: dict[AsideVerb, tuple[str, ...]] = {AsideVerb.ASIDE: (), AsideVerb.BACK: ()}
WORDS = {
    AsideVerb.ASIDE: "the overview does not name it any more; nothing of it is changed or removed, every list still "
    "has it, and it comes back by itself if it is tried again",
    AsideVerb.BACK: "the overview names it again",
}
WAYS = (("/jobs/<G>", "control_aside", DOING[2]), ("/tasks/<TASK>", "control_aside_task", DOING[3]))


def add(app: Flask, pages: Pages) -> None:
    """Add the pages, if the site file allows controls."""
    for rule, endpoint, doing in WAYS:
        WishPages(app, pages, _kind(pages, rule, endpoint, doing))


def _kind(pages: Pages, rule: str, endpoint: str, doing: str) -> Kind:
    def leave(state: Path, wish: Asked, by: str) -> None:
        if wish.verb is AsideVerb.BACK:
            LaidAside(state).bring(str(wish.name))
            return
        with pages.viewing() as view:
            LaidAside(state).lay(named(view, str(wish.name)), by, view.now())

    return Kind(
        *(AsideVerb, FIELDS, (), rule, endpoint, doing, "aside.html"),
        *(lambda _: "", lambda *_: False, lambda wish: str(wish.name), _effect, _facts, leave, lambda _: ""),
        wakes=False,
    )


def _effect(view: View, wish: Asked) -> Effect:
    thing, aside = named(view, str(wish.name)), LaidAside(view.site.state)
    is_aside = aside.has(thing, aside.all())
    if wish.verb is AsideVerb.BACK:
        return Effect("" if is_aside else f"{wish.name} is not laid aside", words=WORDS[wish.verb])
    return Effect(f"{wish.name} is laid aside already" if is_aside else not_over(thing), words=WORDS[wish.verb])


def _facts(view: View, wish: Asked, _: Effect | None) -> dict[str, Any]:
    thing = named(view, str(wish.name))
    return {"thing": thing, "name": name_of(thing), "is_task": isinstance(wish.name, str)}
