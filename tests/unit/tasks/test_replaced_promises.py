"""Promises that a recovery replaces: each file that takes the place of another one is given to one payload.

What is exactly once is judged by the diary of payloads, and by the files in the first store.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from jim.statusdb.task_rows import TaskState
from tests.support.sampled import sampled
from tests.unit.tasks.chain import GEN, MERGE, RECO, Chain
from tests.unit.tasks.ground import a_list

ONE_EACH = 'splitter = "FileBased", parameters = { files_per_job = 1 }'
ALL = 'splitter = "MinFileBased", parameters = { files_per_job = 100 }, when = "closed"'


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


def two_files(words):
    """Return what a payload leaves."""
    return {f"{words[0]}.{n}.dat": f"{words[1:]} {n}\n".encode() for n in range(2)}


def begins(ground, split, broken, *, each="2", brings=two_files):
    """Start a task of two pieces that bring two files each, and one that reads these."""
    ground.brings = brings
    text = f"""
{GEN.replace('"gen.dat"', '"gen.*.dat", "gen.*.json"')}
source = [ {{ events = 4, events_per_piece = 2 }} ]
output = [ {{ name = "gen", files = "gen.*.dat", each = {each}, store = "{ground.stores["gen"]}" }} ]
release = {{ every_seconds = 0 }}
{RECO.replace("reco.dat", "reco.*.dat")}
source = [ {{ task = "gen", output = "gen", promises = true, when_broken = "{broken}" }} ]
split = {{ {split} }}
output = [ {{ name = "reco", files = "reco.*.dat", each = 2, store = "{ground.stores["reco"]}" }} ]
release = {{ every_seconds = 0 }}
"""
    ground.start(text, "gen", "reco")
    ground.until(lambda: len(ground.batch.tasks) == 2)


def breaks(ground, *firsts):
    """Let the pieces of the first task fail that make these first events; the others complete."""
    for key in ground.begin():
        if ground.words(key)[2] in firsts:
            ground.batch.finish(*key, code=3)
    ground.until(lambda: ground.work() or ground.counts("pieces", "gen").get("failed") == len(firsts))


def ends(ground):
    """Let all go on to its end; try again what has failed for want of a promise."""
    ground.until(lambda: ground.work() or ground.task("gen").outcome == "completed", 2.0)
    if ground.counts("pieces", "reco").get("failed"):
        ground.ask("retry", "reco")
    ground.until(lambda: ground.work() or ground.task("reco").outcome == "completed", 2.0)
    stored = {str(path) for path in ground.stores["gen"].iterdir()}
    given = Counter(name for words in ground.diary if words[0] == "reco" for name in words[1].split(","))
    assert given == dict.fromkeys(stored, 1)


def given_to(ground):
    """Return the items of the pieces of the second task that are not over."""
    reco = ground.task("reco")
    rows = (ground.store.pieces.one(reco.id, p) for p in range(reco.next_piece))
    held = [each for each in rows if each.state.value in ("waiting", "failed")]
    return [[ground.store.pools.items(reco.id, [n])[n].name for n in each.record["files"]] for each in held]


@pytest.mark.parametrize("broken", ["wait", "fail"])
@pytest.mark.parametrize(
    ("size", "places"), [(2, [["gen/2"], ["gen/2.1"]]), (1, [["gen/2", "gen/3"], ["gen/2.1", "gen/3.1"]])]
)
def test_two_files_of_a_piece_are_replaced_each_by_those_of_its_number(ground, broken, size, places):
    begins(ground, ONE_EACH, broken)
    breaks(ground, "1")
    held = {"wait": "waiting", "fail": "failed"}[broken]
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"completed": 2, held: 2})
    ground.ask("recover", "gen", parameters={"events_per_piece": size})
    ground.until(lambda: ground.counts("pieces", "gen").get("replaced") == 1)
    assert given_to(ground) == places
    ends(ground)


@pytest.mark.parametrize("split", [ONE_EACH, ALL])
@pytest.mark.parametrize("broken", sampled(["wait", "fail"]))
def test_files_of_any_number_are_each_in_one_piece_whatever_the_failed_piece_had_brought(ground, broken, split):
    told = 9  # events, more than a file may have: the piece fails after its two files were found

    def brings(words):
        files = two_files(words)
        events = json.dumps({"events": told if words[1] == "1" else 1}).encode()
        return files | {f"{name}.json": events for name in files if words[0] == "gen"}

    begins(ground, split, broken, each='"any", about = ".json", expects = { events = 4 }', brings=brings)
    ground.until(lambda: ground.work() or ground.counts("pieces", "gen") == {"completed": 1, "failed": 1})
    assert ground.counts("output gen", "gen")["broken"] == 2
    ground.go(5, 2.0)
    told = 1
    ground.ask("recover", "gen")
    ends(ground)
    assert len(list(ground.stores["gen"].iterdir())) == 4


@pytest.mark.parametrize("broken", ["wait", "fail"])
@pytest.mark.parametrize(
    ("size", "place"),
    [
        (2, ["gen/2", "gen/2.1", "gen/1", "gen/1.1"]),
        (1, ["gen/2", "gen/3", "gen/2.1", "gen/3.1", "gen/1", "gen/1.1"]),
    ],
)
def test_a_piece_that_has_both_files_has_each_of_the_new_ones_once(ground, broken, size, place):
    begins(ground, ALL, broken)
    breaks(ground, "1")
    held = {"wait": "waiting", "fail": "failed"}[broken]
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {held: 1})
    ground.ask("recover", "gen", parameters={"events_per_piece": size})
    ground.until(lambda: ground.counts("pieces", "gen").get("replaced") == 1)
    assert given_to(ground) == [place]
    ends(ground)


def begins_with_a_list(ground, broken):
    """Start a task that reads four files, one that reads what the first brings of each, and one that merges all."""
    names = a_list(ground.place, *(f"/data/{n}" for n in range(4)))
    ground.brings = lambda words: {f"{words[0].replace('merge', 'all')}.dat": b"".join(contents(words))}
    text = f"""
{GEN.replace('"$FirstEvent", "$LastEvent"', '"$InputFiles"')}
source = [ {{ list = "{names}", every_seconds = 1 }} ]
split = {{ {ONE_EACH} }}
output = [ {{ name = "gen", files = "gen.dat", store = "{ground.stores["gen"]}" }} ]
release = {{ every_seconds = 0 }}
{RECO}
source = [ {{ task = "gen", output = "gen", promises = true, when_broken = "{broken}" }} ]
split = {{ {ONE_EACH} }}
output = [ {{ name = "reco", files = "reco.dat", store = "{ground.stores["reco"]}" }} ]
release = {{ every_seconds = 0 }}
{MERGE}
source = [ {{ task = "reco", output = "reco", promises = true, when_broken = "{broken}" }} ]
split = {{ {ALL} }}
output = [ {{ name = "all", files = "all.dat", store = "{ground.stores["merge"]}" }} ]
release = {{ every_seconds = 0 }}
"""
    ground.start(text, "gen", "reco", "merge")
    ground.until(lambda: len(ground.batch.tasks) == 4)


def contents(words):
    """Yield what a payload copies from its inputs."""
    for name in words[1].split(","):
        yield f"{name[-1]}\n".encode() if words[0] == "gen" else Path(name).read_bytes()


@pytest.mark.parametrize("verb", ["retry", "recover"])
def test_a_failed_piece_whose_last_file_another_piece_has_is_taken_back(ground, verb):
    begins_with_a_list(ground, "fail")
    breaks(ground, "/data/1", "/data/2")
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"completed": 2, "failed": 2})
    ground.until(lambda: ground.work() or ground.counts("pieces", "merge") == {"failed": 1})
    ground.until(lambda: ground.task("reco").state is ground.task("merge").state is TaskState.FINISHED)
    ground.ask("recover", "gen", parameters={"files_per_job": 2})
    ground.until(lambda: ground.counts("pieces", "gen") == {"completed": 3, "replaced": 2} or ground.work())
    assert ground.counts("pieces", "reco") == {"completed": 2, "failed": 1, "taken back": 1}
    assert given_to(ground) == [["gen/4"]]
    ground.ask(verb, "reco")
    replaced = {"replaced": 1} if verb == "recover" else {}
    ground.until(lambda: ground.work() or ground.task("reco").outcome == "completed", 2.0)
    assert ground.counts("pieces", "reco") == {"completed": 3, "taken back": 1, **replaced}
    ground.ask(verb, "merge")  # what it waited for besides was still broken, and it has failed again
    ground.until(lambda: ground.work() or ground.task("merge").outcome == "completed", 2.0)
    assert ground.merged() == [0, 1, 2, 3]
    assert not [words for words in ground.diary if not words[1]]


def test_a_waiting_piece_whose_last_file_another_piece_has_is_taken_back(ground):
    begins_with_a_list(ground, "wait")
    breaks(ground, "/data/1", "/data/2")
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"completed": 2, "waiting": 2})
    ground.ask("recover", "gen", parameters={"files_per_job": 2})
    ground.until(lambda: ground.work() or ground.task("merge").outcome == "completed", 2.0)
    assert ground.counts("pieces", "reco") == {"completed": 3, "taken back": 1}
    assert ground.merged() == [0, 1, 2, 3]
