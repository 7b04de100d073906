"""What the list, `status` and `explain` say of a task that cannot go on as it should, or has failed."""

from __future__ import annotations

import json

import pytest

from jim.cli.tasks.looking import row
from jim.reading.tasks import tests as task_tests
from jim.reading.tasks.task import seen
from jim.reading.view import look
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.unit.tasks.ground import EVENTS, SH, a_list

CHAIN = f"""
[[task]]
name = "gen"
request = {{{{ job_type = "executable", executable = "/bin/echo", outputs = ["gen.dat"] }}}}
source = [ {{{{ events = 4, events_per_piece = 2 }}}} ]
output = [ {{{{ name = "gen", files = "gen.dat" }}}} ]
[[task]]
name = "reco"
{SH.replace("{", "{{").replace("}", "}}")}
source = [ {{{{ task = "gen", output = "gen", promises = {{promises}} }}}} ]
split = {{{{ splitter = "FileBased", parameters = {{{{ files_per_job = {{files}} }}}} }}}}
"""


def chain(ground, jim, *, files=1, promises="true", code=3):
    """Let a task whose pieces end with a code feed another one; return what is said of that by the list."""
    jim("create", ground.write(CHAIN.format(files=files, promises=promises)))
    jim("start", "gen", "--untested")
    jim("start", "reco")
    ground.until_state(TaskState.FINISHED, "gen", code=code)
    ground.go(5)
    return reason(jim, "reco")


def reason(jim, name):
    told = json.loads(jim("status", "--json")[1])
    return next(each["reason"] for each in told if each["name"] == name)


def explained(jim, name):
    return {each["what"]: each["next"] for each in json.loads(jim("explain", name, "--json")[1])}


AGAIN = "`jim task retry gen` or `jim task recover gen` may fulfil them"


def test_a_task_that_waits_for_broken_promises_says_so_and_what_fulfils_them(ground, jim):
    assert chain(ground, jim) == f"2 promises of gen.gen are broken; {AGAIN}"
    told = explained(jim, "reco")
    assert told["2 pieces wait for promises; in all of gen: 2 broken"] == (
        f"2 promises of gen.gen are broken; {AGAIN}; a piece is ready once all of its files are there; "
        "`jim task explain reco/0` names those of the first piece"
    )
    jim("cancel", "gen")
    assert "gen" not in reason(jim, "reco"), "a cancelled task fulfils nothing"


def test_promised_items_that_are_in_no_piece_are_told(ground, jim, tmp_path):
    split = 'split = { splitter = "FileBased", parameters = { files_per_job = 1 } }'
    source = f'source = [ {{ list = "{a_list(tmp_path, "a", "b", closed=False)}" }} ]\n{split}'
    text = CHAIN.format(files=3, promises="true").replace("source = [ { events = 4, events_per_piece = 2 } ]", source)
    jim("create", ground.write(text))
    jim("start", "reco")
    jim("start", "gen", "--untested")
    ground.go(3)
    assert explained(jim, "reco")["2 items are promised, and in no piece yet"].startswith("pieces are planned")


def test_a_task_that_another_one_does_not_feed_says_which(ground, jim):
    jim("create", ground.write(CHAIN.format(files=1, promises="true")))
    jim("start", "reco")
    ground.go(3)
    assert reason(jim, "reco") == "it is fed by gen, which is configured"
    told = explained(jim, "reco")
    assert told["output gen.gen is open: more may come"] == "it is fed by gen, which is configured"
    jim("start", "gen", "--untested")
    ground.go(3)
    assert reason(jim, "reco") == ""


def test_a_finished_task_says_what_has_failed_and_what_a_person_can_do(ground, jim):
    chain(ground, jim)
    assert explained(jim, "gen") == {
        "task gen is finished, with failures": "nothing more happens, unless a piece is tried again",
        "2 pieces have failed: exit 3 (as gen/0)": (
            "`jim task retry gen` tries them again as they are; `jim task recover gen` makes new pieces"
        ),
    }
    assert explained(jim, "gen/0") == {
        "it is failed: exit 3": (
            "`jim retry 1.0` tries it again as it is; `jim task recover gen` makes new pieces of all that has failed"
        ),
    }
    jim("recover", "gen")
    ground.go(3)
    assert explained(jim, "gen/0") == {"it is replaced": "new pieces do its work"}
    jim("cancel", "gen")
    ground.until(lambda: ground.task("gen").state is TaskState.CANCELLED)
    assert "has failed" not in " ".join(explained(jim, "gen")), "nothing of a cancelled task can be tried again"


def test_a_source_that_cannot_be_looked_at_is_the_reason_of_its_task(ground, jim, tmp_path):
    names = a_list(tmp_path, "a", "b", closed=False)
    text = f'[[task]]\nname = "f"\n{SH}\nsource = [ {{ list = "{names}" }} ]\n'
    jim("create", ground.write(text))
    jim("start", "f", "--untested")
    names.unlink()
    ground.go(3, 40)
    told = f"list {names} cannot be looked at: "
    assert reason(jim, "f").startswith(told)
    assert told in " ".join(jim("status")[1].split())
    assert any(each.startswith(told) for each in explained(jim, "f"))


def test_one_item_waits_in_the_singular(ground, jim, tmp_path):
    names = a_list(tmp_path, "a", closed=False)
    split = 'split = {{ splitter = "FileBased", parameters = {{ files_per_job = 2 }}{when} }}\n'
    text = f'[[task]]\nname = "f"\n{SH}\nsource = [ {{ list = "{names}" }} ]\n' + split.format(when="")
    jim("create", ground.write(text + text.replace('"f"', '"g"').replace(" }\nsource", " }\npriority = 1\nsource")))
    jim("start", "f", "--untested")
    ground.go(3)
    assert reason(jim, "f") == "1 item waits for a full piece of FileBased"
    told = explained(jim, "f")["1 item waits for a full piece of FileBased, for 0 s"]
    assert told == "once its group is closed, it makes a piece that is not full"


def test_an_empty_file_is_taken_once_it_has_content(ground, jim, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.raw").touch()
    source = f'source = [ {{ directory = "{tmp_path / "in"}", stable_seconds = 0 }} ]'
    jim("create", ground.write(f'[[task]]\nname = "f"\n{SH}\n{source}\n'))
    jim("start", "f", "--untested")
    ground.go(3)
    told = explained(jim, "f")[f"file {tmp_path}/in/a.raw is not taken yet: it is empty"]
    assert told == "it is taken once it has content and comes to rest; its group does not stay open for it"


def test_a_task_says_that_nothing_is_sent_because_a_disk_is_full(ground, jim):
    full = "the disk of the state directory /s has 5 MB left: JIM sends nothing until there is room"
    jim("create", ground.write(CHAIN.format(files=1, promises="false")))
    jim("start", "gen", "--untested")
    (ground.site.state / "heartbeat").write_text(f"{ground.clock.boot_id()} {int(ground.clock.boot())}\n")
    ground.store.set_fact("space", json.dumps([[False, "little room"], [True, full]]))
    assert reason(jim, "gen") == full
    assert explained(jim, "gen")[full].endswith("and goes on by itself once there is room")
    jim("pause", "gen")
    assert full not in explained(jim, "gen")


def test_check_says_that_a_task_is_fed(ground, jim):
    code, told = jim("check", ground.write(CHAIN.format(files=1, promises="false")))
    assert code == 0
    assert told.endswith("reco\n  source: fed by gen.gen: what that brings is split as it comes\n")


@pytest.mark.parametrize(
    ("sent", "told"),
    [(0, "on the way   0\n"), (1, "on the way   1, of which 1 has not started\n")],
)
def test_what_is_on_the_way_is_told_in_numbers_that_say_something(ground, jim, sent, told):
    jim(
        "create", ground.write(f'[[task]]\nname = "t"\n{EVENTS}\nsource = [ {{ events = 1, events_per_piece = 1 }} ]\n')
    )
    if sent:
        jim("start", "t", "--untested")
        ground.go(3)
    assert told in jim("status", "t")[1]
    if sent:
        ground.begin()
        ground.go(3)
        assert "on the way   1\n" in jim("status", "t")[1]


def test_a_test_counts_files_by_output(ground, jim):
    jim("create", ground.write(CHAIN.format(files=1, promises="true")))
    ground.brings = lambda _: {"gen.dat": b"data", "more.dat": b"more"}
    ground.ask(TaskVerb.TEST, "gen")
    ground.until_state(TaskState.READY, "gen")
    test = json.loads(jim("status", "gen", "--json")[1])["test"]
    assert [each["outputs"] for each in test["pieces"]] == [{"gen": 1}]
    assert {"what": "each brings its outputs", "met": "yes"} in test["criteria"]
    assert "  gen: 1 file\n" in jim("status", "gen")[1]


def test_a_piece_that_lacks_an_output_fails_its_test_visibly(ground, jim):
    jim("create", ground.write(CHAIN.format(files=1, promises="true")))
    ground.ask(TaskVerb.TEST, "gen")
    ground.until_state(TaskState.CONFIGURED, "gen")
    test = json.loads(jim("status", "gen", "--json")[1])["test"]
    assert test["criteria"][1] == {"what": "each brings its outputs", "met": "no"}
    assert [each["missing"] for each in test["pieces"]] == ["promised 1 gen.dat, brought 0"]


def test_a_task_that_only_its_test_keeps_from_its_end_says_so(ground, jim):
    jim(
        "create", ground.write(f'[[task]]\nname = "t"\n{EVENTS}\nsource = [ {{ events = 1, events_per_piece = 1 }} ]\n')
    )
    ground.ask("start", "t", untested=True)
    ground.until(lambda: len(ground.batch.tasks) == 1)
    ground.ask(TaskVerb.TEST, "t")
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.end_one("1", 1)
    ground.until(lambda: ground.counts("pieces") == {"completed": 1})
    ground.go(20, 5.0)
    told = {each["what"]: each["next"] for each in json.loads(jim("explain", "t", "--json")[1])}
    assert told["test 1 runs: grid job 2"].startswith("it changes nothing of the task, which finishes only after it")


def test_what_a_failed_test_had_no_time_to_show_is_not_known(ground, jim):
    text = f"{CHAIN.format(files=1, promises='true')}"
    jim("create", ground.write(text.replace("[[task]]", "[[task]]\ntest = { pieces = 1, most_seconds = 60 }", 1)))
    ground.ask(TaskVerb.TEST, "gen")
    ground.until_state(TaskState.CONFIGURED, "gen", code=3)
    test = json.loads(jim("status", "gen", "--json")[1])["test"]
    assert [each["met"] for each in test["criteria"]] == ["no", "not known", "not known"]


def test_payloads_of_less_than_a_second_have_no_time_per_event():
    tried = task_tests.TriedPiece("1.0", "completed", "", 0.0, 5, 0)
    assert task_tests.TestFacts(1, [tried], [], 0.0, (250, 0.0)).measured() == [
        "the longest piece took less than a second"
    ]


def test_on_a_terminal_the_journal_stays_in_its_columns(ground, jim, monkeypatch):
    chain(ground, jim)
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr("jim.cli.table.room", lambda _: 70)
    told = jim("show", "gen")[1].splitlines()
    begin = told.index(next(each for each in told if each.startswith("at ")))
    assert all(each.startswith(("2", " ")) for each in told[begin + 1 :])


def test_the_line_of_a_task_has_ten_cells(ground, jim):
    chain(ground, jim)
    view = look()
    assert [len(row(each)) for each in seen(view, view.store.tasks.all())] == [10, 10]


def test_a_task_that_was_opened_again_tells_what_hinders_it(ground, jim, tmp_path):
    file = a_list(tmp_path, "a")
    ground.start(f'[[task]]\nname = "t"\n{SH}\nsource = [ {{ list = "{file}", every_seconds = 5 }} ]\n')
    ground.until_state(TaskState.FINISHED)
    file.unlink()
    jim("reopen", "t")
    ground.go(3, 5.0)
    (told,) = json.loads(jim("status", "--json")[1])
    assert told["reason"] == f"list {file} cannot be looked at: No such file or directory"
