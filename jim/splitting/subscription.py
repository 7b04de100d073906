"""A subscription: a set of input files, their states, and the other facts that a splitter may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jim.splitting.checked_values import FLAG, NAMES, TEXT, Kind, fields, list_of, number, table_of, whole
from jim.splitting.errors import InvalidParameter
from jim.splitting.files_and_jobs import File, files_from
from jim.splitting.recovery import Recovery, recovery_from


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another subscription on the same files: the names of the files that it has finished."""

    complete: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Producer:
    """A job that read parent files to make files of this fileset."""

    group: str
    inputs: frozenset[str]
    outcome: str  # "success" or "failure"; any other word: the job has not ended


@dataclass(frozen=True, slots=True)
class Subscription:
    """The input of a splitter. Files are available, then acquired (in jobs), then done, never in another order."""

    files: tuple[File, ...]  # the available files, in their order
    open: bool = True  # more files may come
    injected: bool = True  # all input of the workflow is known
    production: bool = False
    storage_to_sites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    siblings: tuple[Sibling, ...] = ()
    producers: tuple[Producer, ...] = ()
    recovery: Recovery | None = None
    acquired: tuple[File, ...] = ()
    done: tuple[File, ...] = ()
    jobs_before: int = 0  # jobs that the workflow has already
    quiet_s: float | None = None  # seconds since a job of the subscription last changed its state; None: it has no job
    now: float = 0  # seconds since the epoch

    @property
    def waits(self) -> bool:
        """Tell whether more files may come, so that too few files for a job may wait."""
        return self.open and not self.recovery

    @property
    def to_read(self) -> tuple[File, ...]:
        """Return the available files; in a recovery, only those that the collection names."""
        if self.recovery is None:
            return self.files
        named = self.recovery.entries or {}
        return tuple(each for each in self.files if each.lfn in named)

    @classmethod
    def from_record(cls, record: object) -> Subscription:
        """Read a subscription from plain values, or refuse it."""
        values = fields(record, SUBSCRIPTION, ("files",), "subscription", InvalidParameter)
        values |= values.pop("fileset", {})
        values["production"] = values.pop("subscription_type", "Processing") == "Production"
        values["recovery"] = values.pop("acdc", None)
        values["producers"] = values.pop("producer_jobs", ())
        return cls(**values)


def _record(kinds: Mapping[str, Kind], required: tuple[str, ...], key: str) -> Any:
    return lambda value: fields(value, kinds, required, key, InvalidParameter)


def _sibling(value: Any) -> Sibling:
    read = _record({"complete": NAMES, "failed": NAMES}, (), "siblings")(value)
    return Sibling(**{name: frozenset(names) for name, names in read.items()})


def _producer(value: Any) -> Producer:
    kinds = {"group": TEXT, "inputs": NAMES, "outcome": TEXT}
    read = _record(kinds, tuple(kinds), "producer_jobs")(value)
    return Producer(read["group"], frozenset(read["inputs"]), read["outcome"])


FILES = Kind("a list of files", files_from)
SUBSCRIPTION = {
    "files": FILES,
    "fileset": Kind("a table of open and injected", _record({"open": FLAG, "injected": FLAG}, (), "fileset")),
    "subscription_type": TEXT,
    "storage_to_sites": table_of(NAMES, "lists of sites"),
    "siblings": list_of(Kind("a table of complete and failed", _sibling), "tables of complete and failed"),
    "producer_jobs": list_of(Kind("", _producer), "tables of group, inputs and outcome"),
    "acdc": Kind("recovery documents", recovery_from),
    "acquired": FILES,
    "done": FILES,
    "jobs_before": whole(),
    "quiet_s": number(),
    "now": number(),
}
