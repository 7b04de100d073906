"""What a door does with a request before it is taken in: reading, checking and sizing it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim import request
from jim.doors.contract import door_of
from jim.errors import BadRequest
from jim.handlers.base import Handler
from jim.plugins import foreign
from jim.site import file as site_file
from jim.site.file import Site
from jim.work import sizing
from jim.work.sizing import Size

if TYPE_CHECKING:
    from jim.doors.contract import Door
    from jim.doors.identity import Apart  # a door needs none of it while a key is new

# The name of an attribute in any of the four languages: at the beginning of a line, or of a part of one. TOML has it
# before a dot, too, and as the head of a table.
WRITTEN = r"""(?:^|[({,])\s*(["']?\+?%(name)s["']?\s*[:=])|^[ \t]*(?:\[\[?[ \t]*)?(%(name)s[ \t]*[].])"""
Prepared = tuple[Handler, dict[str, Any], Size]  # what knows the job type, the checked request, how it is cut


def prepare(file: Path, site: Site, *, ask_catalogue: bool = False, **more: Any) -> Prepared:
    """Read, check and size a request; what a door can refuse is refused here, with nothing stored.

    The default door reads it. `more` are attributes besides those of the file. What only the site's catalogue knows is
    left to the keeper: a door is to answer at once. A dry run asks it.
    """
    return _prepared(file, site, door_of(), ask_catalogue, more)[0]


def to_hand_in(file: Path, site: Site, door: Door, **more: Any) -> tuple[dict[str, Any], Apart]:
    """Prepare a request; give what is stored of it, and what is left out where its key comes again."""
    (_, checked, _), apart = _prepared(file, site, door, False, more)
    return checked, apart


def _prepared(file: Path, site: Site, door: Door, ask_catalogue: bool, more: dict[str, Any]) -> tuple[Prepared, Apart]:
    site_file.check_system(site)
    asked = door.read(file, site.site.handlers)
    if not door.reads(asked):
        with _at_its_place(file, but=more):
            return _prepare(asked | more, file, site, ask_catalogue), {"places": [str(file.parent.resolve())]}
    with door.in_its_words(asked):
        prepared = _prepare(door.attributes(asked, site.site.handlers) | more, file, site, ask_catalogue)
    door.require(asked, site)
    return prepared, door.apart(asked)


@contextmanager
def _at_its_place(file: Path, but: Container[str]) -> Iterator[None]:
    """Let a refusal of an attribute begin with the place that the file has it at."""
    try:
        yield
    except BadRequest as error:
        if error.about in but:
            raise
        raise BadRequest(f"{file}: {_place(file, error.about) if error.about else ''}{error}") from error


def _place(file: Path, name: str) -> str:
    """Say where a request has an attribute; empty where it is not found."""
    from jim.request.languages import place, plain  # only what is refused needs it

    with suppress(OSError):  # it was there when it was read
        text = file.read_text(errors="replace").removeprefix("\ufeff")
        wanted = {"name": "_?".join(map(re.escape, plain(name))) or name}
        found = re.search(WRITTEN % wanted, text, re.MULTILINE | re.IGNORECASE)
        return f"{place(text, found.start(found.lastindex or 0))}: " if found else ""
    return ""


def _prepare(attributes: dict[str, Any], file: Path, site: Site, ask_catalogue: bool) -> Prepared:
    handler, checked = request.check(attributes, site.site.handlers)
    if checked["test"] == "yes":
        checked = sizing.of_test(checked)
    _hold_files(checked, file, site)
    of_the_type = f"job type {checked['job_type']}"  # what cannot be reckoned with is its answer
    with foreign(of_the_type):
        size = sizing.size(handler, checked, site)
    if ask_catalogue:
        from jim.work.lookup import resolve

        found = resolve(handler, checked, site)
        checked, size = {**found.request}, found.size
    if checked["test"] == "yes":
        size = size._replace(pieces=1, why="one small local job: this is a test")
    sample = checked  # as one of its local jobs has it
    if checked.get("splitter"):
        from jim.work.pieces import check  # most requests name none, and loading it is slow

        sample = {**check(handler, checked, site.site.name)}
    with foreign(of_the_type):
        sizing.check_limits(handler.resources(sample), site, size)
    return handler, checked, size


def _hold_files(checked: dict[str, Any], file: Path, site: Site) -> None:
    """Refuse what a request sends along if it could not be sent: its inputs, its proxy and its token."""
    if checked.get("inputs"):
        from jim.workdir.packages import members  # most requests send nothing along

        if "" in checked["inputs"]:
            raise BadRequest("'': expected the path of a file or directory", "inputs")
        checked["inputs"] = [str(file.parent.resolve() / each) for each in checked["inputs"]]
        members(checked["inputs"], site.limits.input_bytes)
    if checked.get("proxy") or checked.get("token"):
        from jim.workdir import credentials  # nor do most need these

        for kind, path in credentials.paths_in(checked).items():
            credentials.usable(kind, path, credentials.now())
