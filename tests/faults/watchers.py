"""One attempt on a worker node, two of whose watching processes are hurt, and a judge of it by the keeper's rules."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.wrapper.worker import SHELLS, Site, give_up, is_zombie, left, ours, python, until

TOUCH = 2  # seconds
KILL, STOP = signal.SIGKILL, signal.SIGSTOP
PAYLOAD = """
import os, signal, time
if {deaf}: signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("up", "w")
end = time.monotonic() + {seconds}
while time.monotonic() < end: time.sleep(0.05)
open("ended", "w")
os._exit({code})
"""
SECONDS = 20  # that a toucher takes to end what a dead wrapper leaves


@dataclass
class Pair:
    """What is done to whom, when, and with which payload."""

    shell: str
    begin: float  # seconds after the payload began
    first: tuple[str, int]  # who, and which signal
    distance: float  # in intervals
    second: tuple[str, int]
    seconds: float  # that the payload takes
    deaf: bool
    code: int
    thaw: float  # intervals until who is stopped goes on

    @property
    def is_excluded(self) -> bool:
        """Tell whether the assumption excludes it: a stopped toucher whose wrapper cannot look after it."""
        (one, how), (other, how_other) = self.first, self.second
        if (one, how, other) == ("toucher", STOP, "wrapper"):
            return self.distance < 1.2
        return (one, other, how_other) == ("wrapper", "toucher", STOP) and self.distance * TOUCH < SECONDS

    def __str__(self) -> str:
        names = {KILL: "killed", STOP: "stopped"}
        (one, how), (other, how_other) = self.first, self.second
        faults = f"{one} {names[how]} after {self.begin} s, {other} {names[how_other]} {self.distance} intervals later"
        return f"{self.shell}: {faults}; {self.seconds} s of payload, exit {self.code}{', deaf' * self.deaf}"


def pairs(seed: int, count: int) -> list[Pair]:
    """Draw pairs that the assumptions of JIM's promise do not exclude."""
    draw, found = random.Random(seed), []
    people = ["wrapper", "toucher", "parent"]
    while len(found) < count:
        one, other = draw.sample(people, 2)
        pair = Pair(
            shell=draw.choice(sorted(SHELLS)),
            begin=draw.choice([0.1, 0.5, 0.9, 1.3, 3.0]),
            first=(one, draw.choice([KILL, KILL, STOP])),
            distance=draw.choice([0, 0, 0.3, 0.8, 1.2, 1.5, 1.7, 2.5, 4]),
            second=(other, draw.choice([KILL, KILL, STOP])),
            seconds=draw.choice([2, 4, 40, 40]),
            deaf=draw.random() < 0.3,
            code=draw.choice([0, 3]),
            thaw=draw.choice([0.5, 1.2, 3]),
        )
        if not pair.is_excluded:
            found.append(pair)
    return found


def parent_of(pid: int) -> int:
    """Give the parent of a process; 0: there is none."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return 0


class Attempt:
    """An attempt under way."""

    def __init__(self, place: Path, pair: Pair, path: str) -> None:
        self.pair, self.site = pair, Site(place, SHELLS[pair.shell], path)
        script = PAYLOAD.format(deaf=pair.deaf, seconds=pair.seconds, code=pair.code)
        self.site.jobs(*python(f"exec({script!r})"), facts=(f"touch {TOUCH}",))
        self.wrapper = self.site.start()
        self.run = self.site.here / "run.1"
        until((self.run / "up").exists, 20)
        self.began = time.monotonic()
        self.parent = next(above for pid in left(self.site) if (above := parent_of(pid)) != self.wrapper.pid)
        self.hurt: set[int] = set()

    def find(self, who: str) -> int:
        """Find one of the three; the toucher as the file tells, or as the young child of the payload's parent."""
        if who == "wrapper":
            return self.wrapper.pid
        if who == "parent":
            return self.parent
        with contextlib.suppress(OSError, IndexError, StopIteration):
            return int(next(self.site.here.glob("toucher.1.*")).read_text().split()[1])
        young = (pid for pid in ours(self.site) if parent_of(pid) == self.parent)
        return next(young, 0)

    def do(self, who: str, how: int) -> None:
        pid = self.find(who)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
                self.hurt.add(pid)

    def wait(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def play(self) -> None:
        """Hurt both, and let what is stopped go on."""
        self.wait(self.began + self.pair.begin - time.monotonic())
        self.do(*self.pair.first)
        self.wait(self.pair.distance * TOUCH)
        self.do(*self.pair.second)
        if STOP in (self.pair.first[1], self.pair.second[1]):
            self.wait(self.pair.thaw * TOUCH)
            for pid in self.hurt:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def verdict(self) -> str:
        """Wait, as the keeper does, until the attempt may be replaced, and tell why."""
        claim, here = self.site.here / "claim.1", self.site.here
        ends: dict[str, Callable[[], bool]] = {
            "recorded": (here / "exit.1").exists,
            "gone": (here / "gone.1").exists,
            "silent": lambda: time.time() - claim.stat().st_mtime > 3 * TOUCH,
        }
        found: list[str] = []
        until(lambda: found.extend(each for each, is_so in ends.items() if is_so()) or found, 90)
        if found[0] == "silent":
            give_up(self.site)
        return found[0]

    def judge(self) -> str:
        """Give what is wrong; empty: nothing."""
        why, ended = self.verdict(), (self.run / "ended").exists()
        alive = [pid for pid in left(self.site) if pid not in self.hurt and not is_zombie(pid)]
        if alive:
            return f"{why}, while {alive} live: another attempt may begin beside them"
        if why == "silent" and not self.may_be_silent():
            return f"silent, and nobody tells of its end: {self.site.file('log.1')}"
        if why != "recorded":
            return ""
        code = self.site.record()["code"]
        if code == str(self.pair.code) and not ended:
            return f"recorded with exit code {code}, and it has not ended"
        # Only the parent hears how the payload has ended.
        if ended and code != str(self.pair.code) and self.parent not in self.hurt:
            return f"recorded with exit code {code} instead of {self.pair.code}"
        return ""

    def may_be_silent(self) -> bool:
        """Tell whether everybody who knew of the end may have been hurt after it."""
        return self.parent in self.hurt or (self.run / "ended").exists()

    def end(self) -> None:
        for pid in {*ours(self.site), *left(self.site), *self.hurt}:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.site.end()
