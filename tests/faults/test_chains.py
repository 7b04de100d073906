"""Kill -9 of the keeper at each move and each writing call of three tasks that feed one another by promises.

Exactly once is judged by the files in the stores and by the payloads' own diary; JIM's tables are not read for that.
One payload of the first task fails for good; a person recovers it into smaller pieces, while others wait for them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.errors import StoreError, UnknownJob
from jim.statusdb.task_rows import TaskState
from jim.tasks.file import creating
from tests.faults.real import LAST_CALL, LIMIT, ROOT, at_once, doomed

EVENTS = 12
SHARES = 8  # of the deaths, so that several can be made at the same time
NAMES = ("gen", "reco", "merge")
BODY = r"""#!/bin/sh
what=$1 me="$1 $2 $JIM_GRID_JOB.$JIM_LOCAL_JOB.$JIM_ATTEMPT"
echo "begin $me" >>{diary}
case $what in
gen) [ "$2-$3" != 5-8 ] || exit 3
    seq "$2" "$3" >out.dat ;;
*) IFS=,
    cat $2 >out.dat ;;
esac
echo "end $me" >>{diary}
"""
TASK = """
[[task]]
name = "{name}"
[task.request]
job_type = "executable"
executable = "payload.sh"
inputs = ["payload.sh"]
arguments = [{arguments}]
outputs = ["out.dat"]
[[task.source]]
{source}
[[task.output]]
name = "{name}"
files = "out.dat"
store = "store-{name}"
[task.release]
every_seconds = 0
first = 20
at_once = 20
{more}
"""


class Chained:
    """A place with three tasks, whose payloads keep a diary outside of the work directory."""

    def __init__(self, place, name: str) -> None:
        self.at = place(name, settings='[limits]\nattempts = 1\nretry_delay = "PT1S"\n')
        self.diary = self.at.place / "diary"
        self.diary.touch()
        program = self.at.place / "payload.sh"
        program.write_text(BODY.replace("{diary}", shlex.quote(str(self.diary))))
        program.chmod(0o755)
        for each in NAMES:
            (self.at.place / f"store-{each}").mkdir()
        file = self.at.place / "task.toml"
        events = '"gen", "$FirstEvent", "$LastEvent"'
        file.write_text(
            TASK.format(name="gen", arguments=events, source=f"events = {EVENTS}\nevents_per_piece = 4", more="")
            + TASK.format(
                name="reco",
                arguments='"reco", "$InputFiles"',
                source='task = "gen"\noutput = "gen"\npromises = true',
                more='[task.split]\nsplitter = "FileBased"\nparameters = { files_per_job = 2 }',
            )
            + TASK.format(
                name="merge",
                arguments='"merge", "$InputFiles"',
                source='task = "reco"\noutput = "reco"\npromises = true',
                more='[task.split]\nsplitter = "MinFileBased"\nparameters = { files_per_job = 99 }\nwhen = "closed"',
            )
        )
        creating.create(file, self.at.site, "somebody")
        for each in NAMES:
            self.ask("start", each, untested=True)

    def ask(self, verb: str, name: str, **content: object) -> None:
        inbox.task_wish(self.at.state, verb, name, by="somebody, by hand", **content)

    def keep(self, more: dict[str, str] | None = None, **how: object) -> int:
        """Run a keeper to its end; recover what has failed in the meantime, once."""
        process = self.at.start_keeper(more, **how)
        until = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < until:
            self._recover()
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        process.communicate(timeout=LIMIT)
        return process.returncode

    def _recover(self) -> None:
        with suppress(StoreError, UnknownJob, OSError), self.at.store() as store:
            gen = store.tasks.named("gen")
            waits = [name for name in inbox.names(self.at.state) if name.startswith("wish-")]
            if gen.state is TaskState.FINISHED and store.tasks.counts(gen.id, "pieces").get("failed") and not waits:
                self.ask("recover", "gen", parameters={"events_per_piece": 2})

    def finish(self) -> None:
        """Run keepers, unhurt, until nothing is left to do."""
        assert any(self.keep() == 0 for _ in range(3)), self.at.log()[-2000:]

    def check(self) -> None:
        """Hold the tasks against their promise."""
        with self.at.store() as store:
            for each in NAMES:
                assert store.tasks.named(each).state is TaskState.FINISHED, self.at.log()[-3000:]
                assert store.tasks.named(each).outcome == "completed"
            assert not any(store.tasks.wrong().values()), store.tasks.wrong()
        for each in NAMES:
            lines = [line for path in self.stored(each) for line in path.read_text().split()]
            assert Counter(map(int, lines)) == Counter(range(1, EVENTS + 1)), (each, self.at.log()[-3000:])
        assert [len(self.stored(each)) for each in NAMES] == [4, 2, 1]
        told = self.diary.read_text().splitlines()
        assert max(Counter(told).values()) == 1, "an attempt ran twice"
        ended = Counter(line.split()[1] for line in told if line.startswith("end "))
        assert ended == {"gen": 4, "reco": 2, "merge": 1}

    def stored(self, name: str) -> list[Path]:
        return sorted((self.at.place / f"store-{name}").iterdir())


def run(place, name: str, more: dict[str, str]) -> None:
    chained = Chained(place, name)
    chained.keep(more)
    chained.finish()
    chained.check()
    chained.at.close()


def test_a_chain_with_a_recovery_does_each_event_once(place):
    run(place, "calm", {})


@pytest.mark.torture
def test_a_keeper_killed_at_each_turn_of_a_chain(place):
    calm = Chained(place, "calm")
    seen = calm.at.place / "seen"
    assert calm.keep(command=doomed(seen, "after")) == 0
    calm.check()
    counts = Counter(seen.read_text().split())
    runs = [
        (move, times) for move in ("Tasks", "deliver") for times in range(1, counts[move] + 1, 1 + counts[move] // 40)
    ]
    at_once((f"{move} {times}", partial(_hurt_at_move, place, move, times)) for move, times in runs)


def _hurt_at_move(place, move: str, times: int) -> None:
    chained = Chained(place, f"{move}-{times}")
    chained.keep(command=doomed(chained.at.place / "seen", "after", times, move))
    chained.finish()
    chained.check()
    chained.at.close()


def die_at(place, shim, ats) -> list[int]:
    """Let keepers of a chain that is driven by hand die at these writing calls; return how many calls were made."""
    here = place("mortal").place
    count = here / "count"
    count.write_bytes(bytes(8))
    stop = {"SHIM_AT": str(LAST_CALL), "SHIM_FOR": str(LAST_CALL), "SHIM_DO": "readonly"}
    run = subprocess.run(
        [sys.executable, ROOT / "tests/faults/mortal.py", here, count, *map(str, ats)],
        env={**os.environ, **stop, "LD_PRELOAD": str(shim), "SHIM_ALL": str(count), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-5000:]
    return [int(line) for line in run.stdout.split()]


@pytest.mark.torture
def test_a_keeper_dies_at_some_writing_calls_of_a_chain(place, shim):
    (count,) = die_at(place, shim, [0])
    assert count > 1000
    assert len(die_at(place, shim, [count // 3, count // 2])) == 2


@pytest.mark.torture
@pytest.mark.parametrize("share", range(SHARES))
def test_a_keeper_dies_at_each_writing_call_of_a_chain(place, shim, share):
    (count,) = die_at(place, shim, [0])
    ats = range(share + 1, count + 1, SHARES)
    assert len(die_at(place, shim, ats)) == len(ats)


@pytest.mark.torture
def test_a_real_keeper_killed_at_writing_calls_of_a_chain(place, shim):
    calm = Chained(place, "calm")
    log = calm.at.place / "count"
    assert calm.keep({"LD_PRELOAD": str(shim), "SHIM_LOG": str(log)}) == 0
    calm.check()
    count = int(log.read_text())
    assert count > 200
    at_once(
        (f"write {at}", partial(run, place, f"at{at}", {"LD_PRELOAD": str(shim), "SHIM_AT": str(at)}))
        for at in range(7, count + 1, 41)
    )
