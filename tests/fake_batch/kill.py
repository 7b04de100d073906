"""Ending the keeper, or what else shall happen, in the middle: at any stored statement or file operation."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.support.stand_ins import World


class Killed(BaseException):
    """The keeper is no more."""


class Kill:
    """Ends the keeper at the n-th thing it does to the disk, or does something else then; never, when n is 0."""

    def __init__(self, monkeypatch) -> None:
        self.left, self.armed = 0, False
        self.instead: Callable[[], None] | None = None
        for where, name in ((os, "fsync"), (os, "link"), (Path, "rename"), (Path, "unlink"), (Path, "mkdir")):
            monkeypatch.setattr(where, name, self.counted(getattr(where, name)))

    def counted(self, call):
        def counting(*arguments, **named):
            self.tick()
            return call(*arguments, **named)

        return counting

    def tick(self) -> None:
        if self.left and self.armed:
            self.left -= 1
            if not self.left:
                self.strike()

    def strike(self) -> None:
        """Do what was to be done here."""
        instead, self.instead = self.instead, None
        if instead is None:
            raise Killed
        instead()

    def wrap(self, world: World) -> None:
        world.store.db = Watched(world.store.db, self)


class Watched:
    """A database connection whose every statement may be the last."""

    def __init__(self, db, kill: Kill) -> None:
        self._db, self._kill = db, kill

    def __getattr__(self, name):
        return getattr(self._db, name)

    def execute(self, *arguments):
        self._kill.tick()
        return self._db.execute(*arguments)

    def executemany(self, *arguments):
        self._kill.tick()
        return self._db.executemany(*arguments)
