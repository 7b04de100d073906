"""A Slurm of files for measurements: sbatch and squeue are short scripts, and one process plays controller and nodes.

    python -m bench.stub_slurm DIRECTORY SLOTS

Nothing runs. The process writes the reports of wrappers into the spool, and leaves empty outputs in the submission
directory. It waits while the keeper has many reports to take in, so that the keeper alone decides the pace.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

PAUSE, RUN_SECONDS, SHOWN_SECONDS = 0.02, 3.0, 10.0  # an ended job is listed for some time, as in Slurm
LISTED_EVERY = 0.5
MOST_REPORTS = 4000  # in the spool
HEADER = "JOBID|STATE|EXIT_CODE|REASON|NAME|.\n"
SBATCH = """\
#!/bin/sh
# The batch id is made of the time. The controller answers by renaming the file.
for word; do case $word in --array=1-*) size=${word#--array=1-} ;; --job-name=*) mark=${word#--job-name=} ;; esac; done
id=$(date +%s%N)
echo "$mark $size $word" >STUB/.new.$id && mv STUB/.new.$id STUB/new.$id
while [ ! -e STUB/known.$id ]; do sleep 0.02; done
echo $id
"""
COMMANDS = {
    "sbatch": SBATCH,
    "squeue": "#!/bin/sh\ncat STUB/listing\n",
    "scontrol": "#!/bin/sh\n",
    "scancel": "#!/bin/sh\n",
}
NOTHING = sha256(b"").hexdigest()
CLAIM = "nonce {nonce}\nhost node1\npid 1\nbatch {batch}\nrestart -\nstarted 2026-01-31T12:00:00Z\n"
RECORD = (
    "jim-exit 1\nmark {mark}\nindex {index}\nnonce {nonce}\nn {n}\nattempt {attempt}\nhost node1\nbatch {batch}\n"
    "started 2026-01-31T12:00:00Z\nended 2026-01-31T12:00:03Z\nup 3.00\ncpu 0.01\ncode 0\nsignal -\nreason -\n"
    f"recovery -\nfile 0 {NOTHING} stdout\nfile 0 {NOTHING} stderr\nend\n"
)


def install(place: Path) -> dict[str, str]:
    """Write the commands into a directory; return the path of each."""
    place.mkdir()
    (place / "listing").write_text(HEADER)
    for name, text in COMMANDS.items():
        (place / name).write_text(text.replace("STUB", str(place)))
        (place / name).chmod(0o700)
    return {name: str(place / name) for name in COMMANDS}


class Task(NamedTuple):
    """A job of an array."""

    batch: str
    index: int
    mark: str
    directory: Path
    n: str
    attempt: str

    def line(self, state: str) -> str:
        """Return the line of this job in a listing."""
        return f"{self.batch}_{self.index}|{state}|0|None|{self.mark}|.\n"

    def text(self, form: str) -> str:
        """Return a claim or a record of this job."""
        return form.format(nonce=f"{self.index:032x}", **self._asdict())


class Slurm:
    """The queue, and the nodes with their slots."""

    def __init__(self, place: Path, slots: int) -> None:
        self.place, self.slots = place, slots
        self.waiting, self.running, self.ended = deque[Task](), deque[tuple[float, Task]](), deque[tuple[float, Task]]()
        self.spool = Path()
        self.listed_at = 0.0

    def go_on(self) -> None:
        """Accept, start and end jobs, and list them."""
        new = [self._accept(each) for each in self.place.glob("new.*")]
        room = MOST_REPORTS - sum(1 for _ in self.spool.iterdir()) if self.spool.name else 0
        now = time.monotonic()
        while room > 0 and self.running and self.running[0][0] <= now:
            _, task = self.running.popleft()
            (task.directory / f"run.{task.index}").symlink_to(self.place / "outputs")
            self._report(task, "exit", task.text(RECORD))
            self.ended.append((now + SHOWN_SECONDS, task))
            room -= 1
        while room > 0 and self.waiting and len(self.running) < self.slots:
            task = self.waiting.popleft()
            self._report(task, "start", task.text(CLAIM))
            self.running.append((now + RUN_SECONDS, task))
            room -= 1
        while self.ended and self.ended[0][0] <= now:
            self.ended.popleft()
        if new or now - self.listed_at > LISTED_EVERY:
            self._list()
            self.listed_at = now
        for each in new:
            each.rename(each.with_name(each.name.replace("new", "known")))

    def _accept(self, file: Path) -> Path:
        mark, _, script = file.read_text().split()
        directory = Path(script).parent
        self.spool = directory.parent.parent / "spool"
        self.waiting += _tasks(file.suffix[1:], mark, directory)
        return file

    def _report(self, task: Task, kind: str, text: str) -> None:
        name = f"{task.mark}.{task.index}.{kind}"
        (self.spool / f".{name}").write_text(text)
        (self.spool / f".{name}").rename(self.spool / name)

    def _list(self) -> None:
        states = {
            "PENDING": self.waiting,
            "RUNNING": (task for _, task in self.running),
            "COMPLETED": (task for _, task in self.ended),
        }
        text = "".join(task.line(state) for state, tasks in states.items() for task in tasks)
        (self.place / ".listing").write_text(HEADER + text)
        (self.place / ".listing").rename(self.place / "listing")


def _tasks(batch: str, mark: str, directory: Path) -> Iterator[Task]:
    facts: dict[str, str] = {}
    for line in (directory / "jobs").read_text().splitlines():
        index, word, value = (*line.split(" ", 2), "")[:3]
        facts[word] = value
        if word == "end":
            yield Task(batch, int(index), mark, directory, facts["n"], facts["attempt"])


def main() -> None:
    """Play until the directory is removed."""
    place, slots = Path(sys.argv[1]), int(sys.argv[2])
    (place / "outputs").mkdir()
    for name in ("stdout", "stderr"):
        (place / "outputs" / name).touch()
    slurm = Slurm(place, slots)
    while (place / "listing").exists():
        slurm.go_on()
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
