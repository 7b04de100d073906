"""What every dialect has in common: reading argument lists as strictly as the real commands do."""

from __future__ import annotations

import re
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.fake_batch.engine import Job, Phase, Submission, Task

Targets = tuple[tuple[int, int], ...]  # job and index; index 0 means all of a job


class Said(NamedTuple):
    """What a command gives back; no code: it never does."""

    code: int | None = 0
    out: str = ""
    err: str = ""


class Usage(Exception):
    """What the real command says, instead of doing anything, when it does not understand."""

    def __init__(self, code: int, err: str) -> None:
        super().__init__(err)
        self.said = Said(code, "", err)


class Ask(NamedTuple):
    """A wish to be told about jobs; `given` are the options, as the dialect itself understands them."""

    given: Mapping[str, str]
    ids: tuple[str, ...] = ()


class Tell(NamedTuple):
    """A wish that something happens to jobs: cancel, hold, release, suspend, resume."""

    verb: str
    targets: Targets


class Ping(NamedTuple):
    """A question whether anyone is there."""


Question = Submission | Ask | Tell | Ping


class Dialect(ABC):
    """One batch system's way to read commands and to print answers. It knows nothing of lies."""

    name: str
    id_form = r"([0-9]+)"
    keeps = 0.0  # how long a listing shows what has ended
    forgets_cancelled = False  # what is cancelled before it began leaves no trace
    restarts = True  # it may put back into the queue what has begun
    limits_arrays = False  # a limit on jobs counts an array as one
    runs_once = False  # nobody but itself can see to that: so it does nothing that could not be healed
    loses_nodes = True  # it may take for dead what runs on
    troubles: Mapping[str, Said] = {}
    histories: tuple[str, ...] = ()  # whom else a site may have asked how jobs ended
    log = ""  # the file of ends that grep reads

    def __init__(self, history: str = "") -> None:
        self.adapter = import_module(f"jim.adapters.{self.name}").ADAPTER({}, "/nowhere")
        if history:
            self.adapter.choose_history(history)

    def read(self, words: Sequence[str]) -> Question:
        """Understand a command, or raise what the real one says to that."""
        program, *rest = words
        method = getattr(self, f"read_{Path(program).name}", None)
        if method is None:
            raise Usage(127, f"{program}: command not found\n")
        return method(rest)

    def read_grep(self, words: Sequence[str]) -> Ask:
        """Understand a search in the file of ends."""
        if self.log not in words:
            raise Usage(2, f"grep: {words}: No such file or directory\n")
        return Ask({"grep": self.log}, tuple(word for word in words if word != self.log))

    def trouble(self, kind: str, what: str) -> Said:
        """Give the words for a failure: `down`, `full`, `refused` (all: nothing was done) or `unclear`."""
        return self.troubles.get(f"{kind} {what}") or self.troubles[what]

    @abstractmethod
    def accepted(self, job: Job) -> Said:
        """Print the id of an accepted job."""

    @abstractmethod
    def told(self, ask: Ask, tasks: Sequence[Task], now: float) -> Said:
        """Print what is asked about these tasks, which are all there are."""

    def obeyed(self, tell: Tell, unknown: Targets) -> Said:
        """Print what is said to a wish; of these targets nothing is known."""
        return Said()

    def pong(self) -> Said:
        """Print that somebody is there."""
        return Said()

    @abstractmethod
    def environment(self, task: Task) -> dict[str, str]:
        """Give the variables that a job finds."""

    def in_queue(self, task: Task, now: float) -> bool:
        """Tell whether the usual listing shows a task."""
        return task.phase is not Phase.ENDED or (self.remembered(task) and now - task.ended_at <= self.keeps)

    def accounted(self, task: Task, now: float) -> bool:
        """Tell whether the accounts have a task."""
        return task.phase is Phase.ENDED and self.remembered(task) and task.accounted_at <= now

    def remembered(self, task: Task) -> bool:
        """Tell whether there is any trace of an ended task."""
        return not (self.forgets_cancelled and task.why == "cancelled" and not task.starts)

    def numbers(self, words: Sequence[str]) -> Targets:
        """Read names of jobs and of members of arrays."""
        found = [re.fullmatch(self.id_form, word) for word in words]
        for word, match in zip(words, found, strict=True):
            if not match:
                raise Usage(1, f"illegally formed job identifier: {word}\n")
        return tuple((int(match[1]), index) for match in found for index in indices((*match.groups(), "")[1]))


def grep(words: Sequence[str], text: str) -> Said:
    """Search a text as the real grep does."""
    done = subprocess.run(
        ["grep", *words], input=text, capture_output=True, text=True, env={"LC_ALL": "C"}, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)


def options(
    program: str, words: Sequence[str], *, flags: str = "", valued: str = "", code: int = 1
) -> tuple[dict[str, str], list[str]]:
    """Part options from the other words; the last of a name counts, and one that is not known is an error."""
    given: dict[str, str] = {}
    rest: list[str] = []
    words_left = iter(words)
    for word in words_left:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if not word.startswith("-"):
            rest.append(word)
        elif name in valued.split():
            given[name] = value if equals else next(words_left, "")
        elif word in flags.split():
            given[name] = ""
        else:
            raise Usage(code, f"{program}: unrecognized option '{word}'\n")
    return given, rest


def indices(text: str | None) -> list[int]:
    """Read 1-3,7 as indices; no text means all, which is index 0."""
    if not text:
        return [0]
    runs = [run.partition("-") for run in text.split(",")]
    return [index for first, _, last in runs for index in range(int(first), int(last or first) + 1)]


def script(program: str, words: Sequence[str], code: int = 1) -> str:
    """Give the script to be run, which must be there."""
    if len(words) != 1:
        raise Usage(code, f"usage: {program} [options] script\n")
    try:
        begins = Path(words[0]).read_bytes()[:2]
    except OSError as error:
        raise Usage(code, f"{program}: script file: No such file or directory\n") from error
    if begins != b"#!":
        raise Usage(code, f"{program}: error: This does not look like a batch script.\n")
    return words[0]


def array(program: str, text: str, code: int = 1) -> int:
    """Read 1-N, as JIM asks for an array."""
    found = re.fullmatch(r"1-([1-9][0-9]*)", text)
    if not found:
        raise Usage(code, f"{program}: error: Invalid job array specification\n")
    return int(found[1])
