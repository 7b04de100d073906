"""Lays out one screen of a site: lines of text that fit a terminal, and commands of no user in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, cycle
from typing import NamedTuple

from jim.cli.text import lines_of, local_time, plain, width_of, with_local_times
from jim.model import FROZEN
from jim.reading.job.history import ENDS
from jim.reading.lists import IN_ORDER
from jim.reading.quantities import ago, counted, how_many, largest
from jim.reading.site.at_a_glance import Glance, OneGridJob, OneTask
from jim.statusdb.list_filters import HostTotal
from jim.statusdb.task_rows import PieceState

BOLD, BAD, ODD = "1", "1;31", "33"  # codes of colours
GAP, NAME, WIDE_NAME, WIDE = "  ", 14, 24, 110
MOST_TROUBLES, MOST_BROKEN = 3, 2
TALL = 32  # rows, with which sections stand apart
NAMED_HOSTS = 5
CUT, ASCII_CUT = "…", "~"
KEYS = "q quits  s sorts"


class Line(NamedTuple):
    """A line of the screen, and the code of its colour."""

    text: str = ""
    code: str = ""


class Section(NamedTuple):
    """A part of the screen: its title, and lines, the most important first; `more` of them there is no line for."""

    title: str
    lines: Sequence[Line]
    more: int = 0


def lines(seen: Glance, order: str, columns: int, rows: int, problem: str = "") -> list[Line]:
    """Return the lines of a screen; there are as many as it has rows."""
    head = [*_head(seen, columns, problem)]
    parts = [each for each in _sections(seen, columns) if each.lines]
    body = _body(parts, max(0, rows - len(head) - 1), apart=rows >= TALL)
    foot = Line(f"{KEYS}: {order}", BOLD)
    above = [*head, *body][: max(0, rows - 1)]
    return [*above, *[Line()] * (rows - 1 - len(above)), foot]


def fitted(line: str, columns: int, encoding: str) -> str:
    """Return a text as a terminal can show it in one line: nothing in it is a command, and nothing stands beyond."""
    text = plain(line).encode(encoding, "backslashreplace").decode(encoding)
    if width_of(text) <= columns:
        return text
    cut = CUT if CUT.encode(encoding, "ignore") else ASCII_CUT
    if text.isascii():
        return text[: max(0, columns - 1)] + cut
    while text and width_of(text) > columns - 1:
        text = text[:-1]
    return text + cut


def _head(seen: Glance, columns: int, problem: str) -> Iterator[Line]:
    answer = "no answer yet" if seen.seen is None else f"seen {ago(int(seen.seen))}"
    yield Line(f"JIM at {seen.site}{GAP}{local_time(seen.at)}{GAP}{seen.system}: {answer}", BOLD)
    heart = seen.heart
    if heart.at_work:
        yield Line(heart.words)
    else:
        yield from _broken(heart.missing(), columns, BAD if seen.statuses or seen.tasks or heart.refuses else "")
    troubles = [problem] * bool(problem) + [with_local_times(each) for each in seen.troubles]
    for each in troubles[:MOST_TROUBLES]:
        yield from _broken(each, columns, BAD)
    waiting = f", {how_many(seen.handed_in, 'request')} not taken in yet" if seen.handed_in else ""
    statuses = counted((status, count) for status, count in seen.statuses.items())
    yield Line(f"{how_many(sum(seen.statuses.values()), 'unfinished grid job')}: {statuses or 'none'}{waiting}")
    states = ((state.value, seen.counts.get(state, 0)) for state in IN_ORDER if state not in FROZEN)
    yield Line(f"local jobs: {counted((word, count) for word, count in states if count) or 'none'}")
    hour = counted((word, seen.last_hour[word]) for word in ("started", *ENDS) if seen.last_hour.get(word))
    yield Line(f"last hour: {hour or 'nothing started or ended'}")


def _broken(words: str, columns: int, code: str) -> Iterator[Line]:
    """Break a sentence into lines, of which there are few."""
    parts = list(lines_of(plain(words), columns - len(GAP)))
    whole = [*parts[: MOST_BROKEN - 1], " ".join(parts[MOST_BROKEN - 1 :])] if len(parts) > MOST_BROKEN else parts
    yield from (Line(GAP * bool(n) + each, code) for n, each in enumerate(whole))


def _sections(seen: Glance, columns: int) -> Iterator[Section]:
    own = sum(seen.statuses.values())
    table = list(_grid_jobs(seen.grid_jobs, columns))
    if table:
        yield Section(
            table[0],
            [Line(text, ODD if job.failed else "") for text, job in zip(table[1:], seen.grid_jobs, strict=True)],
            max(0, own - len(seen.grid_jobs)),
        )
    failed = sum(each.times for each in seen.failures)
    yield Section(
        f"FAILED in the last hour: {how_many(failed, 'attempt')}",
        [Line(f"{each.times:>7,}  {each.words or 'no reason'}") for each in seen.failures],
    )
    yield Section(
        _hosts_title(seen), [Line(_host(each, seen.avoided)) for each in seen.hosts] or [Line()] * bool(seen.avoided)
    )
    yield Section("TASKS", [Line(_task(each), BAD if each.waits_for_a_person else "") for each in seen.tasks])


def _grid_jobs(jobs: Sequence[OneGridJob], columns: int) -> Iterator[str]:
    """Return a table: its head, and a line for each grid job."""
    if not jobs:
        return
    wide = columns >= WIDE
    head = ["ID", "NAME", *(["TYPE", "STATUS"] if wide else []), "PACE", "LEFT", "AGE", "LOCAL JOBS"]
    table = [head]
    for each in jobs:
        more = [_short(each.job_type, WIDE_NAME), each.status] if wide else []
        fast = f"{each.last_hour:,}/h" if each.last_hour else "", "" if each.left is None else largest(each.left)
        name = _short(each.name, WIDE_NAME if wide else NAME)
        table.append([str(each.id), name, *more, *fast, each.age, each.progress])
    widths = [max(width_of(row[n]) for row in table) for n in range(len(head) - 1)]
    shown = [n for n in range(len(head)) if n == len(head) - 1 or any(row[n] for row in table[1:])]
    for row in table:
        yield GAP.join(_padded(row[n], widths[n] if n < len(widths) else 0) for n in shown)


def _short(name: str, longest: int) -> str:
    text = plain(name)
    return text if len(text) <= longest else f"{text[: longest - 2]}.."


def _padded(text: str, width: int) -> str:
    return text + " " * max(0, width - width_of(text))


def _hosts_title(seen: Glance) -> str:
    names = ", ".join(seen.avoided[:NAMED_HOSTS])
    more = f" and {len(seen.avoided) - NAMED_HOSTS} more" if len(seen.avoided) > NAMED_HOSTS else ""
    avoided = f", JIM avoids {len(seen.avoided)}: {names}{more}" if seen.avoided else ""
    return f"HOSTS: {seen.all_hosts:,}, {len(seen.hosts):,} with failures{avoided}"


def _host(host: HostTotal, avoided: Sequence[str]) -> str:
    ended = host.completed + host.failed
    now = (f"{host.running:,} running" if host.running else "", "avoided" if host.host in avoided else "")
    return ", ".join(filter(None, (f"{host.failed:>7,}  of {ended:,} attempts failed on {host.host}", *now)))


def _task(task: OneTask) -> str:
    there, ended = sum(task.pieces.values()), task.pieces.get(PieceState.COMPLETED, 0)
    failed = task.pieces.get(PieceState.FAILED, 0)
    pieces = f"{ended:,} of {how_many(there, 'piece')} completed" if there else "no pieces yet"
    why = f": {task.reason}" if task.reason else ""
    return f"{task.name}  {task.state}  {pieces}{f', {failed:,} failed' if failed else ''}{why}"


def _body(parts: Sequence[Section], room: int, *, apart: bool) -> Iterator[Line]:
    """Return sections, one below the other; what has no room is counted."""
    shares = _shares([len(each.lines) for each in parts], room - len(parts) * (1 + apart))
    for each, share in zip(parts, shares, strict=True):
        more = len(each.lines) - share + each.more
        yield from [Line()] * apart
        yield Line(f"{each.title}{f'  ({more:,} more)' if more else ''}", BOLD)
        yield from each.lines[:share]


def _shares(wanted: Sequence[int], room: int) -> list[int]:
    """Share out rows in turns; the first section takes two in a turn, as it is what people look at first."""
    given = [0] * len(wanted)
    turns: Iterable[int] = chain((0,), range(len(wanted))) if wanted else ()
    for n in cycle(tuple(turns)):
        if room <= 0 or given == list(wanted):
            break
        if given[n] < wanted[n]:
            given[n] += 1
            room -= 1
    return given
