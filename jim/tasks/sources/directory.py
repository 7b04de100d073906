"""The source that is a directory: files that have come to rest. What cannot be listed proves nothing.

A file is taken once two looks, `stable_seconds` of boot time apart, have seen the same inode, size and mtime. A file is
gone once two good listings, 60 s apart, have not shown it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch, translate
from math import ceil
from pathlib import Path

from jim.statusdb.task_rows import EMPTY, UNPRINTABLE, ItemState, KnownItem, NewItem
from jim.statusdb.task_spec import SourceSpec
from jim.tasks.sources import ALL, Found, group_of
from jim.tasks.sources.memory import Memory, Seen
from jim.tasks.sources.mount_points import identity

UNFINISHED = ("*.tmp", "*.part", "*.filepart", "*.withdrawn.*")  # still written, or taken back
GONE_SECONDS = 60.0  # between two listings without a file
REST_SECONDS = 600.0  # a directory at rest is listed as often: a file that is written anew leaves its time as it was
GIVEN_UP = frozenset({ItemState.LEFT_OUT, ItemState.DROPPED, ItemState.LATE})  # whatever becomes of their files
NOT_SENT = frozenset({ItemState.AVAILABLE, ItemState.ACQUIRED})  # perhaps
NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # it went away meanwhile, or is a link that leads nowhere
REMOVED, CHANGES = 2, 3  # of `KnownItem.noted`
ANY_DEPTH = "\0"  # stands for ** while a pattern is made
Meant = Callable[[str], object]


def look(source: SourceSpec, memory: Memory, known: Iterable[KnownItem], device: str, boot: float) -> Found | None:
    """List a directory and compare it with the items that are known; None: nothing can have changed.

    A group closes if an earlier look has seen its end, and no file of it waits to be stable at this one.
    """
    place = Path(source.directory)
    found, mtime = Found(device=identity(place, device, "it")), place.stat().st_mtime_ns
    items, is_as_before = list(known), device == found.device and boot < memory.listed + REST_SECONDS
    if is_as_before and _is_at_rest(source, memory, mtime, items):
        return None
    ended = closing(source)  # before the listing: what that shows is in time
    listed = {each.path: each for each in _files(place, source)}
    delayed = _compare(source, memory, listed, items, found, boot)
    found.ended = frozenset(grp for grp in ended & memory.ended if grp not in delayed and not (grp == ALL and delayed))
    found.held = {grp: file for grp in sorted(ended) if (file := _keeping_open(grp, delayed))}
    memory.ended, memory.mtimes, memory.listed = ended, (mtime, memory.mtimes[0]), boot
    return found


def _keeping_open(grp: str, delayed: Mapping[str, str]) -> str:
    """Return a file for which a group waits, or all groups do; empty: there is none."""
    return delayed.get(grp, "") or (next(iter(delayed.values()), "") if grp == ALL else "")


def _is_at_rest(source: SourceSpec, memory: Memory, mtime: int, items: Sequence[KnownItem]) -> bool:
    """Tell whether the directory is as at the last two listings, and no file in it matters any more."""
    if is_deep(source) or memory.waiting or memory.missing or memory.mtimes != (mtime, mtime):
        return False
    return not any(each.state in NOT_SENT or (each.state is ItemState.GONE and not each.noted) for each in items)


def is_deep(source: SourceSpec) -> bool:
    """Tell whether a source has files below its directory, too."""
    return "/" in source.files or "**" in source.files


def _files(place: Path, source: SourceSpec) -> Iterator[Seen]:
    """Yield the files that are meant; links count as what they lead to. What closes a group is no item."""
    meant, closes = pattern(source.files), pattern(source.closed_by)
    for path, entry in _walked(place, deep=is_deep(source)):
        name = os.path.relpath(path, place)
        if not meant(name) or closes(name) or (source.without and fnmatch(entry.name, source.without)):
            continue
        try:
            status = entry.stat()
        except OSError as error:
            if error.errno in NOWHERE:
                continue
            raise  # nobody knows what it is, so nothing is concluded
        if stat.S_ISREG(status.st_mode):
            yield Seen(path, status.st_size, f"{status.st_ino}:{status.st_mtime_ns}")


def _walked(place: Path, *, deep: bool) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(".") or any(fnmatch(entry.name, each) for each in UNFINISHED):
                continue
            if deep and entry.is_dir(follow_symlinks=False):
                yield from _walked(Path(entry.path), deep=True)
            else:
                yield entry.path, entry


def pattern(text: str) -> Meant:
    """Return a function that tells whether a name below the directory is meant; ** is any depth, also none."""
    parts = [ANY_DEPTH if each == "**" else _part(each).replace(".*", "[^/]*") for each in text.split("/")]
    expression = "/".join(parts).replace(f"{ANY_DEPTH}/", "(?:.*/)?").replace(ANY_DEPTH, ".*")
    return re.compile(expression, re.DOTALL).fullmatch


def _part(text: str) -> str:
    """Return a pattern for one part of a name, without the end that Python adds."""
    return re.sub(r"^\(\?s:(.*)\)\\[Zz]$", r"\1", translate(text), flags=re.DOTALL)


def _compare(
    source: SourceSpec,
    memory: Memory,
    listed: Mapping[str, Seen],
    known: Sequence[KnownItem],
    found: Found,
    boot: float,
) -> dict[str, str]:
    """Sort files into new, changed, gone and waiting ones; return the groups that wait, each with a file."""
    items = {each.name: each for each in known}
    found.gone, memory.missing = _gone(source, memory, listed, known, boot)
    now: dict[str, tuple[Seen, float]] = {}
    unstable: dict[str, str] = {}
    delayed: dict[str, str] = {}
    for path, seen in sorted(listed.items()):
        item, grp = items.get(path), group_of(source.group, path)
        if grp is not None and not path.isprintable():
            unstable[ascii(path)[1:-1]] = UNPRINTABLE
            continue
        if grp is None or (item and (item.state in GIVEN_UP or _is_same(item, seen))):
            found.back += [item.id] if item and item.noted == REMOVED and item.state not in GIVEN_UP else []
            continue
        before = memory.waiting.get(path)
        first = before[1] if before and before[0] == seen else boot
        left = source.stable_seconds - (boot - first)
        if left > 0 or not seen.size:
            now[path] = seen, first
            unstable[path] = f"it has to rest for another {ceil(left)} s" if left > 0 else EMPTY
            delayed |= {grp: delayed.get(grp, path)} if left > 0 else {}
            is_new = not item or item.state is ItemState.GONE
            found.empty += [NewItem(path, grp, 0, seen.print)] if left <= 0 and is_new else []
            found.changing += [item.id] if item and item.state in NOT_SENT else []
        elif item:
            found.changed.append((item.id, NewItem(path, item.grp, seen.size, seen.print)))
        else:
            found.new.append(NewItem(path, grp, seen.size, seen.print))
    memory.waiting, found.unstable = now, unstable
    return delayed


def _gone(
    source: SourceSpec, memory: Memory, listed: Mapping[str, Seen], known: Sequence[KnownItem], boot: float
) -> tuple[list[int], dict[int, float]]:
    """Return the items that two listings have lacked, long enough apart, and those that are missing so far.

    Items of other sources of the task are not missing here, and what is noted of an ended item is no news.
    """
    begin, meant = os.path.join(source.directory, ""), pattern(source.files)  # noqa: PTH118
    missing = {
        each.id: memory.missing.get(each.id, boot)
        for each in known
        if each.name not in listed
        and each.mtime
        and _may_be_missing(each)
        and each.name.startswith(begin)
        and meant(each.name[len(begin) :])
    }
    return [number for number, first in missing.items() if boot - first >= GONE_SECONDS], missing


def _may_be_missing(item: KnownItem) -> bool:
    """Tell whether it matters that the file of an item is not there."""
    if item.state is ItemState.GONE:
        return item.noted == CHANGES
    return item.state not in GIVEN_UP and not (item.noted and item.state not in NOT_SENT)


def _is_same(item: KnownItem, seen: Seen) -> bool:
    """Tell whether a file is as it was; one that was gone and is back has to be taken again."""
    return item.state is not ItemState.GONE and (item.size, item.mtime) == (seen.size, seen.print)


def closing(source: SourceSpec) -> frozenset[str]:
    """Return what files close: the group in the ending of their names, or all."""
    found = Path(source.directory).glob(source.closed_by) if source.closed_by else ()
    return frozenset(path.name.rpartition(".")[2] for path in found if path.is_file())
