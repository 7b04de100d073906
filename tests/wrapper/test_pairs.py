"""The wrapper under every shell: two of the processes that watch each other are killed or stopped, one by one."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wrapper.worker import (
    BUSY,
    LEAVES_ALL,
    Site,
    give_up,
    gone,
    is_dead,
    left,
    living,
    ours,
    pack,
    python,
    sh,
    start,
    toucher_of,
    until,
)

# Deaf to the first TERM: whoever sends the second is another toucher. A shell that naps would not hear it at once.
HEARS_THE_SECOND = """
import os, signal, time
def hear(*_):
    os.path.exists("heard") and os._exit(1)
    open("heard", "w")
signal.signal(signal.SIGTERM, hear)
open("up", "w")
time.sleep(99)
time.sleep(99)
"""


@pytest.fixture
def place(slow_site: Site) -> Iterator[Site]:
    slow_site.path = f"{slow_site.path}:{os.defpath}"  # for what payloads call
    yield slow_site
    for pid in (*ours(slow_site), *left(slow_site)):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def script_of(text: str) -> tuple[str, ...]:
    """Give a Python payload of several lines, which no fact may have."""
    return python(f"exec({text!r})")


def above(pid: int) -> int:
    """Give the parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def young_toucher(site: Site, wrapper: int) -> int:
    """Find a toucher in its first second: a shell that naps, in the wrapper's session."""

    def it() -> list[int]:
        found, there = [], living(wrapper)
        for pid, words in there.items():
            with contextlib.suppress(OSError):  # a nap may outlive its shell: then its parent is none of these
                if words == "sleep 1" and (parent := above(pid)) in there and parent != wrapper:
                    found.append(parent)
        return found

    seen = list[int]()
    until(lambda: seen.extend(it()) or seen, 3)
    return seen[0]


def assert_ended(site: Site, seconds: float = 10) -> None:
    until((site.here / "gone.1").exists, seconds)
    assert not left(site), "nothing that belongs to it lives"
    assert not (site.here / "exit.1").exists()
    until(lambda: not ours(site))


@pytest.mark.torture
@pytest.mark.parametrize("intervals", [0, 1.2, 1.6])
def test_a_wrapper_killed_after_its_toucher_leaves_no_payload_alone(place: Site, intervals: float) -> None:
    process = start(place, *sh(BUSY), touch=2)
    toucher = toucher_of(place)
    claim = place.here / "claim.1"
    was = claim.stat().st_mtime
    until(lambda: claim.stat().st_mtime > was)  # so that the claim is fresh for as long as may be
    os.kill(toucher, signal.SIGKILL)
    time.sleep(intervals * 2)
    process.kill()
    assert_ended(place)
    assert gone(place)["why"] == "the wrapper was killed"


def test_a_toucher_killed_while_it_ends_an_attempt_has_a_successor(place: Site) -> None:
    """The wrapper is dead, and the payload deaf to its TERM: only the payload's parent is left to notice."""
    process = start(place, *script_of(HEARS_THE_SECOND))
    toucher = toucher_of(place)
    process.kill()
    until((place.here / "run.1" / "heard").exists)
    os.kill(toucher, signal.SIGKILL)
    assert_ended(place)
    assert gone(place)["why"] == "the wrapper was killed"


def test_a_toucher_killed_while_it_obeys_the_keeper_has_a_successor(place: Site) -> None:
    """It has killed the wrapper itself."""
    process = start(place, *script_of(HEARS_THE_SECOND))
    toucher = toucher_of(place)
    give_up(place)
    until((place.here / "run.1" / "heard").exists)
    assert process.wait(10) == -signal.SIGKILL
    os.kill(toucher, signal.SIGKILL)
    assert_ended(place)
    assert gone(place)["why"] == "given up by the keeper: silent"


@pytest.mark.parametrize("unpacks", [False, True], ids=["", "while the wrapper unpacks"])
def test_a_toucher_killed_in_its_first_second_is_replaced(place: Site, unpacks: bool) -> None:
    """Nothing wakes the wrapper before the first word of a toucher."""
    if unpacks:
        pack(place)
    process = start(place, *sh(BUSY), touch=60)
    os.kill(young_toucher(place, process.pid), signal.SIGKILL)
    assert toucher_of(place)
    process.kill()
    assert_ended(place)


def test_a_stopped_toucher_is_replaced_within_one_interval(place: Site) -> None:
    process = start(place, *sh(BUSY), touch=3)
    toucher = toucher_of(place)
    os.kill(toucher, signal.SIGSTOP)
    until(lambda: is_dead(toucher), 1.2 * 3)
    process.kill()
    assert_ended(place)


@pytest.mark.torture
def test_while_the_payload_s_parent_is_stopped_the_wrapper_replaces_a_killed_toucher(place: Site) -> None:
    process = start(place, *sh(BUSY), touch=4)
    toucher = toucher_of(place)
    os.kill(above(toucher), signal.SIGSTOP)
    os.kill(toucher, signal.SIGKILL)
    until(lambda: toucher_of(place) != toucher, 1.2 * 4)
    process.kill()
    assert_ended(place)


def test_wrapper_and_toucher_killed_at_once_leave_no_payload_alone(place: Site) -> None:
    process = start(place, *sh(BUSY), touch=60)
    toucher = toucher_of(place)
    for pid in (process.pid, toucher):
        os.kill(pid, signal.SIGSTOP)
    for pid in (process.pid, toucher):
        os.kill(pid, signal.SIGKILL)
    assert_ended(place)


@pytest.mark.parametrize("end", ["exit 0", "exit 127", "exit 145", "kill -TERM $$"])
def test_a_payload_that_ends_as_its_toucher_dies_is_recorded_as_it_ended(place: Site, end: str) -> None:
    """What `wait` says of the payload's parent's other child is no word about the payload."""
    told = "until [ -e ../toucher.1.* ]; do sleep 0.05; done; read -r _ toucher _ <../toucher.1.*"
    place.jobs(*sh(f"{told}; kill -KILL $toucher; {end}"))
    place.run()
    code, signal_number = ("-", "15") if "TERM" in end else (end.split()[1], "-")
    if end == "exit 145":
        code, signal_number = "-", "17"  # as shells say it
    assert (place.record()["code"], place.record()["signal"]) == (code, signal_number)
    until(lambda: not ours(place))


@pytest.mark.torture
def test_touchers_that_die_at_once_do_not_keep_the_payload_s_parent_busy(place: Site) -> None:
    """Each begins as a program of its own, and that one cannot be started."""
    place.fake("setsid", f"echo >>{place.root}/begun; exit 1")
    place.jobs(*sh("sleep 4.5; exit 3"), facts=("touch 60",))
    assert place.run() == 1
    assert place.record()["code"] == "3"
    assert 1 < len((place.root / "begun").read_text().splitlines()) <= 6


def test_the_payload_of_who_has_unpacked_is_known_to_the_toucher(place: Site) -> None:
    """Whatever it has left: the toucher of the unpacking began before the payload."""
    pack(place)
    up = place.here / "up"
    place.jobs("/usr/bin/env", "-i", *script_of(LEAVES_ALL.format(up=str(up))), facts=("touch 1",))
    process = place.start()
    until(lambda: up.exists() and up.read_text())
    until(lambda: list(place.here.glob("known.1.*")))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
    until((place.here / "gone.1").exists, 20)
    assert is_dead(int(up.read_text()))
