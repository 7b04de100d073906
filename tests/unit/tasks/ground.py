"""A keeper driven by hand that has tasks: what payloads were given stands in a diary that JIM does not read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from jim.doors import inbox
from jim.model import State
from jim.statusdb.task_rows import Task, TaskState
from jim.tasks.effects import TaskVerb
from jim.tasks.file import creating, words
from tests.support.stand_ins import World

SH = 'request = { job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"] }'
EVENTS = 'request = { job_type = "executable", executable = "/bin/echo", arguments = ["$FirstEvent", "$LastEvent"] }'


def events(many: int, size: int, more: str = "") -> str:
    """Write a task of events."""
    return f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = {many}, events_per_piece = {size} }} ]
        {more}
        """


class Ground(World):
    """A state directory with tasks."""

    def __init__(self, place: Path, monkeypatch, **settings) -> None:
        self.place = place
        self.diary: list[tuple[str, ...]] = []  # the arguments of each payload that has ended well
        self.seeds: list[str] = []  # of each payload that was started
        self.may_fault = False  # a test that lets something unexpected happen
        self.brings: Callable[[tuple[str, ...]], Mapping[str, bytes]] = lambda _: {}  # files, by a payload's arguments
        # Most tests are about something else: the allowance is large from the beginning.
        monkeypatch.setitem(words.RELEASE, "first", words.RELEASE["first"]._replace(default=1000))
        super().__init__(place, monkeypatch, **settings)

    # What people do

    def write(self, text: str, name: str = "tasks.toml") -> Path:
        file = self.place / name
        file.write_text(dedent(text))
        return file

    def create(self, text: str, name: str = "tasks.toml") -> creating.Taken:
        taken = creating.create(self.write(text, name), self.site, "somebody")
        self.go()
        return taken

    def ask(self, verb: TaskVerb | str, name: str = "t", **content: object) -> None:
        """Leave a wish for a task, and let the keeper take it."""
        inbox.task_wish(self.site.state, verb, name, by="somebody, by the command line", **content)
        self.go()

    def start(self, text: str, *names: str) -> None:
        """Create the tasks of a file, and start them without a test."""
        self.create(text)
        for name in names or ("t",):
            self.ask(TaskVerb.START, name, untested=True)

    # What happens

    def go(self, rounds: int = 1, seconds: float = 0.0) -> None:
        """Make rounds; what must always hold is looked at after each."""
        for _ in range(rounds):
            super().go(1, seconds)
            self.check()

    def check(self) -> None:
        wrong = {name: count for name, count in self.store.tasks.wrong().items() if count}
        assert not wrong, wrong
        assert self.may_fault or not any("a fault in JIM" in each.reason for each in self.store.tasks.all())

    def begin(self) -> list[tuple[str, int]]:
        """Start all that is in the queue."""
        waiting = [key for key, task in self.batch.tasks.items() if task.state is State.SUBMITTED]
        return [key for key in waiting if self.begin_one(*key)]

    def begin_one(self, id_: str, index: int) -> bool:
        """Start one payload, unless its claim is taken."""
        if not self.batch.start(id_, index):
            return False
        lines = self.batch._job_lines(self.batch.tasks[id_, index])
        self.seeds += [value for _, word, value in lines if word == "seed"]
        return True

    def end(self, code: int = 0, **more: Any) -> None:
        """End all that runs."""
        for key, task in list(self.batch.tasks.items()):
            if task.state is State.RUNNING:
                self.end_one(*key, code=code, **more)

    def end_one(self, id_: str, index: int, code: int = 0, **more: Any) -> None:
        """End one payload, with what it leaves."""
        lines = self.batch._job_lines(self.batch.tasks[id_, index])
        words = tuple(value for _, word, value in lines if word == "arg")
        left = {}
        if code == 0:
            self.diary.append(words[1:])
            left = as_files(self.brings(words[1:]))
        self.batch.finish(id_, index, code=code, **more, **left)

    def work(self, code: int = 0) -> None:
        """Start and end all that is in the queue."""
        self.begin()
        self.end(code)

    def until_state(self, state: TaskState, name: str = "t", *, code: int = 0, seconds: float = 1.0) -> None:
        """Let all that is sent run to its end, until a task has a state."""

        def reached() -> bool:
            self.work(code)
            return self.task(name).state is state

        self.until(reached, seconds)

    # What there is to see

    def task(self, name: str = "t") -> Task:
        return self.store.tasks.named(name)

    def counts(self, what: str, name: str = "t") -> dict[str, int]:
        return self.store.tasks.counts(self.task(name).id, what)

    def items(self, name: str = "t") -> dict[str, str]:
        return {each.name: each.state.value for each in self.store.pools.find_items(self.task(name).id, "*", "", -1)}

    def journal(self, name: str = "t") -> list[str]:
        return [f"{line.what}: {line.reason}" for line in self.store.tasks.journal(self.task(name).id)]

    def pieces(self, name: str = "t") -> list[str]:
        task = self.task(name)
        found = (self.store.pieces.one(task.id, p) for p in range(task.next_piece))
        return [each.state.value for each in found if each]

    def done(self) -> Counter[str]:
        """Count how often each item was worked on with success, by the diary."""
        return Counter(word for words in self.diary for word in ",".join(words).split(",") if word)

    def ranges(self) -> list[tuple[int, int]]:
        """Return the ranges of events that were made with success, by the diary."""
        return sorted((int(first), int(last)) for first, last in self.diary)


def as_files(files: Mapping[str, bytes]) -> dict[str, object]:
    """Return what a payload leaves, with the lines of its exit record."""
    lines = [f"file {len(each)} {hashlib.sha256(each).hexdigest()} {name}\n" for name, each in files.items()]
    return {"files": list(files.items()), "extra": "".join(lines)} if files else {}


def a_list(place: Path, *names: str, closed: bool = True) -> Path:
    """Write a list of names, and close it."""
    file = place / "names.txt"
    file.write_text("".join(f"{name}\n" for name in names) + "closed\n" * closed)
    return file


def whole(ranges: list[tuple[int, int]], first: int, last: int) -> bool:
    """Tell whether ranges cover these events, each once."""
    ends = [first - 1, *(end for _, end in ranges)]
    return [begin for begin, _ in ranges] == [end + 1 for end in ends[:-1]] and ends[-1] == last
