"""Completes a request from the site's catalogue: the events of a request id, the files of a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from jim.errors import BadRequest
from jim.handlers.base import Attributes, Handler
from jim.site.file import Site
from jim.work.catalogue import Catalogue, catalogue_at
from jim.work.parts import steps_of
from jim.work.site_steps import take
from jim.work.sizing import Size, check_limits, left_to_catalogue, of_test, size


class Resolved(NamedTuple):
    """A complete request, the size of its local jobs, and the facts from the catalogue."""

    request: Attributes
    size: Size
    facts: str  # in words; empty if nothing was looked up


def resolve(handler: Handler, request: Attributes, site: Site) -> Resolved:
    """Complete a request from the catalogue, then pass it through the site's own functions.

    A request of a task has passed them before its pieces were made.
    """
    found = _looked_up(handler, request, site)
    if not site.site.steps or request.get("task"):
        return found
    before, later = steps_of(found.request, site.site)
    taken = take(found.request, before, site.site.handlers)
    how = size(handler, taken, site)
    check_limits(handler.resources(taken), site, how)
    words = f"functions called: {', '.join(before) or 'none'}"
    words += f"; for each local job: {', '.join(later)}" if later else ""
    return Resolved(taken, how, "; ".join(filter(None, (found.facts, words))))


def _looked_up(handler: Handler, request: Attributes, site: Site) -> Resolved:
    """Look up everything that the request leaves to the catalogue, once, and size the request.

    A name that the catalogue does not know is a `BadRequest`. This holds also for names that are only passed on, such
    as a minimum-bias dataset. Without a catalogue JIM cannot check them, and leaves them to the payload.
    """
    if not site.site.catalogue:
        return Resolved(request, size(handler, request, site), "")
    found = dict(request)
    facts = _look_up_all(handler, found, handler.attributes, site)
    words = f"{'; '.join(facts)} (catalogue {site.site.catalogue})" if facts else ""
    if found.get("test") == "yes":
        found = of_test(found)
    if facts:  # the door could not check this
        handler.check(found)
    how = size(handler, found, site)
    if facts:
        check_limits(handler.resources(found), site, how)
        how = how._replace(why=f"{how.why}; {words}")
    return Resolved(found, how, words)


def refuse_unknown(handler: Handler, request: Attributes, names: Iterable[str], site: Site) -> None:
    """Refuse attributes that name something unknown to the catalogue; change nothing otherwise."""
    if site.site.catalogue:
        _look_up_all(handler, dict(request), names, site)


def _look_up_all(handler: Handler, found: dict[str, Any], names: Iterable[str], site: Site) -> list[str]:
    """Add to the request what the catalogue knows of these attributes; return each fact in words."""
    catalogue, facts = catalogue_at(site.site.catalogue), []
    for name in names:
        declared = handler.attributes.get(name)
        if declared and declared.names and found.get(name):
            try:
                facts.append(_look_up(catalogue, found, name, declared.names))
            except BadRequest as error:
                raise BadRequest(str(error), name) from error
    return facts


def _look_up(catalogue: Catalogue, found: dict[str, Any], name: str, kind: str) -> str:
    """Add to the request what the catalogue knows of one attribute; return the fact in words."""
    word = str(found[name])
    if kind == "request id":
        return _look_up_events(catalogue, found, word)
    files = catalogue.files(word)
    if name == "dataset" and left_to_catalogue(found):
        found["input_files"] = [each.to_record() for each in files]
    count = "1 file" if len(files) == 1 else f"{len(files):,} files"
    return f"dataset {word} has {count}, {sum(each.events for each in files):,} events"


def _look_up_events(catalogue: Catalogue, found: dict[str, Any], request_id: str) -> str:
    events = catalogue.events(request_id)
    words = f"request id {request_id} has {events:,} events"
    if not found.get("events"):
        found["events"] = events
        return words
    asked = f"the request asks for {found['events']:,}"
    return f"{words}, of which {asked}" if found["events"] <= events else f"{words}, but {asked}"
