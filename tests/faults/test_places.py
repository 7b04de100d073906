"""State and work directories that are full, closed, shared, gone; two keepers; clocks that jump; reboots; upgrades."""

from __future__ import annotations

import shutil

from tests.faults.real import LIMIT, until

WAITS = 'until [ -e "$0.go" ]; do sleep 0.05; done'


def go(place) -> None:
    (place.place / "payload.sh.go").touch()


# Directories that go away


def test_a_state_directory_removed_under_a_living_keeper_ends_it(place):
    hurt = place("p")
    hurt.submit(1, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: hurt.events("start"), "the payload runs")
    until(lambda: shutil.rmtree(hurt.state, ignore_errors=True) or not hurt.state.exists(), "all of it is removed")
    assert keeper.wait(LIMIT) == 0
    assert not hurt.state.exists(), "it was made again"


def test_a_work_directory_that_is_not_mounted_is_waited_for(place):
    """Before the keeper starts, and under a living one; a fresh one is not made in its place."""
    hurt = place("p", settings='[site]\nwork = "WORK"\n')
    hurt.submit(2, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == 2, "the payloads run")
    away = hurt.site.work.rename(hurt.place / "away")
    until(lambda: "a round failed" in hurt.log(), "the keeper notices")
    keeper.kill()
    keeper.wait()
    for _ in range(2):  # nothing is there, then an empty directory
        assert hurt.keep() != 0
        said = f"grid jobs work in {hurt.site.work}, but it is empty (has no file instance): is it mounted?"
        assert said in hurt.log()
        assert not (hurt.site.work / "instance").exists()
    shutil.rmtree(hurt.site.work)
    away.rename(hurt.site.work)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of() == "running", "the keeper is back")
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    hurt.check(2)


def test_a_grid_job_whose_directory_was_removed_fails_and_harms_no_other(place):
    hurt = place("p", slots=4, settings="[limits]\nper_submission = 2\nqueued_per_grid_job = 2\n")
    hurt.front("sleep", 'case $1 in 1|2|4|8|15|30) ;; *) exec "$real" "$@" ;; esac')  # for the disk to come back
    hurt.submit(3, body=WAITS)
    hurt.submit(1, key="other", body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == 2 and hurt.events("start", 2), "the payloads run")
    shutil.rmtree(hurt.site.work / "1")
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    hurt.check(1, grid=2)
    with hurt.store() as store:
        assert {local.state.value for local in store.local_jobs(1)} <= {"failed", "new"}
        assert f"never sent: {hurt.site.work / '1'} was removed" in {local.reason for local in store.local_jobs(1)}
        assert store.grid_job(1).outcome == "failed"
