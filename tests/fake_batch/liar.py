"""What a batch system says, which is not always what it did. `run` stands where the channel's own does."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from jim.model import Answer
from tests.fake_batch.dialect import Ask, Dialect, Ping, Question, Said, Tell, Usage
from tests.fake_batch.engine import Engine, Phase, Submission, Task
from tests.fake_batch.node import Nodes

# What may be told of instead of the truth. Half of those that leave open whether they were obeyed, were.
SUBMIT_LIES = (
    "lost",
    "late",
    "unclear",
    "nothing",
    "cut",
    "code",
    "signal",
    "twice",
    "false",
    "down",
    "full",
    "refused",
)
# Whether it was accepted is drawn apart from what is said of it.
MAY_BE_OBEYED = ("lost", "unclear", "nothing", "signal", "down", "full", "refused")
NOT_OBEYED = 1  # a knob
ASK_LIES = ("lost", "down", "unclear", "nothing", "none", "cut", "garbage", "code", "stale", "odd")
TELL_LIES = ("lost", "late", "unclear", "ignored", "code", "down")
PING_LIES = ("lost", "down", "code")
KINDS = {"submit": SUBMIT_LIES, "ask": ASK_LIES, "tell": TELL_LIES, "ping": PING_LIES}
# With these no job, or not each, is in what may pass for a good answer.
DENYING = ("nothing", "none", "cut", "garbage", "code", "stale")
CODES = (0, 1, 0, 153, 255, -15, None, 35, 71, 127)
GARBAGE = (
    "\0\ufffd???",
    "\n",
    "<html><body>502 Bad Gateway</body></html>\n",
    "{}\n",
    "[]",
    "Segmentation fault\n",
    "0\n",
)
KEPT_VIEWS = 6


class Lie(NamedTuple):
    """What to say instead; `knob` chooses the rest: which exit code, where it is cut, whether it was obeyed."""

    what: str
    knob: int = 0


class Listing(list[str]):
    """A command that lists all jobs for all that the keeper knows: from others it learns of one mark alone."""


class Liar:
    """A batch system as its commands show it."""

    def __init__(self, engine: Engine, dialect: Dialect, nodes: Nodes, wait: Callable[[float], None]) -> None:
        self.engine, self.dialect, self.nodes, self.wait = engine, dialect, nodes, wait
        self.lies: dict[str, list[Lie]] = defaultdict(list)
        self.wire: list[Submission | Tell] = []  # on the way: it arrives although its command was given up
        self.clients: dict[str, Submission] = {}  # commands that outlived their keeper, by mark
        self.views: list[list[Task]] = []
        self.most = sys.maxsize  # so many jobs there may be
        self.flatters = False  # says of whatever has ended that it ended well
        self.patience: float | None = None  # how long jobs may be denied; None: for ever
        self.denied_since: float | None = None
        self.tick: Callable[[], None] = lambda: None  # here the keeper may be killed
        self.asked: list[str] = []  # what was asked for, by kind

    def run(self, command: Sequence[str], *, limit: float, mark: str = "") -> Answer:
        """Answer a command as the batch system, or the lie that is due, has it."""
        try:
            question = self.dialect.read(list(command))
            self._die_here(question)
            said = self._answer(question, limit, listing=isinstance(command, Listing))
        except Usage as error:
            self.engine.note("misunderstood", mark, note=f"{command}: {error}")
            said = error.said
        self.tick()
        return Answer(tuple(command), said.code, said.out, said.err, 0.0)

    def end_marked(self, mark: str, id_variable: str) -> list[int]:
        """End a command that outlived its keeper."""
        return [1] if self.clients.pop(mark, None) else []

    def _die_here(self, question: Question) -> None:
        try:
            self.tick()
        except BaseException:  # the keeper is dead, its command lives
            if isinstance(question, Submission):
                self.clients[question.mark] = question
            raise

    def _answer(self, question: Question, limit: float, *, listing: bool) -> Said:
        kind, answer = {
            Submission: ("submit", self._submitted),
            Ask: ("ask", self._told),
            Tell: ("tell", self._obeyed),
            Ping: ("ping", self._pong),
        }[type(question)]
        self.asked.append(kind)
        if isinstance(question, Submission) and self._is_full(question):
            lie = Lie("full", NOT_OBEYED)
        else:
            lie = self.lies[kind].pop(0) if self.lies[kind] else Lie("")
        if isinstance(question, Ask):
            lie = self._bounded(lie, listing=listing)
        self.engine.note(f"was spoken to: {kind}", "", note=lie.what or "honest")
        said = answer(question, lie)
        if lie.what in ("lost", "late"):
            self.wait(limit)
            return Said(None)
        if lie.what in ("down", "full", "refused", "unclear"):
            return self.dialect.trouble(kind, lie.what)
        return distorted(said, lie)

    # Submissions

    def _is_full(self, asked: Submission) -> bool:
        alive = [key[0] for key, task in self.engine.tasks.items() if task.phase is not Phase.ENDED]
        if self.dialect.limits_arrays:
            return len(set(alive)) >= self.most
        return asked.size > self.most - len(alive)

    def _submitted(self, asked: Submission, lie: Lie) -> Said:
        self.engine.note("handed over", asked.mark)
        if lie.what in ("down", "full", "refused"):
            self.engine.note(f"said {lie.what}", asked.mark)
        if lie.what == "late":
            self.wire.append(asked)
            return Said()
        if lie.what in MAY_BE_OBEYED and lie.knob % 2:
            return Said()
        said = self.dialect.accepted(self.engine.accept(asked))
        if lie.what == "twice":
            again = self.dialect.accepted(self.engine.accept(asked))
            return again if lie.knob % 2 else said
        if lie.what == "false":
            self.engine.forget()
        return Said(-9, said.out) if lie.what == "signal" else said

    # Listings

    def _told(self, ask: Ask, lie: Lie) -> Said:
        self.views = [*self.views, self.engine.photograph()][-KEPT_VIEWS:]
        tasks = [task for task in self.views[-1] if not task.hidden]
        for task in self.engine.tasks.values():
            if task.phase is not Phase.ENDED and (task.hidden or lie.what in DENYING):
                self.engine.about("denied", task)
            task.hidden = max(0, task.hidden - 1)
        if lie.what == "stale":
            tasks = self.views[lie.knob % len(self.views)]
        elif lie.what == "none":
            tasks = []
        elif lie.what == "odd":
            tasks = [replace(task, phase=Phase.ODD) if task.phase is not Phase.ENDED else task for task in tasks]
        if self.flatters:
            tasks = [
                replace(task, code=0, signal=None, why="") if task.phase is Phase.ENDED else task for task in tasks
            ]
        return self.dialect.told(ask, tasks, self.engine.now())

    def _bounded(self, lie: Lie, *, listing: bool) -> Lie:
        """Let the truth be told once patience is over; a listing that is honest begins it anew.

        A look for a mark begins nothing anew, although it may list all: looks for another one, before and after, may
        both be denied, and that is given up.
        """
        tasks, now = self.engine.tasks.values(), self.engine.now()
        if lie.what in DENYING or any(task.hidden for task in tasks):
            if self.denied_since is None:
                self.denied_since = now
            if self.patience is None or now - self.denied_since < self.patience:
                return lie
            for task in tasks:
                task.hidden = 0
            lie = Lie("")
        if lie.what in ("", "odd") and listing:
            self.denied_since = None
        return lie

    # Wishes, and the rest

    def _obeyed(self, tell: Tell, lie: Lie) -> Said:
        if lie.what == "late":
            self.wire.append(tell)
        if lie.what in ("late", "ignored", "down") or (lie.what in ("lost", "unclear") and lie.knob % 2):
            return Said()
        return self.dialect.obeyed(tell, self.obey(tell))

    def obey(self, tell: Tell) -> tuple[tuple[int, int], ...]:
        """Do what is wished, and give the targets of which nothing is known."""
        unknown = []
        for id_, index in tell.targets:
            tasks = [task for task in self.engine.of(id_, index) if task.phase is not Phase.ENDED]
            for task in tasks:
                if tell.verb == "cancel":
                    self.engine.cancel(task)
                else:
                    self.engine.change(tell.verb, task)
            if not tasks:
                unknown.append((id_, index))
        self.nodes.reap()
        return tuple(unknown)

    def _pong(self, ping: Ping, lie: Lie) -> Said:
        return self.dialect.pong()

    def arrive(self) -> None:
        """Let what is on the way arrive, hours later perhaps."""
        for each in self.wire:
            if isinstance(each, Tell):
                self.obey(each)
            else:
                self.engine.accept(each)
        self.wire.clear()

    def let_clients_go_on(self) -> None:
        """Let commands do their work that outlived their keeper and were not ended by the next one."""
        for asked in self.clients.values():
            self.engine.accept(asked)
        self.clients.clear()


def distorted(said: Said, lie: Lie) -> Said:
    """Spoil an answer on its way."""
    cut, which = divmod(lie.knob, len(CODES))
    code = CODES[which]
    if lie.what == "nothing":
        return Said(0)
    if lie.what == "garbage":
        return Said(code, GARBAGE[lie.knob % len(GARBAGE)])
    if lie.what == "cut":
        return Said(code, said.out[: cut % (len(said.out) + 1)], said.err)
    if lie.what == "code":
        return said._replace(code=code)
    return said
