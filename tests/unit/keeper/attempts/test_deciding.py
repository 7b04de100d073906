"""Rules for further attempts, followed: what the next attempt asks for, when it begins, and when there is none."""

from __future__ import annotations

import pytest

from jim.doors import inbox
from jim.model import Resources, State, Step
from jim.request import check
from jim.site.file import Batch, General, Limits
from jim.site.sections import Queue

PEAK = "peak {} cgroup\n"
MEMORY = {"when": "memory", "change": {"memory_mb": "*1.5"}}
KILLED = {"code": None, "signal": 9}


@pytest.fixture
def sent(world, monkeypatch):
    """Note the resources of each submission."""
    seen: list[Resources] = []
    really = world.batch.submit_command
    monkeypatch.setattr(world.batch, "submit_command", lambda batch: (seen.append(batch.resources), really(batch))[1])
    return seen


def end(world, seconds=0.0, **how):
    """End the attempt that the batch system has, once there is one; a long pause before it is over at once."""
    if world.store.grid_jobs(Step.ACTIVE) and (pause := last(world).due - world.clock.steady()) > 10.0:
        world.clock.now += pause - 5.0
    world.until(lambda: any(not task.state.final for task in world.batch.tasks.values()), seconds=2.0, rounds=5000)
    (key,) = (key for key, task in world.batch.tasks.items() if not task.state.final)
    world.batch.start(*key)
    world.go(2)
    world.clock.now += seconds
    world.batch.finish(*key, **how)
    world.go(2)


def last(world, grid=1):
    return world.store.local_job(grid, 0)


def of_site(world, **sections):
    world.keeper.site = world.keeper.site._replace(**sections)


def test_an_attempt_that_ran_out_of_memory_gets_more(world, sent):
    world.submit(1, memory_mb=1000, retry=[MEMORY])
    end(world, **KILLED, extra=PEAK.format(1000 * 1024))
    assert last(world).reason.startswith(
        "attempt 1: killed by signal 9: by the site or for want of memory; with memory_mb"
    )
    assert last(world).reason.endswith("; with memory_mb 1,000 → 1,500")
    end(world, **KILLED, extra=PEAK.format(1499 * 1024))
    end(world)
    assert [each.memory_mb for each in sent] == [1000, 1500, 2250]
    assert last(world).state is State.COMPLETED
    assert [world.store.submission(1, k).asked["memory_mb"] for k in (1, 2, 3)] == [1000, 1500, 2250]


def test_a_kill_far_from_the_memory_that_was_asked_for_is_none_of_memory(world, sent):
    world.submit(1, memory_mb=1000, retry=[MEMORY])
    end(world, **KILLED, extra=PEAK.format(500 * 1024))
    end(world)
    assert [each.memory_mb for each in sent] == [1000, 1000]


def test_a_kill_of_which_its_cgroup_tells_is_one_for_want_of_memory(world, sent):
    world.submit(1, memory_mb=1000, retry=[MEMORY])
    end(world, **KILLED, extra="kills 1\n")
    told = "out of memory: the kernel has ended 1 of its processes (signal 9); with memory_mb 1,000 → 1,500"
    assert last(world).reason == f"attempt 1: {told}"
    end(world)
    assert [each.memory_mb for each in sent] == [1000, 1500]


@pytest.mark.parametrize(("how", "attempts"), [("sampled", [1000, 1500]), ("cgroup", [1000])])
def test_a_peak_that_may_be_of_files_in_the_cache_blames_no_exit(world, sent, how, attempts):
    world.submit(1, memory_mb=1000, retry=[MEMORY])
    end(world, code=1, extra=f"peak {1000 * 1024} {how}\n")
    if len(attempts) > 1:
        end(world)
    assert [each.memory_mb for each in sent] == attempts


def test_a_rule_asks_for_no_more_than_the_site_allows(world, sent):
    of_site(world, queues={"short": Queue(most_memory_mb=1200)})
    world.submit(1, memory_mb=1000, queue="short", retry=[MEMORY])
    end(world, **KILLED, extra=PEAK.format(1000 * 1024))
    end(world, **KILLED, extra=PEAK.format(1200 * 1024))
    assert [each.memory_mb for each in sent] == [1000, 1200]
    assert last(world).state is State.FAILED
    assert last(world).reason.endswith("; memory_mb is 1,200 already, and the site allows no more")


def test_without_memory_in_the_request_a_rule_multiplies_what_was_measured(world, sent):
    rule = {"when": "signal 9", "change": {"memory_mb": "+200"}}
    world.submit(1, retry=[rule])
    end(world, **KILLED, extra=PEAK.format(800 * 1024))
    end(world)
    assert [each.memory_mb for each in sent] == [None, 1000]


def test_an_exit_code_is_tried_as_often_as_the_rule_says_with_its_pauses(world, sent):
    world.submit(1, retry=[{"when": "exit 3", "times": 5, "delay": "PT1M,PT15M,PT1H"}])
    dues = []
    for _ in range(5):
        end(world, code=3)
        dues.append(round(last(world).due - world.clock.steady()))
    assert dues == [60, 900, 3600, 3600, 3600]
    end(world, code=3)
    assert (last(world).state, last(world).attempt) == (State.FAILED, 6)
    assert last(world).reason == "exit 3; the rule for 'exit 3' has made its 5 further attempts"


def test_the_site_caps_how_often_a_rule_may_try(world, sent):
    of_site(world, limits=Limits(most_attempts=4, retry_delay=""))
    world.submit(1, retry=[{"when": "exit 3", "times": 50}])
    for _ in range(4):
        end(world, code=3)
    assert last(world).state is State.FAILED
    assert last(world).reason == "exit 3; by the rule for 'exit 3' (attempt 4 of 4)"


def test_the_last_reason_promises_no_attempt_that_never_comes(world, sent):
    world.submit(1, memory_mb=100, retry=[{"when": "exit 3", "change": {"memory_mb": "*2"}}])
    for _ in range(3):
        end(world, code=3)
    assert (last(world).state, last(world).reason) == (State.FAILED, "exit 3 (attempt 3 of 3)")


def test_without_times_the_limit_of_attempts_holds(world, sent):
    world.submit(1, retry=[{"when": "words 'exit [34]$'"}])
    for _ in range(3):
        end(world, code=3)
    assert last(world).reason.endswith("(attempt 3 of 3)")


def test_a_time_limit_doubles(world, sent):
    of_site(world, batch=Batch(system="local", most_wall_seconds=5000))
    world.submit(1, wall_seconds=2000, retry=[{"when": "time limit", "change": {"wall_seconds": "*2"}}])
    for seconds in (2000.0, 4000.0, 5000.0):
        end(world, seconds, **KILLED, extra=f"up {seconds}\n")
    assert [each.wall_seconds for each in sent] == [2000, 4000, 5000]
    assert last(world).reason.endswith("; wall_seconds is 5,000 already, and the site allows no more")


def test_the_first_rule_that_fits_decides_and_those_of_the_request_go_before(world, sent):
    of_site(
        world,
        limits=Limits(retry=({"when": "exit 3", "change": {"cores": 2}}, {"when": "exit 4", "change": {"cores": 4}})),
    )
    world.submit(1, retry=[{"when": "exit 3", "change": {"cores": 8}}, {"when": "exit 3", "change": {"cores": 9}}])
    end(world, code=3)
    end(world, code=4)
    end(world)
    assert [each.cores for each in sent] == [None, 8, 4]


def test_pauses_between_attempts_are_the_site_s(world):
    of_site(world, limits=Limits(retry_delay="PT10S,PT2M"))
    world.submit(1)
    end(world, **KILLED)
    assert round(last(world).due - world.clock.steady()) == 10
    end(world, **KILLED)
    assert round(last(world).due - world.clock.steady()) == 120


def test_local_jobs_of_other_resources_are_sent_apart(world, sent):
    world.submit(2, memory_mb=1000, retry=[MEMORY])
    world.until(lambda: len(world.batch.tasks) == 2)
    for key in list(world.batch.tasks):
        world.batch.start(*key)
    world.go(2)
    first, second = world.batch.tasks
    world.batch.finish(*first, **KILLED, extra=PEAK.format(1000 * 1024))
    world.batch.finish(*second, **KILLED)
    world.go(2)
    world.until(lambda: len(world.batch.tasks) == 4, seconds=2.0)
    assert sorted(each.memory_mb for each in sent) == [1000, 1000, 1500]


OWN = """
from jim.evidence.analysis import Action, Decision

def clever(failed):
    if len(failed.history) == 1:
        return Decision(Action.RETRY, "third", {"avoid": [failed.host], "wall_seconds": 77}, 5.0)
    return Decision(Action.RETRY, "second", {"environment": {"TRY": "2"}, "arguments": ["again", str(failed.attempt)]})

def wrong(failed):
    return Decision(Action.RETRY, "wrong", {"memory": 3})
"""


@pytest.fixture
def own(world, tmp_path, monkeypatch):
    place = tmp_path / "own/jim_own_rules"
    place.mkdir(parents=True)
    (place / "analysis.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(place.parent))

    def use(name, **more):
        site = General(handlers=str(place.parent), **more)
        of_site(world, limits=Limits(analyser=f"jim_own_rules.analysis.{name}"), site=site)

    return use


def lines(world, attempt):
    (task,) = (each for each in world.batch.tasks.values() if each.mark == f"jim-cafe0001-1-{attempt}")
    return [(word, value) for _, word, value in world.batch._job_lines(task)]


def test_an_analyser_sees_the_history_and_changes_the_next_attempt(world, sent, own):
    own("clever")
    world.submit(1)
    end(world, code=3)
    world.until(lambda: len(world.batch.tasks) == 2, seconds=2.0)
    assert [value for word, value in lines(world, 2) if word in ("arg", "env")] == [
        "TRY=2",
        "/bin/true",
        "again",
        "1",
    ]
    end(world, code=3)
    assert round(last(world).due - world.clock.steady()) == 5
    end(world)
    assert sent[2].wall_seconds == 77
    assert last(world).changed == {
        "environment": {"TRY": "2"},
        "arguments": ["again", "1"],
        "avoid": [world.batch.host],
        "wall_seconds": 77,
    }


def test_an_analyser_changes_a_local_job_with_files_of_the_catalogue(world, own, tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/raw.toml").write_text('[[files]]\nlfn = "/a"\n')
    own("clever", catalogue=str(tmp_path))
    asked = {"job_type": "executable", "executable": "/bin/true", "splitter": "FileBased", "dataset": "raw"}
    inbox.deposit(world.site.state, "k1", check(asked)[1] | {"key": "k1"})
    end(world, code=3)
    assert last(world).changed == {"environment": {"TRY": "2"}, "arguments": ["again", "1"]}


def test_a_change_that_cannot_be_is_told_and_not_made(world, own):
    own("wrong")
    world.submit(1)
    end(world, code=3)
    assert last(world).state is State.FAILED
    assert "jim_own_rules.analysis.wrong asked for what cannot be: 'memory': unknown attribute" in last(world).reason


def test_a_person_s_edit_goes_before_what_a_retry_has_changed(world, sent):
    world.submit(1, memory_mb=1000, retry=[{**MEMORY, "delay": "1h"}])
    end(world, **KILLED, extra=PEAK.format(1000 * 1024))
    inbox.wish(world.site.state, "edit", "1", changes={"memory_mb": 800})
    world.go(3)
    assert last(world).changed == {}
    end(world)
    assert [each.memory_mb for each in sent] == [1000, 800]


@pytest.mark.parametrize(
    ("line", "again"),
    [
        ("recoverable --from 'event 7'", True),
        ("fatal", False),
        ("", False),
        (f"recoverable {'x' * 9000}", False),
    ],
)
def test_a_payload_that_was_ready_for_its_time_limit_goes_on(world, line, again):
    """The batch system killed its wrapper, too, so that there is no exit record."""
    world.submit(1)
    world.until(lambda: world.batch.tasks, seconds=2.0)
    ((key, task),) = world.batch.tasks.items()
    world.batch.start(*key)
    world.go(2)
    (task.directory / "recovery.1").write_text(f"{line}\nmore\n")
    world.clock.now += 90_000.0
    task.never = "time limit"
    world.batch.kill(*key)
    world.until(lambda: last(world).attempt == 2 or last(world).state.final, seconds=60.0)
    if again:
        assert last(world).recovery == ("--from", "event 7")
        assert any("time limit, recoverable" in each.reason for each in world.store.journals.of(1, 0))
    else:
        assert (last(world).state, last(world).reason) == (State.FAILED, "time limit")


def test_a_payload_that_was_warned_in_time_and_asks_to_go_on_is_one_of_its_time_limit(world, sent):
    """So a rule may allow it more attempts than the site does."""
    world.submit(1, retry=[{"when": "time limit", "times": 9, "delay": "PT0S"}])
    for step in range(1, 6):
        told = f"recovery recoverable --from={step}\n"
        end(world, code=75, reason="warned 60 s before its time limit", extra=f"{told}warned 60\n")
        assert last(world).recovery == (f"--from={step}",)
    end(world)
    assert (last(world).state, last(world).attempt) == (State.COMPLETED, 6)


def test_what_a_host_was_to_blame_for_is_no_try_of_a_rule(world):
    world.submit(1, retry=[{"when": "exit 3", "times": 1, "delay": "PT1S"}])
    end(world, code=3)
    world.keeper.store.spared.spare((1, 1, 1), 0, "wn1")
    world.clock.now += 2
    end(world, code=3)
    assert last(world).state is State.WAITING
    world.clock.now += 2
    end(world, code=3)
    assert last(world).state is State.FAILED
    assert "has made its further attempt" in last(world).reason
