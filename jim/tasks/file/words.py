"""The words of a task file, and what each may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from jim.errors import later, nearest, shown
from jim.tasks.file.faults import Faults, wrong

MOST = 10**15  # of any number
NAME = re.compile(r"[a-z][a-z0-9-]{0,47}", re.ASCII)


class Word(NamedTuple):
    """One word of a table: its kind, its help, the least number, and what holds without it."""

    kind: str
    help: str
    least: float = 0
    default: Any = None


KINDS = {
    "whole": "a whole number",
    "number": "a number",
    "text": "a text",
    "texts": "a list of texts",
    "table": "a table",
    "tables": "a list of tables",
    "count": 'a whole number, or "any"',
    "flag": "true or false",
}
TASK = {
    "name": Word("text", "its name, unique in its state directory"),
    "summary": Word("text", "what it is for, in words", default=""),
    "request": Word("table", "what each grid job asks for, as in a request"),
    "source": Word("tables", "what fills its input pool"),
    "split": Word("table", "how items become pieces", default={}),
    "test": Word("table", "how it tries itself out", default={}),
    "release": Word("table", "how many pieces are on the way", default={}),
    "output": Word("tables", "what its pieces bring", default=[]),
    "priority": Word("whole", "the highest is sent first", least=-1000, default=0),
    "analyser": Word("text", "the site's own function that decides about failed attempts", default=""),
}
SOURCE = {
    "events": Word("whole", "events to make; without it, what the catalogue says of the request id", least=1),
    "first_event": Word("whole", "number of the first event", default=1),
    "campaigns": Word("whole", "so many groups of events, one after the other", least=1, default=1),
    "events_per_piece": Word("whole", "events of a piece, instead of JIM's own sizing", least=1),
    "directory": Word("text", "directory to watch for files"),
    "files": Word("text", "pattern of the names of its files; ** is any depth", default="*"),
    "not": Word("text", "pattern of names to leave out", default=""),
    "stable_seconds": Word("number", "a file is taken once it has not changed for so long; 0: at once", default=60),
    "list": Word("text", "file with a name in each line"),
    "command": Word("texts", "program with its words, which prints the lines of a list and then: end"),
    "dataset": Word("text", "dataset of the site's catalogue"),
    "task": Word("text", "the task that feeds it"),
    "output": Word("text", "by this output"),
    "promises": Word("flag", "true: pieces are planned of outputs that are still to come", default=False),
    "when_broken": Word("text", "wait: a piece waits for a broken promise; fail: it fails", default="wait"),
    "every_seconds": Word("number", "seconds between two looks", least=0.1, default=30),
    "group": Word("text", "pattern whose first bracket finds the group in a name", default=""),
    "closed_by": Word("text", "pattern of a file that closes the group in its ending", default=""),
}
SPLIT = {
    "splitter": Word("text", "splitter that makes pieces of files"),
    "parameters": Word("table", "parameters of the splitter", default={}),
    "when": Word("text", "full: a piece waits to be full; now: it does not; closed: it waits for its group"),
    "max_wait_seconds": Word("number", "no item waits longer for others; 0: for ever", default=0),
}
TEST = {
    "pieces": Word("whole", "how many pieces to try", least=1, default=1),
    "check": Word("texts", "command that looks at the outputs; exit 0 is good", default=[]),
    "most_seconds": Word("number", "each may take so long; 0: any time", default=0),
}
RELEASE = {
    "at_once": Word("whole", "most pieces on the way", default=2000),
    "first": Word("whole", "most pieces on the way at the beginning", least=1, default=5),
    "probe_seconds": Word("number", "seconds between two probes while most attempts fail", least=1, default=600),
    "queued": Word("whole", "most pieces on the way that have not started", least=1, default=500),
    "every_seconds": Word("number", "seconds between two small waves", default=60),
}
OUTPUT = {
    "name": Word("text", "name of the output pool"),
    "files": Word("text", "pattern of the names of the files, as the job type brings them"),
    "each": Word("count", "so many files of each piece", least=1, default=1),
    "about": Word("text", "ending of the JSON file that describes a file", default=""),
    "store": Word("text", "directory to copy them to", default=""),
    "as": Word("text", "their names there", default="$Task-$Piece-$Name"),
    "expects": Word("table", "facts of a file that are known before it is there: events", default={}),
}
THROTTLE = ("at_once", "queued", "first")  # what `jim task throttle` changes
# Words that are decided upon, and come later; each by its place.
LATER = {
    "task.tail": "an automatic tail",
    "task.share": "shares of the places",
    "task.siblings": "siblings",
    "task.limits": "limits of its own",
    "source.closed_after_seconds": "closing by time",
    "split.adapt": "sizes that JIM finds out",
    "split.siblings": "siblings",
    "release.disk_gb": "a limit on the disk",
}
ELSEWHERE = {  # attributes of a request that a task has in other places
    "key": "a task gives its waves their keys",
    "events": "say events in source",
    "splitter": "say splitter in split",
    "splitter_parameters": "say parameters in split",
    "input_files": "say list, directory, command or dataset in source",
    "dataset": "say dataset in source",
    "recovery": "a task knows by itself what it has not done",
    "test": "say pieces in test; `jim task test` tries it out",
    "pieces": "a task makes its pieces by itself",
}


def read(place: str, table: Mapping[str, Any], words: Mapping[str, Word]) -> dict[str, Any]:
    """Check a table word by word; words that it leaves out get their defaults."""
    faults = Faults()
    found = fitting(place, table, words, faults)
    faults.refuse()
    return found


def fitting(place: str, table: Mapping[str, Any], words: Mapping[str, Word], faults: Faults) -> dict[str, Any]:
    """Check a table word by word; words that it leaves out, or that are wrong, get their defaults."""
    good: dict[str, Any] = {}
    for name, value in table.items():
        with faults.gathered():
            _check(f"{place}.{name}", name, value, words)
            good[name] = value
    return {name: good.get(name, word.default) for name, word in words.items()}


def _check(path: str, name: str, value: Any, words: Mapping[str, Word]) -> None:
    if path in LATER:
        raise wrong(path, later(LATER[path]))
    if name not in words:
        raise wrong(path, f"unknown{nearest(str(name), words)}")
    _check_value(path, value, words[name])


def _check_value(path: str, value: Any, word: Word) -> None:
    if not _fits(value, word.kind):
        raise wrong(path, f"expected {KINDS[word.kind]}, found {shown(value)} ({word.help})")
    if word.kind in ("whole", "number", "count") and value != "any" and not word.least <= value <= MOST:
        bound = f"must be at most {MOST:,}" if value > MOST else f"must be {word.least:g} or more"
        raise wrong(path, f"{shown(value)}: {bound}")
    for each in [value] if word.kind == "text" else value if word.kind == "texts" else ():
        if not each.isprintable():
            raise wrong(path, f"{shown(each)} holds characters that cannot be printed")


def _fits(value: Any, kind: str) -> bool:
    if kind in ("whole", "number"):
        return not isinstance(value, bool) and isinstance(value, int if kind == "whole" else int | float)
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "count":
        return value == "any" or _fits(value, "whole")
    if kind in ("texts", "tables"):
        each = str if kind == "texts" else Mapping
        return isinstance(value, list) and all(isinstance(one, each) for one in value)
    return isinstance(value, str if kind == "text" else Mapping)
