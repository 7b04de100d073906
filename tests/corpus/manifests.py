"""Cases of manifests: one in, the manifests of its jobs out, in DIRAC's two dialects."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from jim.errors import nearest, shown
from jim.splitting.checked_values import NAMES
from jim.splitting.errors import SplitError, TooManyJobs, UnknownSplitter
from jim.splitting.files_and_jobs import File
from jim.splitting.parameters import check, declared
from jim.splitting.rules import input_data_by_se, parametric, parametric_jdl
from jim.splitting.subscription import Subscription
from jim.work.variables import expand
from tests.corpus import jdl
from tests.corpus.difference import Difference, same

DOLLAR, PERCENT = "dirac-rfc15-dollar", "dirac-jdl-percent"
OWN = ("InputData", "SplitterChosenSE", "SplitID", "SplitSourceJob")
DECIMAL = re.compile(r"(\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+)")
MANY = 1_000_000  # the peer's expansion has no limit of its own
MOST_JOBS = 100  # as the peer has it
Manifest = dict[str, Any]
P = TypeVar("P")
Replicas = Mapping[str, Sequence[str]]  # file → the storages that hold it
Splitter = Callable[[], Iterator[Manifest]]


def takes(case: dict[str, Any]) -> bool:
    return case.get("dialect") in (DOLLAR, PERCENT)


def answer(case: dict[str, Any]) -> list[Manifest]:
    manifest = jdl.read(case["manifest_jdl"])
    if case["dialect"] == PERCENT:
        most = parametric_jdl.Parameters(case.get("max_jobs", MANY))
        return [_plain(each) for each in parametric_jdl.split(manifest, most)]
    jobs = herd(manifest, case["source_job_id"], case.get("replicas", {}), case.get("max_jobs", MOST_JOBS))
    return [{name: _joined(value) for name, value in each.items()} for each in jobs]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


def _joined(value: Any) -> Any:
    """Show a list as this dialect does."""
    if isinstance(value, dict):
        return {name: _joined(each) for name, each in value.items()}
    return ", ".join(value) if isinstance(value, list) else value


def compare(case: dict[str, Any], got: list[Manifest]) -> Difference | None:
    if case.get("compare") == "partition":
        return _compare_partition(case, got)
    wanted = case["expected"]["jobs"]
    if len(wanted) != len(got):
        return Difference("number of jobs", len(wanted), len(got))
    rel_tol = case.get("compare", {}).get("numeric_strings_rel_tol", 0)
    for n, (one, other) in enumerate(zip(wanted, got, strict=True)):
        if not _alike(one, other, rel_tol):
            return Difference(f"job {n}", one, other)
    return None


def _alike(wanted: Any, got: Any, rel_tol: float) -> bool:
    """Compare manifests; decimal numbers in texts may differ by so much."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(_alike(wanted[name], got[name], rel_tol) for name in wanted)
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(_alike(*both, rel_tol) for both in zip(wanted, got, strict=True))
    if not (isinstance(wanted, str) and isinstance(got, str) and rel_tol):
        return same(wanted, got)
    parts, others = DECIMAL.split(wanted), DECIMAL.split(got)
    return len(parts) == len(others) and all(
        math.isclose(float(one), float(other), rel_tol=rel_tol) if n % 2 else one == other
        for n, (one, other) in enumerate(zip(parts, others, strict=True))
    )


def _compare_partition(case: dict[str, Any], got: list[Manifest]) -> Difference | None:
    files = [each["InputData"].split(",") for each in got]
    found = [
        {"se": job["SplitterChosenSE"], "n_files": len(those), "SplitID": job["SplitID"]}
        for job, those in zip(got, files, strict=True)
    ]
    if found != case["expected"]["jobs"]:
        return Difference("jobs", case["expected"]["jobs"], found)
    placed = Counter(lfn for those in files for lfn in those)
    if placed != Counter(case["replicas"].keys()):
        return Difference("files in jobs", list(case["replicas"]), placed)
    for job, those in zip(got, files, strict=True):
        if not all(job["SplitterChosenSE"] in case["replicas"][lfn] for lfn in those):
            return Difference("storage of all files", job["SplitterChosenSE"], those)
        if not all(f"${name}" not in text and name in job for name in OWN for text in job.values()):
            return Difference("options set and expanded", OWN, job)
    return None


# From a manifest that names a `Splitter` to those of its jobs, as in the peer's RFC 15


def herd(
    manifest: Manifest, source_job: object, replicas: Replicas | None = None, most: int = MOST_JOBS
) -> Iterator[dict[str, Any]]:
    """Give the expanded manifest of each job that JIM's splitters make of a manifest; without a splitter, itself."""
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
