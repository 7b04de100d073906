"""State directories that a version left in the middle of its work, as text: made, and unpacked again.

`python -m tests.upgrade.captured` makes `format-N.json` beside this file, N being the format of the status DB. It is
made once, by the version that is to be released, and never again: later versions must open it.

A capture holds the state directory, its work directory, and the truth about the batch system. Paths in it begin with
`{PLACE}`, the boot is `{BOOT}`. Of the wrapper, which nobody runs here, it has the names only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

from jim.jobs import Submission
from jim.keeper import serial
from jim.model import State, Step
from jim.site.settings import Keep, Limits
from jim.statusdb.formats import VERSION
from tests.support.stand_ins import Answers, Instead, Task, World

HERE = Path(__file__).parent
SETTINGS: dict[str, Any] = {"limits": Limits(queued_per_grid_job=6), "keep": Keep(finished_days=36_500)}
DATABASE = ("status.db", "status.db-wal", "status.db-shm")
WRAPPER = ("local-job", "local-job-watch", "local-job-outputs", "jim-publish", "remote-job")
CAPTURED_AT = 500.0  # seconds of its boot; a stand-in clock begins at 1000


# What was going on: test_upgrade.py says by hand how each of these ends.


def at_work(place: Path) -> World:
    """Let a keeper work until there is something of everything, and stop there."""
    world = World(place, None, **SETTINGS)
    world.clock.now = CAPTURED_AT
    world.submit(2, key="finished")
    world.run_all(1)
    world.submit(12, key="active")
    world.until(lambda: world.store.submissions("confirmed", grid=2))
    six_sent_together(world)
    world.until(lambda: len(_troubled(world)) == 1 and world.store.submissions("recorded", grid=2), seconds=0.0)
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE), Instead("find", Answers.DOWN)]
    world.submit(1, key="lost before it was accepted")
    world.until(lambda: len(_troubled(world)) == 2, seconds=0.0)
    world.submit(2, key="split")
    world.until(lambda: 4 in [each.id for each in world.store.grid_jobs(Step.SPLIT)], seconds=0.0)
    world.batch.finish(2, 2)  # its exit record lies in the spool
    world.submit(1, key="in the inbox")
    world.wish("cancel", "2.10")
    return world


def _troubled(world: World) -> list[Submission]:
    """Give the submissions that could not be looked for."""
    return [each for each in world.store.submissions("unknown") if each.trouble]


def six_sent_together(world: World) -> None:
    """Of grid job 2 local jobs 0 and 1 run, 2 has completed, 3 is to be tried again, 4 is held, 5 has failed.

    So there is room for more. 6 to 8 are sent and accepted, and the answer is lost. 9 is in the queue; 10 and 11 wait.
    """
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER), Instead("find", Answers.DOWN)]
    for index in range(1, 7):
        world.batch.start(2, index)
    told = f"file 3 {hashlib.sha256(b'2.2').hexdigest()} events.dat\n"
    world.batch.finish(2, 3, files=[("events.dat", b"2.2")], extra=told)
    world.batch.finish(2, 4, code=None, signal=9)
    world.batch.finish(2, 5, code=1, recovery="hold --from 3")
    world.batch.finish(2, 6, code=3)


# From a directory to text


def capture(world: World) -> dict[str, Any]:
    """Give all that a keeper left, and the truth about its batch system."""
    world.store.close()
    place = world.site.state.parent
    return {
        "database": _dumped(world.site.state / DATABASE[0]),
        "files": dict(_files(place)),
        "batch": {
            "next_id": world.batch.next_id,
            "accepted": world.batch.accepted,
            "ledger": world.batch.ledger,
            "tasks": [
                [id_, index, task.mark, str(task.directory), task.state.value, task.code, task.nonce]
                for (id_, index), task in world.batch.tasks.items()
            ],
        },
    }


def written(captured: dict[str, Any], place: Path) -> str:
    """Write a capture with one of its parts a line; wherever it was made, and for whatever boot."""
    lines = [
        f"{json.dumps(name)}: {_one_a_line(part, '[]') if isinstance(part, list) else _one_a_line(part, '{}')}"
        for name, part in captured.items()
    ]
    return ("{" + ",\n".join(lines) + "}\n").replace(str(place), "{PLACE}")


def _one_a_line(part: list[Any] | dict[str, Any], ends: str) -> str:
    each = [json.dumps({name: it})[1:-1] for name, it in part.items()] if ends == "{}" else map(json.dumps, part)
    return ends[0] + "\n" + ",\n".join(each) + "\n" + ends[1]


def _dumped(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE meta SET value = '{BOOT}' WHERE name = 'boot'")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        lines = [each.replace(",Inf,", ",9e999,") for each in db.iterdump()]  # of what is held; SQLite reads no Inf
        return [*lines, f"PRAGMA user_version = {version};"]


def _files(place: Path) -> Iterator[tuple[str, Any]]:
    """Give each file with its text; a second name of one, and a link, as what it leads to; a directory as nothing."""
    names: dict[int, str] = {}
    for path in sorted(place.rglob("*")):
        name, about = str(path.relative_to(place)), path.lstat()
        if path.is_symlink():
            yield name, {"link": str(path.readlink())}
        elif path.is_dir():
            yield name, None
        elif about.st_ino in names:
            yield name, {"same": names[about.st_ino]}
        elif path.name not in DATABASE:
            names[about.st_ino] = name
            yield name, "" if path.name in WRAPPER else _text(path.read_bytes())


def _text(content: bytes) -> Any:
    if b"\0" in content:
        return {"zlib": base64.b64encode(zlib.compress(content, 9)).decode()}
    return content.decode()


# And back


def unpack(file: Path, place: Path, boot: str) -> dict[str, Any]:
    """Put a captured state directory in its place; give the truth about its batch system."""
    captured: dict[str, Any] = json.loads(file.read_text().replace("{PLACE}", str(place)).replace("{BOOT}", boot))
    for name, content in captured["files"].items():
        _put(place, place / name, content)
    with closing(sqlite3.connect(place / "state" / DATABASE[0])) as db:
        db.executescript("\n".join(captured["database"]))
    return captured["batch"]


def _put(place: Path, path: Path, content: Any) -> None:
    if content is None:
        path.mkdir(mode=0o700)
    elif isinstance(content, str):
        path.write_text(content)
    elif "link" in content:
        path.symlink_to(content["link"])
    elif "same" in content:
        path.hardlink_to(place / content["same"])
    else:
        path.write_bytes(zlib.decompress(base64.b64decode(content["zlib"])))


def opened(file: Path, place: Path, boot: str) -> World:
    """Open a captured state directory as a keeper of today does."""
    batch = unpack(file, place, boot)
    world = World(place, None, **SETTINGS)
    world.batch.next_id, world.batch.accepted = batch["next_id"], batch["accepted"]
    world.batch.ledger = [(mark, index) for mark, index in batch["ledger"]]
    for id_, index, mark, directory, state, code, nonce in batch["tasks"]:
        world.batch.tasks[id_, index] = Task(mark, Path(directory), index, State(state), code, nonce=nonce)
    return world


def made_by_this_version(file: Path) -> Path:
    """Make the capture of this version."""
    with mock.patch.object(serial, "MACHINE", Path("/nonexistent")), tempfile.TemporaryDirectory() as place:
        file.write_text(written(capture(at_work(Path(place))), Path(place)))
    return file


def main() -> int:
    """Make the capture that later versions are held to."""
    os.umask(0o077)
    file = made_by_this_version(HERE / f"format-{VERSION}.json")
    print(f"{file}: {file.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
