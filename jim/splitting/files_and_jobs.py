"""The values that splitters take and return: files in, jobs out. All are frozen; each has a plain record for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jim.splitting.checked_values import NAMES, RUNS, TEXT, fields, number, whole
from jim.splitting.errors import InvalidFile

Runs = tuple[tuple[int, tuple[int, ...]], ...]  # run → lumis, both ascending, each once
Range = tuple[int, int]  # both ends inclusive
Record = dict[str, Any]

GENERATOR = "MCFakeFile"  # names of files that do not exist begin so: they are input of a generator
FILE = {
    "lfn": TEXT,
    "size": whole(),
    "events": whole(),
    "first_event": whole(),
    "runs": RUNS,
    "locations": NAMES,
    "parents": NAMES,
    "age_s": number(None),
}


class File(NamedTuple):
    """One input file. Files sort by name."""

    lfn: str
    size: int = 0  # bytes
    events: int = 0
    first_event: int = 0
    runs: Runs = ()
    locations: frozenset[str] = frozenset()  # names of storages
    parents: tuple[str, ...] = ()
    age_s: float = 0  # seconds since the file was added to the fileset

    @property
    def generator(self) -> bool:
        """The file does not exist: it is only a range of events and lumis to generate."""
        return self.lfn.startswith(GENERATOR)

    @property
    def lumis(self) -> int:
        """Count the lumis."""
        return sum(len(lumis) for _, lumis in self.runs)

    @property
    def events_per_lumi(self) -> int:
        """Return the average, rounded to an even number at a half; 0 for a file without lumis."""
        lumis = self.lumis
        return round(self.events / lumis) if lumis else 0

    @property
    def lowest_run(self) -> int | None:
        """Return the first run, if there is one."""
        return self.runs[0][0] if self.runs else None

    @classmethod
    def from_record(cls, record: object, key: str = "file") -> File:
        """Read one file, or refuse it; `key` identifies a file without a name in messages."""
        if isinstance(record, Mapping) and isinstance(record.get("lfn"), str):
            key = f"file {record['lfn']!r}"
        values = fields(record, FILE, ("lfn",), key, InvalidFile)
        return cls(**values | {"locations": frozenset(values.get("locations", ()))})

    def to_record(self) -> Record:
        """Return the file as plain values."""
        record = self._asdict()
        record["runs"] = {str(run): list(lumis) for run, lumis in self.runs}
        return record | {"locations": sorted(self.locations), "parents": list(self.parents)}


def files_from(records: object) -> tuple[File, ...]:
    """Read input files; refuse two of the same name."""
    if not isinstance(records, list | tuple):
        raise InvalidFile("files", records, "expected a list of files")
    files = tuple(File.from_record(record, f"files[{n}]") for n, record in enumerate(records))
    seen: set[str] = set()
    for each in files:
        if each.lfn in seen:
            raise InvalidFile(each.lfn, each.lfn, "is listed twice; list a file once, with all its locations")
        seen.add(each.lfn)
    return files


class Mask(NamedTuple):
    """The part of its input that a job may process. None means no limit; both ends are inclusive."""

    first_event: int | None = None
    last_event: int | None = None
    first_lumi: int | None = None
    last_lumi: int | None = None
    first_run: int | None = None
    last_run: int | None = None
    run_lumis: Mapping[int, Sequence[Range]] | None = None

    def to_record(self) -> Record:
        """Return the mask as plain values, without those that are None."""
        record: Record = {name: value for name, value in zip(self._fields, self, strict=True) if value is not None}
        if self.run_lumis is not None:
            runs = self.run_lumis.items()
            record["run_lumis"] = {str(run): [list(each) for each in one] for run, one in runs}
        return record

    @classmethod
    def from_record(cls, record: Record) -> Mask:
        """Read a mask from its record."""
        runs = record.get("run_lumis")
        if runs is None:
            return cls(**record)
        ranges = {int(run): [(first, last) for first, last in one] for run, one in runs.items()}
        return cls(**record | {"run_lumis": ranges})


def events_in(files: Sequence[File], mask: Mask) -> list[tuple[int, int]]:
    """Return which events of each file a mask allows: the first one, and how many.

    In several files, events are counted on from the first one of the first file, as if they were one long file.
    """
    if mask.first_event is None or mask.last_event is None:
        first = [each.first_event if mask.first_event is None else mask.first_event for each in files]
        return [(one, each.events) for one, each in zip(first, files, strict=True)]
    if len(files) == 1:  # a generator may number its events anew
        return [(mask.first_event, mask.last_event - mask.first_event + 1)]
    begin, end = mask.first_event - files[0].first_event, mask.last_event - files[0].first_event + 1
    found, at = [], 0
    for each in files:
        low, high = max(begin, at), min(end, at + each.events)
        found.append((each.first_event + low - at, max(0, high - low)))
        at += each.events
    return found


class Estimates(NamedTuple):
    """The resources that a job will need; None where the splitter does not estimate one."""

    time_s: float | None = None
    disk_kb: float | None = None
    memory_mb: float | None = None


class Failure(NamedTuple):
    """Why a job failed before it ran; its input may be recovered."""

    reason: str
    code: int | None = None


# A split may need a million of them: these functions take half the time of the constructor.


def events_mask(first: int, last: int, first_lumi: int | None = None, last_lumi: int | None = None) -> Mask:
    """Return a mask of events, and of lumis to generate."""
    return tuple.__new__(Mask, (first, last, first_lumi, last_lumi, None, None, None))


def lumi_mask(ranges: Mapping[int, Sequence[Range]]) -> Mask:
    """Return a mask of ranges of lumis, by run."""
    return tuple.__new__(Mask, (None, None, None, None, None, None, ranges))


NO_MASK = Mask()
NO_ESTIMATES = Estimates()
NOTHING: Mapping[str, Any] = {}


class SplitJob(NamedTuple):
    """One job that a splitter made."""

    group: int  # number of its job group, from 0
    # Locations of all files of the group; None: the files of the group have different locations.
    locations: frozenset[str] | None
    files: tuple[File, ...]
    mask: Mask = NO_MASK
    estimates: Estimates = NO_ESTIMATES
    sites: tuple[str, ...] = ()
    failure: Failure | None = None
    baggage: Mapping[str, Any] = NOTHING
    parents: Mapping[str, tuple[str, ...]] = NOTHING  # file → its parents, if the parameters ask for them

    def to_record(self) -> Record:
        """Return the job as plain values, its files by name; leave out empty values."""
        record: Record = {
            "group": self.group,
            "locations": None if self.locations is None else sorted(self.locations),
            "files": [each.lfn for each in self.files],
            "mask": self.mask.to_record(),
            "sites": list(self.sites),
        }
        estimates = {name: value for name, value in self.estimates._asdict().items() if value is not None}
        if self.failure:
            record |= {"failed_on_creation": True, "failed_reason": self.failure.reason}
            record |= {"failed_code": self.failure.code} if self.failure.code is not None else {}
        record |= {"estimates": estimates} if estimates else {}
        record |= {"baggage": dict(self.baggage)} if self.baggage else {}
        return record | ({"parents": {f: list(each) for f, each in self.parents.items()}} if self.parents else {})

    @classmethod
    def from_record(cls, record: Record, files: Mapping[str, File]) -> SplitJob:
        """Read a job from its record; `files` has the files by name."""
        failure = Failure(record["failed_reason"], record.get("failed_code")) if "failed_reason" in record else None
        return cls(
            record["group"],
            None if record["locations"] is None else frozenset(record["locations"]),
            tuple(files[lfn] for lfn in record["files"]),
            Mask.from_record(record["mask"]),
            Estimates(**record.get("estimates", {})),
            tuple(record["sites"]),
            failure,
            record.get("baggage", {}),
            {lfn: tuple(parents) for lfn, parents in record.get("parents", {}).items()},
        )


class Settled(NamedTuple):
    """Files that need no job any more, and their new state: completed or failed."""

    files: tuple[File, ...]
    state: str


Stream = Iterator[SplitJob | Settled]


def jobs_in(stream: Iterable[SplitJob | Settled]) -> Iterator[SplitJob]:
    """Return only the jobs of a stream."""
    return (each for each in stream if isinstance(each, SplitJob))
