"""Filling in what a request leaves to its site's catalogue: the events of a request id, the files of a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from jim.errors import BadRequest
from jim.handlers.base import Attributes, Handler
from jim.site.file import Site
from jim.work.catalogue import Catalogue, catalogue_at
from jim.work.site_steps import take
from jim.work.sizing import Size, check_limits, left_to_catalogue, of_test, size


class Resolved(NamedTuple):
    """A request that says all, how it is cut, and what was looked up for it."""

    request: Attributes
    size: Size
    facts: str  # in words; empty: nothing was


def resolve(handler: Handler, request: Attributes, site: Site) -> Resolved:
    """Look up what a request leaves open, then take the site's own steps with it."""
    found = _looked_up(handler, request, site)
    if not site.site.steps:
        return found
    taken = take(found.request, site.site.steps, site.site.handlers)
    how = size(handler, taken, site)
    check_limits(handler.resources(taken), site, how)
    told = f"taken: {', '.join(site.site.steps)}"
    return Resolved(taken, how, "; ".join(filter(None, (found.facts, told))))


def _looked_up(handler: Handler, request: Attributes, site: Site) -> Resolved:
    """Look up all that a request names in the catalogue, once, and size it.

    What is not there is a `BadRequest`. A name that is only handed on, such as that of a minimum-bias dataset, must be
    there, too; a site without a catalogue cannot tell, and leaves it to the payload.
    """
    if not site.site.catalogue:
        return Resolved(request, size(handler, request, site), "")
    found = dict(request)
    facts = _look_up_all(handler, found, handler.attributes, site)
    told = f"{'; '.join(facts)} (catalogue {site.site.catalogue})" if facts else ""
    if found.get("test") == "yes":
        found = of_test(found)
    if facts:  # a door could not
        handler.check(found)
    how = size(handler, found, site)
    if facts:
        check_limits(handler.resources(found), site, how)
        how = how._replace(why=f"{how.why}; {told}")
    return Resolved(found, how, told)


def refuse_unknown(handler: Handler, request: Attributes, names: Iterable[str], site: Site) -> None:
    """Refuse what these attributes name where the catalogue does not know it; what it knows changes nothing."""
    if site.site.catalogue:
        _look_up_all(handler, dict(request), names, site)


def _look_up_all(handler: Handler, found: dict[str, Any], names: Iterable[str], site: Site) -> list[str]:
    """Put into a request what the catalogue knows of these attributes, and say it."""
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
    """Put into a request what the catalogue knows of one attribute, and say it."""
    word = str(found[name])
    if kind == "request id":
        events = catalogue.events(word)
        told = f"request id {word} has {events:,} events"
        if not found.get("events"):
            found["events"] = events
            return told
        asked = f"{found['events']:,} are asked for"
        return f"{told}, of which {asked}" if found["events"] <= events else f"{told}, but {asked}"
    files = catalogue.files(word)
    if name == "dataset" and left_to_catalogue(found):
        found["input_files"] = [each.to_record() for each in files]
    count = "1 file" if len(files) == 1 else f"{len(files):,} files"
    return f"dataset {word} has {count}, {sum(each.events for each in files):,} events"
