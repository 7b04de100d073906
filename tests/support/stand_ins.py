"""Stand-ins for tests: a batch system in memory that can lie, a clock that is set, workers that work at once.

The real wrapper and the real local batch have their own tests; here the idealizer is driven through
schedules that no real system could be made to produce on demand.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jim.adapters.base import Adapter
from jim.clock import Clock
from jim.database import Connection
from jim.errand import Errand
from jim.errors import Unclear, UnknownJob
from jim.idealizer.channel import Channel, Programs
from jim.keeper import clock_jumps
from jim.keeper.keeper import Keeper
from jim.keeper.looks import Looks
from jim.keeper.open_doors import OpenDoors
from jim.keeper.opening import hold_of
from jim.keeper.workers import Workers
from jim.model import Answer, Observation, State, Step
from jim.run_grid_job import rounds
from jim.site.file import Site, make_state
from jim.statusdb.store import Store
from tests.support.new_store import make_new

INSTANCE = "cafe0001"
T = TypeVar("T")


class StandInClock(Clock):
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self.now, self.id = 1000.0, "boot-1"
        self.jumped = 0.0  # by so much somebody has set what people read

    def boot(self) -> float:
        return self.now

    def epoch(self) -> float:
        return self.now + self.jumped

    def boot_id(self) -> str:
        return self.id


class StandInWorkers(Workers):
    """Workers that have done their work when they are told to; the loop still gets it by `deliver`."""

    def crowded(self, spare: int = 0) -> bool:
        return False

    def _begin(self, errand: Errand[Any]) -> None:
        done = Future[Any]()
        try:
            done.set_result(errand.work())
        except Exception as error:  # handed on as the real ones do
            done.set_exception(error)
        self._bring(errand, done)


@dataclass
class Task:
    """One task of a batch job, and what really happened to it."""

    mark: str
    directory: Path
    index: int
    state: State = State.SUBMITTED
    code: int | None = None
    hidden: int = 0  # listings that will not show it
    payload_runs: int = 0
    nonce: str = ""
    never: str = ""  # why it can never start
    avoid: tuple[str, ...] = ()  # hosts on which it must not run


class Answers(StrEnum):
    """What a command of the batch system answers instead of the truth."""

    TRUTH = ""
    NOT_STARTED = "not started"
    DOWN = "down"
    REFUSE = "refuse"
    ODD = "odd"  # a refusal in words that the adapter does not know
    LOST_BEFORE = "lost before"  # no answer, and nothing was done
    LOST_AFTER = "lost after"  # no answer, but it was done
    EMPTY = "empty"
    GARBAGE = "garbage"


class Instead(NamedTuple):
    """The next answer to a verb; to any verb, if it names none."""

    verb: str
    answer: Answers


NOES = {Answers.DOWN: "down", Answers.REFUSE: "no way", Answers.ODD: "Site policy: jobs need a project code"}


@dataclass
class StandInBatch(Adapter):
    """A batch system in memory. `ledger` is the truth: every payload that ever ran, by mark and index."""

    name: str = "standin"
    tasks: dict[tuple[str, int], Task] = field(default_factory=dict)
    ledger: list[tuple[str, int]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)  # marks, in the order of acceptance
    lies: list[Instead] = field(default_factory=list)  # one after the other; each waits for its verb
    calls: list[str] = field(default_factory=list)
    commands = {}
    transient, permanent = ("down",), ("no way",)
    index_variable, id_variable = "I", "B"
    end_is_death = True
    can_suspend = True
    next_id: int = 0
    refuse: str = ""
    host: str = "node1"
    touch_dead: bool = True
    began: datetime | None = None  # what claims say

    # What an adapter says: the command is the question itself.

    def submit_command(self, batch):
        return ["submit", batch.mark, batch.directory, str(batch.size), *batch.avoid]

    def parse_submit(self, answer):
        if not answer.out.strip().isdigit():
            raise Unclear(answer.facts())
        return answer.out.strip()

    def query_command(self):
        return ["query"]

    def history_command(self, ids):
        return ["history", *ids]

    def find_command(self, mark):
        return ["find", mark]

    def cancel_command(self, ids):
        return ["cancel", *(f"{i}.{n}" for i, n in ids)]

    def change_command(self, verb, ids):
        return [verb, *(f"{i}.{n}" for i, n in ids)]

    def ping_command(self):
        return ["ping"]

    def _parse(self, answer):
        if not answer.out.endswith("end"):
            raise Unclear(answer.facts())
        result = {}
        for line in answer.out.split("\n")[:-1]:
            id_, index, state, code, mark, why = line.split("|")
            result[id_, int(index)] = Observation(State(state), mark, None if code == "-" else int(code), reason=why)
        return result

    parse_query = parse_history = parse_find = _parse

    # What the batch system does.

    def run(self, command, *, limit, mark=""):
        verb, *words = command
        self.calls.append(verb)
        lie = Answers.TRUTH
        if self.lies and self.lies[0].verb in ("", verb):
            lie = self.lies.pop(0).answer
        if lie is Answers.NOT_STARTED:
            return self._answer(command, 127, "", "cannot start: [Errno 2] No such file")._replace(started=False)
        if lie in NOES:
            return self._answer(command, 1, "", NOES[lie])
        if lie is Answers.LOST_BEFORE:
            return self._answer(command, None)
        out = getattr(self, f"_{verb}")(*words)
        if lie is Answers.LOST_AFTER:
            return self._answer(command, None)
        if lie is Answers.EMPTY:
            return self._answer(command, 0, "end" if verb != "submit" else "")
        if lie is Answers.GARBAGE:
            return self._answer(command, 0, "\x00\xff???")
        return self._answer(command, 0, out)

    def end_marked(self, mark, id_variable):
        return []

    def _answer(self, command, code, out="", err=""):
        return Answer(tuple(command), code, out, err, 0.0)

    def _submit(self, mark, directory, size, *avoid):
        self.next_id += 1
        self.accepted.append(mark)
        for index in range(1, int(size) + 1):
            self.tasks[str(self.next_id), index] = Task(mark, Path(directory), index, avoid=avoid)
        return str(self.next_id)

    def _lines(self, wanted):
        chosen = [(key, task) for key, task in self.tasks.items() if wanted(key, task)]
        for _, task in chosen:
            task.hidden -= 1
        lines = [
            f"{i}|{n}|{t.state.value}|{'-' if t.code is None else t.code}|{t.mark}|{t.never}"
            for (i, n), t in chosen
            if t.hidden < 0
        ]
        return "\n".join([*lines, "end"])

    def _query(self):
        return self._lines(lambda _, task: not task.state.final)

    def _history(self, *ids):
        return self._lines(lambda key, task: key[0] in ids and task.state.final)

    def _find_ended(self, mark):
        return self._lines(lambda _, task: task.mark == mark and task.state.final)

    def _find(self, mark):
        return self._lines(lambda _, task: task.mark == mark)

    def _cancel(self, *ids):
        for id_, index in (key.split(".") for key in ids):
            if (id_, int(index)) in self.tasks:
                self.kill(id_, index, state=State.KILLED)
        return ""

    def _each(self, ids, was, now):
        for key in ids:
            i, n = key.split(".")
            task = self.tasks[i, int(n)]
            if task.state is was:
                task.state = now
        return ""

    def _hold(self, *ids):
        return self._each(ids, State.SUBMITTED, State.HELD)

    def _release(self, *ids):
        return self._each(ids, State.HELD, State.SUBMITTED)

    def _suspend(self, *ids):
        return self._each(ids, State.RUNNING, State.SUSPENDED)

    def _resume(self, *ids):
        return self._each(ids, State.SUSPENDED, State.RUNNING)

    def _ping(self):
        return ""

    # What happens on the worker nodes, as the wrapper does it.

    def start(self, id_, index=1):
        """Start a task's wrapper; tell whether it won its claim and ran the payload."""
        task = self.tasks[str(id_), int(index)]
        task.state = State.RUNNING
        if not task.directory.is_dir():
            task.state, task.code = State.FAILED, 71
            return False
        nonce = os.urandom(8).hex()
        own = task.directory / f"c.{nonce}"
        began = "" if self.began is None else f"started {self.began:%Y-%m-%dT%H:%M:%SZ}\n"
        own.write_text(f"nonce {nonce}\nhost {self.host}\npid 1\nbatch {id_}\nrestart -\n{began}")
        try:
            os.link(own, task.directory / f"claim.{index}")
        except FileExistsError:
            task.state, task.code = State.FAILED, 71
            return False
        task.nonce = nonce
        task.payload_runs += 1
        self.ledger.append((task.mark, int(index)))
        self._spool(task, "start", own.read_text())
        return True

    def leave(self, id_, index=1, *, spool=True):
        """End a task as its wrapper does on a host that JIM avoids."""
        task = self.tasks[str(id_), int(index)]
        nonce = os.urandom(8).hex()
        notice = f"nonce {nonce}\nhost {self.host}\npid 1\nbatch {id_}\nrestart -\nstarted -\n"
        (task.directory / f"left.{index}.{nonce}").write_text(notice)
        if spool:
            self._spool(task, "left", notice)
        task.state, task.code = State.FAILED, 71

    def finish(
        self, id_, index=1, code=0, *, signal=15, extra="", files=(), state=None, spool=True, reason="-", recovery="-"
    ):
        """End a task as its wrapper does: exit record last."""
        task = self.tasks[str(id_), int(index)]
        lines = {w: v for _, w, v in self._job_lines(task)}
        end = f"code {code}\nsignal -" if code is not None else f"code -\nsignal {signal}"
        record = (
            f"jim-exit 1\nmark {task.mark}\nindex {index}\nnonce {task.nonce}\n"
            f"n {lines['n']}\nattempt {lines['attempt']}\nhost {self.host}\nbatch {id_}\n"
            f"started 2026-01-01T00:00:00Z\nended 2026-01-01T00:00:01Z\ncpu 0.1\n{end}\n"
            f"reason {reason}\nrecovery {recovery}\n{extra}end\n"
        )
        run = task.directory / f"run.{index}"
        run.mkdir(exist_ok=True)
        for name, content in files:
            (run / name).write_bytes(content)
        (task.directory / f"exit.{index}").write_text(record)
        if spool:
            self._spool(task, "exit", record)
        task.state = state or (State.COMPLETED if code == 0 else State.FAILED)
        task.code = 0 if code == 0 else 1

    def kill(self, id_, index=1, state=State.FAILED):
        """End a task without a trace on the worker node."""
        task = self.tasks[str(id_), int(index)]
        if not task.state.final:
            task.state, task.code = state, None

    def _job_lines(self, task):
        for line in (task.directory / "jobs").read_text().split("\n"):
            index, word, value = (*line.split(" ", 2), "", "")[:3]
            if index == str(task.index):
                yield index, word, value

    def _spool(self, task, kind, text):
        (task.directory / "../../spool" / f"{task.mark}.{task.index}.{kind}").write_text(text)


class Reader(Store):
    """A reader that is opened once: to open one for each question takes a tenth of all rounds."""

    def lent(self) -> Reader:
        """Give it as if it had just been opened."""
        self._requests.clear()
        return self

    def close(self) -> None:
        """Leave it to its store."""


class OneReader(Store):
    """A keeper's store."""

    _reader: Reader | None = None

    def reader(self) -> Store:
        if threading.current_thread() is not threading.main_thread():  # where the workers are real ones
            return super().reader()
        if self._reader is None:
            self._reader = Reader(self.file, self.clock)
        return self._reader.lent()

    def close(self) -> None:
        if self._reader:
            self._reader.db.close()
        super().close()


def close(db: Connection) -> None:
    """Close a connection, unless a thread of another test has collected it: SQLite lets only its own thread do so."""
    if threading.current_thread() is threading.main_thread():
        db.close()


class World:
    """A state directory with its keeper's rounds, driven by hand."""

    def __init__(self, place: Path, monkeypatch, **settings: Any) -> None:
        self.site = Site(state=place / "state", **settings)
        make_state(self.site)
        (self.site.state / "instance").write_text(INSTANCE)
        self.clock, self.batch = StandInClock(), StandInBatch()
        self.keeper: Keeper
        self.restart()

    def restart(self) -> None:
        """Be killed, and start again: all that was in memory is gone."""
        if hasattr(self, "keeper"):
            self.keeper.store.close()
        store = OneReader(make_new(self.site.state / "status.db"), self.clock, write=True)
        # As a process does in the end; a store knows the clock, which may know this world, and would keep it.
        weakref.finalize(self, close, store.db)
        try:
            self._begin(store)
        except BaseException:
            store.close()
            raise

    def _begin(self, store: Store) -> None:
        clock_jumps.resume(store, self.clock)
        channel = Channel(self.batch, self.site.batch.command_seconds, self.clock, self.programs())
        workers, doors = StandInWorkers(self.clock), OpenDoors(self.site.site.handlers)
        hold = hold_of(self.site, store)
        self.keeper = Keeper(self.site, store, channel, workers, hold, doors, Looks(self.clock))
        self.rounds = rounds()(self.keeper)

    def programs(self) -> Programs:
        """Let the stand-in batch system answer."""
        return self.batch

    def move(self, kind: type[T]) -> T:
        """Give one of the keeper's moves, with what it remembers."""
        return next(each.make for each in self.rounds.moves if isinstance(each.make, kind))

    @property
    def store(self) -> Store:
        return self.keeper.store

    def submit(self, events: int = 0, key: str = "k1", apart: Any = None, **attributes: Any) -> int:
        """Hand in a request as the door does; `events` counts argument sets of a parametric one."""
        from jim import request
        from jim.doors import inbox

        sets = [[str(n)] for n in range(events or 1)]
        raw = {"job_type": "parametric", "executable": "/bin/true", "argument_sets": sets, **attributes}
        return inbox.deposit(self.site.state, key, request.check(raw)[1] | {"key": key}, apart)

    def wish(self, verb: str, target: str) -> None:
        from jim.doors import inbox

        inbox.wish(self.site.state, verb, target)

    def go(self, rounds: int = 1, seconds: float = 0.0) -> None:
        """Make so many rounds, moving the clock between them."""
        for _ in range(rounds):
            self.rounds.round()
            while self.keeper.workers.deliver(0):
                pass
            self.clock.now += seconds

    def until(self, true: Callable[[], bool], seconds: float = 1.0, rounds: int = 300) -> None:
        """Make rounds until something holds."""
        for _ in range(rounds):
            if true():
                return
            self.go(1, seconds)
        raise AssertionError(f"not within {rounds} rounds: {self.store.counts(1)} {self.store.journals.of(1)[-12:]}")

    def run_all(self, grid: int) -> None:
        """Let every accepted task run to its end, until the grid job is finished."""

        def step() -> bool:
            for (id_, index), task in list(self.batch.tasks.items()):
                if task.state in (State.SUBMITTED, State.HELD) and self.batch.start(id_, index):
                    self.batch.finish(id_, index)
            return self.finished(grid)

        self.until(step)
        self.go()

    def state(self, grid: int, n: int = 0) -> State:
        """Tell a local job's state; `new` before it is there."""
        try:
            return self.store.local_job(grid, n).state
        except UnknownJob:
            return State.NEW

    def finished(self, grid: int) -> bool:
        return any(job.id == grid for job in self.store.grid_jobs(Step.FINISHED))

    def answer(self, grid: int) -> str:
        return (self.site.state / "answers" / str(grid)).read_text()
