"""/schema: the grammar of the XML documents, for people and as RELAX NG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from flask import Flask, Response

from jim.errors import JimError, UnknownJob
from jim.files import read_regular
from jim.pages.app import PAGE_SECONDS, Pages, require_no_filter
from jim.pages.made import Made, as_json
from jim.pages.marks import OFTEN
from jim.reading.documents import grammar
from jim.reading.view import View
from jim.request.grammars import all_grammars
from jim.statusdb.documents.validating import compare

LONGEST = 4 * 1024 * 1024
RELAX_NG = "application/relax-ng+xml"  # no registered name exists; browsers offer to store it


def add(app: Flask, pages: Pages) -> None:
    """Add the page, and the grammar itself."""
    pages.add(app, "/schema", schema, "html", "json", seconds=OFTEN)
    app.add_url_rule("/schema.rng", "schema.rng", rng)
    app.add_url_rule("/schema/<name>.rng", "own.rng", partial(own_rng, pages))


def schema(pages: Pages, view: View, kind: str) -> Made:
    """Describe the elements of the documents."""
    require_no_filter()
    found, own = grammar.elements(_rng()), list(_own(pages, view))
    if kind == "json":
        return as_json({"elements": [_plain(each) for each in found], "job_types": [each._asdict() for each in own]})
    return pages.html(view, "schema.html", elements=found, any=grammar.ANY, own=own)


class Own(NamedTuple):
    """A grammar of a job type."""

    job_type: str
    namespace: str
    name: str
    fault: str  # why it cannot be used


def _own(pages: Pages, view: View) -> Iterator[Own]:
    """Yield the grammars of job types."""
    known = list(all_grammars(view.site.site.handlers))
    files = [str(file) for _, _, file in known]
    faults: dict[str, str] = {}
    if files:
        _, told = pages.cache.answer("grammars", lambda _: _faults(files), PAGE_SECONDS, of_files=True)
        faults = told or {}
    for job_type, namespace, file in known:
        yield Own(job_type, namespace, file.stem, faults.get(str(file), ""))


def _faults(files: Sequence[str]) -> Mapping[str, str]:
    """Return why grammars cannot be used, by file. A child process reads them, for they are anyone's."""
    try:
        return compare([("<none/>", dict(zip(files, files, strict=True)))]).faults
    except (JimError, OSError) as error:
        return dict.fromkeys(files, str(error))


def own_rng(pages: Pages, name: str) -> Response:
    """Send a grammar of a job type."""
    require_no_filter()
    with pages.viewing() as view:
        found = list(all_grammars(view.site.site.handlers))
    for job_type, _, file in found:
        if f"{job_type}.{file.stem}" == name:
            return _as_rng(read_regular(file, LONGEST), file.name)
    raise UnknownJob(f"there is no grammar {name}")


def _plain(element: grammar.Element) -> dict[str, object]:
    attributes = [{"name": each.name, "values": each.values, "often": each.often} for each in element.attributes]
    children = [{"name": each.name, "often": each.often} for each in element.children]
    return {"name": element.name, "attributes": attributes, "children": children}


def rng() -> Response:
    """Send the grammar as `jim xml --schema` prints it."""
    require_no_filter()
    return _as_rng(_rng(), "jim-status.rng")


def _as_rng(content: bytes, name: str) -> Response:
    response = Response(content, content_type=RELAX_NG)
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


def _rng() -> bytes:
    from jim.statusdb.documents.xml import schema as whole

    return whole()
