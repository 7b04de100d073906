"""docs/tasks.md, typed as it stands: each command of the page, and each block of what JIM prints."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from jim import cli
from jim.cli.tasks import watching
from jim.model import State
from jim.statusdb.task_rows import TaskState
from tests.support.documents import blocks, code, indented
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import Ground

PAGE = "docs/tasks.md"
STANDS_FOR = {"NAME", "NAME/P", "G", "G.n"}  # what readers have
BLOCKS = [line.removeprefix("$ ") for block in indented(PAGE) for line in block.splitlines() if line.startswith("$ ")]
SPANS = [each for each in code(PAGE) if re.match(r"jim (task \w+|status|xml) \S", each)]
# Those that need a state which others do not leave come last; the story has a test of its own.
LAST = ["jim task watch mc", "jim task cancel mc", "jim task remove mc"]
OWN = {*BLOCKS, *LAST, "jim task items reconstruct gen/17 --story", "jim task test mc", "jim task start mc"}
COMMANDS = [each for each in dict.fromkeys(SPANS) if not STANDS_FOR & set(each.split()) and each not in OWN] + LAST
BEFORE = {"jim task close repro 194341": "jim task reopen repro"}


@pytest.fixture
def place(ground, monkeypatch):
    """A directory with the task files of the page, and where they look and store."""
    for name in ("in", "store"):
        (ground.place / name).mkdir()
    for n in range(12):
        (ground.place / f"in/run194341_{n}.raw").write_text("x")
    (ground.place / "more.txt").write_text("/data/run1_9.raw\n")
    for number, block in enumerate(blocks(PAGE, "toml")):
        text = block.replace('"/tmp"' if "[[task.output]]" not in block else '"/no"', f'"{ground.place}/in"')
        text = re.sub(r'directory = "/tmp"', f'directory = "{ground.place}/in"', text)
        text = re.sub(r'store = "[^"]*"', f'store = "{ground.place}/store"', text)
        (ground.place / ("mc.toml" if number == 0 else f"{number}.toml")).write_text(text)
    monkeypatch.chdir(ground.place)
    return ground.place


@pytest.fixture
def typed(ground, capsys):
    """Type a line of the page; the keeper takes what it has left."""

    def type_(line):
        code = cli.main(shlex.split(line)[1:])
        told = capsys.readouterr()
        ground.go(2)
        return code, told.out + told.err

    return type_


@pytest.fixture
def passing(ground, monkeypatch):
    """Let time pass while somebody watches."""
    monkeypatch.setattr(watching, "sleep", lambda _: (ground.work(), ground.go(2, 1.0)))


def let_fail(ground):
    """Let what is in the queue fail, but for the task mc, of which all stays on the way."""
    ground.go(6, 40.0)
    ground.begin()
    for key, job in list(ground.batch.tasks.items()):
        wave = ground.store.waves.of_grid_job(int(Path(job.directory).parent.name))
        if job.state is State.RUNNING and wave and ground.store.tasks.one(wave.task).name != "mc":
            ground.batch.finish(*key, code=3)
    ground.go(3)


def test_the_first_task_of_the_page_goes_as_it_is_told(ground, place, typed, passing):
    block = next(each for each in indented(PAGE) if each.startswith("$ jim task check mc.toml"))
    for part in block.strip().removeprefix("$ ").split("\n$ "):
        line, *told = part.splitlines()
        code, said = typed(line)
        assert code == 0, (line, said)
        assert not told or said.splitlines() == told
    ground.until_state(TaskState.FINISHED, "mc")
    assert len(ground.diary) == 5, "four pieces and a test"


def test_each_command_of_the_page_does_something(ground, place, typed, passing):
    for file in sorted(place.glob("*.toml")):
        assert typed(f"jim task create {file}")[0] == 0
    names = ("mc", "repro", "merge-runs", "gen", "generate")
    typed(f"jim task start {' '.join(names)} --untested")
    for _ in range(3):
        let_fail(ground)
    for line in COMMANDS:
        for each in (BEFORE.get(line), line):
            code, said = typed(each) if each else (0, "")
            assert code == 0, (each, said)
        if line.split()[2] in ("close", "recover", "retry"):
            let_fail(ground)
    assert [each.name for each in ground.store.tasks.all()].count("mc") == 0


def test_the_story_of_the_page_is_told_so(tmp_path, monkeypatch, capsys):
    """Scenario 74: what the page shows, but for times, places and numbers of grid jobs."""
    chain = Chain(tmp_path, monkeypatch)
    monkeypatch.setenv("JIM_STATE", str(chain.site.state))
    text = chain.text(events=100, each=5, files=10)
    for short, long in (("gen", "generate"), ("reco", "reconstruct")):
        text = text.replace(f'name = "{short}"\nrequest', f'name = "{long}"\nrequest')
        text = text.replace(f'task = "{short}"', f'task = "{long}"')
    chain.start(text, "generate", "reconstruct", "merge")
    chain.finish()
    assert cli.main(["task", "items", "reconstruct", "gen/17", "--story"]) == 0
    (block,) = (each for each in indented(PAGE) if each.startswith("gen/17 "))
    assert alike(capsys.readouterr().out) == alike(block)


def alike(story):
    times = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "T", story.strip())
    return re.sub(r"= \d+\.|on node\d|/\S*/(?=[^/\s]+\.dat)", "…", times).splitlines()


def test_a_recovery_is_told_as_on_the_page(ground, place, typed):
    block = next(each for each in indented(PAGE) if "--dry-run" in each)
    (file,) = (each for each in place.glob("*.toml") if 'name = "repro"\n' in each.read_text())
    files = [str(each) for each in place.rglob("run*.raw")]
    assert len(files) == 12
    typed(f"jim task create {file}")
    typed("jim task start repro --untested")
    Ground.go(ground, 4, 40.0)
    typed("jim task close repro")
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    for key, exit_code in zip(ground.batch.tasks, (3, 4), strict=True):
        ground.batch.finish(*key, code=exit_code)
    ground.until(lambda: ground.counts("pieces", "repro").get("failed") == 2)
    lines = block.strip().splitlines()
    told = typed(lines[0].removeprefix("$ "))[1].splitlines()
    assert [numbers_out(each) for each in told] == [numbers_out(each) for each in lines[1:3]]
    assert told == [
        "failed: 2 pieces, 12 items (1 × exit 3, 1 × exit 4); 0 completed pieces are left alone",
        "becomes: 12 pieces, with memory_mb 4000 (for these alone)",
    ]
    assert typed(lines[3].removeprefix("$ "))[0] == 0
    ground.until_state(TaskState.FINISHED, "repro")
    assert Counter(each for each in ground.done().elements() if each.startswith("/")) == Counter(files)


def numbers_out(line):
    return re.sub(r"\d[\d,]*", "N", line)


def test_all_commands_of_the_page_are_typed():
    assert {"jim task throttle mc at_once=50 queued=20 first=5", "jim task pause --all --kill"} <= {*COMMANDS}
    assert len(COMMANDS) > 35
    typed = {*COMMANDS, *BLOCKS, *OWN}
    assert {each for each in SPANS if not STANDS_FOR & set(each.split())} <= typed
