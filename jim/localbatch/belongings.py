"""Whose a process is: what belongs to a task, what an ended task has left, and which orphans are nobody's.

Orphans of the tasks that we have started become our children. Orphans of tasks that an earlier daemon has started do
not, so they are looked for: by their mark, their session, the places where they work, and what a toucher has seen.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Set

from jim.localbatch import processes
from jim.localbatch.books import Books
from jim.localbatch.places import places, seen_below
from jim.localbatch.processes import Owned, Process, Signs
from jim.localbatch.queue import Key


class Belongings:
    """Knows the signs of the tasks of one area."""

    def __init__(self, books: Books, identity: str) -> None:
        self.books, self.identity = books, identity
        # The tasks of an earlier daemon that may have processes, and the sessions that they lead.
        self.inherited: dict[Key, frozenset[int]] = {}

    def inherit(self, keys: Iterable[Key], main: Process | None = None) -> None:
        """Take over tasks. Once a main process has died unseen, another may lead a session of its number."""
        self.inherited |= dict.fromkeys(keys, frozenset([main.pid] if main else []))

    def forget(self, keys: Iterable[Key]) -> None:
        """Forget tasks of which nothing is left."""
        for key in keys:
            self.inherited.pop(key, None)

    def members(self, key: Key, main: Process) -> list[Process]:
        """Return all processes of a running task, the main process first."""
        if key in self.inherited:
            found = processes.belonging(self.identity, self._signs(self.inherited, {key}))
            return [main, *(process for process, _ in found if process != main)]
        marked = [process for process, whose in processes.marked(self.identity) if whose == key]
        return [*processes.family(main), *marked]

    def stop_leavings(self, ended: Set[Key]) -> set[Owned]:
        """Stop and return all that ended tasks of an earlier daemon have left.

        They are to be killed only then: the death of one hides whose its children are.
        """
        signs = self._signs(self.inherited, ended)
        left: set[Owned] = set()
        while signs and (fresh := set(processes.belonging(self.identity, signs)) - left):  # also forked meanwhile
            processes.strike([process for process, _ in fresh], signal.SIGSTOP)
            left |= fresh
        return left

    def of_nobody(self, mains: Mapping[Key, Process], marks: Iterable[Owned]) -> set[Process]:
        """Return our children that neither lead a running task nor belong to one, as far as signs are left."""
        strangers = processes.strangers({main.pid for main in mains.values()})
        # Their marks are read anew: they may be younger than the others.
        whose = {each: processes.mark_of(self.identity, each.pid) for each in strangers}
        if mains and None in whose.values():
            signs = self._signs(processes.sessions(marks), mains.keys())
            whose |= {each: processes.owner(each.pid, signs) for each, key in whose.items() if key is None}
        return {each for each, key in whose.items() if key not in mains}

    def _signs(self, sessions: Mapping[Key, frozenset[int]], keys: Set[Key]) -> dict[Key, Signs]:
        boot, signs = self.books.clock.boot_id(), {}
        for job, index in keys & sessions.keys():
            script = self.books.script(job)
            seen = seen_below(script, index, boot)
            signs[job, index] = Signs(places(script, index), sessions[job, index], seen)
        return signs
