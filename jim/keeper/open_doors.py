"""The doors of the grid jobs of a state directory, each opened once, and what their polls print."""

from __future__ import annotations

from jim.doors.contract import DEFAULT, Door, door_of


class OpenDoors:
    """The doors that are open in the keeper."""

    def __init__(self, own: str) -> None:
        self._own = own  # the site's directory, where doors of its own may be
        self.by_name: dict[str, Door] = {}
        self.answered: dict[int, bytes] = {}  # what polls print of grid jobs that have not ended

    def named(self, name: str) -> Door:
        """Give the door of a grid job; without a name, the default one."""
        name = name or DEFAULT
        if name not in self.by_name:
            self.by_name[name] = door_of(name, self._own)
        return self.by_name[name]
