"""Kill -9, and a full disk, at writing system calls of each program: a sample here, all by `make torture`."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from functools import partial

import pytest

from jim.model import Job
from jim.workdir.submission import PROGRAMS, Line, prepare_submission
from tests.faults.real import BATCH, LIMIT, ROOT, Place, at_once

PIECES = 2


def writes_of_keeper(place, shim) -> int:
    """Count the writing calls of an undisturbed keeper."""
    calm = place("calm")
    calm.submit(PIECES)
    log = calm.place / "count"
    assert calm.keep({"LD_PRELOAD": str(shim), "SHIM_LOG": str(log)}) == 0
    calm.check(PIECES)
    count = int(log.read_text())
    assert count > 50
    return count


def every(count: int) -> list[int]:
    return list(range(1, count + 1))


def hurt_keeper(place, shim, at: int, **more: str) -> None:
    hurt = place(f"at{at}{''.join(more.values())}")
    hurt.submit(PIECES)
    hurt.keep({"LD_PRELOAD": str(shim), "SHIM_AT": str(at), **more})
    hurt.finish()
    hurt.check(PIECES)
    hurt.close()


def kill_keeper(place, shim, calls: list[int]) -> None:
    at_once((f"write {at}", partial(hurt_keeper, place, shim, at)) for at in calls)


def fill_disk(place, shim, calls: list[int], spans: tuple[str, ...] = ("1", "12")) -> None:
    at_once(
        (f"write {at} for {span}", partial(hurt_keeper, place, shim, at, SHIM_DO="full", SHIM_FOR=span))
        for at in calls
        for span in spans
    )


def hurt_submit_command(place, shim, at: int, do: str) -> None:
    """Let the first batch command be killed, or find the disk full, at one of its writes."""
    hurt = place(f"submit{at}{do}")
    hurt.command("submit", f'once || exec "$@"; exec env LD_PRELOAD={shim} SHIM_AT={at} SHIM_DO={do} SHIM_FOR=3 "$@"')
    hurt.submit(PIECES)
    hurt.finish()
    hurt.check(PIECES)
    hurt.close()


def hurt_daemon(place, shim, at: int, **more: str) -> None:
    """Let the local batch daemon be killed at one of its writes; the next command starts another."""
    hurt = place(f"daemon{at}{''.join(more.values())}")
    hurt.submit(PIECES)
    area = hurt.state / "batch"
    subprocess.run([*BATCH, area, "init", "--slots", "2"], env=hurt.environment(), timeout=LIMIT, check=True)
    shimmed = hurt.environment({"LD_PRELOAD": str(shim), "SHIM_AT": str(at), **more})
    daemon = subprocess.Popen([*BATCH, area, "serve"], env=shimmed, stderr=subprocess.DEVNULL)
    hurt.started.append(daemon)
    hurt.finish()
    hurt.check(PIECES)
    hurt.close()


def hurt_door(place, shim, at: int) -> None:
    """Kill the submit door at one of its writes; the gatekeeper submits again with the same key."""
    hurt = place(f"door{at}")
    file = hurt.place / "request.toml"
    file.write_text(f'job_type = "executable"\nexecutable = "{hurt.payload()}"\noutputs = ["out.txt"]\nkey = "k"\n')
    door = [sys.executable, "-P", "-s", str(ROOT / "jim/run_grid_job.py"), "submit", str(file)]
    # The lock makes the door believe that a keeper runs: what is tried here is the door alone.
    lock = (hurt.state / "keeper.lock").open("a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    killed = hurt.environment({"LD_PRELOAD": str(shim), "SHIM_AT": str(at)})
    first = subprocess.run(door, env=killed, capture_output=True, text=True, timeout=LIMIT)
    again = subprocess.run(door, env=hurt.environment(), capture_output=True, text=True, timeout=LIMIT)
    lock.close()
    assert again.stdout.startswith("GRAM_SCRIPT_JOB_ID:"), again
    number = int(again.stdout.split("\n")[0].split(":")[1])
    assert first.stdout in ("", again.stdout)
    hurt.finish()
    hurt.check(1, number)
    with hurt.store() as store:
        assert len(store.grid_jobs()) == 1
    hurt.close()


def wrapper_directory(place: Place):
    """Make a submission directory with one index, as the keeper does."""
    grid = place.site.work / "1"
    grid.mkdir()
    for name in PROGRAMS:
        (grid / name).write_bytes((ROOT / "shell" / name).read_bytes())
        (grid / name).chmod(0o755)
    job = Job(1, "k", 0, 1)
    settings = [
        ("mark", "jim-cafe-1-1"),
        ("spool", "../../spool"),
        ("touch", "60"),
        ("limit", "1000"),
        ("out", "out.txt"),
    ]
    lines = [Line(job, [str(place.payload())])]
    prepare_submission(grid / "s1", {"index": "I", "id": "B", "restart": ""}, settings, lines)
    return grid / "s1"


def hurt_wrapper(place, shim, at: int) -> int:
    """Let a node die at one of the writes of wrapper and payload; the batch system starts it again."""
    hurt = place(f"wrapper{at}")
    directory = wrapper_directory(hurt)
    shared = hurt.place / "shared"
    shared.write_bytes(bytes(8))
    wrapper = ["/bin/sh", str(directory.parent / "local-job"), str(directory), "1"]
    shimmed = hurt.environment({"LD_PRELOAD": str(shim), "SHIM_AT": str(at), "SHIM_ALL": str(shared)})
    subprocess.run(wrapper, env=shimmed, timeout=LIMIT, start_new_session=True, check=False, stderr=subprocess.DEVNULL)
    claimed = (directory / "claim.1").exists()
    again = subprocess.run(wrapper, env=hurt.environment(), timeout=LIMIT, check=False).returncode
    assert again == (71 if claimed else 0)
    assert hurt.events("start", 1).count((0, 1)) <= 1
    record = directory / "exit.1"
    assert not record.exists() or record.read_text().endswith("\nend\n")
    if not claimed:
        assert hurt.events("end") == [(0, 1)]
    return int.from_bytes(shared.read_bytes(), sys.byteorder)


# The sample


def test_keeper_hurt_at_some_writes(place, shim):
    count = writes_of_keeper(place, shim)
    kill_keeper(place, shim, [count // 2])
    fill_disk(place, shim, [3 * count // 4], ("12",))


@pytest.mark.torture
def test_others_hurt_at_some_writes(place, shim):
    runs = [("submit", partial(hurt_submit_command, place, shim, *at)) for at in ((6, "kill"),)]
    runs += [("daemon", partial(hurt_daemon, place, shim, at)) for at in (3,)]
    runs += [("door", partial(hurt_door, place, shim, at)) for at in (11,)]
    at_once(runs)


def test_node_dies_at_every_write_of_the_wrapper(place, shim):
    count = hurt_wrapper(place, shim, 0)
    assert count > 15
    for at in range(1, count + 1):
        hurt_wrapper(place, shim, at)


# All of it

TENS = pytest.mark.parametrize("ten", range(1, 61, 10))


@pytest.mark.torture
def test_keeper_killed_at_every_write(place, shim):
    kill_keeper(place, shim, every(writes_of_keeper(place, shim)))


@pytest.mark.torture
def test_disk_full_at_every_write(place, shim):
    fill_disk(place, shim, every(writes_of_keeper(place, shim)))


@pytest.mark.torture
@pytest.mark.parametrize("do", ["kill", "full"])
@TENS
def test_batch_command_hurt_at_every_write(place, shim, ten, do):
    at_once((f"{at}", partial(hurt_submit_command, place, shim, at, do)) for at in range(ten, ten + 10))


@pytest.mark.torture
@TENS
def test_daemon_killed_at_every_write(place, shim, ten):
    at_once((f"{at}", partial(hurt_daemon, place, shim, at)) for at in range(ten, ten + 10))


@pytest.mark.torture
@TENS
def test_daemon_finds_the_disk_full_at_every_write(place, shim, ten):
    full = {"SHIM_DO": "full", "SHIM_FOR": "3"}
    at_once((f"{at}", partial(hurt_daemon, place, shim, at, **full)) for at in range(ten, ten + 10))


@pytest.mark.torture
@TENS
def test_door_killed_at_every_write(place, shim, ten):
    at_once((f"{at}", partial(hurt_door, place, shim, at)) for at in range(ten, ten + 10))
