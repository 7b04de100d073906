"""A story that chance writes: pieces of all tasks are done again while all runs, pauses and goes on, with kills."""

from __future__ import annotations

import pytest

from tests.faults.judged import NAMES

STEPS = 12


def chance(told):
    """Say one command that people may say now; JIM may refuse it."""
    name = told.random.choice(NAMES)
    piece = told.random.choice(range({"gen": 4, "reco": 2, "merge": 1}[name]))
    redo = ("task", "redo", f"{name}/{piece}", "--with-all")
    more = (("task", "pause", name), ("task", "pause", name, "--kill"), ("task", "resume", "--all"))
    words = told.random.choice((redo, redo, redo, redo, *more, more[-1]))
    came = told.at.door(*words)
    assert came.returncode in (0, 2, 3), (words, came.stdout, came.stderr)
    print(*words, came.returncode)


def remember(told, seen):
    """Remember the bytes of all files that are stored."""
    for files in told.stores.values():
        for path in files.iterdir():
            if not path.name.startswith("."):
                seen.add((str(path).partition(".withdrawn.")[0], path.read_text()))


@pytest.mark.torture
@pytest.mark.parametrize("time", range(4))
def test_whatever_is_done_again_and_when_each_event_is_merged_once_of_its_last_attempts(story, time):
    seen, told = set(), story()
    told.chain()
    for _ in range(STEPS):
        remember(told, seen)
        if told.random.random() < 0.4:
            told.end()
        chance(told)
        told.die(told.random.choice((0, 0, 1, 2)))
        moment = told.random.choice((0, 1, 2, 3))
        told.work(lambda left=[moment]: left.append(left.pop() - 1) or left[0] < 0, "a moment", moment > 1)
    for _ in range(20):
        if "paused" not in told.states().values():
            break
        paused = [name for name, state in told.states().items() if state == "paused"]
        told.jim("task", "resume", *paused)
        told.work(lambda: not told.waits(), "they go on")
    told.finish(2)
    told.hold(8)
    now = set()
    remember(told, now)
    assert seen <= now, (seen - now, told.told())
