"""From a manifest that names a `Splitter` to the manifests of its herd, as in DIRAC's RFC 15."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from jim.errors import nearest
from jim.splitting.errors import SplitError, TooManyJobs, UnknownSplitter, shown
from jim.splitting.kinds import NAMES
from jim.splitting.parameters import check, declared
from jim.splitting.rules import input_data_by_se, parametric
from jim.splitting.subscription import Subscription
from jim.splitting.units import File
from jim.work.variables import Manifest, expand

P = TypeVar("P")
Replicas = Mapping[str, Sequence[str]]  # file → the storages that hold it
Splitter = Callable[[], Iterator[Manifest]]

MOST_JOBS = 100


def herd(
    manifest: Manifest, source_job: object, replicas: Replicas | None = None, most: int = MOST_JOBS
) -> Iterator[dict[str, Any]]:
    """Give the expanded manifest of each job that comes of a manifest; of one that names no splitter, itself."""
    if not manifest.get("Splitter"):
        yield dict(manifest)
        return
    split = _splitter(manifest, replicas or {})
    count = sum(1 for _ in islice(split(), most + 1))
    if count > most:
        raise TooManyJobs("Splitter", manifest["Splitter"], f"more than {most:,} jobs would come of this manifest")
    if not count:
        raise SplitError("Splitter", manifest["Splitter"], "no job comes of this manifest")
    for number, each in enumerate(split()):
        own = {"SplitID": str(number).zfill(len(str(count))), "SplitSourceJob": str(source_job)}
        yield expand(expand(each) | own)


def _splitter(manifest: Manifest, replicas: Replicas) -> Splitter:
    name = manifest["Splitter"]
    rest = {key: value for key, value in manifest.items() if key != "Splitter"}
    if name == parametric.NAME:
        return lambda: parametric.split(rest, _parameters(parametric.Parameters, rest))
    if name == input_data_by_se.NAME:
        return lambda: _by_se(rest, replicas)
    known = parametric.NAME, input_data_by_se.NAME
    raise UnknownSplitter("Splitter", name, f"unknown splitter {shown(name)}{nearest(str(name), known)}")


def _by_se(manifest: Manifest, replicas: Replicas) -> Iterator[Manifest]:
    given = manifest.get("InputData", ())
    lfns = NAMES.of(_names(given) if isinstance(given, str) else given, "InputData", SplitError)
    files = tuple(File(lfn, locations=frozenset(replicas.get(lfn, ()))) for lfn in dict.fromkeys(lfns))
    for job in input_data_by_se.split(Subscription(files), _parameters(input_data_by_se.Parameters, manifest)):
        yield {**manifest, "InputData": ",".join(each.lfn for each in job.files), **job.baggage}


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _parameters(parameters: type[P], manifest: Manifest) -> P:
    """Read what a manifest says to its splitter."""
    names = {each.name for each in declared(parameters).values()}
    return check(parameters, {name: value for name, value in manifest.items() if name in names})
