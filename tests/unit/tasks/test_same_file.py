"""Two items that name one file: each is in one piece, however the splitter cuts."""

from __future__ import annotations

from collections import Counter

import pytest

from jim.statusdb.task_rows import PieceState
from tests.unit.tasks.chain import GEN, RUN, Chain
from tests.unit.tasks.ground import a_list

FED = """
{run}
source = [ {{ task = "gen", output = "gen" }}, {{ list = "{names}" }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = {files} }} }}
release = {{ every_seconds = 0 }}
"""


@pytest.fixture
def chain(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


def begin(chain, files):
    """Let a task bring four files, two of which a list names, too; return their paths."""
    stored = [str(chain.stores["gen"] / f"gen-{p:07}-gen.dat") for p in range(4)]
    names = a_list(chain.place, *stored[:2])
    gen = f"""
{GEN}
source = [ {{ events = 8, events_per_piece = 2 }} ]
output = [ {{ name = "gen", files = "gen.dat", store = "{chain.stores["gen"]}" }} ]
release = {{ every_seconds = 0 }}
"""
    run = RUN.format("twice", '"$InputFiles"', "all")
    chain.start(gen + FED.format(run=run, names=names, files=files), "gen")
    chain.finish("gen")
    chain.ask("start", "twice", untested=True)
    return stored


def worked_on(chain):
    """Count how often each file was worked on with success, by the diary."""
    return Counter(word for words in chain.diary for word in ",".join(words).split(",") if word.startswith("/"))


def in_pieces(chain):
    """Count in how many pieces each item is that are not replaced or taken back."""
    task = chain.task("twice")
    pieces = [chain.store.pieces.one(task.id, p) for p in range(task.next_piece)]
    live = [each for each in pieces if each.state is PieceState.COMPLETED]
    return Counter(number for each in live for number in each.record["files"])


@pytest.mark.parametrize("files", [1, 2, 5])
def test_each_of_two_items_of_one_file_is_in_one_piece(chain, files):
    stored = begin(chain, files)
    chain.finish("twice")
    assert worked_on(chain) == Counter(stored + stored[:2])
    assert sorted(in_pieces(chain).values()) == [1] * 6
    assert set(chain.items("twice").values()) == {"completed"}


def test_failed_pieces_with_two_items_of_one_file_are_cut_again(chain):
    stored = begin(chain, 2)
    chain.until(lambda: chain.counts("pieces", "twice").get("failed") == 3 or chain.fail("twice"))
    chain.ask("recover", "twice", parameters={"files_per_job": 1})
    chain.finish("twice")
    assert worked_on(chain) == Counter(stored + stored[:2])
    assert sorted(in_pieces(chain).values()) == [1] * 6
