"""A door's work before it stores a request: reading, checking and sizing."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jim import request
from jim.doors.contract import door_of
from jim.errors import BadRequest
from jim.handlers.base import Handler
from jim.site import file as site_file
from jim.site.file import Site
from jim.trust.plugins import foreign
from jim.work import commands, sizing
from jim.work.sizing import Size

if TYPE_CHECKING:
    from jim.doors.contract import Door, Places
    from jim.doors.identity import Apart  # a new key needs none of this module
    from jim.site.realm import Realm

# The name of an attribute in any language of requests: at the beginning of a line or of a part of a line. In TOML the
# name may also stand before a dot, or as the head of a table.
WRITTEN = r"""(?:^[ \t]*|[({,]\s*)(["']?\+?%(name)s["']?\s*[:=])|^[ \t]*(?:\[\[?[ \t]*)?(%(name)s[ \t]*[].])"""
# What may differ; what the gatekeeper says of the sender; where outputs belong; its realm, empty: the account itself.
Checked = tuple["Prepared", "Apart", "Said", "Places", str]
Prepared = tuple[Handler, dict[str, Any], Size]  # handler of the job type, checked request, size of the local jobs


def prepare(file: Path, site: Site, *, ask_catalogue: bool = False, **more: Any) -> Prepared:
    """Read, check and size a request. Refuse here all that a door can refuse, before anything is stored.

    Without a door, the default door reads the file. `more` are attributes in addition to those of the file. The keeper
    later checks what only the site's catalogue knows, because a door must answer at once. A dry run asks the catalogue.
    """
    return _prepared(file, site, door_of(), ask_catalogue, more)[0]


class Said(NamedTuple):
    """What a gatekeeper says of the sender of a request."""

    contact: str = ""
    dn: str = ""


class HandedIn(NamedTuple):
    """A request that is ready to be stored, and what is stored beside it."""

    request: dict[str, Any]
    apart: Apart  # the parts that may differ if its key comes again
    sender: dict[str, Any]
    places: Places
    realm: str


def to_hand_in(file: Path, site: Site, door: Door, **more: Any) -> HandedIn:
    """Prepare a request for its door."""
    (_, checked, _), apart, said, places, realm = _prepared(file, site, door, False, more)
    return HandedIn(checked, apart, _sender(checked, said, site, realm), places, realm)


def _sender(checked: dict[str, Any], said: Said, site: Site, realm: str) -> dict[str, Any]:
    """Return who sent a request, as its gatekeeper says, or else as its proxy claims."""
    sender: dict[str, Any] = {"contact": said.contact} if said.contact else {}
    if checked.get("proxy"):
        from jim.site.realm import opener_of  # most requests need none of these modules
        from jim.workdir import credentials, senders

        sender |= senders.claims(credentials.content_of("proxy", checked["proxy"], opener_of(site, realm)))
    if said.dn:  # a proxy of anybody else counts for nothing
        fqans = sender.get("fqans", ()) if sender.get("dn") == said.dn else ()
        return sender | {"dn": said.dn, "fqans": fqans, "known": True}
    return sender


def _prepared(file: Path, site: Site, door: Door, ask_catalogue: bool, more: dict[str, Any]) -> Checked:
    site_file.check_system(site)
    asked = door.read(file, site.site.handlers)
    if not door.reads(asked):
        with _at_its_place(file, but=more):
            prepared = _prepare(_with_program(asked | more, file, site), file, site, ask_catalogue, "")
        return prepared, {"places": [str(file.parent.resolve())]}, Said(), {}, ""
    with door.in_its_words(asked):
        attributes, places, realm = door.attributes(asked, site.site.handlers), door.places(asked), door.realm(asked)
        prepared = _prepare(attributes | more, file, site, ask_catalogue, realm.text)
        if places:
            _hold_places(places, site, realm)
    door.require(asked, site)
    return prepared, door.apart(asked), Said(door.contact(asked), door.dn(asked)), places, realm.text


@contextmanager
def _at_its_place(file: Path, but: Container[str]) -> Iterator[None]:
    """Begin the refusal of an attribute with its place in the file."""
    try:
        yield
    except BadRequest as error:
        if error.about in but:
            raise
        raise BadRequest(f"{file}: {_place(file, error.about) if error.about else ''}{error}") from error


def _place(file: Path, name: str) -> str:
    """Return the place of an attribute in a request file; empty if it is not found."""
    from jim.request.languages import place, plain  # imported here: only refusals need this module

    with suppress(OSError):  # the file could be read before
        text = file.read_text(errors="replace").removeprefix("\ufeff")
        wanted = {"name": "_?".join(map(re.escape, plain(name))) or name}
        found = re.search(WRITTEN % wanted, text, re.MULTILINE | re.IGNORECASE)
        return f"{place(text, found.start(found.lastindex or 0))}: " if found else ""
    return ""


def _hold_places(places: Places, site: Site, realm: Realm) -> None:
    """Refuse outputs outside of the directory that the gatekeeper has made for a job, or that the site has opened."""
    from jim.site.realm import opener_of

    own = places["directory"]
    named = [*places.get("files", {}).items(), ("tar", places.get("tar", ""))]
    paths = [(name, path) for name, path in named if path not in ("", os.devnull)]
    for name, path in paths:
        first = os.path.relpath(path, own).partition("/")[0]
        if first == ".." or (first == "." and name in ("stdout", "stderr")):  # a stream is no directory
            raise BadRequest(
                f"{path}: outputs go into {own}, the directory of the job, or below; name them there", name
            )
    if paths:
        opener_of(site, realm.text).require(own, "directory")


def _hold_named(inputs: object, site: Site, realm: str) -> None:
    """Refuse files that the sender may not name."""
    from jim.site.realm import opener_of

    for path in inputs if isinstance(inputs, list) else ():
        if isinstance(path, str) and path.startswith("/"):
            with suppress(OSError):  # the check of the request says what is wrong
                opener_of(site, realm).require(path, "inputs")


def _with_program(attributes: dict[str, Any], file: Path, site: Site) -> dict[str, Any]:
    """Send the program of a request along if it lies beside the request."""
    if str(attributes.get("executable") or "/").startswith("/"):
        return attributes
    from jim.work.program import with_program  # most requests name a program by its path, or none

    return with_program(attributes, site.site.handlers, file.parent)


def _require_program(handler: Handler, checked: dict[str, Any], site: Site) -> None:
    if not str(checked.get("executable") or "/").startswith("/"):
        from jim.work.program import require_program

        require_program(handler, checked, site)


def _refuse_of_tasks(attributes: dict[str, Any]) -> None:
    """Refuse what only the keeper hands in, for a task."""
    if isinstance(attributes.get("task"), list):
        raise BadRequest("this is a task file: `jim task create FILE` takes it", "task")
    for name in ("pieces", "task"):
        if name in attributes:
            raise BadRequest(f"only a task hands in {'pieces' if name == 'pieces' else 'this'}", name)
    if str(attributes.get("key")).startswith("task:"):
        raise BadRequest("'task:' is for tasks", "key")


def _prepare(attributes: dict[str, Any], file: Path, site: Site, ask_catalogue: bool, realm: str) -> Prepared:
    _refuse_of_tasks(attributes)
    if realm:  # before a job type says what it finds there
        _hold_named(attributes.get("inputs"), site, realm)
    handler, checked = request.check(attributes, site.site.handlers)
    if checked["test"] == "yes":
        checked = sizing.of_test(checked)
    hold_files(checked, file, site, realm)
    # The check of a job type may also fail in arithmetic, which means no.
    of_the_type = f"job type {checked['job_type']}"
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
        from jim.work.pieces import check  # most requests name no splitter, and this module loads slowly

        sample = {**check(handler, checked, site.site)}
    with foreign(of_the_type):
        sizing.check_limits(handler.resources(sample), site, size)
    if checked.get("bundle") or checked.get("at_once") or checked.get("bundle_seconds"):
        from jim.work import bundles  # most requests have none, and this module imports the adapter

        bundles.check(checked, site)
    commands.try_first(handler, sample, size)
    _require_program(handler, checked, site)
    return handler, checked, size


def _enter(directory: str, site: Site, realm: str) -> None:
    """Refuse a directory that this account cannot enter, or that is JIM's own."""
    from jim.site.realm import opener_of  # most requests name none
    from jim.site.walking import opened

    try:
        with opened(f"{directory}/.") as place:
            os.stat(Path(directory, "."))  # noqa: PTH116 - Path.stat would drop the dot
            opener_of(site, realm).require_foreign(place.at, directory, "directory")
    except OSError as error:
        raise BadRequest(f"cannot enter {directory}: {error.strerror}", "directory") from error


def hold_files(checked: dict[str, Any], file: Path, site: Site, realm: str = "") -> None:
    """Refuse a request whose files its sender may not name or JIM cannot send, or whose directory cannot be entered."""
    if checked.get("inputs") or checked.get("stdin"):
        from jim.site.realm import opener_of  # most requests send no files
        from jim.workdir.packages import members

        if "" in (checked.get("inputs") or ()):
            raise BadRequest("'': expected the path of a file or directory", "inputs")
        here = file.parent.resolve()
        if checked.get("inputs"):
            checked["inputs"] = [str(here / each) for each in checked["inputs"]]
        if checked.get("stdin"):
            checked["stdin"] = str(here / checked["stdin"])
        members(
            checked.get("inputs") or (), site.limits.input_bytes, checked.get("stdin") or "", opener_of(site, realm)
        )
    if checked.get("directory"):
        _enter(checked["directory"], site, realm)
    if checked.get("proxy") or checked.get("token"):
        from jim.site.realm import opener_of  # most requests need none of these modules
        from jim.workdir import credentials

        for kind, path in credentials.paths_in(checked).items():
            credentials.usable(kind, path, credentials.now(), opener_of(site, realm), credentials.content_soon)
