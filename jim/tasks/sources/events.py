"""The source of events: an item for each campaign, a range that is cut into pieces."""

from __future__ import annotations

from collections.abc import Iterator

from jim.statusdb.task_rows import NewItem
from jim.statusdb.task_spec import SourceSpec
from jim.tasks.sources import Found


def look(source: SourceSpec) -> Found:
    """Return all items at once: nothing more comes."""
    return Found(new=list(_campaigns(source)), closed=True)


def _campaigns(source: SourceSpec) -> Iterator[NewItem]:
    """Divide the events into groups that differ by at most one event."""
    events, count, begin = source.events, source.campaigns, source.first_event
    for n in range(count):
        first, after = begin + events * n // count, begin + events * (n + 1) // count
        record = {"first": first, "events": after - first, "per_piece": source.events_per_piece}
        yield NewItem(f"events {first}-{after - 1}", str(n + 1) if count > 1 else "", record=record)
