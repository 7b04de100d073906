"""Recovery documents: the work that failed jobs have not done, by file, restricted to the masks of those jobs.

Version 1 of the documents lists one lumi too many for generator files. A document without a version has version 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jim.errors import shown
from jim.splitting.checked_values import TEXT, Kind, fields, list_of, run_number, whole
from jim.splitting.errors import InvalidRecovery
from jim.splitting.files_and_jobs import File, Range, Record, Runs, SplitJob, events_in
from jim.splitting.lumi_ranges import LumiMask, ranges_of

VERSION = 2
RUN = {"run_number": Kind("a run number", run_number), "lumis": list_of(whole(), "lumi numbers")}
FILE = {"lfn": TEXT, "events": whole(), "first_event": whole(), "runs": list_of(Kind("a run", lambda run: run), "runs")}


class Recovered(NamedTuple):
    """The part of one file to recover."""

    lfn: str
    events: int
    first_event: int
    runs: Runs


@dataclass(frozen=True, slots=True)
class Recovery:
    """A collection of recovery documents: the entries of each file; None where a document could not be read."""

    entries: Mapping[str, Sequence[Recovered]] | None

    def lumi_mask(self) -> LumiMask:
        """Return all lumis as a mask."""
        ranges: dict[int, list[Range]] = {}
        for those in (self.entries or {}).values():
            for run, lumis in (each for entry in those for each in entry.runs):
                ranges.setdefault(run, []).extend(ranges_of(lumis))
        return LumiMask(ranges)


def recovery_from(collection: object, key: str = "acdc") -> Recovery:
    """Read a collection: a table with `documents`; a document that could not be read is None."""
    if not isinstance(collection, Mapping) or "documents" not in collection:
        raise InvalidRecovery(key, collection, f"expected a table with documents, found {shown(collection)}")
    documents = collection["documents"]
    if documents is None:
        return Recovery(None)
    if not isinstance(documents, Sequence) or isinstance(documents, str):
        raise InvalidRecovery(f"{key}.documents", documents, f"expected a list, found {shown(documents)}")
    entries: dict[str, list[Recovered]] = {}
    for each in (each for n, document in enumerate(documents) for each in _entries(f"{key}.documents[{n}]", document)):
        entries.setdefault(each.lfn, []).append(each)
    return Recovery(entries)


def _entries(key: str, document: Any) -> list[Recovered]:
    if not isinstance(document, Mapping) or not isinstance(document.get("files"), Mapping):
        raise InvalidRecovery(key, document, f"expected a table with files, found {shown(document)}")
    version = whole(1).of(document.get("acdc_version", 1), f"{key}.acdc_version", InvalidRecovery)
    if version > VERSION:
        raise InvalidRecovery(f"{key}.acdc_version", version, f"expected 1 or {VERSION}, found {version}")
    return [_entry(f"{key}.files.{name}", version, one) for name, one in document["files"].items()]


def _told(record: Any, kinds: Mapping[str, Kind], required: tuple[str, ...], key: str) -> dict[str, Any]:
    """Read the fields that JIM uses; documents have many others, for those who store them."""
    if isinstance(record, Mapping):
        record = {name: value for name, value in record.items() if name in kinds}
    return fields(record, kinds, required, key, InvalidRecovery)


def _entry(key: str, version: int, record: Any) -> Recovered:
    told = _told(record, FILE, ("lfn", "runs"), key)
    lumis: dict[int, set[int]] = {}
    for each in told["runs"]:
        run = _told(each, RUN, tuple(RUN), f"{key}.runs")
        lumis.setdefault(run["run_number"], set()).update(run["lumis"])
    runs = tuple((run, tuple(sorted(those))) for run, those in sorted(lumis.items()))
    if version == 1 and File(told["lfn"]).generator:
        runs = tuple((run, those[:-1] if len(those) > 1 else those) for run, those in runs)
    return Recovered(told["lfn"], told.get("events", 0), told.get("first_event", 0), runs)


def document_of(job: SplitJob) -> Record:
    """Write the document of a failed job: its files, restricted to its mask."""
    parts = zip(job.files, events_in(job.files, job.mask), strict=True)
    return {"acdc_version": VERSION, "files": {each.lfn: _undone(each, job, *part) for each, part in parts}}


def _undone(file: File, job: SplitJob, first: int, events: int) -> Record:
    mask, runs = job.mask, dict(file.runs)
    if mask.run_lumis is not None:
        allowed = LumiMask(mask.run_lumis)
        runs = {run: tuple(allowed.within(run, lumis)) for run, lumis in file.runs}
    elif mask.first_lumi is not None and mask.last_lumi is not None:
        allowed = LumiMask({run: [(mask.first_lumi, mask.last_lumi)] for run in runs})
        runs = {run: tuple(allowed.within(run, lumis)) for run, lumis in file.runs}
    return {
        "lfn": file.lfn,
        "size": file.size,
        "events": events,
        "first_event": first,
        "merged": False,
        "parents": list(file.parents),
        "locations": sorted(file.locations),
        "runs": [{"run_number": run, "lumis": list(lumis)} for run, lumis in runs.items() if lumis],
    }
