"""Changes attributes of a grid job for local jobs that are not yet sent, and refuses all other changes."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jim.errors import BadRequest, nearest
from jim.handlers.base import COMMON, Attribute, Handler, has_variable
from jim.jobs import GridJob, public
from jim.keeper.keeper import Keeper
from jim.model import State
from jim.request import check, declarations, handler_of
from jim.request.values import KIND_NAMES
from jim.site.file import Site
from jim.site.realm import with_files
from jim.statusdb.store import Store
from jim.work import bundles, sizing
from jim.work.lookup import refuse_unknown
from jim.work.own_values import CUT_BY, KNOWN_BY
from jim.workdir import credentials, packages

UNSENT = (State.WAITING, State.FAILED, State.KILLED, State.NEW)  # a failed or killed local job may be retried
Changes = Mapping[str, Any]


def meanings(declared: Mapping[str, Attribute]) -> dict[str, str]:
    """Return the attribute of each name: its own name, and its names in JDF, JDL and RSL."""
    return {also: name for name, one in declared.items() for also in (*one.also, name)}


def read(word: str, declared: Mapping[str, Attribute]) -> tuple[str, Any]:
    """Read `attribute=value`: texts and numbers plain, other kinds as JSON. An empty value removes the attribute."""
    name, _, text = word.partition("=")
    known = meanings(declared)
    if name not in known:
        raise BadRequest(f"{name!r}: unknown attribute{nearest(name, known)}")
    name = known[name]
    kind = declared[name].kind
    if not text or kind is str:
        return name, text or None
    try:
        return name, kind(text) if kind in (int, float) and "_" not in text else json.loads(text)
    except ValueError:
        example = {"list": ' such as ["a.dat", "b.dat"]', "table": ' such as {"A": "1"}'}.get(str(kind), "")
        raise BadRequest(f"cannot read {text[:80]!r}; expected {KIND_NAMES[kind]}{example}", name) from None


def written(name: str, value: Any) -> str:
    """Return `attribute=value` quoted for a shell, in the form that `read` reads."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return shlex.quote(f"{name}={text}")


def changed(site: Site, job: GridJob, words: Sequence[str]) -> Changes:
    """Return the changes that an edit makes to a request, without equal values. Refuse attributes that are fixed."""
    handler = handler_of(job.job_type, site.site.handlers)
    wanted = dict(read(each, declarations(handler)) for each in words)
    for name in (name for name, value in wanted.items() if value != job.request.get(name)):
        if name in KNOWN_BY:
            raise BadRequest(f"identifies {job.id} and cannot be changed; hand in another request", name)
        if name in CUT_BY:
            raise BadRequest(f"already used to split {job.id}; cancel {job.id} and hand in a new request", name)
        if name in ("inputs", "stdin"):
            raise BadRequest(f"already packed for {job.id}; cancel {job.id} and hand in a new request", name)
    new = checked(site, job, wanted)
    changes = {name: new[name] for name in wanted if new[name] != job.request.get(name)}
    _refuse_variables(job, changes)
    if changes.keys() - COMMON.keys():
        _refuse_what_is_made(handler, job, {**job.request, **changes}, sorted(changes.keys() - COMMON.keys()))
    # Looked up again here: an edit waits for the split, so the grid job's own lookup is over.
    refuse_unknown(handler, new, changes, site)
    return changes


def _refuse_variables(job: GridJob, changes: Changes) -> None:
    for name in changes if job.splitter and job.size else ():
        if has_variable(changes[name]):
            raise BadRequest(f"{job.id} is already split, which replaces variables; hand in a new request", name)


def checked(site: Site, job: GridJob, wanted: Changes) -> dict[str, Any]:
    """Check the changed request as if it were handed in."""
    handler, new = check({**job.request, **wanted}, site.site.handlers, looked_up=sizing.is_looked_up(job.request))
    sizing.check_limits(handler.resources(new), site)
    bundles.check(new, site)
    for kind, path in credentials.paths_in(new).items() if credentials.KINDS.keys() & wanted.keys() else ():
        credentials.usable(kind, path, credentials.now())
    return new


def _refuse_what_is_made(handler: Handler, job: GridJob, new: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a change that only the split or the package could use: both are made already."""
    whose = " and ".join(names)
    if any(made_by(new) != made_by(job.request) for made_by in (handler.work, handler.most_events_per_job)):
        raise BadRequest(f"{whose}: already used to split {job.id}; cancel {job.id} and hand in a new request")
    if _area(handler, new) != _area(handler, job.request):
        raise BadRequest(f"{whose}: already packed for {job.id}; cancel {job.id} and hand in a new request")


def _area(handler: Handler, request: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Return the files that a job type packs for a request."""
    with tempfile.TemporaryDirectory(prefix="jim-area-") as area:
        handler.prepare_work_area(request, Path(area))
        files = [one for one in packages.walked(Path(area)) if one.source.is_file()]
        return [(one.name, one.source.read_bytes()) for one in files]


def refuse_what_is_sent(store: Store, job: GridJob, changes: Changes) -> str:
    """Return which local jobs a change applies to; refuse a change that applies to none."""
    counts = store.counts(job.id)
    waiting, ended = counts.get(State.WAITING, 0), sum(counts.get(state, 0) for state in UNSENT[1:])
    if job.size and not waiting + ended:
        raise BadRequest(f"{job.id}: all of its local jobs are already sent; nothing is left to change")
    if not job.size and job.outcome:
        raise BadRequest(f"{job.id}: it ended without local jobs; nothing is left to change")
    if not job.size:
        return "all of its local jobs"
    first = store.local_jobs(job.id, UNSENT, limit=1)
    own = sorted(changes.keys() & first[0].piece.attributes.keys()) if first else []
    if own:
        raise BadRequest(f"the splitter set this for each local job of {job.id}; hand in a new request", own[0])
    words = [f"{waiting:,} waiting" if waiting else "", f"{ended:,} failed or killed, if retried" if ended else ""]
    return "local jobs: " + ", ".join(filter(None, words))


def _files(changes: Changes) -> list[str]:
    """Return the credentials that a person of the account names in place of those that the sender has named."""
    return [*credentials.paths_in(changes).values()]


def edit(keeper: Keeper, job: GridJob, content: Mapping[str, Any], *, for_later: bool = False) -> str:
    """Change a request and return the changes in words. Check again: since the door checked, all may have been sent.

    With `for_later`, a change is also possible that only later attempts of what is sent will have.
    """
    changes = {name: value for name, value in content["changes"].items() if value != job.request.get(name)}
    if not changes:
        raise BadRequest(f"{job.id}: the request has these values already")
    _refuse_variables(job, changes)
    if not for_later:
        refuse_what_is_sent(keeper.store, job, changes)
    new = checked(keeper.site, job, changes)
    shown = {name: (written(name, public(job.request.get(name))), written(name, public(new[name]))) for name in changes}
    was = ", ".join(f"{old} → {now}" for old, now in shown.values())
    request = {**job.request, **{name: new[name] for name in changes}}
    keeper.store.set_grid_job(job.id, request=json.dumps(request), realm=with_files(job.realm, _files(changes)))
    for local in keeper.store.changed_local_jobs(job.id):  # what retries have changed gives way to what a person says
        kept = {name: value for name, value in local.changed.items() if name not in changes}
        keeper.store.set_local_job(job.id, local.n, changed=kept)
    # Sending may wait for a credential that is no longer named; one that is still expired is soon noticed again.
    keeper.workers.forget(("send", job.id))
    credentials.take_back(keeper.directory(job.id), request)
    return was
