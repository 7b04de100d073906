"""Promises that a recovery replaces: each file that takes the place of another one is given to one payload.

What is exactly once is judged by the diary of payloads, and by the files in the first store.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.unit.tasks.chain import GEN, RECO, Chain

ONE_EACH = 'splitter = "FileBased", parameters = { files_per_job = 1 }'
ALL = 'splitter = "MinFileBased", parameters = { files_per_job = 100 }, when = "closed"'


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


def begins(ground, split, broken, each="2", events=4):
    """Start a task whose pieces bring two files, and one that reads these."""
    ground.brings = lambda words: {f"{words[0]}.{n}.dat": f"{words[1:]} {n}\n".encode() for n in range(2)}
    text = f"""
{GEN.replace("gen.dat", "gen.*.dat")}
source = [ {{ events = {events}, events_per_piece = 2 }} ]
output = [ {{ name = "gen", files = "gen.*.dat", each = {each}, store = "{ground.stores["gen"]}" }} ]
release = {{ every_seconds = 0 }}
{RECO.replace("reco.dat", "reco.*.dat")}
source = [ {{ task = "gen", output = "gen", promises = true, when_broken = "{broken}" }} ]
split = {{ {split} }}
output = [ {{ name = "reco", files = "reco.*.dat", each = 2, store = "{ground.stores["reco"]}" }} ]
release = {{ every_seconds = 0 }}
"""
    ground.start(text, "gen", "reco")
    ground.until(lambda: len(ground.batch.tasks) == events // 2)


def breaks(ground, *firsts):
    """Let the pieces of the first task fail that make these first events; the others complete."""
    for key in ground.begin():
        if ground.words(key)[2] in firsts:
            ground.batch.finish(*key, code=3)
    ground.until(lambda: ground.work() or ground.counts("pieces", "gen").get("failed") == len(firsts))


def ends(ground):
    """Let all go on to its end; recover what has failed for want of a promise."""
    ground.until(lambda: ground.work() or ground.task("gen").outcome == "completed", 2.0)
    if ground.counts("pieces", "reco").get("failed"):
        ground.ask("recover", "reco")
    ground.until(lambda: ground.work() or ground.task("reco").outcome == "completed", 2.0)
    stored = {str(path) for path in ground.stores["gen"].iterdir()}
    given = Counter(name for words in ground.diary if words[0] == "reco" for name in words[1].split(","))
    assert given == dict.fromkeys(stored, 1)


def given_to(ground):
    """Return the items of the pieces of the second task that are not over."""
    reco = ground.task("reco")
    rows = (ground.store.piece(reco.id, p) for p in range(reco.next_piece))
    held = [each for each in rows if each.state.value in ("waiting", "failed")]
    return [[ground.store.items(reco.id, [n])[n].name for n in each.record["files"]] for each in held]


@pytest.mark.parametrize("broken", ["wait", "fail"])
@pytest.mark.parametrize(
    ("size", "places"), [(2, [["gen/2"], ["gen/2.1"]]), (1, [["gen/2", "gen/3"], ["gen/2.1", "gen/3.1"]])]
)
def test_25_two_files_of_a_piece_are_replaced_each_by_those_of_its_number(ground, broken, size, places):
    begins(ground, ONE_EACH, broken)
    breaks(ground, "1")
    held = {"wait": "waiting", "fail": "failed"}[broken]
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"completed": 2, held: 2})
    ground.ask("recover", "gen", parameters={"events_per_piece": size})
    ground.until(lambda: ground.counts("pieces", "gen").get("replaced") == 1)
    assert given_to(ground) == places
    ends(ground)


@pytest.mark.parametrize("broken", ["wait", "fail"])
@pytest.mark.parametrize(
    ("size", "place"),
    [
        (2, ["gen/2", "gen/2.1", "gen/1", "gen/1.1"]),
        (1, ["gen/2", "gen/3", "gen/2.1", "gen/3.1", "gen/1", "gen/1.1"]),
    ],
)
def test_25_a_piece_that_has_both_files_has_each_of_the_new_ones_once(ground, broken, size, place):
    begins(ground, ALL, broken)
    breaks(ground, "1")
    held = {"wait": "waiting", "fail": "failed"}[broken]
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {held: 1})
    ground.ask("recover", "gen", parameters={"events_per_piece": size})
    ground.until(lambda: ground.counts("pieces", "gen").get("replaced") == 1)
    assert given_to(ground) == [place]
    ends(ground)
