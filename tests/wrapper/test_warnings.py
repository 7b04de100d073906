"""The wrapper under every shell: signals that warn of the end."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.wrapper.worker import Site, left, living, ours, processes_of, sh, toucher_of, until

MANY = 25
# `wait` never misses a signal; opening a pipe, dash does. The sleep is of the payload's family: a warning ends it, too.
STAY = ": >up; while :; do sleep 9 & wait; done"


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "USR2", "XCPU"])
def test_a_warning_is_passed_on(site: Site, name: str) -> None:
    site.jobs(*sh(f"trap 'echo got {name}; exit 3' {name}; {STAY}"))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    process.send_signal(signal.Signals[f"SIG{name}"])
    assert process.wait(10) == 1
    record = site.record()
    assert (record["code"], record["signal"]) == ("3", "-")
    assert record["reason"] == f"signal {name} from the batch system"
    assert site.file("run.1/stdout") == f"got {name}\n"


@pytest.mark.parametrize(("name", "number"), [("TERM", "15"), ("INT", "15"), ("USR1", "10")])
def test_a_payload_that_dies_of_a_warning(site: Site, name: str, number: str) -> None:
    site.jobs(*sh(f": >up; exec {sys.executable} -S -c 'import time; time.sleep(50)'"))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    process.send_signal(signal.Signals[f"SIG{name}"])
    assert process.wait(10) == 1
    record = site.record()
    assert (record["code"], record["signal"]) == ("-", number)
    assert record["reason"] == f"signal {name} from the batch system"


def test_a_warning_at_the_very_beginning_leaves_nothing_behind(slow_site: Site) -> None:
    """Processes of the wrapper that are just being born are killed then, and must not end like the wrapper itself."""
    site = slow_site
    for index in range(1, MANY + 1):
        site.jobs(*sh(f": >up; exec {sys.executable} -S -c 'import time; time.sleep(50)'"), index=index)
    for index in range(1, MANY + 1):
        process = site.start(index)
        while not (site.here / f"run.{index}" / "up").exists():  # a few milliseconds, and each counts
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 1
    until(lambda: not ours(site))


def test_a_payload_that_heeds_a_warning_may_be_faster_than_who_warns_the_wrapper(site: Site) -> None:
    """Some batch systems warn each process, one after the other."""
    site.fake("sleep", 'kill -s TERM "$PPID"')  # while the wrapper listens
    site.jobs(*sh("exit 1"))
    assert site.run() == 1
    record = site.record()
    assert (record["code"], record["reason"]) == ("1", "signal TERM from the batch system")


def test_a_warning_reaches_the_whole_family(site: Site) -> None:
    child = f"trap 'echo child; exit' TERM; {STAY}"
    site.jobs(*sh(f"trap 'echo parent; wait; exit 4' TERM; /bin/sh -c '{child.replace(chr(39), chr(34))}' & wait"))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    process.terminate()
    assert process.wait(10) == 1
    assert sorted(site.file("run.1/stdout").split()) == ["child", "parent"]
    assert site.record()["code"] == "4"


def test_a_payload_may_go_on_after_warnings(site: Site) -> None:
    """The batch system signals the process group, over and over; the payload takes its time."""
    site.jobs(*sh(f"trap : USR1 TERM; trap 'exit 9' HUP; {STAY}"), facts=("touch 0.05",))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    for _ in range(10):
        os.killpg(process.pid, signal.SIGUSR1)
        os.killpg(process.pid, signal.SIGTERM)
    claim = site.here / "claim.1"
    first = claim.stat().st_mtime_ns
    until(lambda: claim.stat().st_mtime_ns > first)
    # Again and again: of two signals that come together bash may lose one, and the wrapper is woken by another.
    until(lambda: process.send_signal(signal.SIGHUP) or process.poll() is not None)
    assert process.returncode == 1
    record = site.record()
    assert (record["code"], record["signal"], record["reason"]) == ("9", "-", "signal HUP from the batch system")
    until(lambda: not processes_of(process.pid))


def test_a_warning_before_the_payload_began(site: Site) -> None:
    site.fake("mkdir", 'kill -s TERM "$PPID"; exec $real "$@"')
    site.jobs(*sh("echo ran"))
    assert site.run() == 1
    record = site.record()
    assert (record["code"], record["signal"], record["reason"]) == ("-", "15", "signal TERM from the batch system")
    assert "ran" not in [path.read_text() for path in site.here.glob("run.1/stdout")]


def test_a_warning_while_the_record_is_written(site: Site) -> None:
    site.fake("dd", 'kill -s TERM "$PPID" $$; exec $real "$@"')
    site.jobs("/bin/true")
    assert site.run() == 0
    assert site.record()["reason"] == "-"


DEAF = f"trap '' TERM; : >deaf; exec {sys.executable} -S -c 'import time; time.sleep(50)'"


@pytest.mark.parametrize("code", [0, 1])
def test_what_is_deaf_to_a_warning_does_not_outlive_the_record(site: Site, code: int) -> None:
    """The batch system may warn, and then kill, the wrapper's group only."""
    site.path = f"{site.path}:{os.defpath}"
    site.jobs(*sh(f'trap "exit {code}" TERM; setsid sh -c "{DEAF}" & until [ -e deaf ]; do sleep 0.02; done; {STAY}'))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    os.killpg(process.pid, signal.SIGTERM)
    until((site.here / "exit.1").exists)
    assert left(site) == set()
    assert process.wait(10) == code
    assert site.record()["code"] == str(code)
    assert code == 0 or site.record()["reason"] == "signal TERM from the batch system"


def test_a_wrapper_killed_meanwhile_has_its_toucher_end_the_rest(slow_site: Site) -> None:
    site = slow_site
    site.path = f"{site.path}:{os.defpath}"
    leader = "read -r _ _ _ _ _ leader _ </proc/self/stat"
    kill = f"mkdir {site.root}/hurt 2>/dev/null && {{ {leader}; kill -9 $leader; }}"
    for awk in filter(shutil.which, ("awk", "mawk")):
        site.fake(awk, f'case "$*" in *since=*) {kill} ;; esac; exec $real "$@"')
    site.jobs(*sh(f'setsid sh -c "{DEAF}" & until [ -e deaf ]; do sleep 0.02; done; {STAY}'), facts=("touch 1",))
    process = site.start()
    toucher_of(site)
    process.terminate()
    assert process.wait(10) == -signal.SIGKILL
    until((site.here / "exit.1").exists)
    assert left(site) == set()
    assert (site.record()["signal"], site.record()["reason"]) == ("15", "signal TERM from the batch system")


SAVES = "trap 'echo saved; echo recoverable --from=7 >$JIM_RECOVERY; exit 3' TERM; " + STAY


def test_a_payload_is_warned_before_its_time_limit(slow_site: Site) -> None:
    """The toucher tells the wrapper as soon as its next look could be too late."""
    site = slow_site
    site.jobs(*sh(SAVES), facts=("touch 1", "wall 5", "warn 2"))
    assert site.run() == 1
    record = site.record()
    assert (record["code"], record["reason"]) == ("3", "warned 2 s before its time limit")
    assert (record["recovery"], record["warned"]) == ("recoverable --from=7", "2")
    assert 1 <= int(record["up"]) <= 4
    assert site.file("run.1/stdout") == "saved\n"


def test_what_a_payload_leaves_after_that_warning_is_ended(slow_site: Site) -> None:
    """After a warning of its own, the batch system would do so."""
    site = slow_site
    deaf = f"trap '' TERM; exec {sys.executable} -S -c 'import time; time.sleep(50)'"
    site.jobs(*sh(f'(/bin/sh -c "{deaf}" &); {SAVES}'), facts=("touch 1", "wall 3", "warn 2"))
    assert site.run() == 1
    assert left(site) == set()


def test_a_payload_that_ignores_that_warning_goes_on_to_its_limit(slow_site: Site) -> None:
    site = slow_site
    site.jobs(
        *sh("trap 'echo warned' TERM; until [ -s ../run.1/stdout ]; do sleep 0.1; done; exit 0"),
        facts=("touch 1", "wall 3", "warn 2"),
    )
    assert site.run() == 0
    assert site.record()["reason"] == "warned 2 s before its time limit"


@pytest.mark.torture
def test_a_payload_that_is_stopped_has_its_time_run_on_later(slow_site: Site) -> None:
    """Batch systems do not count the time of a suspension."""
    site = slow_site
    site.jobs(*sh(SAVES), facts=("touch 1", "wall 7", "warn 2"))
    process = site.start()
    toucher = toucher_of(site)
    stopped = [toucher, *living(process.pid)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    begun = uptime()
    until(lambda: uptime() > begun + 6)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    assert process.wait(20) == 1
    assert int(site.record()["up"]) >= 8


def uptime() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])
