"""Stories of tasks: people's commands, real keepers that are killed, and payloads that keep a diary.

The diary and the files in the stores are the judges (`judged.py`); JIM is asked only how far it is.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jim.doors import inbox
from jim.site.lock import holder
from tests.faults.judged import NAMES, Judged
from tests.faults.real import LIMIT, Place, until

# Arguments: the task, the piece, and first and last event or the files.
PAYLOAD = r"""#!/bin/bash
task=$1 piece=$2 attempt=$JIM_GRID_JOB.$JIM_LOCAL_JOB.$JIM_ATTEMPT
if [ "$4" ]; then
    lines=$(seq "$3" "$4")
else
    IFS=, read -r -a files <<<"$3"
    lines=$(cat "${files[@]}") || { echo "unread $task $piece $attempt" >>PLACE/diary; exit 9; }
fi
events=$(cut -d' ' -f1 <<<"$lines" | paste -sd,)
echo "begin $task $piece $attempt $JIM_SEED $events" >>PLACE/diary
for event in ${events//,/ }; do
    exec {lock}>>PLACE/alive/$task.$event
    flock -n $lock || echo "overlap $task $piece $attempt $JIM_SEED $event" >>PLACE/diary
done
sleep "$(cat PLACE/nap.$task.$piece 2>/dev/null || cat PLACE/nap)"
[ ! -e PLACE/bad.$task.$piece ] || { echo "fail $task $piece $attempt $JIM_SEED $events" >>PLACE/diary; exit 3; }
word=$(cat PLACE/word.$task.$piece 2>/dev/null || echo right)
sed "s/\$/ $task:$attempt:$word/" <<<"$lines" >$task.dat
echo "end $task $piece $attempt $JIM_SEED $events" >>PLACE/diary
"""
TASK = """
[[task]]
name = "{name}"
[task.request]
job_type = "executable"
executable = "{program}"
arguments = ["{name}", "$Piece", {given}]
outputs = ["{name}.dat"]
{request}
[[task.source]]
{source}
[task.release]
every_seconds = 0
{release}
{more}
[[task.output]]
name = "{name}"
files = "{name}.dat"
{store}
"""


class Story(Judged):
    """A place with tasks, whose keepers are killed at moments that a seed chooses."""

    def __init__(self, place: Callable[..., Place], shim: Path | None = None, **settings: Any) -> None:
        self.seed = int(os.environ.get("JIM_SEED") or time.time_ns() % 1_000_000)
        print(f"JIM_SEED={self.seed}")
        self.random, self.shim, self.kills = random.Random(self.seed), shim, 0
        self.at = place("s", **{"slots": 4, "idle_seconds": 1.0, **settings})
        self.here, self.keeper = self.at.place, None
        (self.here / "alive").mkdir()
        (self.here / "diary").touch()
        self.say("nap", "0.1")
        self.program = self.here / "story.sh"
        self.program.write_text(PAYLOAD.replace("PLACE", shlex.quote(str(self.here))))
        self.program.chmod(0o755)
        self.stores = {name: self.here / f"store-{name}" for name in NAMES}
        for each in self.stores.values():
            each.mkdir()

    def say(self, name: str, text: str) -> None:
        """Tell payloads something, such as how long to sleep, or the word that they write."""
        (self.here / name).write_text(f"{text}\n")

    # What people do

    def jim(self, *words: str, code: int = 0) -> str:
        """Say a command at the people's door; return what it prints."""
        came = self.at.door(*words)
        assert came.returncode == code, (words, came.returncode, came.stdout, came.stderr)
        return came.stdout + came.stderr

    def task(self, name: str, source: str, *, given: str = '"$InputFiles"', store: bool = True, **more: str) -> str:
        """Write a task; `more` are further words for its tables."""
        fields = {"request": "", "release": "", "more": "", **more}
        kept = f'store = "{self.stores[name]}"' if store else ""
        return TASK.format(name=name, program=self.program, source=source, given=given, store=kept, **fields)

    def chain(
        self, events: int = 8, stored: Iterable[str] = NAMES, files: int = 2, more: str = "", held: Iterable[str] = ()
    ) -> None:
        """Create and start three tasks that feed one another; gen's pieces have two events."""
        first = f"events = {events}\nevents_per_piece = 2\n{more}"
        text = self.task("gen", first, given='"$FirstEvent", "$LastEvent"', store="gen" in stored)
        split = '[task.split]\nsplitter = "{}"\nparameters = {{ files_per_job = {} }}\nwhen = "{}"'
        next_ones = (("gen", "reco", "FileBased", files, "full"), ("reco", "merge", "MinFileBased", 1_000, "closed"))
        for before, name, *words in next_ones:
            source = f'task = "{before}"\noutput = "{before}"\npromises = true'
            release = "at_once = 0" if name in held else ""
            text += self.task(name, source, store=name in stored, more=split.format(*words), release=release)
        self.start(text, NAMES)

    def start(self, text: str, names: Iterable[str]) -> None:
        file = self.here / "task.toml"
        file.write_text(text)
        self.wake()
        until(lambda: holder(self.at.state), "the keeper is there")  # `create` waits for it
        self.jim("task", "create", str(file))
        self.work(lambda: set(names) <= set(self.states()), "the tasks are there")
        self.jim("task", "start", *names, "--untested")

    # How keepers live

    def wake(self, more: dict[str, str] | None = None) -> None:
        """Start a keeper unless there is one."""
        if (self.keeper is None or self.keeper.poll() is not None) and not holder(self.at.state):
            self.keeper = self.at.start_keeper(more)

    def kill(self, counts: int = 1) -> None:
        """Kill the keeper if one lives; a command may have started it, if it came as another one was leaving."""
        if lives := self.lives():
            self.keeper.kill()
            self.keeper.communicate(timeout=LIMIT)
        while other := holder(self.at.state):
            lives = True
            with suppress(ProcessLookupError):
                os.kill(other, signal.SIGKILL)
            time.sleep(0.02)
        self.kills += lives * counts

    def end(self) -> None:
        """End the keeper, as a part of the story ends."""
        self.kill(counts=0)

    def work(self, true: Callable[[], object], what: str, kills: int = 0, limit: float = LIMIT) -> None:
        """Let keepers work until something is true; the first ones are killed after a while."""
        end = time.monotonic() + limit
        while not true():
            assert time.monotonic() < end, f"not within {limit} s: {what}\n{self.told()}"
            self.wake()
            if kills:
                kills -= 1
                time.sleep(self.random.uniform(0.3, 2.5))
                self.kill()
            else:
                time.sleep(0.1)

    def ask(self, *words: str, kills: int = 0) -> str:
        """Say a command while there is no keeper; the next keepers are killed as they take the wish."""
        self.end()
        said = self.jim(*words)
        self.die(kills)
        return said

    def die(self, times: int) -> None:
        """Let keepers begin one after the other, each killed at a writing call, or once a wish is taken."""
        for time_ in range(times):
            if time_ % 2:
                self.wake()
                self._wait(lambda: not self.waits() or not self.lives())
                time.sleep(self.random.choice((0.0, 0.05, 0.3, 1.5)))
            else:
                at = self.random.randint(80, 320)  # a keeper that begins has written as often once it takes a wish
                self.wake({"LD_PRELOAD": str(self.shim), "SHIM_AT": str(at)})
                self._wait(lambda: not self.lives())
            self.kills += self.keeper.returncode == -signal.SIGKILL
            self.kill()

    def lives(self) -> bool:
        return self.keeper is not None and self.keeper.poll() is None

    def waits(self) -> bool:
        """Tell whether a wish waits to be taken."""
        return any(each.startswith("wish-") for each in inbox.names(self.at.state))

    def _wait(self, true: Callable[[], bool], seconds: float = 8.0) -> None:
        end = time.monotonic() + seconds
        while not true() and time.monotonic() < end:
            time.sleep(0.01)

    def states(self) -> dict[str, str]:
        """Return the states of the tasks, by their names."""
        try:
            with self.at.store() as store:
                return {each.name: each.state.value for each in store.tasks.all()}
        except Exception:  # no store yet
            return {}

    def counts(self, name: str) -> Counter[str]:
        """Count the pieces of a task by their states."""
        with self.at.store() as store:
            return Counter(
                {str(state): many for state, many in store.tasks.counts(store.tasks.named(name).id, "pieces").items()}
            )

    def notes(self, name: str) -> dict[str, str]:
        """Return what the lists of people say of the items of a task, as JSON."""
        return {each["name"]: each.get("note") or "" for each in json.loads(self.jim("task", "items", name, "--json"))}

    def rests(self) -> bool:
        """Tell whether all tasks have finished, and all wishes are taken."""
        states = self.states()
        return bool(states) and not self.waits() and set(states.values()) == {"finished"}

    def finish(self, kills: int = 0) -> None:
        """Let keepers work until nothing is left to do."""
        self.work(self.rests, "all tasks are finished", kills)
        with self.at.store() as store:
            assert not any(store.tasks.wrong().values()), store.tasks.wrong()

    def told(self) -> str:
        """Return the journals of all tasks, for who reads that a story failed."""
        with self.at.store() as store:
            lines = [
                f"{line.at} {task.name} {line.what}: {line.reason}"
                for task in store.tasks.all()
                for line in store.tasks.journal(task.id)
            ]
        return "\n".join([f"JIM_SEED={self.seed}", *lines, *(self.here / "diary").read_text().splitlines()])
