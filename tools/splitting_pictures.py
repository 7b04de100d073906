"""Draw what each splitter makes of a small example, by the splitter itself, into docs/images/splitting."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by `python -P`, which leaves it out

from jim.splitting import registry
from jim.splitting.files_and_jobs import File, Mask, SplitJob, events_in, jobs_in
from jim.splitting.parameters import check
from jim.splitting.subscription import Subscription

PLACE = Path(__file__).resolve().parents[1] / "docs/images/splitting"
COLOURS = ("#8ec1f0", "#f5c56b", "#96d6a4", "#eda4a0", "#c7b0ea", "#f0d9a8", "#9fdcdc", "#d7b9a3")
FREE, INK, SOFT, EDGE = "#e6e9ec", "#1b1f24", "#57606a", "#6b7682"
FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
WIDTH, LEFT, BAR, ROW, TOP = 720, 150, 540, 40, 66
Values = dict[str, Any]


class Example(NamedTuple):
    """What is split in a picture. The units of a bar are lumis, events or bytes."""

    units: str
    given: Values
    files: list[Values]
    more: Values = {}  # noqa: RUF012 - never changed


def _file(lfn: str, at: str = "A", **told: Any) -> Values:
    return {"lfn": lfn, "locations": at.split(), **told}


LUMIS = [
    _file("a", events=400, runs={1: [1, 2, 3, 4]}),
    _file("b", events=300, runs={1: [5, 6, 7]}),
    _file("c", events=500, runs={2: [1, 2, 3, 4, 5]}),
]
UNEVEN = [
    _file("a", events=120, runs={1: [1, 2, 3, 4]}),
    _file("b", events=400, runs={1: [5, 6, 7, 8]}),
    _file("c", events=100, runs={1: [9, 10]}),
]
PLACES = [_file(name, at, size=1) for name, at in zip("abcdef", ("A", "A", "A", "B", "B", "A B"), strict=True)]
SIZES = [
    _file(name, size=size, runs={1: [n + 1]})
    for n, (name, size) in enumerate(zip("abcdef", (40, 30, 50, 90, 20, 15), strict=True))
]
MERGE = {"max_merge_size": 100, "min_merge_size": 60}
PARENTS = [
    _file(name, size=size, parents=[parent], runs={1: [n + 1]})
    for n, (name, size, parent) in enumerate(
        (("a1", 30, "p"), ("a2", 30, "p"), ("b1", 40, "q"), ("c1", 50, "r"), ("c2", 45, "r"))
    )
]
PRODUCERS = [{"group": "g", "inputs": [name], "outcome": "success"} for name in "pqr"]
OVER = {"fileset": {"open": False, "injected": True}}
CALL = {"executable": "echo", "arguments": ["-n"], "environment": {"SEED": "0"}}

EXAMPLES = {
    "ArgSplitter": Example("", {"args": [["a", 1], ["b", 2], ["c", 3]], "append": True}, []),
    "DIRAC.BySize": Example("bytes", {"group_size": 60}, SIZES, OVER),
    "DIRAC.Standard": Example("files", {"group_size": 2}, PLACES, OVER),
    "EventAwareLumiBased": Example("lumis", {"events_per_job": 150}, UNEVEN, OVER),
    "EventAwareLumiByWork": Example("lumis", {"events_per_job": 150}, UNEVEN, OVER),
    "EventBased": Example("events", {"events_per_job": 100}, [_file("a", events=350), _file("b", events=200)], OVER),
    "EvenFiles": Example("files", {"jobs": 4}, PLACES, OVER),
    "FileBased": Example("files", {"files_per_job": 2}, PLACES, OVER),
    "FileBunches": Example(
        "events",
        {"file_bunch_size": 2, "event_bunch_size": 200},
        [_file("a", events=250), _file("b", events=200), _file("c", events=300)],
        OVER,
    ),
    "FilesByEvents": Example(
        "events",
        {"events_per_job": 300},
        [_file(name, events=events) for name, events in zip("abcde", (100, 150, 120, 400, 50), strict=True)],
        OVER,
    ),
    "FixedDelay": Example("files", {"trigger_time": 0}, PLACES, OVER),
    "GangaDatasetSplitter": Example("files", {"files_per_subjob": 2, "maxFiles": 5}, PLACES, OVER),
    "GenericSplitter": Example("", {"attribute": "environment.SEED", "values": ["11", "12", "13"]}, []),
    "Harvest": Example("lumis", {}, LUMIS, OVER),
    "InputDataBySE": Example("files", {"SplitterMaxFilesPerJob": 2}, PLACES, OVER),
    "LumiBased": Example("lumis", {"lumis_per_job": 3}, LUMIS, OVER),
    "MinFileBased": Example("files", {"files_per_job": 2}, PLACES),
    "Parametric": Example("", {"Parameters": ["4"], "ParameterStart": 1, "ParameterFactor": 2}, []),
    "ParametricJDL": Example("", {"Parameters": 3, "ParameterStart": 10, "ParameterStep": 5}, []),
    "ParentlessMergeBySize": Example("bytes", MERGE, SIZES),
    "RunBased": Example("lumis", {"files_per_job": 2}, LUMIS, OVER),
    "SiblingProcessingBased": Example(
        "files", {"files_per_job": 2}, PLACES, OVER | {"siblings": [{"complete": list("abde")}]}
    ),
    "SizeBased": Example("bytes", {"size_per_job": 90}, SIZES, OVER),
    "WMBSMergeBySize": Example("bytes", MERGE, PARENTS, {"producer_jobs": PRODUCERS}),
}


def picture(name: str) -> str:
    """Draw one splitter's example."""
    example, module = EXAMPLES[name], registry.splitter_of(name)
    told = ", ".join(f"{key} = {value}" for key, value in example.given.items()) or "as it comes"
    if registry.splits_requests(module):
        rows = list(_request_rows(module, example))
    else:
        work = Subscription.from_record(
            {"files": example.files, "storage_to_sites": {"A": ["a"], "B": ["b"]}, **example.more}
        )
        jobs = list(jobs_in(module.split(work, check(module.Parameters, example.given))))
        rows = list(_file_rows(work.files, jobs, example.units))
        told += f"; {len(jobs)} jobs"
    height = TOP + ROW * len(rows) + 14
    head = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'role="img" font-family="{FONT}" font-size="13" fill="{INK}">'
        ),
        f"<title>{escape(name)}</title>",
        f"<desc>{escape(told)}</desc>",
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="10" fill="#f7f8fa" stroke="#c5ccd3"/>',
        _text(20, 28, name, "bold", size=16),
        _text(20, 48, told, colour=SOFT, size=12),
    ]
    body = [line for n, row in enumerate(rows) for line in row(TOP + ROW * n)]
    return "\n".join([*head, *body, "</svg>", ""])


def _request_rows(module: Any, example: Example) -> Iterator[Any]:
    open_ended = getattr(module, "OPTION", None)
    options = {key: value for key, value in example.given.items() if open_ended and open_ended.fullmatch(key)}
    given = {key: value for key, value in example.given.items() if key not in options}
    for n, each in enumerate(module.split(CALL | options, check(module.Parameters, given))):
        told = {key: value for key, value in each.items() if value != CALL.get(key)}
        words = "; ".join(f"{key} = {value}" for key, value in told.items())
        yield lambda y, n=n, words=words: [
            _box(20, y, 90, n),
            _text(30, y + 19, f"job {n}"),
            _text(LEFT, y + 19, words),
        ]


def _file_rows(files: tuple[File, ...], jobs: list[SplitJob], units: str) -> Iterator[Any]:
    largest = max(_length(each, units) for each in files)
    for file in files:
        told = f"{file.lfn} at {', '.join(sorted(file.locations))}"
        cells = list(_cells(file, jobs, units))
        yield lambda y, told=told, cells=cells: [_text(20, y + 19, told), *_bar(cells, BAR / largest, y)]


def _length(file: File, units: str) -> int:
    return {"lumis": file.lumis, "events": file.events, "bytes": file.size, "files": 1}[units]


def _cells(file: File, jobs: list[SplitJob], units: str) -> Iterator[tuple[int, int | None, str]]:
    """Return the parts of a file: how long, whose, and what is written there."""
    mine = [(n, job) for n, job in enumerate(jobs) if file in job.files]
    if units == "lumis":
        for run, lumis in file.runs:
            for lumi in lumis:
                yield 1, next((n for n, job in mine if _has(job.mask, run, lumi)), None), f"{run}:{lumi}"
    elif units == "events":
        for n, job in mine:
            first, count = events_in(job.files, job.mask)[job.files.index(file)]
            yield count, n, f"{first}–{first + count - 1}"
    else:
        text = f"{file.size} bytes" if units == "bytes" else ""
        yield _length(file, units), mine[0][0] if mine else None, text


def _has(mask: Mask, run: int, lumi: int) -> bool:
    if mask.run_lumis is None:
        return True
    return any(first <= lumi <= last for first, last in mask.run_lumis.get(run, ()))


def _bar(cells: list[tuple[int, int | None, str]], scale: float, y: int) -> Iterator[str]:
    x = float(LEFT)
    for length, job, text in cells:
        wide = length * scale
        yield _box(x, y, wide, job)
        words = [f"job {job}" if job is not None else "waits", text]
        yield _text(x + wide / 2, y + 13, words[0], size=11, middle=True)
        yield _text(x + wide / 2, y + 25, words[1], size=10, middle=True, colour=SOFT)
        x += wide


def _box(x: float, y: float, wide: float, job: int | None) -> str:
    colour = FREE if job is None else COLOURS[job % len(COLOURS)]
    return f'<rect x="{x:g}" y="{y}" width="{wide:.4g}" height="30" fill="{colour}" stroke="{EDGE}"/>'


def _text(
    x: float, y: float, text: str, weight: str = "", *, colour: str = "", size: int = 13, middle: bool = False
) -> str:
    more = f' font-weight="{weight}"' * bool(weight) + f' fill="{colour}"' * bool(colour)
    more += ' text-anchor="middle"' * middle
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}"{more}>{escape(text)}</text>' if text else ""


def main() -> None:
    """Write all pictures."""
    PLACE.mkdir(exist_ok=True)
    for name in EXAMPLES:
        (PLACE / f"{name}.svg").write_text(picture(name))


if __name__ == "__main__":
    main()
