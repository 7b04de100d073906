"""The story of an item, from its arrival to the merged file that it is in."""

from __future__ import annotations

import json
import re

import pytest

from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import EVENTS, SH, a_list

AT = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z0-9+-]+)"


@pytest.fixture
def chain(tmp_path, monkeypatch):
    """Three tasks, whose state directory the command line uses."""
    made = Chain(tmp_path, monkeypatch)
    monkeypatch.setenv("JIM_STATE", str(made.site.state))
    monkeypatch.setattr("jim.reading.view.Clock", lambda: made.clock)
    return made


@pytest.fixture
def tell(jim, capsys):
    """Return the lines of a story, with T for each time."""

    def told(*words: str) -> list[str]:
        capsys.readouterr()
        code, out = jim("items", *words, "--story")
        assert code == 0
        return [" ".join(re.sub(AT, "T", line).split()) for line in out.splitlines()]

    return told


@pytest.fixture
def ground(chain):
    """What `jim` drives."""
    return chain


def test_the_story_goes_from_a_promise_to_the_merged_file_while_it_runs_and_after_it(chain, tell):
    chain.chain()
    gen, reco, merge = (chain.stores[name] for name in ("gen", "reco", "merge"))
    chain.until(lambda: chain.counts("pieces", "merge") == {"waiting": 1})
    promised = [
        "gen/7 promised T by piece gen/7",
        "reco/1 planned T; waits for 5 items that are not there yet",
        "reco/1 promised T; an item of merge, acquired",
        "merge/0 planned T; waits for 4 items that are not there yet",
        "all/0 promised T",
    ]
    assert tell("reco", "gen/7") == promised
    assert "gen/7" in chain.items_of(chain.task("reco").id, 1)
    chain.work()
    chain.until(lambda: chain.counts("output gen", "gen") == {"stored": 20})
    fulfilled = f"gen/7 promised T by piece gen/7; fulfilled T: {gen}/gen-0000007-gen.dat"
    chain.until(lambda: chain.counts("pieces", "reco") == {"sent": 4})
    chain.until(lambda: chain.begin())
    chain.go(3)
    running = tell("reco", "gen/7")
    assert running[0] == fulfilled
    assert running[1] == "reco/1 planned T; released T in reco:1 = 2.1; attempt 1 started T on node1"
    chain.end()
    chain.finish()
    assert tell("reco", "gen/7") == [
        fulfilled,
        "reco/1 planned T; released T in reco:1 = 2.1; completed T on node1, attempt 1",
        f"reco/1 stored T: {reco}/reco-0000001-reco.dat; an item of merge, completed",
        "merge/0 planned T; released T in merge:1 = 3.0; completed T on node1, attempt 1",
        f"all/0 stored T: {merge}/merge-0000000-all.dat",
    ]
    assert {"15", "16"} <= {*(gen / "gen-0000007-gen.dat").read_text().split()}
    assert {"15", "16"} <= {*(reco / "reco-0000001-reco.dat").read_text().split()}


def test_programs_get_the_steps_with_their_facts(chain, jim):
    chain.chain()
    chain.finish()
    (told,) = json.loads(jim("items", "reco", "gen/7", "--story", "--json")[1])
    assert (told["task"], told["item"]) == ("reco", "gen/7")
    assert [(each["what"], each["task"], each["name"], each["state"]) for each in told["steps"]] == [
        ("item", "reco", "gen/7", "completed"),
        ("piece", "reco", "reco/1", "completed"),
        ("output", "reco", "reco/1", "stored"),
        ("piece", "merge", "merge/0", "completed"),
        ("output", "merge", "all/0", "stored"),
    ]
    item, piece, output = told["steps"][:3]
    assert item["promised_by"] == "gen/7"
    assert (piece["local_job"], piece["wave"], piece["attempts"][0]["host"]) == ("2.1", 1, "node1")
    assert output["place"] == f"{chain.stores['reco']}/reco-0000001-reco.dat"
    assert [(each["task"], each["state"]) for each in output["items"]] == [("merge", "completed")]


def test_each_piece_of_an_item_stands_once_also_if_its_files_meet_again(chain, tell):
    chain.chain(events=8)
    chain.finish()
    names = [line.partition(" ")[0] for line in tell("gen")]
    assert names == [
        *("events", "gen/0", "gen/0", "gen/1", "gen/1", "gen/2", "gen/2", "gen/3", "gen/3"),
        *("reco/0", "reco/0", "merge/0", "all/0"),
    ]
    assert tell("gen")[0] == "events 1-8 came T from events 1 to 8"


def test_what_failed_was_recovered_and_replaced_is_told(chain, tell):
    chain.chain(events=12, each=3, files=4)
    chain.until(lambda: len(chain.batch.tasks) == 4)
    chain.begin()
    chain.batch.finish("1", 2, code=3)
    chain.until(lambda: chain.work() or chain.counts("output gen", "gen").get("stored") == 3)
    broken = tell("reco", "gen/1")
    assert re.fullmatch(r"gen/1 promised T by piece gen/1; its promise is broken since T", broken[0])
    chain.ask("fix", "gen", changes={"memory_mb": 3000})
    chain.ask("recover", "gen", parameters={"events_per_piece": 3})
    chain.finish()
    (item,) = tell("reco", "gen/1")
    assert item.startswith("gen/1 promised T by piece gen/1; other pieces promise it since T; gone: replaced by gen/4")
    assert chain.store.pieces.one(chain.task("gen").id, 1).reason == "exit 3", (
        "also once its grid job is no longer kept"
    )
    lines = [line for line in tell("gen") if line.startswith(("gen/1 ", "gen/4 "))]
    assert lines == [
        "gen/1 planned T; released T in gen:1 = 1.1; attempt 1 on node1 failed T: exit 3; replaced by new pieces T",
        "gen/1 other pieces promise it since T; an item of reco, gone",
        "gen/4 planned T; released T in gen:2 = 2.0; completed T on node1, attempt 1",
        f"gen/4 stored T: {chain.stores['gen']}/gen-0000004-gen.dat; made with fix 1; an item of reco, completed",
    ]


def test_a_piece_that_a_pause_ended_tells_each_wave_and_attempt(chain, tell, tmp_path):
    source = f'source = [ {{ list = "{a_list(tmp_path, "a", "b")}" }} ]'
    split = 'split = { splitter = "FileBased", parameters = { files_per_job = 1 } }'
    chain.brings = lambda _: {}
    chain.start(f'[[task]]\nname = "t"\n{SH}\n{source}\n{split}\n')
    chain.until(lambda: len(chain.batch.tasks) == 2)
    chain.begin()
    chain.ask("pause", "t", kill=True)
    chain.until(lambda: chain.counts("pieces") == {"ready": 2}, 5.0)
    chain.ask("resume", "t")
    chain.until_state(TaskState.FINISHED)
    again = next(name for name in "ab" if any("a pause ended it" in line for line in tell("t", name)))
    lines = tell("t", again)
    p = "ab".index(again)
    assert lines[0] == f"{again} came T from list {tmp_path}/names.txt"
    assert lines[1] == (
        f"t/{p} planned T; in t:1 = 1.{p} a pause ended it after 1 attempt; "
        "released T in t:2 = 2.0; completed T on node1, attempt 1"
    )


def test_an_item_that_a_person_may_have_added_has_no_source(chain, tell, tmp_path):
    source = f'source = [ {{ list = "{a_list(tmp_path, "a", closed=False)}" }} ]'
    split = 'split = { splitter = "FileBased", parameters = { files_per_job = 9 } }'
    chain.start(f'[[task]]\nname = "t"\n{SH}\n{source}\n{split}\n')
    chain.until(lambda: chain.items() == {"a": "available"})
    chain.ask("add", "t", items=["b"])
    chain.ask("drop", "t", items=["b"], reason="broken")
    assert tell("t") == ["a came T", "", "b came T; dropped: broken"]


def test_no_item_fits(chain, jim):
    chain.start(f'[[task]]\nname = "t"\n{EVENTS}\nsource = [ {{ events = 4, events_per_piece = 4 }} ]\n')
    assert jim("items", "t", "x*", "--story")[1] == "no item fits\n"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_story_fits_any_terminal(chain, jim, capsys, monkeypatch, width):
    chain.chain()
    chain.finish()
    monkeypatch.setattr("jim.cli.text.room", lambda _: width)
    capsys.readouterr()
    lines = jim("items", "reco", "gen/7", "--story")[1].splitlines()
    long = [line for line in lines if len(line) > width]
    assert all(len(line.split()) == 1 for line in long), "only the path of a file is longer"


def test_what_a_cancelled_task_has_not_sent_is_told_as_such(chain, tell):
    chain.chain()
    chain.until(lambda: chain.counts("pieces", "merge") == {"waiting": 1})
    chain.ask("cancel", "reco")
    chain.go(3)
    assert tell("reco", "gen/7")[:3] == [
        "gen/7 promised T by piece gen/7; reco was cancelled: nothing more is sent",
        "reco/1 planned T; never sent: reco was cancelled",
        "reco/1 promised T; nothing of it comes: reco was cancelled; an item of merge, failed",
    ]
