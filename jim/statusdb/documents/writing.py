"""Writes the documents of the status DB: the site, a grid job, a local job.

A document is text, written in one pass over the store: a part of the local jobs at a time, with their attempts and
publications, so that a document of any size needs little memory. All of it shows the same moment.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any

from jim.errors import JimError, UnknownJob
from jim.evidence.exit_record import ExitRecord, megabytes, read_exit_record
from jim.jobs import public
from jim.statusdb.documents.elements import ELEMENTS, NAMESPACE
from jim.statusdb.documents.task_writing import task_element
from jim.statusdb.documents.xml_text import DECLARATION, OUTER, attributes, changed, heads, of_value, quoted, text
from jim.statusdb.pieces import piece_of
from jim.statusdb.published import OF_ALL, UNCHECKED, phase_of
from jim.statusdb.seen.record import record
from jim.statusdb.short_forms import unpacked

if TYPE_CHECKING:
    from jim.jobs import GridJob
    from jim.model import Piece
    from jim.statusdb.list_filters import Detail
    from jim.statusdb.store import Store
    from jim.statusdb.task_rows import Task

AT_ONCE = 1000  # local jobs
_PREFIXES = ("jim", *(f"jim{number}" for number in range(70_000)))  # more than an element can declare
_NAME = re.compile(r"<[^\s/>]+")
_UTC = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\n"
# What almost every wrapper writes; any other exit record is read line by line, which takes four times as long.
_USUAL = re.compile(
    rf"jim-exit 1\nmark .*\nindex \d{{1,9}}\nnonce .*\nn \d{{1,9}}\nattempt \d{{1,9}}\nhost .*\nbatch .*\n"
    rf"started {_UTC}ended {_UTC}cpu (\d{{1,12}}(?:\.\d{{1,9}})?)\n(?:up \d{{1,12}}(?:\.\d{{1,9}})?\n)?"
    r"code (-|\d{1,4})\nsignal (-|\d{1,4})\nreason (-|[ -~]{1,1000})\nrecovery .*\n"
    r"(?:peak (\d{1,15}) (cgroup|sampled)\n)?"
    r"((?:file \d{1,18} [0-9a-f]{64} [\w-][\w+-]*(?:\.[\w+-]+)*\n)*)end\n",
    re.ASCII,
)


# Documents


def document(store: Store, grid: int, *, strict: bool = False) -> bytes:
    """Return a grid job's document."""
    whole = io.BytesIO()
    write(store, grid, whole, strict=strict)
    return whole.getvalue()


def write(store: Store, grid: int, out: IO[bytes], *, strict: bool = False) -> None:
    """Write a grid job's document, in `jim.statusdb.seen.record.record`'s sense of `strict`."""
    with store.snapshot():
        _write(out, chain((DECLARATION,), grid_job(store, store.grid_job(grid), OUTER, strict=strict)))


def write_site(
    store: Store,
    about: Mapping[str, Mapping[str, Any]],
    grids: Iterable[int],
    out: IO[bytes],
    *,
    tasks: Iterable[Task] = (),
    strict: bool,
) -> None:
    """Write the document of the site: facts about the site, then grid jobs, then tasks."""
    with store.snapshot():
        _write(out, (DECLARATION, *_site_head(about)))
        for number in grids:
            _write(out, grid_job(store, store.grid_job(number), strict=strict))
        for each in tasks:
            _write(out, task_element(store, each))
        _write(out, ["</jim:site>\n"])


def write_task(store: Store, task: Task, out: IO[bytes]) -> None:
    """Write the document of a task."""
    with store.snapshot():
        _write(out, chain((DECLARATION,), task_element(store, task, OUTER)))


def _site_head(about: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, facts in about.items():
        yield f"<jim:site{OUTER}{attributes(facts)}>\n" if name == "site" else f"<jim:{name}{attributes(facts)}/>\n"


def of_local_job(store: Store, grid: int, n: int) -> bytes:
    """Return the part of a grid job's document about one local job, as a document of its own."""
    found = list(local_jobs(store, grid, range(n, n + 1), OUTER))
    if not found:
        raise UnknownJob(f"there is no local job {grid}.{n}")
    return "".join((DECLARATION, *found)).encode()


def _write(out: IO[bytes], parts: Iterable[str]) -> None:
    for part in parts:
        out.write(part.encode())


# Elements


def grid_job(store: Store, job: GridJob, outer: str = "", *, strict: bool = False) -> Iterator[str]:
    """Yield the element of a grid job in parts."""
    facts = record(store, job, store.fact("seen"), strict=strict)
    counts = facts.pop("counts")
    yield f"<jim:grid_job{outer}{attributes(facts | changed(job.updated))}>\n"
    yield f"<jim:counts{attributes(counts)}/>\n"
    for each in store.queue_words.of(job.id):
        yield f"<jim:queued{attributes(each.facts())}/>\n"
    yield f"{of_value('request', '', job.public_request)}\n"
    size = attributes({"local_jobs": job.size, "events_per_job": job.events_per_job})
    yield f"<jim:size{size}>{text(job.why)}</jim:size>\n{of_value('result', '', job.result)}\n"
    yield f"{_details(store, job.id, range(OF_ALL, 0)).get(OF_ALL, EMPTY)}\n"
    for first in range(0, job.size, AT_ONCE):
        yield "".join(local_jobs(store, job.id, range(first, first + AT_ONCE)))
    yield "</jim:grid_job>\n"


EMPTY = "<jim:detail/>"


def local_jobs(store: Store, grid: int, numbers: Sequence[int], outer: str = "") -> Iterator[str]:
    """Yield the elements of local jobs."""
    attempts, details = _attempts(store, grid, numbers), _details(store, grid, numbers)
    head = heads(ELEMENTS["local_job"])
    for n, piece, *facts in store.documents.part_of_elements("local_job", grid, numbers, "l.piece"):
        inside = f"{_piece(piece)}{attempts.get(n, '')}{details.get(n, EMPTY)}"
        yield f"<jim:local_job{outer}{head(facts)}>{inside}</jim:local_job>\n"


def _attempts(store: Store, grid: int, numbers: Sequence[int]) -> dict[int, str]:
    found: dict[int, str] = defaultdict(str)
    head = heads(ELEMENTS["attempt"])
    for n, stored, *facts in store.documents.part_of_elements("attempt", grid, numbers, "a.record"):
        found[n] += attempt(head(facts), stored)
    return found


def attempt(head: str, stored: bytes | str, outer: str = "") -> str:
    """Return the element of an attempt, with what its exit record says."""
    exited = _exit(unpacked(stored)) if stored else ""
    return f"<jim:attempt{outer}{head}{f'>{exited}</jim:attempt>' if exited else '/>'}"


def elements(store: Store, name: str, keys: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield elements as XPath finds them; the keys are in the order of documents."""
    for grid, those in groupby(keys, key=itemgetter(0)):
        wanted = {(n, *rest): None for _, n, *rest in those}
        numbers = list(dict.fromkeys(n for n, *_ in wanted))
        if name == "local_job":
            yield from (each.rstrip("\n") for each in local_jobs(store, grid, numbers, OUTER))
        elif name == "phase":
            found = store.documents.published_of(grid, numbers)
            yield from (phase(each, OUTER) for each in found if (each.n, each.name) in wanted)
        else:
            yield from _some_attempts(store, grid, numbers, wanted)


def _some_attempts(store: Store, grid: int, numbers: Sequence[int], wanted: Container[Sequence[Any]]) -> Iterator[str]:
    head = heads(ELEMENTS["attempt"])
    for n, number, k, idx, stored, *facts in store.documents.part_of_elements("attempt", grid, numbers, *ATTEMPT):
        if (n, number, k, idx) in wanted:
            yield attempt(head(facts), stored, OUTER)


ATTEMPT = ("a.attempt", "a.k", "a.idx", "a.record")


def _details(store: Store, grid: int, numbers: Sequence[int]) -> dict[int, str]:
    """Write publications. A phase is there twice: in JIM's namespace, and for a year as an element of none."""
    found: dict[int, list[str]] = {}
    refused = store.documents.refused_of(grid, numbers)
    for each in store.documents.published_of(grid, numbers):
        found.setdefault(each.n, []).append(phase(each) + _marked(each))
    heads = {
        n: attributes({name: count for name, count in told._asdict().items() if count}) for n, told in refused.items()
    }
    return {
        n: f"<jim:detail{heads.get(n, '')}>{''.join(found[n])}</jim:detail>"
        if n in found
        else f"<jim:detail{heads[n]}/>"
        for n in found.keys() | heads.keys()
    }


def phase(published: Detail, outer: str = "") -> str:
    """Return the element of a publication that is a phase; empty: it is something else."""
    told = phase_of(published.content)
    if not told:
        return ""
    facts = {"attempt": published.attempt or None, "late": published.late or None, **changed(published.updated)}
    return f"<jim:phase{outer}{attributes(told._asdict() | facts)}/>"


def _marked(published: Detail) -> str:
    """Return a published element; one that differs from its grammar says so."""
    if published.valid in ("", UNCHECKED) or phase_of(published.content):
        return published.content
    name = _NAME.match(published.content)
    end = name.end() if name else 0
    prefix = next(each for each in _PREFIXES if f"xmlns:{each}=" not in published.content)
    declared = "" if prefix == "jim" else f' xmlns:{prefix}="{NAMESPACE}"'
    mark = f'{declared} {prefix}:valid="no" {prefix}:words="{quoted(published.valid)}"'
    return f"{published.content[:end]}{mark}{published.content[end:]}"


@lru_cache(1024)
def _arguments(name: str, values: tuple[str, ...]) -> str:
    return "".join(f"<jim:{name}>{text(each)}</jim:{name}>" for each in values)


def _piece(stored: str) -> str:
    piece = piece_of(stored)
    facts = (("first_event", piece.first_event), ("events", piece.events), ("source", piece.source))
    head = "".join(f' {name}="{value}"' for name, value in facts if value is not None)
    head += attributes({"failure": piece.failure})
    inside = _arguments("argument", piece.arguments) + _arguments("file", piece.files) + _tables(piece)
    return f"<jim:piece{head}>{inside}</jim:piece>" if inside else f"<jim:piece{head}/>"


def _tables(piece: Piece) -> str:
    tables = ((name, getattr(piece, name)) for name in ("mask", "variables", "attributes"))
    return "".join(of_value(name, "", public(table)) for name, table in tables if table)


# Exit records


def _exit(whole: str) -> str:
    usual = _USUAL.fullmatch(whole)
    if usual:
        with suppress(ValueError):
            return _exit_of_usual(*usual.groups())
    with suppress(JimError):  # JIM has not acted on an unreadable record
        return _exit_of(read_exit_record(whole))
    return ""


def _exit_of_usual(
    started: str, ended: str, cpu: str, code: str, signal: str, word: str, peak: str | None, how: str | None, files: str
) -> str:
    for time in (started, ended):
        datetime.fromisoformat(time)  # raises an error for a day that does not exist
    facts = f' started="{started}" ended="{ended}"'
    facts += f' code="{int(code)}"' if code != "-" else ""
    facts += f' signal="{int(signal)}"' if signal != "-" else ""
    facts += f' reason="{quoted(word)}"' if word != "-" else ""
    facts += f' cpu_seconds="{float(cpu):.2f}"' if float(cpu) < LONGEST_CPU else ""
    facts += _memory(megabytes(int(peak)) if peak else None, sampled=how == "sampled")
    inside = "".join(_output(*line.split(" ", 3)[1:]) for line in files.splitlines())
    return f"<jim:exit{facts}>{inside}</jim:exit>" if inside else f"<jim:exit{facts}/>"


LONGEST_CPU = 1e12  # seconds


def _memory(peak_mb: int | None, *, sampled: bool) -> str:
    if peak_mb is None:
        return ""
    return f' memory_mb_peak="{peak_mb}"{SAMPLED if sampled else ""}'


SAMPLED = ' memory_sampled="1"'


def _output(size: str, sha256: str, name: str) -> str:
    return f'<jim:output name="{quoted(name)}" bytes="{int(size)}" sha256="{sha256}"/>'


def _exit_of(record: ExitRecord) -> str:
    cpu = f"{record.cpu:.2f}" if 0 <= record.cpu < LONGEST_CPU else None  # a wrapper's word, perhaps nan
    names = ("started", "ended", "code", "signal", "reason")
    head = attributes({**{name: getattr(record, name) for name in names}, "cpu_seconds": cpu})
    head += _memory(record.peak_mb, sampled=record.sampled)
    inside = "".join(_output(str(each.size), each.sha256, each.name) for each in record.files)
    inside += _arguments("refused", record.refused)
    return f"<jim:exit{head}>{inside}</jim:exit>" if inside else f"<jim:exit{head}/>"
