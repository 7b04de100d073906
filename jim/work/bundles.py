"""Bundles: how many local jobs one batch job, a carrier, runs, and what such a batch job asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jim.errors import BadRequest
from jim.handlers.base import WHOLE_NODE
from jim.model import Resources
from jim.site.adapter import sees_work, words_for_node
from jim.site.file import Site
from jim.work.sizing import allow_options

LARGEST = 10_000  # local jobs of one carrier, as requests may say
SPARE_SECONDS = 60  # of a carrier's time limit: wrappers write exit records after the last payload
OF_ALL = ("cores", "memory_mb", "disk_mb", "gpus")  # what a carrier needs for each of those that run at once


class Bundle(NamedTuple):
    """How a request wants its local jobs bundled."""

    size: int  # local jobs for each carrier
    at_once: int = 1  # of which so many run at the same time
    whole_node: bool = False  # each carrier has a node alone, and finds out there how many that are

    def carriers(self, local_jobs: int) -> int:
        """Return how many carriers so many local jobs need."""
        return -(-local_jobs // self.size)


def bundle_of(request: Mapping[str, Any]) -> Bundle | None:
    """Return how a request wants its local jobs bundled; None: each is a batch job of its own."""
    size, at_once = request.get("bundle"), request.get("at_once") or 1
    if not size:
        return None
    return Bundle(size, whole_node=True) if at_once == WHOLE_NODE else Bundle(size, min(size, at_once))


def per_batch_job(request: Mapping[str, Any]) -> int:
    """Return for how many local jobs of a request one batch job is."""
    bundle = bundle_of(request)
    return bundle.size if bundle else 1


def check(request: Mapping[str, Any], site: Site) -> None:
    """Refuse a bundle that this site cannot run, or that does not say what its batch jobs need."""
    bundle = bundle_of(request)
    if bundle is None:
        if request.get("at_once"):
            raise BadRequest("it says how many local jobs of a bundle run at once: ask for bundle, too", "at_once")
        if request.get("bundle_seconds"):
            raise BadRequest(
                "it says how long the batch job of a bundle may take: ask for bundle, too", "bundle_seconds"
            )
        return
    if not sees_work(site):
        raise BadRequest(
            f"the worker nodes of {site.batch.system} do not see the work directory, in which the batch jobs of a "
            "bundle find out who does what: leave bundle away",
            "bundle",
        )
    if bundle.at_once > 1 or bundle.whole_node:
        _check_at_once(bundle, request, site)


def _check_at_once(bundle: Bundle, request: Mapping[str, Any], site: Site) -> None:
    missing = [name for name in ("cores", "memory_mb") if not isinstance(request.get(name), int)]
    if missing:
        raise BadRequest(
            f"{request['at_once']} at once, but the request does not say what each needs: ask for "
            f"{' and '.join(missing)}, too",
            "at_once",
        )
    if bundle.whole_node:
        _check_node(request, site)
    each = Resources(cores=request["cores"], memory_mb=request["memory_mb"], queue=request.get("queue"))
    for one, most, unit in _limits(each, site):
        if one * bundle.at_once > most:
            needs = f"{bundle.at_once:,} at once need {one * bundle.at_once:,} {unit}"
            raise BadRequest(f"{needs}, and this site allows a batch job {most:,}", "at_once")
    if request.get("licences"):
        raise BadRequest("licences cannot be asked for several local jobs at once: leave at_once away", "at_once")


def most_seconds(request: Mapping[str, Any], site: Site) -> int:
    """Return the longest time limit that a carrier of a request may ask for."""
    return min(request.get("bundle_seconds") or site.batch.most_wall_seconds, site.batch.most_wall_seconds)


def turns_within(wall_seconds: Any, most: int) -> int:
    """Return how many local jobs of a time limit surely fit, one after another, into that of a carrier."""
    return (most - SPARE_SECONDS) // wall_seconds if isinstance(wall_seconds, int) else LARGEST


def _check_node(request: Mapping[str, Any], site: Site) -> None:
    words = words_for_node(site)
    unknown = next((name for name in ("gpus", "disk_mb") if request.get(name)), "")
    if unknown:
        raise BadRequest(f"JIM does not know for how many local jobs a node has {unknown}: say a number", "at_once")
    if not words:
        raise BadRequest(
            f"the batch system {site.batch.system} cannot be asked for a whole node: say a number", "at_once"
        )
    try:
        allow_options(words, site.batch.allowed_options)
    except BadRequest:
        needed = f"batch.allowed_options must have {' '.join(words)}"
        raise BadRequest(f"this site does not allow whole nodes ({needed}): say a number", "at_once") from None


def lanes_of(bundle: Bundle, local_jobs: int, each: Resources, site: Site) -> int:
    """Return how many of so many local jobs a carrier runs at once: a retry may ask for more than the request did."""
    return max(1, min(bundle.at_once, local_jobs, *(most // one for one, most, _ in _limits(each, site))))


def _limits(each: Resources, site: Site) -> Iterator[tuple[int, int, str]]:
    """Yield what a local job asks for, how much of that the site allows a batch job, and its unit."""
    if each.cores:
        yield each.cores, site.batch.most_cores, "cores"
    if each.memory_mb:
        yield each.memory_mb, site.most_memory_mb(each.queue), "MB of memory"


def of_node(carrier: Resources, site: Site) -> Resources:
    """Return what a carrier asks for that has a node alone: at least the cores of one local job, and all memory."""
    return carrier._replace(memory_mb=None, batch_options=(*(carrier.batch_options or ()), *words_for_node(site)))


def of_carrier(each: Resources, local_jobs: int, lanes: int, most_seconds: int) -> Resources:
    """Return what a carrier asks for, whose local jobs need so much each: its time is for all of them in turn."""
    more: dict[str, Any] = {name: value * lanes for name in OF_ALL if (value := getattr(each, name))}
    if each.wall_seconds:
        turns = -(-local_jobs // lanes)
        wanted = each.wall_seconds * turns + SPARE_SECONDS
        more["wall_seconds"] = max(min(wanted, most_seconds), each.wall_seconds)
    return each._replace(**more, warn_seconds=None)
