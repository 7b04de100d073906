"""The contract of an adapter: a batch system's words, and pure functions between text and values.

`Adapter` is the contract. `DeclaredAdapter` implements most of it for a batch system that declares its words, as nearly
all of JIM's own do. `History` is the contract of a source for how jobs ended; docs/adapters.md lists the sources.

An adapter is a module of this folder, or a site's own ([site] handlers, [batch] system = "mysite.name"), with
`ADAPTER = Class`. It never runs anything and stores nothing. The idealizer, which is a part of the keeper, runs the
argument lists that the `*_command` functions build, always with a time limit. It passes the answer to the `parse_*`
function of the same name; the answer to a change goes to `parse_cancel`, and for a ping only the exit code counts. If
the outcome is not certain, the parser raises one of these errors, chosen by `trouble`:

* `Unclear`: nobody can tell whether the batch system obeyed, for example when a submission reached its time limit
  or printed no id. JIM looks for such a submission and fences it before it submits again; an unclear listing
  changes nothing.
* `Refused`: the batch system says that the same command will never succeed.
* `Full`: the batch system names a limit on jobs; the same command may succeed after others have ended, or with fewer.
* `BatchError` itself: the same command may succeed later, for example when a server is down.

None of these proves that nothing was done: batch systems have denied jobs that they had accepted. Each submission is
fenced before it is given up; the kind of error only decides what happens before and after.

An unknown word for a state becomes `State.UNKNOWN`: stored, logged, never an end. A truncated listing raises an error
if its form allows that to be seen. `tests/unit/test_adapters_conformance.py` checks every adapter with captured output
of its batch system.
"""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import ModuleType

from jim.adapters.capacity import Capacity
from jim.errors import BadSite, BatchError, Full, Refused, Unclear, nearest
from jim.model import Answer, Batch, Ids, Kind, Listing, Observation, Resources

# Patterns of what a request may ask for in particular: none of them can be an option, a path or anything quoted.
COUNT = r"[1-9][0-9]{0,5}"
NAME = r"[A-Za-z]\w{0,63}"
TERMS = rf"{NAME}(=[\w.+-]{{1,64}})?(,{NAME}(=[\w.+-]{{1,64}})?){{0,19}}"
LICENCES = rf"{NAME}(:{COUNT})?(,{NAME}(:{COUNT})?){{0,19}}"


class Adapter(ABC):
    """One batch system. Subclasses give words and parsers; a dialect overrides what differs."""

    name: str
    # The first words of each command: submit query history find cancel change ping, and for `capacity` some of
    # nodes queues pending. A site may replace any of them in [batch.commands].
    commands: Mapping[str, tuple[str, ...]]
    index_variable: str  # set by the batch system in a job: the array index
    id_variable: str  # set by the batch system in a job: the batch id
    restart_variable: str = ""  # how often the job was restarted, if the batch system says so
    array_limit: int = 1000  # the highest index that the batch system accepts
    name_length: int = 60  # how many characters of a job name a listing shows
    shared_work: bool = True  # worker nodes see the work directory; `jim site check` proves this
    # true: when this batch system reports that a job has ended, no process of the job lives. Otherwise the next attempt
    # waits until nobody has touched the ended job's claim for some minutes.
    end_is_death: bool = False
    leaves_nothing: bool = False  # likewise, and the process that touches the claim has ended, too: no wait is needed
    can_suspend: bool = False  # users may suspend running jobs
    can_avoid: bool = False  # a submission may name hosts that it must not use
    # What else a request may ask for: gpus, constraint, licences; each with the pattern of its values.
    special: Mapping[str, str] = {}
    whole_node: tuple[str, ...] = ()  # words of the submit command for a node alone, with all of its memory
    capacity: str = ""  # the module of adapters/capacity that reads how much room there is; empty: nobody knows

    # Patterns for the kinds of failure, searched in this order; capitals do not matter.
    unclear: tuple[str, ...] = ()  # a lost answer: nobody knows what was done
    full: tuple[str, ...] = ()  # a limit on jobs, which a smaller submission may keep
    transient: tuple[str, ...] = ()  # the same command may succeed later
    # The same command will never succeed. That the script cannot be read is no such message: JIM wrote it just before,
    # so the file server may be away for a moment.
    permanent: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()  # the batch system does not know this job
    # Likewise for accounting's reasons: the cause of a job's end.
    kinds_of_end: Mapping[Kind, tuple[str, ...]] = {
        Kind.CPU_LIMIT: (r"CPU.*(time limit|wall time)|(time limit|wall time).*CPU",),
        Kind.TIME_LIMIT: ("time limit", "wall time"),
        Kind.TIME_OR_MEMORY: ("time or memory limit",),
        Kind.MEMORY: (r"\bout of memory\b", r"\bmemory (usage|limit)", "TERM_MEMLIMIT"),
        Kind.NODE: (r"\bnode\b",),
    }

    def __init__(self, commands: Mapping[str, Sequence[str]] | None = None, area: str = "") -> None:
        """Take the site's own words, and a directory for files of the batch system."""
        unknown = [each for each in commands or () if each not in self.commands]
        if unknown:
            raise BadSite(f"[batch.commands]: unknown command {unknown[0]!r}{nearest(unknown[0], self.commands)}")
        self.commands = {**self.commands} | {each: tuple(words) for each, words in (commands or {}).items()}
        self.area = area

    def choose_history(self, name: str) -> None:
        """Choose by name the source that tells how jobs ended."""
        raise BadSite(f"unknown source {name!r}: this adapter has only one, which needs no name")

    def need(self, name: str, asked: Resources) -> str:
        """Return what is asked for of these, as text; empty if nothing is. Refuse what no request could have."""
        value = getattr(asked, name)
        if value is not None and not re.fullmatch(self.special.get(name, ""), str(value), re.ASCII):
            raise Refused(f"{name} {value!r}: {self.name} cannot be asked for this")
        return "" if value is None else str(value)

    def terms(self, asked: Resources) -> list[tuple[str, str]]:
        """Return what nodes must have: names, and their values if there are any."""
        return [(name, value) for name, _, value in _parted(self.need("constraint", asked), "=")]

    def licences(self, asked: Resources) -> list[tuple[str, str]]:
        """Return the names of the licences and how many of each."""
        return [(name, count or "1") for name, _, count in _parted(self.need("licences", asked), ":")]

    @abstractmethod
    def submit_command(self, batch: Batch) -> list[str]:
        """Build the command for one submission; the batch system's own restart is switched off."""

    @abstractmethod
    def parse_submit(self, answer: Answer) -> str:
        """Read the batch id, or raise."""

    def batch_id(self, told: str) -> str:
        """Return the id that `parse_submit` returned, if a member of an array has reported an id of its own."""
        return told

    @abstractmethod
    def query_command(self) -> list[str]:
        """Build the command that lists all jobs of this account."""

    @abstractmethod
    def parse_query(self, answer: Answer) -> Listing:
        """Read a listing: (batch id, index) → observation.

        A failed or unreadable listing raises, and proves nothing.
        """

    def waits_command(self) -> list[str] | None:
        """Build the command that tells why jobs wait; None if the listing tells it, or nothing does."""
        return None

    def parse_waits(self, answer: Answer) -> Mapping[str, str]:
        """Read the batch system's own words for why jobs wait, by batch id; those under "" hold for all others."""
        return {}

    @property
    def most_asked(self) -> int:
        """How many ids one history command gets: it must answer within the time limit of a command."""
        return 200

    @abstractmethod
    def history_command(self, ids: Sequence[str]) -> list[str]:
        """Build the command that asks accounting about these jobs, which listings no longer show."""

    @abstractmethod
    def parse_history(self, answer: Answer) -> Listing:
        """Read how jobs ended; the absence of a job does not prove its end."""

    def kind_of(self, seen: Observation) -> Kind:
        """Return the kind of a job's end from accounting's reason."""
        if not (seen.state.final and seen.reason):
            return Kind.UNKNOWN
        told = (kind for kind, patterns in self.kinds_of_end.items() if self.says(patterns, seen.reason))
        return next(told, Kind.UNKNOWN)

    @abstractmethod
    def find_command(self, mark: str) -> list[str]:
        """Build the command that lists the jobs with this mark."""

    def parse_find(self, answer: Answer) -> Listing:
        """Read the jobs with the mark; by default this is a listing like any other."""
        return self.parse_query(answer)

    def find_ended_command(self, mark: str) -> list[str] | None:
        """Build the command that looks for ended jobs with this mark; None if a fence is enough."""
        return None

    @abstractmethod
    def cancel_command(self, ids: Ids) -> list[str]:
        """Build the command that ends these jobs, (batch id, index) each; index 0 means the whole batch id."""

    def parse_cancel(self, answer: Answer) -> None:
        """Raise the error of a failed cancel or change; it is no error if the job is gone already."""
        if not self.says(self.gone, f"{answer.err}\n{answer.out}"):
            self.output(answer)

    def change_command(self, verb: str, ids: Ids) -> list[str] | None:
        """Build the command for `hold`, `release`, `suspend` or `resume`; None if users may not do this."""
        return None

    @abstractmethod
    def ping_command(self) -> list[str]:
        """Build a cheap command that exits 0 only when the batch system answers."""

    def set_up_command(self, slots: int) -> list[str] | None:
        """Build the command that prepares JIM's own batch system; None for all others."""
        return None

    def capacity_commands(self) -> dict[str, list[str]]:
        """Build the commands, by name, that tell how much room the batch system has; none if no command tells."""
        return {name: [*self.commands[name], *words] for name, words in _capacity(self.capacity).COMMANDS.items()}

    def parse_capacity(self, answers: Mapping[str, Answer]) -> Capacity:
        """Read the answers to these commands; what a failed command would have told stays unknown."""
        found: Capacity = _capacity(self.capacity).read(
            {name: answer.out for name, answer in answers.items() if answer.code == 0}
        )
        return found

    def output(self, answer: Answer) -> str:
        """Return the output of a command, or raise the error of its failure."""
        if answer.code != 0:
            raise self.trouble(answer)
        return answer.out

    def trouble(self, answer: Answer) -> BatchError:
        """Turn a failed answer into one of the kinds of errors, by its words.

        The words do not count without an exit code (the time limit) or with a negative one (a signal): the batch system
        may have obeyed before.
        """
        if answer.code is not None and answer.code >= 0:
            text = f"{answer.err}\n{answer.out}"
            # Unclear first: a command that was told to come back later, and did, may have lost its last answer.
            # Transient before permanent: some commands say "rejected" when they could not reach the server.
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
        """Tell whether one of the patterns is in the text."""
        return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


class DeclaredAdapter(Adapter):
    """A batch system that declares its words: they follow the first words of each command."""

    printed_id: str = "[1-9][0-9]*"  # pattern of the batch id in the output of a submission
    printed: str = r"^{id}\n\Z"  # pattern of the line that holds it
    listing: tuple[str, ...] = ()
    finding: tuple[str, ...] = ()  # {mark} stands for the mark; empty: there are only full listings
    pinging: tuple[str, ...] = ()
    changing: Mapping[str, tuple[str, ...]] = {}  # what users may do: hold, release, suspend, resume
    histories: tuple[str, ...]  # sources for how jobs ended: modules of adapters/history, the default first

    def __init__(self, commands: Mapping[str, Sequence[str]] | None = None, area: str = "") -> None:
        super().__init__(commands, area)
        self.chosen = ""  # the source that the site has chosen by name

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
        """Return the names of jobs as commands need them."""

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
        if self.commands["history"] == source(self.histories[0]).words:  # nobody has other words for the command
            self.commands = {**self.commands, "history": source(name).words}
        self.chosen = name

    @property
    def history(self) -> History:
        """The source for how jobs ended."""
        return source(self.chosen or self.histories[0])(self)

    @property
    def most_asked(self) -> int:
        return self.history.most_asked

    def history_command(self, ids: Sequence[str]) -> list[str]:
        return self.history.command(ids)

    def parse_history(self, answer: Answer) -> Listing:
        return self.history.read(answer)


class History(ABC):
    """A source for how the jobs of one batch system ended."""

    words: tuple[str, ...]  # the first words of its command, which a site may replace
    most_asked: int = 200  # ids of one command; it must answer within the time limit of a command

    def __init__(self, adapter: Adapter) -> None:
        """Take the adapter, for its commands and its patterns of failure."""
        self.adapter = adapter

    @property
    def first_words(self) -> tuple[str, ...]:
        """The first words of its command at this site."""
        return self.adapter.commands["history"]

    @abstractmethod
    def command(self, ids: Sequence[str]) -> list[str]:
        """Build the command that asks how these jobs ended, like `Adapter.history_command`."""

    def find_command(self, mark: str) -> list[str] | None:
        """Build the command that asks for this mark, like `Adapter.find_ended_command`."""
        return None

    @abstractmethod
    def read(self, answer: Answer) -> Listing:
        """Read how jobs ended, like `Adapter.parse_history`."""

    def found(self, answer: Answer) -> str:
        """Return the output of a search in a file: grep exits 1 without a message if it finds nothing."""
        return "" if answer.code == 1 and not answer.err else self.adapter.output(answer)


def source(name: str) -> type[History]:
    """Load a source of history by its name."""
    found: type[History] = importlib.import_module(f"jim.adapters.history.{name}").HISTORY
    return found


def _capacity(name: str) -> ModuleType:
    return importlib.import_module(f"jim.adapters.capacity.{name or 'unknown'}")


def _parted(text: str, by: str) -> list[tuple[str, str, str]]:
    return [each.partition(by) for each in text.split(",") if each]


def option(name: str, value: str | int | None, unit: str = "") -> list[str]:
    """Return an option with its value: one word for `name=`, two for `name`, none without a value."""
    if value is None:
        return []
    if re.search(r"\A-|[\s\0]", str(value)):
        raise Refused(f"{name} {value!r}: a value must not begin with '-' or contain blanks")
    return [f"{name}{value}{unit}"] if name.endswith("=") else [name, f"{value}{unit}"]


def ranges(indices: Iterable[int]) -> list[str]:
    """Return indices as ranges: 1, 2, 3, 7 → 1-3, 7. One command for an array is faster than one for each member."""
    runs = [[i for _, i in run] for _, run in groupby(enumerate(sorted(indices)), lambda at: at[1] - at[0])]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def by_id(ids: Ids) -> dict[str, list[str]]:
    """Group indices by batch id, as ranges; no ranges mean the whole batch id."""
    gathered: dict[str, set[int]] = {}
    for id_, index in ids:
        gathered.setdefault(id_, set()).add(index)
    return {id_: [] if 0 in indices else ranges(indices) for id_, indices in gathered.items()}
