"""Kill -9 of the keeper at each move and each writing call of a task's life, with what people ask for in between.

Exactly once is judged by the payloads' own diary and by what lies in the tars; JIM's tables are not read for that.
"""

from __future__ import annotations

import shlex
import tarfile
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.statusdb.task_rows import TaskState
from jim.tasks.file import creating
from tests.faults.real import at_once, doomed

SHARE = 1
ITEMS = [f"item-{n}" for n in range(7)]
# What people ask for after the first keeper was killed: before each of the next ones, which runs until it rests.
HISTORIES = {
    "nothing": (),
    "pause and kill": ((("pause", {"kill": True}),), (("resume", {}),)),
    "throttle": ((("throttle", {"at_once": 0}), ("throttle", {"at_once": 9})),),
    "more items": ((("add", {"items": ["item-7", "item-3"], "reopen": True}),),),
    "suspend": ((("pause", {"suspend": True}), ("resume", {})),),
}


class Tasked:
    """A place with a task whose payloads keep a diary outside of the work directory."""

    def source(self) -> str:
        """Make what the task works on, and say where it is."""
        names = self.at.place / "names.txt"
        names.write_text("".join(f"{each}\n" for each in ITEMS) + "closed\n")
        return f'list = "{names}"'

    def __init__(self, place, name: str) -> None:
        self.at = place(name)
        self.diary = self.at.place / "diary"
        self.diary.touch()
        program = self.at.place / "payload.sh"
        diary = shlex.quote(str(self.diary))
        program.write_text(
            '#!/bin/sh\nme="$1 $JIM_GRID_JOB.$JIM_LOCAL_JOB.$JIM_ATTEMPT"\n'
            f'echo "begin $me" >>{diary}\nsleep 0.05\necho "$me" >out.txt\necho "end $me" >>{diary}\n'
        )
        program.chmod(0o755)
        file = self.at.place / "task.toml"
        file.write_text(
            f"""
            [[task]]
            name = "t"
            [task.request]
            job_type = "executable"
            executable = "payload.sh"
            inputs = ["payload.sh"]
            arguments = ["$InputFiles"]
            outputs = ["out.txt"]
            [[task.source]]
            {self.source()}
            [task.split]
            parameters = {{ files_per_job = 2 }}
            [task.release]
            at_once = 2
            every_seconds = 0
            """
        )
        creating.create(file, self.at.site, "somebody")
        self.ask("start", untested=True)

    def ask(self, verb: str, **content: object) -> None:
        inbox.task_wish(self.at.state, verb, "t", by="somebody, by hand", **content)

    def live(self, history: tuple = ()) -> None:
        """Run one keeper after the other, unhurt, with what people ask for before each."""
        for wishes in (*history, ()):
            for verb, content in wishes:
                self.ask(verb, **content)
            self.at.finish()

    def check(self, more: tuple[str, ...] = ()) -> None:
        """Hold the task against its promise."""
        with self.at.store() as store:
            assert store.tasks.named("t").state is TaskState.FINISHED, self.at.log()[-3000:]
            assert not any(store.tasks.wrong().values()), store.tasks.wrong()
            tars = [job.result["tar"] for job in store.grid_jobs() if job.result]
        done = Counter[str]()
        told = self.diary.read_text().splitlines()
        for each in tars:
            with tarfile.open(each) as tar:
                for name in tar.getnames():
                    if name.endswith("/out.txt") and ".killed" not in name:
                        line = tar.extractfile(name).read().decode().strip()
                        assert f"end {line}" in told, "an output without its payload's end"
                        done.update(Path(item).name for item in line.split()[0].split(","))
        assert done == Counter([*ITEMS, *more]), self.at.log()[-3000:]
        assert max(Counter(told).values()) == 1, "an attempt ran twice"
        assert [name for name in inbox.names(self.at.state) if name.startswith("wish-")] == []


class Arriving(Tasked):
    """The same with files that come to rest in a directory, so that each keeper notes what it has seen for the next."""

    def source(self) -> str:
        directory = self.at.place / "arriving"
        directory.mkdir()
        for each in (*ITEMS, "END.all"):
            (directory / each).write_text(each)
        times = "every_seconds = 1\nstable_seconds = 1"
        return f'directory = "{directory}"\nfiles = "item-*"\n{times}\nclosed_by = "END.*"'


def run(place, name: str, hurt: dict, history: str = "nothing", kind: type[Tasked] = Tasked) -> None:
    tasked = kind(place, name)
    tasked.at.keep(**hurt)
    tasked.live(HISTORIES[history])
    tasked.check(("item-7",) if history == "more items" else ())
    tasked.at.close()


def calm_moves(place, side: str) -> Counter[str]:
    calm = Tasked(place, f"calm-{side}")
    seen = calm.at.place / "seen"
    assert calm.at.keep(command=doomed(seen, side)) == 0
    calm.check()
    return Counter(seen.read_text().split())


def hurt_at_move(place, side: str, move: str, times: int, history: str) -> None:
    name = f"{side}-{move}-{times}-{history.replace(' ', '-')}"
    tasked = Tasked(place, name)
    tasked.at.keep(command=doomed(tasked.at.place / "seen", side, times, move))
    tasked.live(HISTORIES[history])
    tasked.check(("item-7",) if history == "more items" else ())
    tasked.at.close()


@pytest.mark.torture
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_keeper_killed_at_each_turn_of_its_tasks(place, side):
    counts = calm_moves(place, side)
    names = list(HISTORIES)
    runs = [
        (move, times, names[times % len(names)])
        for move in ("Tasks", "TakingInbox", "deliver")
        for times in range(1, counts[move] + 1, 1 if move == "Tasks" and side == "after" else 4)
    ]
    at_once(
        (f"{move} {times} {history}", partial(hurt_at_move, place, side, move, times, history))
        for move, times, history in runs
    )


@pytest.mark.torture
@pytest.mark.parametrize("history", HISTORIES)
def test_a_keeper_killed_at_each_writing_call(place, shim, history):
    calm = Tasked(place, "calm")
    log = calm.at.place / "count"
    assert calm.at.keep({"LD_PRELOAD": str(shim), "SHIM_LOG": str(log)}) == 0
    calm.check()
    count = int(log.read_text())
    assert count > 100
    first = list(HISTORIES).index(history) + 1  # each history has its share of the calls
    at_once(
        (
            f"write {at}",
            partial(run, place, f"at{at}", {"more": {"LD_PRELOAD": str(shim), "SHIM_AT": str(at)}}, history),
        )
        for at in range(first, count + 1, len(HISTORIES) * SHARE)
    )


@pytest.mark.torture
def test_a_keeper_killed_at_each_writing_call_while_files_come_to_rest(place, shim):
    calm = Arriving(place, "calm")
    log = calm.at.place / "count"
    assert calm.at.keep({"LD_PRELOAD": str(shim), "SHIM_LOG": str(log)}) == 0
    calm.check()
    count = int(log.read_text())
    at_once(
        (
            f"write {at}",
            partial(run, place, f"at{at}", {"more": {"LD_PRELOAD": str(shim), "SHIM_AT": str(at)}}, kind=Arriving),
        )
        for at in (*range(1, 60), *range(60, count + 1, 7))  # the looks are among the first
    )


@pytest.mark.torture
def test_a_disk_that_is_full_for_a_while(place, shim):
    full = {"LD_PRELOAD": str(shim), "SHIM_DO": "full", "SHIM_FOR": "12"}
    at_once(
        (f"write {at}", partial(run, place, f"full{at}", {"more": {**full, "SHIM_AT": str(at)}}))
        for at in range(5, 300, 7)
    )


class OnTrial:
    """A place with a task that is tested three times: it fails, it passes, and it passes in place of the first."""

    def __init__(self, place, name: str) -> None:
        self.at = place(name)
        self.diary = self.at.place / "diary"
        self.diary.touch()
        (self.at.place / "broken").touch()
        self.program = self.at.place / "payload.sh"
        told = '"$1 $JIM_GRID_JOB.$JIM_ATTEMPT"'
        self.program.write_text(f"echo {told} >>{self.diary}\ntest ! -e {self.at.place}/broken\n")

    def ask(self, step: int) -> None:
        """Do what a person does at a step: the first test finds the payload broken, the last one is of another task."""
        if step == 1:
            (self.at.place / "broken").unlink()
        if step != 1:
            file = self.at.place / "task.toml"
            file.write_text(
                f"""
                [[task]]
                name = "t"
                [task.request]
                job_type = "executable"
                executable = "/bin/sh"
                arguments = ["{self.program}", "$FirstEvent"]
                [[task.source]]
                events = 40
                events_per_piece = 10
                first_event = {100 * step + 1}
                [task.test]
                pieces = 2
                """
            )
            creating.create(file, self.at.site, "somebody")
        inbox.task_wish(self.at.state, "test", "t", by="somebody, by hand")

    def live(self, hurt: int = -1, command: tuple[str, ...] = ()) -> None:
        """Make the three tests; the keeper of one of them is killed, the next one goes on."""
        for step in range(3):
            self.ask(step)
            if step == hurt:
                self.at.keep(command=command)
            self.at.finish()
            with self.at.store() as store:
                state = store.tasks.named("t").state
            assert state is (TaskState.READY if step else TaskState.CONFIGURED), self.at.log()[-3000:]

    def check(self) -> None:
        """Each test has grid jobs of its own, whose payloads ran once; nothing of the task is acquired."""
        with self.at.store() as store:
            task, jobs = store.tasks.named("t"), store.grid_jobs()
            assert not any(store.tasks.wrong().values()), store.tasks.wrong()
            assert (store.tasks.counts(task.id, "pieces"), task.next_piece) == ({}, 0)
            assert store.tasks.counts(task.id, "items") == {"available": 1}
        assert sorted(job.request["name"] for job in jobs) == sorted(
            ["t:test 1.1", "t:test 1.2", "t:test 2.1", "t:test 2.2", "t:test 1.1", "t:test 1.2"]
        )
        assert [job.outcome for job in jobs] == ["failed"] * 2 + ["completed"] * 4
        assert len({job.key for job in jobs}) == 6
        ran = Counter(line.split()[0] for line in self.diary.read_text().splitlines() if line.endswith(".1"))
        assert ran == {"1": 2, "11": 2, "201": 1, "211": 1}, "a first attempt ran twice, or not at all"
        assert len(set(self.diary.read_text().splitlines())) == len(self.diary.read_text().splitlines())


def hurt_in_test(place, step: int, move: str, times: int) -> None:
    tested = OnTrial(place, f"{step}-{move}-{times}")
    tested.live(step, doomed(tested.at.place / "seen", "after", times, move))
    tested.check()
    tested.at.close()


@pytest.mark.torture
def test_a_keeper_killed_at_each_move_of_three_tests_begins_none_twice(place):
    runs = []
    for step in range(3):
        calm = OnTrial(place, f"calm-{step}")
        seen = calm.at.place / "seen"
        calm.live(step, doomed(seen, "after"))
        calm.check()
        counts = Counter(seen.read_text().split())
        runs += [(step, move, n) for move in ("Tasks", "TakingInbox", "deliver") for n in range(1, counts[move] + 1)]
    assert len(runs) > 30
    at_once((f"test {step}: {move} {n}", partial(hurt_in_test, place, step, move, n)) for step, move, n in runs)
