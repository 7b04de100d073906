"""/schema: the grammar of the XML documents, for people and as RELAX NG."""

from __future__ import annotations

from flask import Flask, Response

from jim.pages.app import Pages, as_json, require_no_filter
from jim.pages.live import Made
from jim.reading import grammar
from jim.reading.view import View

RELAX_NG = "application/relax-ng+xml"  # no registered name exists; browsers offer to store it


def add(app: Flask, pages: Pages) -> None:
    """Add the page, and the grammar itself."""
    pages.add(app, "/schema", schema, "html", "json")
    app.add_url_rule("/schema.rng", "schema.rng", rng)


def schema(pages: Pages, view: View, kind: str) -> Made:
    """Describe the elements of the documents."""
    require_no_filter()
    found = grammar.elements(_rng())
    if kind == "json":
        return as_json({"elements": [_plain(each) for each in found]})
    return pages.html(view, "schema.html", elements=found, any=grammar.ANY)


def _plain(element: grammar.Element) -> dict[str, object]:
    attributes = [{"name": each.name, "values": each.values, "often": each.often} for each in element.attributes]
    children = [{"name": each.name, "often": each.often} for each in element.children]
    return {"name": element.name, "attributes": attributes, "children": children}


def rng() -> Response:
    """Send the grammar as `jim xml --schema` prints it."""
    response = Response(_rng(), content_type=RELAX_NG)
    response.headers["Content-Disposition"] = 'attachment; filename="jim-status.rng"'
    return response


def _rng() -> bytes:
    from jim.statusdb.xml import schema as whole

    return whole()
