"""Doors: they hand in requests and wishes, several at one moment, and may be killed like any other process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from jim.doors import inbox
from jim.errors import BadRequest, JimError
from jim.request import check
from tests.fake_batch.gateway import Gateway
from tests.fake_batch.kill import Killed
from tests.support.splitting_work import ASKED, FILES

# Where a door may be held up: before it draws a number, after its link, before its last look.
POINTS = ("draw_id", "_make_durable", "known")
BEFORE_A_WISH = "replace_durably"  # before it writes a wish's file, whose turn it has chosen
NOTHING_APART: dict[str, list[str]] = {"places": [], "environment": []}


@lru_cache
def checked(pieces: int, *, by_files: bool) -> dict[str, Any]:
    """Give a request with so many pieces, or one whose local jobs can be split again."""
    if by_files:
        asked = ASKED | {
            "splitter": "LumiBased",
            "input_files": FILES,
            "splitter_parameters": {"lumis_per_job": pieces},
        }
    else:
        sets = [[str(n)] for n in range(pieces)]
        asked = {"job_type": "parametric", "executable": "/bin/true", "argument_sets": sets}
    return check(asked)[1]


class Asked(NamedTuple):
    """What a door is to hand in."""

    key: str
    pieces: int
    by_files: bool = False

    @property
    def request(self) -> dict[str, Any]:
        return checked(self.pieces, by_files=self.by_files) | {"key": self.key}


class Printed(NamedTuple):
    """What a door was asked, and the id that it has printed."""

    asked: Asked
    number: int


class Doors:
    """The doors of one state directory, and what they have printed."""

    def __init__(self, gateway: Gateway, monkeypatch) -> None:
        self.gateway = gateway
        self.printed: list[Printed] = []
        self.begun: set[Asked] = set()
        self.perhaps: set[str] = set()  # keys of doors that were killed, or said that they did not know
        self.gone: set[int] = set()  # printed, and allowed not to be there any more
        self._held_up: tuple[str, Callable[[], object]] | None = None
        self._has_drawn = False
        for name in (*POINTS, BEFORE_A_WISH):
            monkeypatch.setattr(inbox, name, self._pausing(name, getattr(inbox, name)))

    def _pausing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def paused(*arguments: Any, **named: Any) -> Any:
            if self._held_up and self._held_up[0] == name and self._is_there(name, arguments):
                (_, meanwhile), self._held_up = self._held_up, None
                meanwhile()
            self._has_drawn |= name == "draw_id"
            return call(*arguments, **named)

        return paused

    def _is_there(self, name: str, arguments: Sequence[Any]) -> bool:
        """Tell whether a door is where it shall be held up, and not at a place that is passed more than once."""
        if name == BEFORE_A_WISH:
            return bool(arguments[0].name.startswith("wish-"))
        return name != "known" or self._has_drawn

    def held_up(self, point: str, meanwhile: Callable[[], object], action: Callable[[], object]) -> None:
        """Do something, something else being done meanwhile; afterwards, where it never came to that point."""
        self._held_up, self._has_drawn = (point, meanwhile), False
        action()
        if self._held_up:
            self._held_up = None
            meanwhile()

    def hand_in(self, asked: Asked, steps: int = 0) -> None:
        """Hand in a request, by a door that is killed at so many steps."""
        kill, deposit = self.gateway.kill, partial(inbox.deposit, self.gateway.site.state)
        self.begun.add(asked)
        if steps:
            kill.left, kill.armed = steps, True
        try:
            number = deposit(asked.key, asked.request, NOTHING_APART)
        except BadRequest:
            others = [each for each in self.begun if each.key == asked.key and each != asked]
            assert others, f"refused without a reason: {asked} {self.printed}"
        except (Killed, JimError):
            self.perhaps.add(asked.key)
        else:
            self.printed.append(Printed(asked, number))
        finally:
            if steps:
                kill.left, kill.armed = 0, False

    def in_the_end(self) -> None:
        """Check that each key has the one grid job that its doors have printed, and that nothing else is there."""
        store = self.gateway.store
        there = {job.id: job for job in store.grid_jobs()}
        for printed in self.printed:
            if printed.number in self.gone:
                continue
            assert printed.number in there, f"handed in, and not there: {printed}"
            job = there[printed.number]
            assert job.key == printed.asked.key, f"another key's: {printed} {job.key}"
            for name in ("argument_sets", "splitter_parameters"):
                was = printed.asked.request.get(name)
                assert job.request.get(name) == was, f"another request: {printed} {job.request}"
        owners: dict[str, set[int]] = {}
        for printed in self.printed:
            owners.setdefault(printed.asked.key, set()).update({printed.number} - self.gone)
        assert max(map(len, owners.values()), default=0) <= 1, f"one key, several grid jobs: {owners}"
        told = {each.number for each in self.printed}
        unasked = [job for job in there.values() if job.id not in told and job.key not in self.perhaps]
        assert not unasked, f"nobody was told of these: {[(job.id, job.key) for job in unasked]}"
