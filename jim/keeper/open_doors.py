"""The doors of a state directory's grid jobs, each opened once, and the answers to polls."""

from __future__ import annotations

from jim.doors.contract import DEFAULT, Door, door_of


class OpenDoors:
    """The doors that are open in the keeper."""

    def __init__(self, own: str) -> None:
        self._own = own  # the site's directory, which may hold its own doors
        self.by_name: dict[str, Door] = {}
        self.answered: dict[int, bytes] = {}  # what polls print of unfinished grid jobs
        self.changed: set[int] = set()  # grid jobs whose answer has changed since the doors did their work

    def named(self, name: str) -> Door:
        """Return the door of this name; an empty name is the default door."""
        name = name or DEFAULT
        if name not in self.by_name:
            self.by_name[name] = door_of(name, self._own)
        return self.by_name[name]
