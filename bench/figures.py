"""Measure the figures that JIM promises; exit 1 if one of them is past its bound.

All of it happens in temporary state directories, with the local batch system, or with `--only slurm` on a real
one; medians, and where two things are compared, runs that alternate. `--quick` only shows that the measurements work.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by `python -P`, which leaves it out

from bench import (
    batch,
    doors,
    gatekeeper,
    keeping,
    listing,
    pages,
    promises,
    requests,
    sandbox,
    slots,
    splitting,
    tasks,
)
from bench.taking import Figure


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    poll_pieces: int = 1000
    poll_runs: int = 300
    pieces: int = 100_000
    submit_runs: int = 31
    split_runs: int = 3
    many_changes: int = 250_000
    few_changes: int = 250
    change_runs: int = 5
    listed_jobs: int = 10_000
    short_jobs: int = 500
    splitter_pieces: int = 10_000
    streamed_pieces: int = 1_000_000
    lumi_files: int = 1000
    splitter_runs: int = 3
    request_bytes: int = 1_000_000
    request_runs: int = 7
    gram_jobs: int = 100
    gram_rounds: int = 20
    sent_megabytes: int = 200
    area_runs: int = 15
    slurm_jobs: int = 1000
    slurm_grid_jobs: int = 200
    slurm_pieces: int = 50
    slurm_runs: int = 3
    slot_tasks: int = 1000
    slot_runs: int = 5
    viewed_grid_jobs: int = 1000
    viewed_pieces: int = 250
    viewed_large: int = 10_000
    viewed_seconds: int = 60
    viewed_repeats: int = 5
    viewed_million: int = 1_000_000
    arc_jobs: int = 1000
    task_files: int = 100_000
    task_pieces: int = 1000
    tasks_running: int = 100
    task_seconds: float = 60.0  # two looks at each source
    task_items: int = 1_000_000


_QUICK = (10, 5, 2000, 3, 1, 3000, 20, 2, 100, 6, 100, 1000, 10, 1, 100_000, 1, 3, 2, 1, 2, 20, 3, 5, 1, 20, 1)
QUICK = Amounts(*_QUICK, 3, 20, 100, 6, 1, 2000, 20, 300, 20, 3, 1.0, 2000)
# One needs root, and installs what it measures; the others make a store for minutes.
BY_NAME_ONLY = ("slurm", "million", "task-million", "task-promises")


def measurements(amounts: Amounts) -> dict[str, Callable[[], Iterator[Figure]]]:
    """Name what can be measured by itself."""
    a = amounts
    return {
        "poll": partial(doors.poll, a.poll_pieces, a.poll_runs),
        "condor": partial(doors.condor, a.poll_runs),
        "arc": partial(doors.arc, a.arc_jobs, a.poll_runs),
        "submit": partial(doors.submit, a.pieces, a.submit_runs),
        "split": partial(keeping.split, a.pieces, a.split_runs),
        "listing": partial(listing.listings, a.many_changes, a.few_changes, a.change_runs),
        "answer": partial(listing.answers, a.listed_jobs, a.change_runs),
        "short": partial(keeping.short_jobs, a.short_jobs),
        "splitting": partial(splitting.splitting, a.splitter_pieces, a.streamed_pieces, a.lumi_files, a.splitter_runs),
        "requests": partial(requests.requests, a.request_bytes, a.request_runs),
        "gram": partial(gatekeeper.polls, a.gram_jobs, a.gram_rounds),
        "sandbox": partial(sandbox.sandbox, a.sent_megabytes, a.area_runs),
        "slots": partial(slots.short_tasks, a.slot_tasks, a.slot_runs),
        "pages": partial(
            pages.pages, a.viewed_grid_jobs, a.viewed_pieces, a.viewed_large, a.viewed_seconds, a.viewed_repeats
        ),
        "million": partial(pages.million, a.viewed_million, a.viewed_repeats),
        "tasks": partial(tasks.tasks, a.task_files, a.task_pieces, a.tasks_running, a.task_seconds),
        "task-promises": partial(promises.promised, a.task_items),
        "task-million": partial(tasks.million, a.task_items, a.tasks_running, a.task_seconds),
        "slurm": partial(batch.slurm, a.slurm_jobs, a.slurm_grid_jobs, a.slurm_pieces, a.slurm_runs),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, show, and judge."""
    names = list(measurements(Amounts()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny amounts: shows that it works, measures nothing")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--only", choices=names, action="append", help="one measurement; may be repeated")
    asked = parser.parse_args(arguments)
    usual = [name for name in names if name not in BY_NAME_ONLY]
    chosen = measurements(QUICK if asked.quick else Amounts())
    taken = (figure for name in asked.only or usual for figure in chosen[name]())
    return (_show_json if asked.json else _show)(taken)


def _machine() -> str:
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"Python {platform.python_version()}, {os.cpu_count()} processors, load average {load}"


def _show(figures: Iterable[Figure]) -> int:
    print(f"{_machine()}\n\n{'figure':<44} {'measured':>12} {'bound':>10}")
    over = 0
    for figure in figures:
        verdict = "" if figure.bound is None else "ok" if figure.ok else "OVER"
        over += not figure.ok
        amounts = f"{_amount(figure.measured, figure.unit):>12} {_amount(figure.bound, figure.unit):>10}"
        print(f"{figure.name:<44} {amounts}  {verdict:<4}  {figure.note}".rstrip(), flush=True)
    print(f"\n{_machine()}\n{f'{over} past the bound' if over else 'all within their bounds'}")
    return 1 if over else 0


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.3g} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def _show_json(figures: Iterable[Figure]) -> int:
    taken = list(figures)
    print(json.dumps({"machine": _machine(), "figures": [asdict(each) | {"ok": each.ok} for each in taken]}, indent=1))
    return 0 if all(each.ok for each in taken) else 1


if __name__ == "__main__":
    sys.exit(main())
