"""jim task redo: which pieces it takes, and what it tells of what was made of them."""

from __future__ import annotations

import json

import pytest

from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import EVENTS

CHAIN = f"""\
[[task]]
name = "mc"
{EVENTS}
source = [ {{ events = 6, events_per_piece = 2, campaigns = 3 }} ]
output = [ {{ name = "gen", files = "*.dat" }} ]
[[task]]
name = "use"
request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"] }}
source = [ {{ task = "mc", output = "gen" }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
"""


@pytest.fixture
def ground(ground):
    """Two tasks that have finished: three pieces each."""
    ground.brings = lambda words: {"out.dat": words[0].encode()} if len(words) == 2 else {}
    ground.start(CHAIN.replace('executable = "/bin/echo"', 'executable = "/bin/echo", outputs = ["*.dat"]', 1), "mc")
    ground.ask("start", "use", untested=True)
    ground.until_state(TaskState.FINISHED, "use")
    return ground


def test_what_something_was_made_of_needs_a_word(ground, jim):
    code, told = jim("redo", "mc/1")
    words = "of this was made: 1 piece in use; --with-all makes that again, too; --stale only marks it"
    assert (code, told) == (2, f"jim: mc: {words}\n")
    assert len(ground.diary) == 6


def test_with_all_of_it(ground, jim):
    code, told = jim("redo", "mc/0-1", "--with-all", "--reason", "a wrong table")
    words = "2 completed pieces are done again, with what was made of them: 2 pieces in use"
    assert (code, told) == (0, f"mc: {words}; `jim task explain mc` shows the progress\n")
    ground.until(lambda: ground.task("use").state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED, "use")
    assert len(ground.diary) == 10
    assert any("reason a wrong table" in line for line in ground.journal("mc"))


def test_a_trial_changes_nothing(ground, jim):
    code, told = jim("redo", "mc", "--group", "2", "--stale", "--dry-run")
    assert (code, told) == (
        0,
        "mc: 1 completed piece is done again; of it was made: 1 piece in use; what is left as it is, is marked\n",
    )
    code, told = jim("redo", "mc", "--group", "2", "--dry-run", "--json")
    assert code == 0
    (record,) = json.loads(told)
    assert (record["pieces"], record["made_of_them"], record["stored"]) == ([1], ["2/1"], 0)
    assert not any("redo" in line for line in ground.journal("mc"))


def test_the_pieces_of_items(ground, jim):
    code, told = jim("redo", "use", "--item", "gen/[12]")
    assert (code, told) == (0, "use: 2 completed pieces are done again; `jim task explain use` shows the progress\n")
    ground.until(lambda: ground.task("use").state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED, "use")
    assert len(ground.diary) == 8


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["mc"], 2, "jim: mc: say which pieces: mc/P, --item or --group"),
        (["mc/9"], 3, "mc: left as it is: none of these pieces has completed"),
        (["mc/x"], 2, "jim: 'mc/x': expected a task or its pieces, such as mc/7 or mc/3,7-9"),
        (["mc/0-999999999"], 2, "jim: 0-999999999: names more than 100,000 pieces"),
        (["no/1"], 4, "jim: there is no task 'no'"),
        (["mc/1", "--reason", "a\nb", "--stale"], 2, "jim: "),
    ],
)
def test_what_cannot_be_done_again(ground, jim, words, code, why):
    assert jim("redo", *words)[0] == code
    assert jim("redo", *words)[1].startswith(why)


def test_items_are_named_by_ranges(ground, jim):
    assert [line.split()[0] for line in jim("items", "use", "gen/0-1")[1].splitlines()[1:]] == ["gen/0", "gen/1"]
    assert jim("redo", "use", "--item", "gen/0,2", "--dry-run")[1] == "use: 2 completed pieces are done again\n"


def test_items_are_dropped_by_ranges(ground, jim, tmp_path):
    names = "".join(f"run/{n}\n" for n in range(6))
    (tmp_path / "names").write_text(names)
    source = f'source = [ {{ list = "{tmp_path}/names" }} ]\nsplit.splitter = "FileBased"\nsplit.when = "closed"'
    request = 'request = { job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"] }'
    ground.start(f'[[task]]\nname = "open"\n{request}\n{source}\n', "open")
    ground.until(lambda: ground.counts("items", "open").get("available") == 6)
    assert jim("drop", "open", "run/1-3", "run/5", "--reason", "empty") == (
        0,
        "open: 4 given up, unless they are on the way\n",
    )
    assert [name for name, state in ground.items("open").items() if state == "dropped"] == [
        "run/1",
        "run/2",
        "run/3",
        "run/5",
    ]
