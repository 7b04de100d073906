"""The wrapper under every shell, where its account has as many processes as it may have: nothing can be started."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.compiled import compiled
from tests.wrapper.worker import Site, left, ours, python, toucher_of, until

WAITS = python("import os, time; open('up', 'w'); [time.sleep(0.05) for _ in iter(lambda: os.path.exists('go'), True)]")


@pytest.fixture(scope="session")
def fork_fails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile what lets nothing be started."""
    return compiled(Path(__file__).parent / "fork_fails.c", tmp_path_factory.mktemp("fork_fails"))


@pytest.fixture
def node(slow_site: Site, fork_fails: Path) -> Iterator[Site]:
    """Give a worker node on which nothing can be started while a file `full` is there."""
    site = slow_site
    site.path = f"{site.path}:{os.defpath}"
    yield site
    full(site).unlink(missing_ok=True)
    for pid in (*ours(site), *left(site)):
        os.kill(pid, signal.SIGKILL)


def full(site: Site) -> Path:
    return site.root / "full"


def start(site: Site, library: Path) -> "subprocess.Popen[bytes]":
    site.jobs(*WAITS, facts=("touch 1",))
    process = site.start(LD_PRELOAD=str(library), FORK_FAILS=str(full(site)))
    until((site.here / "run.1" / "up").exists)
    return process


def test_a_wrapper_that_can_start_nothing_does_not_leave_its_payload(node: Site, fork_fails: Path) -> None:
    process = start(node, fork_fails)
    toucher_of(node)
    full(node).touch()
    time.sleep(5)
    assert left(node)
    assert process.poll() is None, "its batch job would have ended, and its payload would live"
    full(node).unlink()
    claim = node.here / "claim.1"
    was = claim.stat().st_mtime
    until(lambda: claim.stat().st_mtime > was + 1, 20)
    (node.here / "run.1" / "go").touch()
    assert process.wait(20) == 0
    assert node.record()["code"] == "0"
    until(lambda: not ours(node))


def test_a_payload_that_ends_while_nothing_can_be_started_is_not_done_twice(node: Site, fork_fails: Path) -> None:
    process = start(node, fork_fails)
    toucher_of(node)
    full(node).touch()
    time.sleep(2)
    (node.here / "run.1" / "go").touch()
    until(lambda: not left(node))
    time.sleep(2)
    full(node).unlink()
    until((node.here / "exit.1").exists, 40)
    assert node.record()["code"] == "0"
    process.wait(20)
    until(lambda: not ours(node))


def test_a_toucher_that_begins_while_nothing_can_be_started_is_there_later(node: Site, fork_fails: Path) -> None:
    node.fake("setsid", f': >{full(node)}; exec $real "$@"')
    process = start(node, fork_fails)
    until(full(node).exists)
    time.sleep(1)  # so long nothing can be started
    full(node).unlink()
    process.kill()
    (node.here / "run.1" / "go").touch()
    until((node.here / "exit.1").exists, 40)
    assert node.record()["code"] == "0"
    until(lambda: not ours(node))


def test_a_payload_that_could_not_be_started_has_no_exit_code(node: Site, fork_fails: Path) -> None:
    """Its parent could, and it could not."""
    once = node.root / "full.once"
    node.fake("mkdir", f'$real "$@" || exit; : >{once}; printf x >{full(node)}')
    node.jobs("/bin/true")
    node.start(LD_PRELOAD=str(fork_fails), FORK_FAILS=str(full(node))).wait(40)
    assert not once.exists()
    record = node.record()
    assert (record["code"], record["signal"]) in (("-", "9"), ("0", "-"))  # bash has tried again
