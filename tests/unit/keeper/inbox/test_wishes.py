"""A request that names a splitter, from its acceptance to its end; and what may be wished of its local jobs."""

import json
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from jim.doors.inbox import deposit, slices_of
from jim.model import Piece, State, Step
from jim.request import check
from jim.site.settings import Batch, General, Limits
from jim.statusdb.status import herd
from jim.work.followup_requests import recovering
from jim.work.pieces import herd_of
from tests.support.splitting_work import ASKED, FILES, end_all, states, submit
from tests.support.stand_ins import World

HOME = Path(__file__).parents[4]


def sent(world):
    """Give what each local job runs, from the submission directories."""
    lines = {}
    for place in sorted(world.site.work.glob("*/s*/jobs")):
        for line in place.read_text().splitlines():
            index, word, value = (*line.split(" ", 2), "")[:3]
            if word in ("arg", "env", "out"):
                lines.setdefault((place.parent.name, index), []).append(f"{word} {value}")
    return lines


# The herd


def test_a_herd_is_made_by_the_keeper(world):
    grid = submit(world, environment={"F": "$InputFiles"}, outputs=["$SplitID.dat"])
    world.go(1)
    world.until(lambda: world.batch.tasks)
    assert herd(world.store.grid_job(grid)) == "split"
    assert sent(world) == {
        ("s1", "1"): ["out 0.dat", "env F=/a", "arg /bin/echo", "arg 0"],
        ("s1", "2"): ["out 1.dat", "env F=/a", "arg /bin/echo", "arg 1"],
        ("s1", "3"): ["out 2.dat", "env F=/a", "arg /bin/echo", "arg 2"],
        ("s1", "4"): ["out 3.dat", "env F=/b", "arg /bin/echo", "arg 3"],
    }


def test_until_it_is_split_it_will_be(world):
    store = world.store
    store.add_grid_job(5, "k", "me", "2026-01-31T11:00:00.000Z", {"job_type": "executable", "splitter": "LumiBased"})
    store.add_grid_job(6, "l", "me", "2026-01-31T11:00:00.000Z", {"job_type": "executable", "splitter": None})
    assert [herd(each) for each in store.grid_jobs()] == ["will split", "single"]


def test_a_dollar_of_an_ordinary_request_stays(world):
    deposit(world.site.state, "k1", check(ASKED | {"environment": {"X": "$SplitID"}})[1] | {"key": "k1"})
    world.until(lambda: world.batch.tasks)
    assert sent(world) == {("s1", "1"): ["arg /bin/echo", "arg $SplitID"], ("s1", "*"): ["env X=$SplitID"]}


def test_a_split_that_fails_leaves_nothing_half_split(tmp_path, monkeypatch):
    monkeypatch.setattr("jim.keeper.queue.dividing.STORED_AT_ONCE", 1)
    world = World(tmp_path, monkeypatch)
    # The second piece cannot be made: a door, which looks at the first, has accepted it.
    submit(world, "GenericSplitter", splitter_parameters={"attribute": "outputs", "values": [["x"], ["/x"]]})
    world.until(lambda: world.finished(1))
    job = world.store.grid_job(1)
    assert (job.outcome, job.size, states(world)) == ("failed", 0, [])
    assert job.reason.startswith("cannot be split: outputs: '/x' must be a name or pattern inside")
    world.go(1)
    assert "GRAM_SCRIPT_ERROR" in world.answer(1)


def test_of_large_pieces_fewer_are_stored_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("jim.keeper.queue.dividing.LARGEST_CHUNK", 1000)
    world = World(tmp_path, monkeypatch)
    stored, add = [], world.store.add_pieces
    monkeypatch.setattr(world.store, "add_pieces", lambda *told: (stored.append(len(told[2])), add(*told)))
    submit(world, "ArgSplitter", splitter_parameters={"args": [["x" * 350]] * 7})
    world.until(lambda: world.batch.tasks)
    assert stored == [2, 2, 2, 1]
    assert len(states(world)) == 7


def test_the_site_s_limit_holds(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, limits=Limits(local_jobs=3))
    submit(world)
    world.until(lambda: world.finished(1))
    assert "more than the 3 local jobs that this site allows" in world.store.grid_job(1).reason
    assert herd(world.store.grid_job(1)) == "not split"


BY_MEMORY = {"splitter_parameters": {"Parameters": ["1", "2", "1", "2", "1"]}, "memory_mb": "${Parameter}000"}


def test_local_jobs_go_out_together_with_those_that_ask_for_the_same(world, monkeypatch):
    asked, command = [], world.batch.submit_command
    monkeypatch.setattr(world.batch, "submit_command", lambda batch: (asked.append(batch), command(batch))[1])
    submit(world, "Parametric", queue="slow", **BY_MEMORY)
    world.until(lambda: len(world.batch.tasks) == 5)
    assert [(each.size, each.resources.memory_mb, each.resources.queue) for each in asked] == [
        (3, 1000, "slow"),
        (2, 2000, "slow"),
    ]
    assert [words[-1] for words in sent(world).values()] == ["arg 0", "arg 2", "arg 4", "arg 1", "arg 3"]


def test_a_local_job_s_own_wish_is_held_against_the_site_s_limits(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(most_memory_mb=1500))
    submit(world, "Parametric", **BY_MEMORY)
    world.until(lambda: world.finished(1))
    assert "memory_mb: 2,000 MB" in world.store.grid_job(1).reason
    assert states(world) == []


def test_what_may_only_run_elsewhere_is_never_sent(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, site=General(locations=("B",)))
    submit(world)
    world.until(lambda: world.batch.tasks)
    assert states(world) == ["failed"] * 3 + ["submitted"]
    why = "failed on creation: it may only run at A, and this site is none of them: see site.locations (code 71101)"
    assert world.store.local_job(1, 0).reason == why


def test_what_can_never_run_is_never_sent(world):
    submit(world, splitter_parameters={"siteBlacklist": ["A"]})
    world.until(lambda: world.batch.tasks)
    assert states(world) == ["failed"] * 3 + ["submitted"]
    assert world.store.local_job(1, 0).reason.startswith("failed on creation: no allowed site")
    assert world.store.local_job(1, 0).reason.endswith("(code 71101)")
    end_all(world, 0)
    assert world.store.grid_job(1).reason == (
        "3 of 4 local jobs failed: failed on creation: no allowed site is known to hold the input (code 71101)"
    )
    world.wish("retry", "1")
    world.wish("retry", "1.0-3")
    world.go(3)
    assert world.finished(1)
    assert len(world.batch.ledger) == 1


def test_a_herd_of_which_nothing_can_run_is_over(world):
    submit(world, splitter_parameters={"siteWhitelist": ["C"]})
    world.until(lambda: world.finished(1))
    assert (world.store.grid_job(1).outcome, world.batch.accepted) == ("failed", [])


# Recovery


def test_what_failed_is_recovered_by_a_new_request(world):
    submit(world, splitter_parameters={"lumis_per_job": 2})
    world.until(lambda: len(world.batch.tasks) == 3)
    end_all(world, 0, 1, 0)
    job = world.store.grid_job(1)
    failed = [each.piece for each in world.store.local_jobs(1, (State.FAILED,))]
    again = json.loads(json.dumps(recovering(job.request, failed)))
    assert [each["lfn"] for each in again["input_files"]] == ["/a"]
    assert "key" not in again
    handler, request = check(again)
    (piece,) = herd_of(handler, request, 2, General(), 9)
    assert (piece.files, piece.mask) == (("/a",), {"run_lumis": {"1": [[3, 3]]}})


def test_recover_says_why_not(home):
    home.add(1)
    assert "1 has no input files that were split; `jim retry 1`" in home.run("recover", "1")[2]
    home.add(2, splitter="LumiBased", input_files=FILES)
    assert home.run("recover", "2")[0] == 6


# Wishes


def test_ids_are_slices():
    assert slices_of("12") == (12, ())
    assert slices_of("12.3") == (12, ((3, 3),))
    assert slices_of("12.1-4,7") == (12, ((1, 4), (7, 7)))


def test_a_slice_is_cancelled(world):
    submit(world)
    world.until(lambda: len(world.batch.tasks) == 4)
    world.wish("cancel", "1.0-1,3")
    world.until(lambda: states(world) == ["killed", "killed", "submitted", "killed"])


def test_retry_takes_what_failed_else_what_was_killed(world):
    submit(world)
    world.until(lambda: len(world.batch.tasks) == 4)
    world.wish("cancel", "1.0")
    world.until(lambda: states(world)[0] == "killed")
    for index, code in ((2, 1), (3, 0), (4, 0)):
        world.batch.start(1, index)
        world.batch.finish(1, index, code=code)
    world.until(lambda: world.finished(1))
    world.wish("retry", "1")
    world.go(1)
    assert states(world) == ["killed", "submitted", "completed", "completed"]
    world.until(lambda: ("2", 1) in world.batch.tasks)
    world.batch.start(2)
    world.batch.finish(2)
    world.until(lambda: world.finished(1))
    world.wish("retry", "1")
    world.go(1)
    assert states(world) == ["submitted", "completed", "completed", "completed"]


def test_a_retry_that_finds_nothing_to_try_says_that_it_changes_nothing(world):
    submit(world)
    world.until(lambda: len(world.batch.tasks) == 4)
    end_all(world, 0, 0, 0, 3)
    world.until(lambda: world.finished(1))
    for target in ("1.0", "1.1-2"):
        world.wish("retry", target)
        world.go(1)
        last = world.store.journals.of(1, last=1)[0]
        assert (last.now, last.reason.partition(",")[0]) == (
            "retry changes nothing",
            "no local job that it chooses failed",
        )
    assert world.finished(1)


def test_forcing_is_told_and_undone_in_the_tar(world):
    submit(world)
    world.until(lambda: len(world.batch.tasks) == 4)
    end_all(world, 1, 0, 0, 0)
    inbox = world.site.state / "inbox"
    wish = {"verb": "force", "target": "1.0", "to": "completed", "reason": "known\nnoise", "by": "me"}
    (inbox / "wish-1").write_text(json.dumps(wish))
    world.go(1)
    world.until(lambda: world.finished(1))
    job = world.store.local_job(1, 0)
    assert (job.state, job.witness, job.reason) == (State.COMPLETED, "user", r"forced to be completed: known\nnoise")
    assert world.store.grid_job(1).outcome == "completed"
    (inbox / "wish-2").write_text(json.dumps(wish | {"target": "1.1-2", "to": "failed"}))
    world.go(1)
    world.until(lambda: world.finished(1))
    assert states(world) == ["completed", "failed", "failed", "completed"]
    assert world.store.grid_job(1).result["local_jobs"] == 1


def test_what_is_alive_cannot_be_forced(world):
    submit(world)
    world.until(lambda: len(world.batch.tasks) == 4)
    wish = {"verb": "force", "target": "1.0-3", "to": "failed", "reason": "", "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.go(1)
    assert states(world) == ["submitted"] * 4
    assert "1.0 is still submitted; cancel them first" in [each.reason for each in world.store.journals.of(1)]


@pytest.mark.parametrize(("strict", "outcome"), [(False, "completed"), (True, "killed")])
def test_a_site_chooses_what_completed_and_killed_make(tmp_path, monkeypatch, strict, outcome):
    world = World(tmp_path, monkeypatch, site=General(strict_status=strict))
    submit(world)
    world.until(lambda: len(world.batch.tasks) == 4)
    world.wish("cancel", "1.0")
    world.until(lambda: states(world)[0] == "killed")
    for index in (2, 3, 4):
        world.batch.start(1, index)
        world.batch.finish(1, index)
    world.until(lambda: world.finished(1))
    assert world.store.grid_job(1).outcome == outcome


def test_people_force(home):
    home.add()
    home.move(2, State.FAILED)
    assert home.run("force", "1", "completed", "--reason", "x")[0] == 2
    for target, said in (("1.0", "still waiting; cancel them first"), ("1.2", "already failed")):
        code, out, _ = home.run("force", target, "failed", "--reason", "x")
        assert (code, said in out) == (3, True)
    assert "1.2: force requested" in home.out("force", "1.2", "completed", "--reason", "x")
    for state in (State.KILLED, State.FAILED_FROZEN, State.NEW):
        home.move(1, state)
        code, said, _ = home.run("force", "1.1", "completed", "--reason", "x")
        assert (code, f"1.1: {state.value}; force changes nothing" in said) == (3, True)


def test_what_can_never_run_is_explained(home):
    home.add(size=0, **ASKED, splitter="LumiBased")
    home.store.set_grid_job(1, step=Step.RESOLVED)
    home.store.add_pieces(1, 0, [Piece(files=("/a",), failure="no site (code 71101)")])
    home.store.end_split(1, 1)
    told = home.out("explain", "1.0")
    assert "ended as failed: failed on creation: no site (code 71101)" in told
    assert "it can never run; later, `jim recover 1`" in told


def test_a_local_job_of_events_is_copied(home):
    home.add(size=2, job_type="pythia_monte_carlo", events=500)
    copy = json.loads(home.out("copy", "1.1"))
    asked = {"job_type": "pythia_monte_carlo", "events": 250, "events_per_job": 250}
    assert copy == {**asked, "came_from": "1.1"}


def test_events_are_cut_into_pieces_of_about_equal_sizes_where_that_is_asked_for(world):
    asked = {"job_type": "pythia_monte_carlo", "events": 10, "events_per_job": 4, "balanced": True}
    grid = deposit(world.site.state, "k1", check(asked)[1] | {"key": "k1"})
    world.go(1)
    world.until(lambda: world.batch.tasks)
    pieces = [(each.piece.first_event, each.piece.events) for each in world.store.local_jobs(grid)]
    assert pieces == [(1, 3), (4, 3), (7, 4)]
    assert world.store.grid_job(grid).why == "events_per_job of the request, balanced"


# All the way, with the real keeper and the local batch system


def test_lumis_go_all_the_way(tmp_path):
    state = tmp_path / "state"
    request = tmp_path / "lumis.toml"
    request.write_text((HOME / "examples/lumis.toml").read_text())
    asked = tomllib.loads(request.read_text())
    assert (asked["splitter"], asked["job_type"]) == ("LumiBased", "executable")
    environment = {"PATH": "/usr/bin:/bin", "JIM_STATE": str(state), "JIM_PYTHON": sys.executable}

    def say(*words):
        command = [HOME / "shell" / words[0], *words[1:]]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert say("jim-submit", str(request)).startswith("GRAM_SCRIPT_JOB_ID:1\n")
    assert say("jim", "watch", "1").splitlines()[-2] == "1 completed"
    with tarfile.open(state / "work/1/result/1.tar") as tar:
        told = [tar.extractfile(f"1.{n}/stdout").read().decode() for n in range(3)]
        facts = json.load(tar.extractfile("summary.json"))
    assert told == [
        'part 0 of grid job 1: /store/run1-a.root {"1":[[1,2]]}\n',
        'part 1 of grid job 1: /store/run1-a.root,/store/run1-b.root {"1":[[3,3],[4,4]]}\n',
        'part 2 of grid job 1: /store/run1-b.root {"1":[[5,5]]}\n',
    ]
    assert [each["state"] for each in facts["local_jobs"]] == ["completed"] * 3
    assert "completed: 3 of 3" in say("jim", "status")
