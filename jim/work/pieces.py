"""Splits a request that names a splitter into the pieces of its local jobs.

A splitter turns input files into jobs, or a request into requests. For each piece, JIM then replaces `$name` and
`${name}` in all attributes, except in those that the grid job has as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import count as count_from
from itertools import islice
from typing import Any

from jim.errors import BadRequest
from jim.handlers.base import AS_A_WHOLE, SPLITTING, Attributes, Handler, has_variable
from jim.model import Piece
from jim.site.file import Site
from jim.site.settings import General
from jim.splitting.errors import SplitError, TooManyJobs
from jim.splitting.files_and_jobs import Failure, File, SplitJob
from jim.trust.plugins import foreign
from jim.work.own_values import checked, may_differ, text_of
from jim.work.parts import OwnRequest, Part, check_splitter, splitter, steps_of
from jim.work.site_steps import OfEach
from jim.work.sizing import check_limits, left_to_catalogue
from jim.work.variables import expand, kept

OF_FILES = ("InputFiles", "Sites", "ParentFiles", "Lumis")
MASK_VARIABLES = ("FirstEvent", "LastEvent", "FirstLumi", "LastLumi", "FirstRun", "LastRun")  # in the order of a mask
OF_ANY = (*MASK_VARIABLES, *OF_FILES, "SplitID", "SplitSourceJob")  # what a piece may have without its maker's help
LONG = 8192  # characters; longer arguments may exceed a limit and are checked
AWAY = 71101  # WMCore's code for a job that no site may run
TOLD_SITES = 5
ALONE = "rename the file, or let each piece have one file (FileBased: files_per_job=1, SizeBased: size_per_job=1)"
OF_TASK = 9_999_999  # pieces of a task: their numbers have seven digits
_ARGUMENTS = frozenset({"arguments"})
_NAMED = re.compile(r"\$\{?(\w+)", re.ASCII)


Template = Callable[[Mapping[str, Any]], Any]


def check(handler: Handler, request: Attributes, site: General) -> Attributes:
    """Refuse a request that cannot be split. If its files are known, this includes making the first piece.

    Return the request as the first piece has it.
    """
    if left_to_catalogue(request):
        check_splitter(request, site)
        return request
    parts = splitter(request, site)()
    first = next(parts, None)
    if first is None:
        raise _no_jobs(request)
    return {**request, **_Making(handler, request, 0, 1, frozenset()).piece(first, 0).attributes}


def hints(handler: Handler, request: Attributes, site: General) -> list[str]:
    """Tell which attributes keep their variables, though some of these are known: as seen in the first piece."""
    if not request.get("splitter") or left_to_catalogue(request):
        return []
    first = next(splitter(request, site)(), None)
    variables = _Making(handler, request, 0, 1, frozenset()).told(first) if first else {}
    return [_hint(path, name) for path, name in kept(_varying(request) | variables)]


def hints_of(request: Attributes, names: Iterable[str]) -> list[str]:
    """Tell which attributes keep their variables if pieces have variables of these names at most."""
    names_known = dict.fromkeys((*OF_ANY, *names), "")
    return [_hint(path, name) for path, name in kept(_varying(request) | names_known)]


def _hint(path: str, name: str | None) -> str:
    what = "a `$` in it begins no name" if name is None else f"`${name}` is no variable here"
    own = "$$" if name is None else f"$${name}"
    kept_whole = f"{path}: all of it stays as it is, variables included, because {what}"
    return f"{kept_whole}; write `{own}` if the program is to see it"


def herd_of(
    handler: Handler, request: Attributes, grid_job: int, site: General, most: int, first: int = 0
) -> Iterator[Piece]:
    """Return the pieces of a request, numbered from `first` on; refuse too many before the first is returned."""
    parts, later = splitter(request, site), steps_of(request, site)[1]
    count = sum(1 for _ in islice(parts(), most + 1))
    if count > most:
        why = f"the splitter makes more than the {most:,} local jobs that this site allows"
        raise TooManyJobs("splitter", request["splitter"], why)
    if not count:
        raise _no_jobs(request)
    pieces = map(_Making(handler, request, grid_job, first + count, _here(site)).piece, parts(), count_from(first))
    yield from map(OfEach(handler, request, later, site.handlers), pieces) if later else pieces


def _here(site: General) -> frozenset[str]:
    """Return the places whose files can be read here; none: a site does not care."""
    return frozenset((site.name, *site.locations)) if site.locations else frozenset()


def of_task(
    handler: Handler, request: Attributes, jobs: Iterable[tuple[int, SplitJob]], task: str, site: General
) -> Iterator[Piece]:
    """Make the pieces of a task, whose numbers are given; one that cannot be made has failed on its creation."""
    making = _Making(handler, request, task, OF_TASK, _here(site))
    for p, job in jobs:
        try:
            making.refuse_commas(job)
            yield making.piece(job, p)
        except BadRequest as error:
            yield Piece(files=tuple(each.lfn for each in job.files), variables=dict(job.baggage), failure=str(error))


def within_limits(pieces: Iterable[Piece], handler: Handler, request: Attributes, site: Site) -> Iterator[Piece]:
    """Refuse pieces whose own attributes ask for more than the site file allows."""
    for piece in pieces:
        if piece.attributes:
            with foreign(f"job type {request['job_type']}"):
                resources = handler.resources({**request, **piece.attributes})
            check_limits(resources, site)
        yield piece


def _no_jobs(request: Attributes) -> SplitError:
    return SplitError("splitter", request["splitter"], f"{request['splitter']} makes no local job of this request")


class _Making:
    """Makes the pieces of a request. There may be a million: what is the same in many of them is checked once."""

    def __init__(self, handler: Handler, request: Attributes, grid_job: int | str, count: int, here: Set[str]) -> None:
        self._handler, self._request, self._here = handler, request, here
        self._grid_job, self._digits = str(grid_job), len(str(count))
        self._own = may_differ(handler)
        self._manifest = _varying(request)
        self._named = set(_NAMED.findall(json.dumps(self._manifest)))
        self._of_mask = [(at, name) for at, name in enumerate(MASK_VARIABLES) if name in self._named]
        self._templates: dict[tuple[str, ...], dict[str, Template]] = {}
        self._files: tuple[File, ...] = ()  # of the last piece; the next one often has the same
        self._names: tuple[str, ...] = ()

    def piece(self, part: Part, n: int) -> Piece:
        """Make piece number n."""
        split = {"SplitID": str(n).zfill(self._digits), "SplitSourceJob": self._grid_job}
        if isinstance(part, OwnRequest):
            variables = {**part.variables, **split}
            _refuse_common(self._request, part.request)
            own = self._expanded(_varying(part.request), part.request, variables)
            return Piece(arguments=self._arguments(own), variables=variables, attributes=own)
        if part.baggage:
            split = {name: text_of(value) for name, value in part.baggage.items()} | split
        if part.files is not self._files:
            self._files, self._names = part.files, tuple([each.lfn for each in part.files])
        own = self._filled(self._variables(part) | split) if self._manifest else {}
        failed = part.failure or (_exclusion(part, self._here) if self._here else None)
        failure = _words(failed) if failed else ""
        fields = (None, None, self._arguments(own), self._names, part.mask.to_record(), split, own, None, failure)
        return tuple.__new__(Piece, fields)  # takes half the time of the constructor

    def refuse_commas(self, job: SplitJob) -> None:
        """Refuse several files of which one has a comma in its name: nobody could tell the names apart."""
        odd = next((each.lfn for each in job.files if "," in each.lfn), "") if len(job.files) > 1 else ""
        if odd and "InputFiles" in self._named:
            raise BadRequest(f"$InputFiles parts names by commas, and {odd!r} has a comma: {ALONE}")

    def told(self, part: Part) -> dict[str, Any]:
        """Return the variables of a first piece."""
        split = {"SplitID": "0", "SplitSourceJob": self._grid_job}
        if isinstance(part, OwnRequest):
            return {**part.variables, **split}
        self._names = tuple(each.lfn for each in part.files)
        return {**part.baggage, **self._variables(part), **split}

    def _variables(self, job: SplitJob) -> dict[str, Any]:
        """Return the variables that stand for the files and the mask of a piece; an absent one has no variable."""
        mask, named = job.mask, self._named
        variables: dict[str, Any] = {name: mask[at] for at, name in self._of_mask if mask[at] is not None}
        if "InputFiles" in named:
            variables["InputFiles"] = ",".join(self._names)
        if "Sites" in named and job.sites:
            variables["Sites"] = ",".join(job.sites)
        if "ParentFiles" in named and job.parents:
            variables["ParentFiles"] = ",".join(dict.fromkeys(name for those in job.parents.values() for name in those))
        if "Lumis" in named and mask.run_lumis is not None:
            variables["Lumis"] = json.dumps(mask.to_record()["run_lumis"], separators=(",", ":"))
        return variables

    def _filled(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Expand pieces that have the same variables: the first becomes templates, and the others fill these."""
        names = tuple(told)
        templates = self._templates.get(names)
        if templates is None:
            expanded = expand({**self._manifest, **{name: f"\0{name}\0" for name in names}})
            own = {name: expanded[name] for name in self._own if expanded.get(name) is not None}
            changed = {name: value for name, value in own.items() if self._differs(name, value)}
            templates = self._templates[names] = {name: _template(value) for name, value in changed.items()}
            return self._checked({name: fill(told) for name, fill in templates.items()})
        own = {name: fill(told) for name, fill in templates.items()}
        if own.keys() == _ARGUMENTS and max(map(len, own["arguments"])) <= LONG:
            return own  # like the first one of this kind, which was checked; file names can do no harm
        return self._checked(own)

    def _expanded(self, varying: Attributes, whole: Attributes, told: Mapping[str, str]) -> dict[str, Any]:
        """Return the attributes that differ from the request, checked like those of a request."""
        expanded = {**whole, **expand({**varying, **told})}
        return self._checked({name: expanded[name] for name in self._own if self._differs(name, expanded[name])})

    def _differs(self, name: str, value: Any) -> bool:
        """Tell whether a local job has its own value; a text with a variable was not checked for all of them."""
        return value != self._request[name] or has_variable(value)

    def _checked(self, own: Attributes) -> dict[str, Any]:
        return checked(own, self._own, self._handler, self._request)

    def _arguments(self, own: dict[str, Any]) -> tuple[str, ...]:
        return tuple(own.pop("arguments")) if "arguments" in own else tuple(self._request.get("arguments") or ())


def _varying(request: Attributes) -> dict[str, Any]:
    """Return the attributes that variables make different for each local job, and those that variables name."""
    texts = {name: json.dumps(value) for name, value in request.items() if name not in SPLITTING and value}
    named = {name for text in texts.values() for name in _NAMED.findall(text)}
    varying = {name for name, text in texts.items() if "$" in text} - AS_A_WHOLE
    return {name: value for name, value in request.items() if name in varying or name in named & texts.keys()}


def _template(value: Any) -> Template:
    """Turn texts into functions that fill in variables. Two NULs mark a place; no request holds a NUL."""
    if isinstance(value, Mapping):
        templates = {name: _template(each) for name, each in value.items()}
        return lambda told: {name: fill(told) for name, fill in templates.items()}
    if isinstance(value, list | tuple):
        # Filled in one step, because a request may have a million of them.
        together = "\0".join(map(_with_places, value))
        return lambda told: (together % told).split("\0")
    return _with_places(value).__mod__


def _with_places(text: str) -> str:
    return re.sub(r"\0(\w+)\0", r"%(\1)s", text.replace("%", "%%"))


def _exclusion(job: SplitJob, here: Set[str]) -> Failure | None:
    """Tell why this site may not run a job; a job that names neither sites nor storages may run anywhere."""
    named = job.sites or job.locations
    if not named or not here.isdisjoint(named):
        return None
    some = ", ".join(sorted(named)[:TOLD_SITES]) + ", …" * (len(named) > TOLD_SITES)
    return Failure(f"it may only run at {some}, and this site is none of them: see site.locations", AWAY)


def _words(failure: Failure) -> str:
    return failure.reason if failure.code is None else f"{failure.reason} (code {failure.code})"


def _refuse_common(request: Attributes, own: Attributes) -> None:
    """Refuse a local job's own value of an attribute that belongs to the whole grid job."""
    for name in sorted(AS_A_WHOLE & own.keys()):
        if own[name] != request[name]:
            raise BadRequest("must be the same for all local jobs of a grid job", name)
