"""Turns a request that names a splitter into parts: jobs of input files, or requests with values of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from jim.errors import JimError
from jim.handlers.base import SPLITTING, Attributes
from jim.site.rules import SPLIT
from jim.site.settings import General
from jim.splitting.errors import SplitterConfiguration
from jim.splitting.files_and_jobs import SplitJob, files_from, jobs_in
from jim.splitting.recovery import recovery_from
from jim.splitting.registry import splits_requests
from jim.splitting.subscription import Subscription
from jim.work.own_values import text_of
from jim.work.site_steps import placed
from jim.work.splitters import after, find, jobs_of, name_of, requests_of
from jim.work.splitters import parameters as checked_parameters


class OwnRequest(NamedTuple):
    """A request that a splitter made of a request, with attributes of its own and further facts."""

    request: Attributes
    variables: Mapping[str, str]


Part = SplitJob | OwnRequest
Splitter = Callable[[], Iterator[Part]]


def splitter(request: Attributes, site: General) -> Splitter:
    """Check the splitter of a request and its parameters; return a function that splits, and can do so repeatedly."""
    module = find(request["splitter"], site.handlers)
    _refuse_input(module, request)
    if splits_requests(module):
        return _of_request(module, request)
    parameters = checked_parameters(module, request["splitter_parameters"])
    work = subscription(request, site.name)
    return lambda: jobs_in(jobs_of(module, work, parameters))


def check_splitter(request: Attributes, site: General) -> None:
    """Check the splitter of a request whose input is not known yet, and its parameters."""
    module = find(request["splitter"], site.handlers)
    _refuse_input(module, request)
    checked_parameters(module, _apart(module, request)[1])


def steps_of(request: Attributes, site: General) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the site's steps before and after the split of a request; without a splitter, all of them are before."""
    return steps_around(request.get("splitter"), site)


def steps_around(splitter: str | None, site: General) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the site's steps before and after a split by this splitter; without one, all of them are before."""
    if not splitter:
        return tuple(name for name in site.steps if name != SPLIT), ()
    return placed(site.steps, after(find(splitter, site.handlers)), splitter)


def _refuse_input(module: Any, request: Attributes) -> None:
    """Refuse input files if the splitter splits requests."""
    for name in ("input_files", "dataset", "recovery") if splits_requests(module) else ():
        if request.get(name):
            raise SplitterConfiguration(name, None, f"{name_of(module)} splits requests and takes no input files")


def _apart(module: Any, request: Attributes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what stands in the manifest itself, because it may have any name, and the parameters of a splitter."""
    given, open_ended = request["splitter_parameters"], getattr(module, "OPTION", None)
    options = {name: given[name] for name in given if open_ended and open_ended.fullmatch(name)}
    return options, {name: given[name] for name in given if name not in options}


def _of_request(module: Any, request: Attributes) -> Splitter:
    plain = {name: value for name, value in request.items() if name not in SPLITTING}
    options, given = _apart(module, request)
    parameters = checked_parameters(module, given)

    def parts() -> Iterator[Part]:
        for each in requests_of(module, plain | options, parameters):
            if lacking := plain.keys() - each.keys():
                raise JimError(f"splitter {name_of(module)} made a request without {min(lacking)}")
            more = {name: text_of(value) for name, value in each.items() if name not in plain}
            yield OwnRequest({name: each[name] for name in plain} | {"splitter": request["splitter"]}, more)

    return parts


def subscription(request: Attributes, site: str) -> Subscription:
    """Return the input of a request as a subscription. A file without locations is at this site.

    For a request, each storage is a site of the same name: so a splitter's site lists choose among storages.
    """
    here = frozenset((site,))
    files = tuple(
        each if each.locations else each._replace(locations=here) for each in files_from(request["input_files"])
    )
    if not files:
        why = f"{request['splitter']} splits input files, but the request has none"
        raise SplitterConfiguration("input_files", None, why)
    storages = {each: (each,) for file in files for each in file.locations}
    recovery = recovery_from(request["recovery"], "recovery") if request["recovery"] else None
    return Subscription(files, open=False, storage_to_sites=storages, recovery=recovery)
