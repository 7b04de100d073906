"""A state directory that comes from a backup or a snapshot, or is a copy: the three stories, with real processes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
from functools import partial

import pytest

from jim import request
from jim.admin import restoring
from jim.doors import inbox
from jim.errors import Outdated
from tests.faults.real import LIMIT, ROOT, at_once, until

SHARED = '[site]\nwork = "WORK"\n'
RESTORE = """
import sys
from pathlib import Path
from jim.admin.restoring import restored
from jim.site.file import read
list(restored(read(*map(Path, sys.argv[1:]))))
"""
WAITS = 'until [ -e "$0.go" ]; do sleep 0.05; done'


def saved(place, name="backup"):
    """Save the state directory as it is, but for the batch system, which in earnest is elsewhere."""
    shutil.copytree(place.state, place.place / name, ignore=shutil.ignore_patterns("batch", "keeper.log", "bell"))
    return place.place / name


def put_back(place, backup):
    """Put a saved state directory in the place of what is there now."""
    for each in place.state.iterdir():
        if each.name not in ("batch", "keeper.log"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.copytree(backup, place.state, dirs_exist_ok=True)


def all_begun(place, count):
    """Tell whether so many attempts are stored as started."""
    with place.store() as store:
        attempts = store.attempts(1)
    return len(attempts) == count and all(each.started for each in attempts)


def which(place, grid):
    """Give what the payload of a grid job has written, from its tar."""
    with place.store() as store:
        job = store.grid_job(grid)
    assert job.outcome == "completed", place.journal(grid)
    with tarfile.open(job.result["tar"]) as tar:
        return tar.extractfile(f"{grid}.0/which.txt").read()


def submit(place, key, first=":"):
    """Hand in what tells by its output which request it was."""
    script = place.payload(body=f"{first}\necho {key} >which.txt", name=f"{key}.sh")
    raw = {"job_type": "executable", "executable": str(script), "outputs": ["which.txt"]}
    return inbox.deposit(place.state, key, request.check(raw)[1] | {"key": key})


def refused(place, words):
    """See that no keeper goes on, and that people are told what they can say."""
    assert place.keep() != 0
    for each in (words, "jim site restored", "jim site moved"):
        assert each in place.log().splitlines()[-1]
    checked = place.door("site", "check")
    assert checked.returncode == 3
    assert words in checked.stdout


@pytest.mark.torture
def test_a_new_request_is_not_completed_with_the_outputs_of_a_forgotten_one_after_a_restore(place):
    """Restored from a backup: its number was used, and door and keeper are asked before anyone says so."""
    hurt = place("p", settings=SHARED)
    submit(hurt, "first")
    hurt.finish()
    backup = saved(hurt)
    assert submit(hurt, "forgotten") == 2
    hurt.finish()
    assert which(hurt, 2) == b"forgotten\n"
    put_back(hurt, backup)
    assert submit(hurt, "new") == 2, "the door goes on"
    refused(hurt, "is older than the work done with it")
    with pytest.raises(Outdated, match=r"was not only moved.*Run `jim site restored`"):
        list(restoring.moved(hurt.site))
    told = "\n".join(restoring.restored(hurt.site))
    assert f"{hurt.site.work / '2'} belongs to a grid job that JIM no longer knows (its key is forgotten)" in told
    assert submit(hurt, "newer") == 4, "three was drawn to go past it"
    hurt.finish()
    assert (which(hurt, 2), which(hurt, 4)) == (b"new\n", b"newer\n")
    assert (hurt.site.work / "2/result/2.tar").exists()
    assert len(list(hurt.site.work.glob("2-*"))) == 1
    assert hurt.door("site", "check").returncode == 0


def told(place, backup, page, section, first):
    """Give the commands of a section of the documents from one on, for this place."""
    text = (ROOT / page).read_text().split(f"\n{section}\n")[1].split("\n## ")[0].split("\n### ")[0]
    commands = re.findall(r"^(?: {4}| {7})([a-z].*)$", text, re.MULTILINE)
    jim = f"{shlex.quote(sys.executable)} -P -s -c 'from jim.cli import main; raise SystemExit(main())'"
    for word, here in (
        ("sudo -u mc jim", jim),
        ("sudo -u mc tar", "tar"),
        (" -o mc ", " "),
        ("/backup/mc/2026-11-23.tar", str(backup)),
        ("/backup/mc/before.tar", str(backup)),
        ("/var/lib/jim/mc.", f"{place.place}/mc."),
        ("/var/lib/jim/.mc.", f"{place.place}/.mc."),
        ("/var/lib/jim/mc", str(place.state)),
    ):
        commands = [each.replace(word, here) for each in commands]
    commands = commands[[first in each for each in commands].index(True) :]
    assert not any("/var/lib/" in each or "/backup/" in each for each in commands)
    return commands


def play(place, commands):
    """Run commands of the documents; return what they say. Before the last one, no keeper goes on."""
    said = ""
    for command in commands:
        if command.endswith(" site restored"):
            refused(place, "is older than the work done with it")
        done = subprocess.run(
            command, shell=True, env=place.environment(), capture_output=True, text=True, timeout=LIMIT, check=False
        )
        assert done.returncode == 0, (command, done.stderr)
        said += done.stdout
    return said


def go_to_the_end(place):
    """Let all payloads end, and the keeper that `jim site restored` has started."""
    (place.place / "payload.sh.go").touch()
    until(lambda: place.keep() == 0, "the keeper that `jim site restored` has started ends")


@pytest.mark.parametrize(
    "settings",
    [pytest.param(SHARED, id="work elsewhere"), pytest.param("", id="work inside", marks=pytest.mark.torture)],
)
def test_a_backup_that_was_taken_at_work_is_put_back_as_documented_and_goes_on(place, settings):
    """While the keeper runs, and attempts, too; what was sent after it is found again, or named."""
    hurt = place("p", settings=settings, batch="touch_seconds = 1")
    hurt.submit(2, body=f'[ "$JIM_LOCAL_JOB.$JIM_ATTEMPT" != 0.1 ] || exec sleep 1000\n{WAITS}')
    keeper = hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == 2, "both run")
    until(lambda: all_begun(hurt, 2), "both are known to run")
    backup = hurt.place / "backup.tar"
    done = hurt.door("site", "backup", str(backup))
    assert done.returncode == 0, done.stderr
    assert "\nverified: its " in done.stdout
    group = (hurt.site.work / "1/s1/claim.1").read_text()
    os.killpg(int(group.split("pid ")[1].split()[0]), signal.SIGKILL)
    until(lambda: (0, 2) in hurt.events("start"), "the second attempt runs")
    assert submit(hurt, "forgotten") == 2
    until(lambda: (hurt.site.work / "2/s1").exists(), "it is sent")
    inside = hurt.site.work.parent == hurt.state
    commands = told(hurt, backup, "docs/operating.md", "## Backup", "keeper --end")
    said = play(hurt, [each for each in commands if inside or "mc.broken/work" not in each])
    assert keeper.wait(LIMIT) == 0
    assert "1: submissions 2 were submitted after the backup was made: JIM looks for them again" in said
    assert f"{hurt.site.work / '2'} belongs to a grid job that JIM no longer knows (its key is forgotten)" in said
    assert submit(hurt, "new") > 2
    go_to_the_end(hurt)
    hurt.check(2)
    assert sorted(hurt.events("start")) == [(0, 1), (0, 2), (1, 1)]


@pytest.mark.torture
def test_an_upgrade_is_rolled_back_with_the_database_of_before_as_documented(place):
    """What runs goes on; of what was submitted since, nothing is silent, and nothing runs twice."""
    hurt = place("p", settings=SHARED, batch="touch_seconds = 1", slots=3)
    hurt.submit(2, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == 2, "both run")
    until(lambda: all_begun(hurt, 2), "both are known to run")
    backup = hurt.place / "backup.tar"
    assert hurt.door("site", "backup", str(backup)).returncode == 0
    assert submit(hurt, "sent", first=WAITS) == 2
    until(lambda: hurt.events("start", 2), "it was sent")
    keeper.kill()
    keeper.wait()
    (hurt.place / "sent.sh.go").touch()
    until(lambda: (hurt.site.work / "2/s1/exit.1").exists(), "it has ended, and no keeper knows")
    assert submit(hurt, "handed in") == 3
    said = play(hurt, told(hurt, backup, "docs/installing.md", "### Go back to the version before", "install -d"))
    assert "their requests were submitted again: 2\n" in said
    go_to_the_end(hurt)
    hurt.check(2)
    assert sorted(hurt.events("start")) == [(0, 1), (1, 1)]
    assert which(hurt, 3) == b"handed in\n"
    with hurt.store() as store:
        job = store.grid_job(2)
    assert (job.outcome, job.reason.partition(":")[0]) == ("failed", "cannot be split")
    assert "local jobs were sent before the state directory was restored" in job.reason
    assert hurt.events("start", 2) == [(0, 1)]


def beyond_its_snapshot(hurt):
    """Save the state directory while first attempts run, then let a second attempt run; return the keeper, too."""
    hurt.submit(2, body=f'[ "$JIM_LOCAL_JOB.$JIM_ATTEMPT" != 0.1 ] || exec sleep 1000\n{WAITS}')
    keeper = hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == 2, "both run")
    until(lambda: all_begun(hurt, 2), "both are known to run by their claims, not by the queue's word alone")
    keeper.send_signal(signal.SIGSTOP)
    snapshot = saved(hurt)
    keeper.send_signal(signal.SIGCONT)
    group = (hurt.site.work / "1/s1/claim.1").read_text()
    os.killpg(int(group.split("pid ")[1].split()[0]), signal.SIGKILL)
    until(lambda: (0, 2) in hurt.events("start"), "the second attempt runs")
    return keeper, snapshot


def test_what_a_rolled_back_machine_has_sent_does_not_run_twice(place):
    """Rolled back with its VM, while the first attempts ran: by now one has ended, and the second attempt runs."""
    hurt = place("p", settings=SHARED, batch="touch_seconds = 1")
    keeper, snapshot = beyond_its_snapshot(hurt)
    keeper.kill()
    keeper.wait()
    put_back(hurt, snapshot)
    refused(hurt, "is older than the work done with it")
    told = list(restoring.restored(hurt.site))
    assert "1: submissions 2 were submitted after the backup was made: JIM looks for them again" in told
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of(0) == "running", "what was forgotten is found to run")
    (hurt.place / "payload.sh.go").touch()
    assert keeper.wait(LIMIT) == 0
    hurt.check(2)
    assert sorted(hurt.events("start")) == [(0, 1), (0, 2), (1, 1)]


def test_a_machine_that_is_rolled_back_under_a_living_keeper_stops_it(place):
    """A snapshot may hold the keeper's memory, too: it opens nothing anew, and sends nothing more all the same."""
    hurt = place("p", settings=SHARED)
    hurt.submit(1, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of(0) == "running", "it runs")
    serial = hurt.site.work / "serial"
    number, nonce = serial.read_text().split()
    serial.write_text(f"{int(number) + 5} {nonce}\n")  # as the same keeper wrote before it was rolled back
    hurt.submit(1, key="later")
    assert keeper.wait(LIMIT) == 3 or keeper.returncode == 1
    assert "another keeper has worked in" in hurt.log()
    assert not (hurt.site.work / "2").exists()
    (hurt.place / "payload.sh.go").touch()
    list(restoring.restored(hurt.site))
    hurt.finish()
    hurt.check(1)
    hurt.check(1, grid=2)


@pytest.mark.torture
def test_of_a_copy_on_a_second_head_node_only_one_goes_on(place):
    """It shares the work directory: the copy is stopped by its path; once it is told to go on, the first one stops."""
    first = place("p", settings=SHARED)
    submit(first, "first")
    first.finish()
    second = place("q", settings=f'[site]\nwork = "{first.place / "work"}"\n')
    put_back(second, saved(first))
    assert second.site.work == first.site.work
    assert submit(first, "old") == submit(second, "new") == 2
    first.finish()
    assert which(first, 2) == b"old\n"
    refused(second, "is older than the work done with it")
    assert submit(first, "running") == 3
    list(restoring.restored(second.site))
    second.finish()
    assert which(second, 2) == b"new\n"
    refused(first, "has been taken over by another copy")
    assert not (first.site.work / "3").exists()
    assert which(first, 2) == b"old\n"


def forgetful(place, name, *, whole):
    """Make a place whose store has forgotten what runs, what was sent, and what was handed in."""
    hurt = place(name, settings=SHARED, batch="touch_seconds = 1", slots=3)
    keeper, snapshot = beyond_its_snapshot(hurt)
    assert submit(hurt, "sent", first=WAITS) == 2
    until(lambda: hurt.events("start", 2), "it was sent")
    keeper.kill()
    keeper.wait()
    assert submit(hurt, "handed in") == 3
    if whole:
        put_back(hurt, snapshot)
    else:
        for each in hurt.state.glob("status.db*"):
            each.unlink()
        for each in snapshot.glob("status.db*"):
            shutil.copy(each, hurt.state)
    return hurt


def restore(place, more=None):
    command = [sys.executable, "-P", "-s", "-c", RESTORE, str(place.place / "site.toml"), str(place.state)]
    environment = place.environment(more)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)


def kill_restore(place, shim, at, *, whole):
    """Kill `jim site restored` at a write; unless that was its end, no keeper goes on before people run it again."""
    hurt = forgetful(place, f"at{at}{whole}", whole=whole)
    before = (hurt.state / "instance").read_text()
    assert restore(hurt, {"LD_PRELOAD": str(shim), "SHIM_AT": str(at)}).returncode == -signal.SIGKILL
    if (hurt.state / "instance").read_text() == before:
        refused(hurt, "jim site restored")
        again = restore(hurt)
        assert again.returncode == 0, again.stderr
    assert submit(hurt, "new") > (2 if whole else 3)
    for name in ("payload", "sent"):
        (hurt.place / f"{name}.sh.go").touch()
    hurt.finish()
    hurt.check(2)
    assert sorted(hurt.events("start")) == [(0, 1), (0, 2), (1, 1)]
    assert hurt.events("start", 2) == [(0, 1)]
    with hurt.store() as store:
        jobs = {job.key: job for job in store.grid_jobs()}
    assert which(hurt, jobs["new"].id) == b"new\n"
    assert set(jobs) == {"key", "new", *(() if whole else ("sent", "handed in"))}
    if not whole:
        assert which(hurt, 3) == b"handed in\n"
        assert jobs["sent"].outcome == "failed"
        assert "local jobs were sent before the state directory was restored" in jobs["sent"].reason
    hurt.close()


def writes_of_restore(place, shim, *, whole):
    calm = forgetful(place, f"calm{whole}", whole=whole)
    log = calm.place / "count"
    done = restore(calm, {"LD_PRELOAD": str(shim), "SHIM_LOG": str(log)})
    assert done.returncode == 0, done.stderr
    calm.close()
    count = int(log.read_text())
    assert count > 20
    return count


@pytest.mark.torture
def test_a_restore_that_was_killed_is_run_again(place, shim):
    kill_restore(place, shim, 100, whole=True)


@pytest.mark.torture
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "database"])
def test_a_restore_killed_at_every_write_is_run_again(place, shim, whole):
    count = writes_of_restore(place, shim, whole=whole)
    at_once((f"write {at}", partial(kill_restore, place, shim, at, whole=whole)) for at in range(1, count + 1))
