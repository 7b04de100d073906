"""What the accounting must hold: a line for each payload that was started, and none twice, whoever was killed."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.fake_batch.gateway import Gateway
from tests.fake_batch.node import Run

UNMEASURED = (None, None)


def accounted(gateway: Gateway) -> None:
    """Check all lines, also those of grid jobs that are not there any more.

    A state directory that was put back knows nothing of some payloads, and may tell of others again.
    """
    assert not gateway.store.senders.unaccounted(1), f"still to be accounted: {gateway.store.senders.unaccounted(1)}"
    lines = lines_of(gateway)
    if gateway.doubled:
        return
    often = Counter(line["id"] for line in lines)
    assert max(often.values(), default=0) <= 1, f"accounted twice: {[each for each in often if often[each] > 1]}"
    by_id = {line["id"]: line for line in lines}
    payloads = {name_of(run): run for run in gateway.nodes.ever}
    assert payloads.keys() <= by_id.keys(), f"not accounted: {payloads.keys() - by_id.keys()}"
    for name, line in by_id.items():
        _agrees(line, payloads.get(name))
    for grid in gateway.grids():
        attempts = {f"{grid}.{each.n}-{each.attempt}" for each in gateway.store.attempts(grid)}
        told = {name.partition("-")[2] for name, line in by_id.items() if line["grid_job"] == grid}
        assert told == attempts, f"the accounting tells of {told}, the store of {attempts}"


def lines_of(gateway: Gateway) -> list[dict[str, Any]]:
    """Give all lines of all days; each must be whole."""
    files = sorted((gateway.site.state / "accounting").glob("????-??-??.jsonl"))
    return [_read(line) for file in files for line in file.read_bytes().splitlines()]


def _read(line: bytes) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError:
        raise AssertionError(f"not a line of the accounting: {line}") from None


def name_of(run: Run) -> str:
    """Name a payload as the documents name lines of the accounting."""
    _, instance, grid, _ = run.facts["mark"].split("-")
    return f"{instance}-{grid}.{run.facts['n']}-{run.facts['attempt']}"


def _wall(line: dict[str, Any]) -> float:
    """Return the time that a record has told, whatever of it was booked."""
    told = (line.get("implausible") or {}).get("wall_seconds")
    if told is None:
        return float(line["wall_seconds"])
    assert line["wall_seconds"] == told["most"] < told["reported"], f"neither the record's nor the most: {line}"
    return float(told["reported"])


def _agrees(line: dict[str, Any], run: Run | None) -> None:
    """Compare a line with what the payload did, and has told in an exit record."""
    told = line["exit_code"], line["signal"]
    assert told != UNMEASURED or not run or not run.recorded, f"its exit record is left out: {line}"
    if told != UNMEASURED or line["verdict"] == "completed":
        assert run, f"accounted as ended by itself, though it never ran: {line}"
        assert run.recorded, f"who has measured that? {line}"
        assert told == (run.code, run.signal), f"it ended with {run.code}, signal {run.signal}: {line}"
        # What a record says is booked up to what the keeper saw itself: here a payload says more than the clock shows.
        assert _wall(line) == run.seconds, f"another time than the record's: {line}"
    assert line["verdict"] != "completed" or line["exit_code"] == 0, f"a wrong end: {line}"
