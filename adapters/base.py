"""The contract of an adapter: a batch system's words, and pure functions between text and values.

`Adapter` is the contract. `DeclaredAdapter` keeps most of it for a batch system that declares its words, as nearly all
of JIM's own do. `History` is the contract of a source that tells how jobs ended; docs/adapters.md lists the sources.

An adapter is a module of this folder, or a site's own ([site] handlers, [batch] system = "mysite.name"), with
`ADAPTER = Class`. It never runs anything and keeps nothing. The idealizer, which is the keeper's part for this,
runs the argument lists that the `*_command` functions build, always under a time limit, and hands the answer to
the `parse_*` function of the same name; that of a change goes to `parse_cancel`, and of a ping its exit code is
all that counts. Who cannot be sure raises, in the words of `trouble`:

* `Unclear`: no one can tell whether the command was obeyed, as when a submission ran into its time limit,
  or printed no id. Before such a submission is sent again, it is looked for and fenced; an unclear listing
  changes nothing.
* `Refused`: the batch system's plain no: it says that the same call will never succeed.
* `Full`: it names a limit on jobs; the same call may succeed once others have ended, or with fewer.
* `BatchError` itself: it says that the same call may succeed later. A server that is down says this.

None of these proves that nothing was done: batch systems were seen to deny what they had accepted. Each submission
is fenced before it is given up; the kind only decides what comes before that, and what comes after.

An unknown word for a state becomes `State.UNKNOWN`: kept, logged, never an end. A listing that was cut
short raises wherever its form lets that be seen. `tests/unit/test_adapters_conformance.py` holds every
adapter to all this, by what was captured from its batch system.
"""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from jim.errors import BadSite, BatchError, Full, Refused, Unclear, nearest
from jim.model import Answer, Batch, Ids, Kind, Listing, Observation


class Adapter(ABC):
    """One batch system. Subclasses give words and parsers; a dialect overrides what differs."""

    name: str
    # The first words of each command: submit query history find cancel change ping. A site may replace any
    # of them in [batch.commands].
    commands: Mapping[str, tuple[str, ...]]
    index_variable: str  # set by the batch system in a job: the array index
    id_variable: str  # set likewise: its batch id
    restart_variable: str = ""  # how often it was restarted, where that is told
    array_limit: int = 1000  # highest index the batch system takes
    name_length: int = 60  # how much of a job name survives in a listing
    shared_work: bool = True  # worker nodes see the work directory; `jim site check` proves it
    # Once this batch system tells that a job has ended, no process of it lives. Where that is not certain, the
    # next attempt has to wait until the claim of the ended one has not been touched for some minutes.
    end_is_death: bool = False
    leaves_nothing: bool = False  # likewise, and what touches the claim has ended, too: nothing is to be waited for
    can_suspend: bool = False  # users may suspend what runs
    can_avoid: bool = False  # a submission may name hosts that it shall not run on

    # Text that tells the kinds of failure apart, searched in this order, without regard to case.
    unclear: tuple[str, ...] = ()  # words of a lost answer: no one can tell what was done
    full: tuple[str, ...] = ()  # it names a limit on jobs that fewer in one submission would keep
    transient: tuple[str, ...] = ()  # the same call may succeed later
    permanent: tuple[str, ...] = ()  # the same call will never succeed
    gone: tuple[str, ...] = ()  # the batch system does not know this job
    # Likewise for the reasons that accounting gives: what ended a job.
    kinds_of_end: Mapping[Kind, tuple[str, ...]] = {
        Kind.CPU_LIMIT: (r"CPU.*(time limit|wall time)|(time limit|wall time).*CPU",),
        Kind.TIME_LIMIT: ("time limit", "wall time"),
        Kind.TIME_OR_MEMORY: ("time or memory limit",),
        Kind.NODE: (r"\bnode\b",),
    }

    def __init__(self, commands: Mapping[str, Sequence[str]] | None = None, area: str = "") -> None:
        """Take a site's own words, and a directory in which the batch system may keep its own files."""
        unknown = [each for each in commands or () if each not in self.commands]
        if unknown:
            raise BadSite(f"[batch.commands]: unknown command {unknown[0]!r}{nearest(unknown[0], self.commands)}")
        self.commands = {**self.commands} | {each: tuple(words) for each, words in (commands or {}).items()}
        self.area = area

    def choose_history(self, name: str) -> None:
        """Take the source that the site has chosen by name to tell how jobs ended."""
        raise BadSite(f"unknown source {name!r}: this adapter has one only, which needs no name")

    @property
    def guessed_history(self) -> str:
        """The source that a program in the command of history means; `batch.history` supersedes this way to choose."""
        return ""

    @abstractmethod
    def submit_command(self, batch: Batch) -> list[str]:
        """Build the command that hands over one submission, with the batch system's own restart switched off."""

    @abstractmethod
    def parse_submit(self, answer: Answer) -> str:
        """Read the batch id, or raise."""

    def batch_id(self, told: str) -> str:
        """Give the id that `parse_submit` gave, where a member of an array is told one of its own."""
        return told

    @abstractmethod
    def query_command(self) -> list[str]:
        """Build the command that lists all jobs of this account."""

    @abstractmethod
    def parse_query(self, answer: Answer) -> Listing:
        """Read a listing: (batch id, index) → what is seen. A failed or unreadable one raises, and proves nothing."""

    @property
    def most_asked(self) -> int:
        """How many ids one history command is given; it has to answer within the limit of a command."""
        return 200

    @abstractmethod
    def history_command(self, ids: Sequence[str]) -> list[str]:
        """Build the command that tells what accounting knows of these, which listings no longer show."""

    @abstractmethod
    def parse_history(self, answer: Answer) -> Listing:
        """Read how jobs ended; a job that is not told about is not proven to have ended."""

    def kind_of(self, seen: Observation) -> Kind:
        """Tell what has ended a job, by the reason that accounting gives."""
        if not (seen.state.final and seen.reason):
            return Kind.UNKNOWN
        told = (kind for kind, patterns in self.kinds_of_end.items() if self.says(patterns, seen.reason))
        return next(told, Kind.UNKNOWN)

    @abstractmethod
    def find_command(self, mark: str) -> list[str]:
        """Build the command that lists whatever carries this mark."""

    def parse_find(self, answer: Answer) -> Listing:
        """Read what carries the mark; by default a listing like any other."""
        return self.parse_query(answer)

    def find_ended_command(self, mark: str) -> list[str] | None:
        """Build the command whose history tells what carried this mark and has ended; None where a fence is enough."""
        return None

    @abstractmethod
    def cancel_command(self, ids: Ids) -> list[str]:
        """Build the command that ends these jobs, (batch id, index) each; index 0 means all of a batch id."""

    def parse_cancel(self, answer: Answer) -> None:
        """Raise what the failure of a cancel or a change means; that a job is gone already is no failure."""
        if not self.says(self.gone, f"{answer.err}\n{answer.out}"):
            self.output(answer)

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        """Build the command for `hold`, `release`, `suspend` or `resume`; None where users may not."""
        return None

    @abstractmethod
    def ping_command(self) -> list[str]:
        """Build a cheap command that exits 0 only when the batch system answers; an empty listing counts only then."""

    def set_up_command(self, slots: int) -> list[str] | None:
        """Build the command that prepares a batch system of JIM's own; None for everyone else's."""
        return None

    def output(self, answer: Answer) -> str:
        """Give what a command printed, or raise what its failure means."""
        if answer.code != 0:
            raise self.trouble(answer)
        return answer.out

    def trouble(self, answer: Answer) -> BatchError:
        """Sort a failed answer into one of the kinds, by what it says.

        What it says does not count where there is no exit code (it ran into its time limit) or a negative one
        (a signal ended it): it may have been obeyed before that.
        """
        if answer.code is not None and answer.code >= 0:
            text = f"{answer.err}\n{answer.out}"
            # Unclear first: one that was told to come back later, and did, may have lost its last answer. And transient
            # before permanent: some say "rejected" when they could not reach the server.
            if self.says(self.unclear, text):
                return Unclear(f"no clear answer: {answer.facts()}", Kind.NO_ANSWER)
            for kind, patterns in (
                (Full, self.full),
                (BatchError, (*self.transient, r"\Acannot start: ")),
                (Refused, self.permanent),
            ):
                if self.says(patterns, text):
                    return kind(answer.facts())
        return Unclear(answer.facts())

    @staticmethod
    def says(patterns: Sequence[str], text: str) -> bool:
        """Tell whether any of the patterns stands in the text."""
        return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


class DeclaredAdapter(Adapter):
    """A batch system that declares what its commands need: the words stand behind the first ones of a command."""

    printed_id: str = "[1-9][0-9]*"  # pattern of the batch id that a submission prints
    printed: str = r"^{id}\n\Z"  # and of the text that it stands in
    listing: tuple[str, ...] = ()
    finding: tuple[str, ...] = ()  # {mark} stands for the mark; none: a listing is all there is
    pinging: tuple[str, ...] = ()
    changing: Mapping[str, tuple[str, ...]] = {}  # of what users may: hold, release, suspend, resume
    histories: tuple[str, ...]  # sources that may tell how jobs ended: modules of adapters/history, the default first

    def __init__(self, commands: Mapping[str, Sequence[str]] | None = None, area: str = "") -> None:
        super().__init__(commands, area)
        self.chosen = ""  # the source that the site has chosen by name
        self.own_words = "history" in (commands or ())  # that begin the command of history

    def parse_submit(self, answer: Answer) -> str:
        printed = self.printed.replace("{id}", f"({self.printed_id})")
        found = re.search(printed, self.output(answer), re.ASCII | re.MULTILINE)
        if not found:
            raise Unclear(answer.facts())
        return found[1]

    def query_command(self) -> list[str]:
        return [*self.commands["query"], *self.listing]

    def find_command(self, mark: str) -> list[str]:
        return [*self.commands["find"], *(word.replace("{mark}", mark) for word in self.finding or self.listing)]

    def ping_command(self) -> list[str]:
        return [*self.commands["ping"], *self.pinging]

    @abstractmethod
    def names(self, ids: Ids) -> list[str]:
        """Name jobs as commands want them named."""

    def cancel_command(self, ids: Ids) -> list[str]:
        return [*self.commands["cancel"], *self.names(ids)]

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        if verb not in self.changing:
            return None  # for operators
        first = self.commands[verb if verb in self.commands else "change"]
        return [*first, *self.changing[verb], *self.names(ids)]

    def choose_history(self, name: str) -> None:
        if name not in self.histories:
            raise BadSite(f"unknown source {name!r}{nearest(name, self.histories)}")
        if name != (self.guessed_history or self.histories[0]) and not self.own_words:  # they are another source's
            self.commands = {**self.commands, "history": source(name).words}
        self.chosen = name

    @property
    def guessed_history(self) -> str:
        programs = {word.rpartition("/")[2] for word in self.commands["history"]}
        guessed = (name for name in self.histories[1:] if source(name).program in programs)
        return "" if self.chosen else next(guessed, "")

    @property
    def history(self) -> History:
        """The source that tells how jobs ended."""
        return source(self.chosen or self.guessed_history or self.histories[0])(self)

    @property
    def most_asked(self) -> int:
        return self.history.most_asked

    def history_command(self, ids: Sequence[str]) -> list[str]:
        return self.history.command(ids)

    def parse_history(self, answer: Answer) -> Listing:
        return self.history.read(answer)


class History(ABC):
    """A source that tells how the jobs of one batch system ended."""

    words: tuple[str, ...]  # the first words of its command, which a site may replace
    program: str = ""  # a site that names this program in `batch.commands.history` has chosen the source: superseded
    most_asked: int = 200  # ids of one command; it has to answer within the limit of a command

    def __init__(self, adapter: Adapter) -> None:
        """Take the adapter whose commands and words of failure count."""
        self.adapter = adapter

    @property
    def first_words(self) -> tuple[str, ...]:
        """The first words of its command, as the site has them."""
        return self.adapter.commands["history"]

    @abstractmethod
    def command(self, ids: Sequence[str]) -> list[str]:
        """Build the command that tells how these ended, as `Adapter.history_command` does."""

    def find_command(self, mark: str) -> list[str] | None:
        """Build the command that tells whether this mark is known, as `Adapter.find_ended_command` does."""
        return None

    @abstractmethod
    def read(self, answer: Answer) -> Listing:
        """Read how jobs ended, as `Adapter.parse_history` does."""

    def found(self, answer: Answer) -> str:
        """Give what a search in a file has printed: grep exits 1, without a word, where nothing is found."""
        return "" if answer.code == 1 and not answer.err else self.adapter.output(answer)


def source(name: str) -> type[History]:
    """Load a source of history by its name."""
    found: type[History] = importlib.import_module(f"jim.adapters.history.{name}").HISTORY
    return found


def option(name: str, value: str | int | None, unit: str = "") -> list[str]:
    """Write an option with its value: one word after `name=`, two after `name`, none for no value."""
    if value is None:
        return []
    if re.search(r"\A-|[\s\0]", str(value)):
        raise Refused(f"{name} {value!r}: a value may not begin with '-' or hold blanks")
    return [f"{name}{value}{unit}"] if name.endswith("=") else [name, f"{value}{unit}"]


def ranges(indices: Iterable[int]) -> list[str]:
    """Write indices as ranges: 1, 2, 3, 7 → 1-3, 7. One command for an array is faster than one for each."""
    runs = [[i for _, i in run] for _, run in groupby(enumerate(sorted(indices)), lambda at: at[1] - at[0])]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def by_id(ids: Ids) -> dict[str, list[str]]:
    """Gather indices by batch id, as ranges; no ranges: the whole of it."""
    gathered: dict[str, set[int]] = {}
    for id_, index in ids:
        gathered.setdefault(id_, set()).add(index)
    return {id_: [] if 0 in indices else ranges(indices) for id_, indices in gathered.items()}
