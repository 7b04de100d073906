"""The verbs of `jim task`, as people use them: what they print, and what they refuse."""

from __future__ import annotations

import json
import os

import pytest

from jim import cli
from jim.cli.tasks import MODULES
from jim.doors import inbox
from jim.model import NO_REASON, State, Step, SubmissionState, Witness
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import OLDER
from tests.unit.tasks.ground import EVENTS, SH, a_list

TEXT = f"""\
[[task]]
name = "mc"
summary = "ten events"
{EVENTS}
source = [ {{ events = 10, events_per_piece = 3, campaigns = 2 }} ]
"""


@pytest.mark.parametrize("verb", ["", *(verb for module in MODULES for verb in module.VERBS)])
def test_help_fits_a_terminal(capsys, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["task", *filter(None, [verb]), "--help"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_check_looks_and_hands_in_nothing(ground, jim):
    code, told = jim("check", ground.write(TEXT))
    assert code == 0
    assert told.splitlines() == [
        "mc",
        "  source: events 1 to 10: 2 campaigns, closed",
        "  group: 1: 1 campaign",
        "  group: 2: 1 campaign",
        "piece  group  items",
        "0      1      events 1 to 3",
        "1      1      events 4 to 5",
        "2      2      events 6 to 8",
        "3      2      events 9 to 10",
    ]
    assert ground.store.tasks.all() == []


def test_check_tells_what_waits_and_what_would_be_refused(ground, jim, tmp_path, monkeypatch):
    (tmp_path / "site.toml").write_text('[site]\nlocations = ["T1"]\n')
    monkeypatch.setenv("JIM_SITE", str(tmp_path / "site.toml"))
    names = [json.dumps({"lfn": f"/d/run1_{n}", "locations": ["T2"]}) for n in range(3)]
    source = f"{{ list = \"{a_list(tmp_path, *names, closed=False)}\", group = 'run(\\d+)_' }}"
    text = (
        f'[[task]]\nname = "f"\n{SH}\nsource = [ {source} ]\n'
        '[task.split]\nsplitter = "FileBased"\nparameters = { files_per_job = 2 }\n'
    )
    lines = jim("check", ground.write(text))[1].splitlines()
    assert lines[:5] + lines[6:] == [
        "f",
        f"  source: list {tmp_path}/names.txt: 3 items, open",
        "  group: 1: 3 items",
        "piece  group  items",
        "0      1      2 items: /d/run1_0, /d/run1_1",
        "  waits: group 1: 1 item waits for a full piece, or for the group to be closed",
    ]
    assert lines[5].startswith("  refused: piece 0 would fail: ")
    assert "T2" in lines[5]
    (told,) = json.loads(jim("check", ground.write(text), "--json")[1])
    assert (told["waiting"], told["refused"]) == ({"1": 1}, "")


@pytest.mark.parametrize(("arguments", "fails"), [("$InputFiles", True), ("$Piece", False)])
def test_check_tells_which_piece_has_a_comma_in_its_list_of_names(ground, jim, tmp_path, arguments, fails):
    names = a_list(tmp_path, "/d/0", "/d/1", "/d/2", "/d/a,b", "/d/c,d")
    text = f'[[task]]\nname = "f"\n{SH.replace("$InputFiles", arguments)}\nsource = [ {{ list = "{names}" }} ]\n'
    text += 'split = { splitter = "FileBased", parameters = { files_per_job = 2 } }\n'
    code, told = jim("check", ground.write(text))
    why = (
        "piece 1 would fail: $InputFiles parts names by commas, and '/d/a,b' has a comma: rename the file, "
        "or let each piece have one file (FileBased: files_per_job=1, SizeBased: size_per_job=1)"
    )
    refused = [why] if fails else []
    lines = " ".join(told.split()).split("refused: ")[1:]
    assert (code, lines) == (0, refused)
    (whole,) = json.loads(jim("check", ground.write(text), "--json")[1])
    assert [bool(each["refused"]) for each in whole["pieces"]] == [False, fails, False], "one file alone may have one"


@pytest.mark.parametrize(("limits", "words"), [("first=1", "1 piece is"), ("at_once=0", "0 pieces are")])
def test_what_goes_first_is_told_as_it_is(ground, jim, limits, words):
    jim("create", ground.write(TEXT))
    jim("throttle", "mc", limits)
    ground.go()
    assert f"mc: starts; at most {words} on the way at first" in jim("start", "mc", "--untested")[1]


def test_check_counts_a_name_once_that_a_list_has_twice(ground, jim, tmp_path):
    source = f'source = [ {{ list = "{a_list(tmp_path, "/d/1", "/d/2", "/d/1")}" }} ]'
    told = jim("check", ground.write(f'[[task]]\nname = "f"\n{SH}\n{source}\n'))[1]
    assert f"  source: list {tmp_path}/names.txt: 2 items, closed" in told.splitlines()


MERGE = """
[[task]]
name = "m"
request = {{ job_type = "executable", executable = "/bin/sh", arguments = ["-c", "{program}", "merge", "$InputFiles"] }}
source = [ {{ directory = "{place}", files = "*.raw", group = 'run(.)_', closed_by = "END.*" }} ]
split = {{ splitter = "SizeBased", parameters = {{ size_per_job = 3_000 }} }}
"""


def test_check_tells_how_large_pieces_are_how_many_more_there_are_and_what_waits(ground, jim, tmp_path):
    text = MERGE.format(program="IFS=,; cat $$1 > m", place=tmp_path)
    for run, many in (("1", 14), ("2", 1)):
        for n in range(many):
            tmp_path.joinpath(f"run{run}_{n:02}.raw").write_text("x" * 1500)
    told = jim("check", ground.write(text))[1].splitlines()
    assert told[5].split(maxsplit=2) == ["0", "1", f"2 items, 3.0 kB: {tmp_path}/run1_00.raw, {tmp_path}/run1_01.raw"]
    assert told[10:] == [
        "  and 1 more piece",
        "  waits: group 1: 2 items wait for a full piece, or for the group to be closed",
        "  waits: group 2: 1 item waits for a full piece, or for the group to be closed",
    ]
    tmp_path.joinpath("END.1").touch()
    told = jim("check", ground.write(text))[1].splitlines()
    waits = "  waits: group 2: 1 item waits for a full piece, or for the group to be closed"
    assert told[10:] == ["  and 2 more pieces", waits]


def test_check_warns_as_create_does(ground, jim, tmp_path):
    file = ground.write(MERGE.format(program="cat $(echo $1) > m", place=tmp_path))
    assert "a `$` in it begins no name" in jim("check", file)[1]
    (told,) = json.loads(jim("check", file, "--json")[1])
    (warning,) = told["warnings"]
    assert warning.startswith("m: request.arguments: all of it stays as it is")


def test_check_tells_that_a_name_is_taken(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    told = jim("check", ground.write(TEXT.replace("= 10,", "= 11,")))[1].splitlines()
    assert told[1].startswith("  refused: task.name: task 'mc' runs since ")
    assert jim("check", "mc")[1].splitlines()[1] == "  source: events 1 to 10: 2 campaigns, closed"


def test_check_knows_the_task_that_feeds_one_from_before(ground, jim):
    feeds = TEXT.replace('executable", executable', 'executable", outputs = ["o.txt"], executable', 1)
    jim("create", ground.write(feeds + '[[task.output]]\nname = "o"\nfiles = "o.txt"\n'))
    fed = f'[[task]]\nname = "f"\n{SH}\nsource = [ {{ task = "mc", output = "OUTPUT" }} ]\n'
    told = "f\n  source: fed by mc.o: what that brings is split as it comes\n"
    assert jim("check", ground.write(fed.replace("OUTPUT", "o"))) == (0, told)
    code, told = jim("check", ground.write(fed.replace("OUTPUT", "oo")))
    assert (code, "'mc' has no output 'oo'; did you mean 'o'?" in told) == (2, True)


def test_a_task_goes_from_its_file_to_its_end(ground, jim):
    file = ground.write(TEXT)
    code, told = jim("create", file)
    assert (code, told.splitlines()) == (
        0,
        [
            "mc: 10 events: 4 pieces of 3 events (as the task says), in 2 campaigns",
            "configured; `jim task test mc` tries it out",
        ],
    )
    assert jim("create", file)[1].splitlines()[-1] == "nothing has changed: the same tasks are there already"
    refused = "jim: mc has not been tested as it is now; 'jim task test mc', or start --untested\n"
    assert jim("start", "mc") == (2, refused)
    assert jim("test", "mc") == (0, "mc: test 1 begins; `jim task explain mc` shows the progress\n")
    ground.go(3)
    assert "* test 1 runs: grid job 1\n" in jim("explain", "mc")[1]
    ground.until_state(TaskState.READY, "mc")
    assert jim("start", "mc")[0] == 0
    ground.until_state(TaskState.FINISHED, "mc")
    lines = jim("status")[1].splitlines()
    assert lines[0].split() == [
        "task",
        "state",
        "open",
        "items",
        "pieces",
        "on",
        "the",
        "way",
        "throttle",
        "failed",
        "eta",
        "reason",
    ]
    assert lines[1].split("  ")[0] == "mc"
    assert "finished: completed" in lines[1]
    assert "4 of 4 completed" in lines[1]
    assert "state        finished, completed" in jim("show", "mc")[1]
    assert "local job    2.1" in jim("show", "mc/1")[1]
    assert jim("items", "mc")[1].splitlines()[1:] == [
        "events 1-5   1      completed",
        "events 6-10  2      completed",
    ]
    assert jim("remove", "mc") == (0, "mc: is forgotten: 2 campaigns, 4 pieces\n")
    assert jim("status", "mc")[0] == 4


def test_an_item_is_found_by_its_name_whatever_characters_that_has(ground, jim, tmp_path):
    names = a_list(tmp_path, "run[1].raw", "run2.raw")
    ground.create(f'[[task]]\nname = "t"\n{SH}\nsource = [ {{ list = "{names}" }} ]\n')
    ground.ask("start", untested=True)
    ground.until(lambda: len(ground.items()) == 2)
    assert [each["name"] for each in json.loads(jim("items", "t", "run[1].raw", "--json")[1])] == ["run[1].raw"]
    assert jim("items", "t", "run[1].raw", "--state", "late")[1] == "no item fits\n"
    assert len(json.loads(jim("items", "t", "run*", "--json")[1])) == 2


def test_a_list_of_items_that_is_no_text_is_refused(ground, jim, tmp_path):
    ground.create(f'[[task]]\nname = "t"\n{SH}\nsource = [ {{ list = "{a_list(tmp_path, "a")}" }} ]\n')
    (tmp_path / "more").write_bytes(b"\xff\n")
    assert jim("add", "t", "--list", tmp_path / "more") == (2, f"jim: {tmp_path}/more: no UTF-8\n")


def test_all_items_are_listed_however_many_blocks_they_take(ground, jim, tmp_path, monkeypatch):
    monkeypatch.setattr("jim.reading.tasks.task.AT_ONCE", 3)
    for name in ("other", "t"):
        (tmp_path / name).mkdir()
        names = a_list(tmp_path / name, *(f"{name}{n:02}" for n in range(10)))
        ground.create(f'[[task]]\nname = "{name}"\n{SH}\nsource = [ {{ list = "{names}" }} ]\n', f"{name}.toml")
        ground.ask("start", name, untested=True)
    ground.until(lambda: len(ground.items()) == 10)
    expected = [f"t{n:02}" for n in range(10)]
    assert [line.split()[0] for line in jim("items", "t")[1].splitlines()[1:]] == expected
    assert [each["name"] for each in json.loads(jim("items", "t", "--json")[1])] == expected
    assert [each["item"] for each in json.loads(jim("items", "t", "--story", "--json")[1])] == expected
    assert [each["name"] for each in json.loads(jim("items", "t", "*[3-9]", "--limit", "4", "--json")[1])] == expected[
        3:7
    ]
    assert json.loads(jim("items", "t", "x*", "--json")[1]) == []


def test_what_is_on_the_way_can_be_paused_slowed_down_and_cancelled(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until(lambda: ground.batch.tasks)
    assert jim("throttle", "mc", "at_once=2", "queued=1")[1] == "mc: at_once 2,000 → 2, queued 500 → 1\n"
    assert jim("pause", "mc")[1] == "mc: pauses; 4 pieces on the way: what the batch system has goes on\n"
    assert jim("pause", "mc", "--kill")[1].endswith("they are ended, and released again after `jim task resume`\n")
    assert jim("explain", "mc")[1].splitlines()[2] == "* task mc is paused"
    assert jim("resume", "mc")[0] == 0
    assert jim("remove", "mc")[1] == "jim: mc has 4 pieces on the way; cancel it first\n"
    assert "is cancelled, with " in jim("cancel", "mc")[1]
    ground.until(lambda: ground.task("mc").state is TaskState.CANCELLED, seconds=10.0)
    assert jim("resume", "mc") == (2, "jim: mc is cancelled\n")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("status", "no"), 4, "jim: there is no task 'no' in "),
        (("check", "no"), 4, "jim: there is no task 'no' in "),
        (("check", "no.toml"), 2, "jim: cannot read the task file: no.toml: no such file"),
        (("show", "mc/99"), 4, "jim: there is no piece mc/99: mc has 0\n"),
        (
            ("throttle", "mc", "speed=3"),
            2,
            "jim: 'speed=3': expected at_once=N or queued=N or first=N, N a whole number\n",
        ),
        (("throttle", "mc", "queued=0"), 2, "jim: queued=0: must be 1 or more\n"),
        (("throttle", "mc", "at_once=٣"), 2, "jim: 'at_once=٣': expected at_once=N or "),
        (("priority", "mc", "٣"), 2, "jim: argument N: '٣': expected a whole number, -1,000 to 1,000"),
        (("create", "/no/such"), 2, "jim: cannot read the task file: /no/such: No such file or directory\n"),
        ((), 2, "jim: the following arguments are required: "),
    ],
)
def test_what_cannot_be_done_is_refused(ground, jim, words, code, told):
    jim("create", ground.write(TEXT))
    found, said = jim(*words)
    assert found == code
    assert said.startswith(told)


def test_a_name_that_is_taken_is_refused(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    code, told = jim("create", ground.write(TEXT.replace("= 10,", "= 11,")))
    assert code == 2
    assert "task 'mc' runs since " in told
    assert told.endswith(" with other content; choose another name, or 'jim task cancel mc'\n")


@pytest.mark.parametrize(
    ("state", "what"),
    [(TaskState.CANCELLING, "is being cancelled; once that is done,"), (TaskState.CANCELLED, "was cancelled;")],
)
def test_a_file_whose_task_was_cancelled_makes_it_again_only_once_that_is_removed(ground, jim, capsys, state, what):
    jim("create", ground.write(TEXT))
    ground.store.tasks.change(ground.task("mc").id, state=state)
    words = f"task 'mc' {what} 'jim task remove mc' forgets it, then create makes it anew"
    ground.write(TEXT)
    capsys.readouterr()
    assert cli.main(["task", "check", str(ground.place / "tasks.toml")]) == 0
    assert words in " ".join(capsys.readouterr().out.split())
    assert cli.main(["task", "create", str(ground.place / "tasks.toml")]) == 2
    assert " ".join(capsys.readouterr().err.split()).endswith(f"task.name: {words}")


def test_a_file_whose_task_is_finished_changes_nothing(ground, jim):
    ground.start(TEXT, "mc")
    ground.until_state(TaskState.FINISHED, "mc")
    code, told = jim("create", ground.write(TEXT))
    assert (code, told.splitlines()[-1]) == (0, "nothing has changed: the same tasks are there already")


def test_one_event_is_one_event(ground, jim):
    told = jim("create", ground.write(TEXT.replace("events = 10", "events = 1").replace(", campaigns = 2", "")))[1]
    assert told.startswith("mc: 1 event: 1 piece of 3 events")


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        (True, "no piece: there is nothing to split"),
        (False, "no piece yet: there is nothing to split so far"),
    ],
)
def test_check_of_an_empty_source_tells_that_nothing_is_there(ground, jim, tmp_path, closed, words):
    source = f'{{ list = "{a_list(tmp_path, closed=closed)}" }}'
    told = jim("check", ground.write(f'[[task]]\nname = "f"\n{SH}\nsource = [ {source} ]\n'))[1]
    assert told.splitlines()[2:] == [f"  {words}"]


def test_what_is_known_leaves_out_the_task_itself_and_what_is_not_there_yet(ground, jim):
    fed = '[[task]]\nname = "{}"\n{}\nsource = [ {{ task = "nullout", output = "x" }} ]\n'
    told = jim("create", ground.write(TEXT + fed.format("nullfed", SH)))[1]
    assert "there is no task 'nullout' (known: mc)" in " ".join(told.split())
    code, told = jim("shaer", "mc")
    assert (code, "share" in told, "start" in told) == (2, False, True)


def test_what_is_older_than_its_requests_can_only_be_cancelled(ground, jim):
    """No other verb does anything then; and no task that waits for its promises is told to use one."""
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.work(3)
    ground.until(lambda: ground.counts("pieces", "mc") == {"failed": 4})
    ground.store.tasks.change(ground.task("mc").id, state=TaskState.PAUSED, outcome="", reason=OLDER)
    for name in ("mc", "mc/0"):
        told = jim("explain", name)[1]
        assert "only `jim task cancel mc` is possible" in told
        assert not [verb for verb in ("retry", "recover", "resume") if f"`jim {verb}" in told or f"task {verb}" in told]


def test_a_wave_of_which_all_has_ended_is_being_collected(ground, jim):
    jim("create", ground.write(TEXT.replace("events_per_piece = 3, campaigns = 2", "events_per_piece = 5")))
    jim("start", "mc", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 2)
    assert "wave 1, grid job 1: 2 of 2 local jobs have not ended" in jim("explain", "mc")[1]
    for n in range(2):
        ground.store.set_local_job(1, n, state=State.COMPLETED, witness=Witness.EXIT_RECORD, reason=NO_REASON)
    assert "wave 1, grid job 1: its outputs are collected" in jim("explain", "mc")[1]


def waiting(ground, jim, tmp_path):
    """Begin the task f, whose items wait for a full piece, and whose piece for the throttle."""
    text = f"""
        [[task]]
        name = "f"
        {SH}
        source = [ {{ list = "{a_list(tmp_path, *map(str, range(12)), closed=False)}" }} ]
        release = {{ at_once = 0 }}
        """
    jim("create", ground.write(text))
    jim("start", "f", "--untested")
    ground.go(5)


def test_what_waits_is_explained(ground, jim, tmp_path):
    waiting(ground, jim, tmp_path)
    told = [each["what"] for each in json.loads(jim("explain", "f", "--json")[1])]
    assert told[0] == "no keeper is running, and none has been here before"
    assert told[1:] == [
        f"list {tmp_path}/names.txt is open: more may come",
        "2 items wait for a full piece of FileBased, the oldest for 0 s",
        "1 piece is ready; throttle: at_once = 0",
    ]


def test_what_a_dead_keeper_knew_of_a_task_is_told_as_of_its_last_heartbeat_and_without_advice(ground, jim, tmp_path):
    waiting(ground, jim, tmp_path)
    beat = ground.site.state / "heartbeat"
    beat.write_text(f"{ground.clock.boot_id()} {int(ground.clock.boot()) - 60}\n")
    os.utime(beat, (1_700_000_000, 1_700_000_000))  # 2023-11-14 22:13:20 UTC
    keeper, *told = json.loads(jim("explain", "f", "--json")[1])
    assert keeper["what"] == "no keeper is running: the last heartbeat was 1 min ago"
    assert [each["what"] for each in told] == [
        f"as of 2023-11-14T22:13:20.000Z: list {tmp_path}/names.txt is open: more may come",
        "as of 2023-11-14T22:13:20.000Z: 2 items wait for a full piece of FileBased, the oldest for 0 s",
        "as of 2023-11-14T22:13:20.000Z: 1 piece is ready; throttle: at_once = 0",
    ]
    assert {each["next"] for each in told} == {"what has happened since then is known once a keeper is at work"}


def test_programs_get_everything(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until_state(TaskState.FINISHED, "mc")
    (told,) = json.loads(jim("status", "--json")[1])
    assert {name: told[name] for name in ("name", "state", "outcome", "open", "items", "pieces", "on_the_way")} == {
        "name": "mc",
        "state": "finished",
        "outcome": "completed",
        "open": False,
        "items": {"completed": 2},
        "pieces": {"completed": 4},
        "on_the_way": 0,
    }
    told = json.loads(jim("show", "mc", "--json")[1])
    assert [each["grid"] for each in told["waves"]] == [1]
    assert [each["group"] for each in told["groups"]] == ["1", "2"]
    (first,) = json.loads(jim("show", "mc/0", "--json")[1])["items"]
    assert (first["first_event"], first["last_event"], first["item"]) == (1, 3, "events 1-5")


def test_the_list_of_grid_jobs_has_a_line_for_each_task(ground, jim, capsys):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until_state(TaskState.FINISHED, "mc")
    assert cli.main(["status"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told if line] == ["task", "mc"]
    assert cli.main(["status", "--waves"]) == 0
    assert "mc:1" in capsys.readouterr().out


def test_the_grid_jobs_of_a_task_push_no_other_out_of_the_list(ground, jim, capsys, monkeypatch):
    monkeypatch.setattr("jim.cli.status.FINISHED_SHOWN", 1)
    own = ground.write('job_type = "executable"\nexecutable = "/bin/true"\n')
    assert cli.main(["submit", str(own)]) == 0
    ground.until(lambda: ground.store.any_grid_job(Step.ACTIVE))
    ground.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until_state(TaskState.FINISHED, "mc")
    capsys.readouterr()
    assert cli.main(["status"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told if line] == ["id", "1", "task", "mc"]


def test_a_recovery_is_shown_before_it_is_asked_for(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    for words in ((), ("--dry-run",)):
        assert jim("recover", "mc", *words) == (3, "mc: left as it is: no piece has failed\n")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.batch.finish("1", 1, code=3)
    ground.end()
    ground.until(lambda: ground.task("mc").state is TaskState.FINISHED)
    told = [
        "failed: 1 piece, 3 events (1 × exit 3); 3 completed pieces are left alone",
        "becomes: 3 pieces, with memory_mb 50 (for these alone)",
    ]
    assert "\ncampaigns    1 completed, 1 failed\n" in jim("status", "mc")[1]
    for value in ("0", "-3", "x"):
        code, refused = jim("recover", "mc", f"events_per_piece={value}")
        assert (code, refused.partition("found")[0]) == (
            2,
            "jim: events_per_piece: expected a whole number, 1 or more, ",
        )
    words = ["mc", "events_per_piece=1", "memory_mb=50"]
    for at in range(4):  # options may stand anywhere
        assert jim("recover", *words[:at], "--dry-run", *words[at:])[1].splitlines() == told
    assert ground.task("mc").state is TaskState.FINISHED
    assert jim("recover", "mc", "speed=3")[1].startswith("jim: 'speed' is neither a parameter of the splitter nor an ")
    code, refused = jim("recover", "mc", "memory_mb=200000000")
    assert (code, refused.partition(" (")[0]) == (
        2,
        "jim: memory_mb: expected at least 1 and at most 100,000,000, found 200000000",
    )
    assert jim("recover", "mc", "events_per_piece=1")[0] == 0
    ground.until(lambda: ground.task("mc").state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED, "mc")
    assert sorted(ground.ranges()) == [(1, 1), (2, 2), (3, 3), (4, 5), (6, 8), (9, 10)]


def test_a_piece_shows_its_attempts_fixes_and_promises(ground, jim):
    text = TEXT.replace('"/bin/echo"', '"/bin/echo", outputs = ["x.dat"]')
    ground.brings = lambda _: {"x.dat": b"x"}
    fed = f'[[task]]\nname = "fed"\n{SH}\nsource = [ {{ task = "mc", output = "x", promises = true }} ]\n'
    fed += 'split = { splitter = "FileBased", parameters = { files_per_job = 4 } }\n'
    jim("create", ground.write(f'{text}output = [ {{ name = "x", files = "x.dat" }} ]\n{fed}'))
    jim("fix", "mc", "memory_mb=3000")
    jim("start", "mc", "fed", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.end()
    ground.until(lambda: ground.counts("pieces", "mc") == {"completed": 3, "failed": 1})
    failed, done = (jim("show", f"mc/{p}")[1] for p in (1, 0))
    assert "wave         mc:1\nlocal job    1.1\nfix 1        memory_mb = 3000\n" in failed
    attempt = next(line.split() for line in failed.splitlines() if line.startswith("1.1 "))
    assert attempt[:4] == ["1.1", "1", "failed", "node1"]
    assert "  1 s  " in next(line for line in failed.splitlines() if "node1" in line)
    assert "memory_mb = 3000" in next(line for line in failed.splitlines() if "node1" in line)
    assert next(line.split() for line in done.splitlines() if line.startswith("x "))[:4] == ["x", "verified", "1", "1"]
    (told,) = json.loads(jim("show", "mc/0", "--json")[1])["attempts"]
    assert (told["verdict"], told["seconds"], told["asked"]["memory_mb"]) == ("completed", 1.0, 3000)
    whole = json.loads(jim("show", "mc/0", "--json")[1])
    assert (whole["seconds"], whole["fixes"]) == (1.0, {"1": {"memory_mb": 3000}})
    assert whole["outputs"][0]["fix"] == 1
    waiting = jim("show", "fed/0")[1]
    assert "local job    none yet\npromises     1 item not there yet\n" in waiting


def test_a_priority_is_a_number_within_bounds(ground, jim):
    jim("create", ground.write(TEXT))
    assert jim("priority", "mc", "7") == (0, "mc: priority 0 → 7\n")
    assert jim("priority", "mc", "2000") == (2, "jim: 2000: expected -1,000 to 1,000\n")


def test_a_fix_says_what_it_changes_and_what_it_cannot(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    told = "mc: fix 1: memory_mb none → 50; for further attempts of 4 pieces, and later ones\n"
    assert jim("fix", "mc", "memory_mb=50") == (0, told)
    assert jim("fix", "mc", "memory_mb=60")[1].startswith("mc: fix 2: memory_mb 50 → 60; ")
    gentle = 'environment={"MODE": "gentle", "NICE": "5"}'
    assert jim("fix", "mc", gentle)[1].startswith("mc: fix 3: environment none → MODE=gentle, NICE=5; ")
    ground.until(lambda: "environment MODE=gentle, NICE=5" in jim("show", "mc")[1])
    words = "jim: inputs: mc runs; what may change now: limits, priority, fixes, items (jim task fix --help)\n"
    assert jim("fix", "mc", 'inputs=["x"]') == (2, words)
    assert jim("fix", "mc", "memory_mb=0")[0] == 2


def test_a_fix_before_the_start_says_that_it_is_to_be_tested(ground, jim):
    jim("create", ground.write(TEXT))
    words = "jim: inputs: mc has not begun: change this in its file, and create it again\n"
    assert jim("fix", "mc", 'inputs=["x"]') == (2, words)
    jim("test", "mc")
    ground.until_state(TaskState.READY, "mc")
    told = "mc: fix 1: memory_mb none → 50; for further attempts of 0 pieces, and later ones; it is to be tested again"
    assert jim("fix", "mc", "memory_mb=50") == (0, f"{told}\n")
    assert "\ntested       not passed as it is now; " in jim("status", "mc")[1]
    assert jim("start", "mc")[0] == 2


def test_a_task_without_a_test_starts_by_trying_itself_out(ground, jim):
    jim("create", ground.write(OF_CHAIN))
    jim("start", "gen", "--untested")
    words = "fed: starts, and tries itself out with its first 2 pieces; others follow once they have passed; "
    assert jim("start", "fed")[1].startswith(words)


def test_a_cancel_names_the_tasks_that_get_no_more(ground, jim):
    jim("create", ground.write(OF_CHAIN))
    jim("start", "gen", "--untested")
    words = "gen: is cancelled, with 2 pieces on the way; fed gets no more of it; "
    ground.until(lambda: len(ground.batch.tasks) == 2)
    assert jim("cancel", "gen")[1].startswith(words)


OF_CHAIN = """\
[[task]]
name = "gen"
request = { job_type = "executable", executable = "/bin/true", outputs = ["o.dat"] }
source = [ { events = 10, events_per_piece = 5 } ]
output = [ { name = "gen", files = "o.dat" } ]
[[task]]
name = "fed"
request = { job_type = "executable", executable = "/bin/true" }
source = [ { task = "gen", output = "gen" } ]
test = { pieces = 2 }
"""


def three(ground, jim):
    """Let three tasks run, of which the last has paused by itself."""
    text = "\n".join(TEXT.replace('"mc"', f'"{name}"') for name in ("a", "b", "c"))
    jim("create", ground.write(text))
    jim("start", "a", "b", "c", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 12)
    ground.store.tasks.change(ground.task("c").id, state=TaskState.PAUSED, reason="by itself: 20 in a row: exit 3")


def test_all_tasks_are_paused_and_go_on_but_one_that_has_paused_by_itself(ground, jim):
    three(ground, jim)
    ended = "pauses; 4 pieces on the way: they are ended, and released again after `jim task resume`"
    assert jim("pause", "--all", "--kill")[1].splitlines() == [f"{name}: {ended}" for name in "abc"]
    ground.until(lambda: not ground.store.tasks.sent())
    assert [ground.counts("pieces", name) for name in "abc"] == [{"ready": 4}] * 3
    fixed = jim("fix", "--all", "memory_mb=50")[1].splitlines()
    assert [each[:6] for each in fixed] == ["a: fix", "b: fix", "c: fix"]
    assert jim("resume", "--all")[1].splitlines() == [
        "a: goes on; 4 pieces ready; at most 1,000 pieces are on the way at first",
        "b: goes on; 4 pieces ready; at most 1,000 pieces are on the way at first",
        "c: left as it is: paused (by itself: 20 in a row: exit 3); `jim task resume c` goes on all the same",
    ]
    ground.until_state(TaskState.FINISHED, "a")
    ground.until_state(TaskState.FINISHED, "b")
    assert (ground.task("c").state, ground.counts("pieces", "c")) == (TaskState.PAUSED, {"ready": 4})
    jim("resume", "c")
    ground.until_state(TaskState.FINISHED, "c")
    assert len(ground.ranges()) == 12
    asked = {each.asked.get("memory_mb") for each in ground.store.submissions(*SubmissionState) if each.grid > 3}
    assert asked == {50}


def test_all_names_what_does_not_fit(ground, jim):
    assert jim("pause", "--all") == (0, "no task fits; pause changes nothing\n")
    words = "jim: pause takes either names of tasks, or --all (see `jim task pause --help`)\n"
    assert jim("pause") == jim("pause", "a", "--all") == (2, words)
    jim("create", ground.write(TEXT))
    assert jim("pause", "--all") == (0, "no task fits; pause changes nothing\n")
    assert jim("fix", "mc") == (2, "jim: say what changes: ATTRIBUTE=VALUE\n")
    code, told = jim("fix", "--all", "memory_mb=0")
    assert (code, told[:14]) == (2, "jim: memory_mb")


def test_programs_are_told_what_a_wish_does(ground, jim):
    three(ground, jim)
    first, *_, last = json.loads(jim("resume", "--all", "--json")[1]) + json.loads(jim("pause", "a", "--json")[1])
    assert (first["task"], first["verb"], first["left"][:17]) == ("c", "resume", "paused (by itself")
    assert {name: last[name] for name in ("task", "verb", "wish", "on_the_way", "ready", "failed")} == {
        "task": "a",
        "verb": "pause",
        "wish": {},
        "on_the_way": 4,
        "ready": 0,
        "failed": 0,
    }
    (told,) = json.loads(jim("throttle", "a", "at_once=3", "--json")[1])
    assert (told["wish"], told["before"]) == ({"at_once": 3}, {"at_once": 2000})


def test_add_counts_what_is_new_known_and_late(ground, jim, tmp_path):
    source = f"{{ list = \"{a_list(tmp_path, '/d/run1_a', '/d/run1_b', closed=False)}\", group = 'run(\\d+)_' }}"
    jim("create", ground.write(f'[[task]]\nname = "f"\n{SH}\nsource = [ {source} ]\n'))
    jim("start", "f", "--untested")
    ground.until(lambda: ground.counts("items", "f"))
    assert jim("close", "f", "1")[1] == "f: group 1 is closed; 2 items waited, and are planned\n"
    assert jim("flush", "f", "1")[1] == "f: group 1 is closed already; 0 items waited, and are planned\n"
    assert jim("flush", "f")[1] == "f: stays open; 0 items waited, and are planned\n"
    told = jim("add", "f", "/d/run1_a", "/d/run1_c", "/d/run2_a", "/d/run2_a", "/d/other")[1]
    assert told == "f: 1 new, 1 known already, 1 late, 1 outside of every group\n"
    assert ground.counts("items", "f") == {"acquired": 2, "late": 1, "available": 1}
    assert jim("reopen", "f", "1")[1] == "f: group 1 is open again; 1 late item\n"


def test_retry_says_which_pieces_are_tried_again(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    for index, code in ((1, 3), (2, 3), (3, 4)):
        ground.batch.finish("1", index, code=code)
    ground.end()
    ground.until(lambda: ground.task("mc").state is TaskState.FINISHED)
    assert jim("retry", "mc", "--reason", "exit 3")[1] == ("mc: 2 of 3 failed pieces are tried again: mc/0, mc/1\n")


MODEL = f"""\
[model]
summary = "Lists"
description = "Says what a list has."
[model.holes]
name = {{ help = "name of the task", kind = "text" }}
[[task]]
name = "<name>"
{SH}
source = [ {{ command = ["/bin/printf", "a\\\\nb\\\\nend\\\\n"] }} ]
"""


@pytest.fixture
def modelled(ground, monkeypatch):
    """A site with a model of its own."""
    place = ground.place / "models"
    place.mkdir()
    (place / "lists.toml").write_text(MODEL)
    (place / "wrong.toml").write_text("[model]\n")
    file = ground.place / "site.toml"
    file.write_text(f'[site]\nmodels = "{place}"\n')
    monkeypatch.setenv("JIM_SITE", str(file))
    return place / "lists.toml"


def test_a_model_becomes_a_task(ground, jim, modelled):
    code, told = jim("create", "--model", "lists", "name=x")
    assert (code, told.splitlines()[0]) == (
        0,
        "x: command /bin/printf 'a\\nb\\nend\\n': 2 items, open; FileBased makes pieces",
    )
    assert ground.task("x").spec.file == str(modelled)
    words = "jim: model lists: hole 'name' has no value: name of the task\n"
    assert jim("create", "--model", "lists") == (2, words)
    assert jim("create", "--model", "lists", "x") == (2, "jim: 'x': expected HOLE=VALUE\n")
    assert jim("create") == (2, "jim: create takes one task file, or --model NAME HOLE=VALUE…\n")
    assert jim("create", "--model", "list")[1].startswith("jim: there is no model 'list' in ")


def test_a_hole_is_asked_for_on_a_terminal(ground, jim, modelled, monkeypatch):
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda words: asked.append(words) or "asked")
    assert jim("create", "--model", "lists")[1].startswith("asked: command ")
    assert asked == ["name (name of the task): "]


def test_models_are_listed_with_what_plays_a_part_in_them(ground, jim, modelled):
    lines = jim("models")[1].splitlines()
    assert [line.split()[0] for line in lines] == ["model", "d0-reprocess", "lists", "wrong"]
    assert "cannot be used: " in lines[3]
    assert jim("models", "lists")[1].splitlines() == [
        "model        lists: Lists",
        f"file         {modelled}",
        "description  Says what a list has.",
        "role: job type: executable",
        "role: source command: /bin/printf",
        "role: splitter: FileBased",
        "hole  kind  default  help",
        "name  text  -        name of the task",
    ]
    told = json.loads(jim("models", "lists", "--json")[1])
    assert (told["holes"][0]["name"], told["roles"][0]) == ("name", ["job type", "executable"])


def test_a_task_tells_what_was_measured_of_it(ground, jim):
    file = ground.write(TEXT)
    jim("create", file)
    jim("start", "mc", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.work()
    ground.until_state(TaskState.FINISHED, "mc")
    jim("fix", "mc", "memory_mb=500")
    file.write_text(f"{TEXT}# changed\n")
    code, told = jim("status", "mc")
    assert code == 0
    lines = {line.split("  ")[0]: line for line in told.splitlines()}
    assert "which differs from what runs" in lines["file"]
    assert lines["run time"].endswith("1 | 1 | 1 s (quartiles of 4 completed local jobs)")
    assert "s (quartiles of 4 completed local jobs)" in lines["per event"]
    assert "fix 1: memory_mb = 500" in lines
    numbers = json.loads(jim("status", "mc", "--json")[1])
    per_event = next(each for each in numbers["spreads"] if each["what"] == "seconds per event")
    assert per_event["quartiles"] == pytest.approx([1 / 3, 5 / 12, 1 / 2])  # pieces of 3, 2, 3 and 2 events, 1 s each
    assert (numbers["eta_seconds"], numbers["removed"], numbers["bytes_stored"]) == (None, 0, 0)


def test_a_task_does_not_start_without_its_store(ground, jim, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    request = 'request = { job_type = "executable", executable = "/bin/true", outputs = ["a"] }'
    output = f'output = [ {{ name = "a", files = "a", store = "{store}" }} ]'
    jim("create", ground.write(f'[[task]]\nname = "x"\n{request}\nsource = [ {{ events = 4 }} ]\n{output}\n'))
    store.rmdir()
    code, said = jim("start", "--untested", "x")
    assert (code, said.splitlines()[-1]) == (2, f"jim: x: output.store: {store}: no such directory")


def test_a_keeper_is_started_after_a_reboot_for_a_task_that_only_watches(ground, jim, capsys, monkeypatch):
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    (ground.place / "names.txt").write_text("/data/1\n")
    jim("create", ground.write(f'[[task]]\nname = "mc"\n{SH}\nsource = [ {{ list = "names.txt" }} ]\n'))
    jim("start", "mc", "--untested")
    ground.go(5, 1.0)
    assert not ground.batch.tasks, "its piece waits to be full"
    assert cli.main(["keeper", "--all"]) == 0
    assert capsys.readouterr().out.endswith(": keeper started, 0 grid jobs are unfinished, 1 task goes on\n")
    assert started == [ground.site.state]
    jim("pause", "mc")
    assert cli.main(["keeper", "--all"]) == 0
    assert capsys.readouterr().out.endswith(": nothing to do\n")
    assert len(started) == 1


def test_a_file_of_a_watched_directory_is_one_item_however_people_call_it(ground, jim, tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir()
    (tmp_path / "raw").symlink_to("disk")
    (tmp_path / "raw" / "a").write_text("x")
    source = '{ directory = "raw", stable_seconds = 0, every_seconds = 5 }'
    ground.start(f'[[task]]\nname = "t"\n{SH}\nsource = [ {source} ]\nsplit = {{ splitter = "FileBased" }}\n')
    ground.until(lambda: ground.items())
    monkeypatch.chdir(tmp_path / "disk")
    assert jim("add", "t", "a", "./a", "../raw/a", tmp_path / "disk" / "a", "not-there")[1] == (
        "t: 1 new, 1 known already, 0 late\n"
    )
    assert ground.items().keys() == {str(tmp_path / "raw" / "a"), "not-there"}
    assert jim("drop", "t", "a", "b", "not-there", "--reason", "x")[1].startswith("t: 2 given up, 1 unknown, unless")


def test_a_task_is_created_again_right_after_it_is_removed(ground, jim, tmp_path):
    ground.start(TEXT, "mc")
    ground.until_state(TaskState.FINISHED, "mc")
    nonce = ground.task("mc").nonce
    inbox.task_wish(ground.site.state, "remove", "mc")  # the keeper has not seen it yet
    assert "nothing has changed" not in jim("create", ground.write(TEXT))[1]
    ground.go(2)
    assert ground.task("mc").state is TaskState.CONFIGURED
    assert ground.task("mc").nonce != nonce


def test_create_warns_of_texts_in_which_no_variable_is_replaced(ground, jim, tmp_path):
    text = TEXT.replace('"$LastEvent"', '"$LastEvent of $HOME"')
    assert text != TEXT
    code, told = jim("create", ground.write(text))
    assert code == 0
    assert "`$HOME` is no variable here; write `$$HOME`" in " ".join(told.split())
    names = a_list(tmp_path, "a")  # whose items may have variables of their own
    listed = f'[[task]]\nname = "l"\n{SH.replace("InputFiles", "InputFiles $Own")}\nsource = [ {{ list = "{names}" }} ]'
    assert "warning" not in jim("create", ground.write(listed))[1]
    assert "warning" not in jim("create", ground.write(TEXT.replace('"$LastEvent"', '"$LastEvent of $$HOME $Task"')))[1]


def say_at_once(capsys, *words):
    """Run a verb whose wish the keeper does not take yet."""
    code = cli.main(["task", *words])
    told = capsys.readouterr()
    return code, told.out + told.err


AFTER = "fulfilled after the wishes for it that still wait; `jim task show mc` tells what became of it"


def test_what_waits_in_the_inbox_makes_a_verb_possible(ground, jim, capsys):
    jim("create", ground.write(TEXT))
    assert say_at_once(capsys, "start", "mc", "--untested")[0] == 0
    for words in (["pause"], ["resume"], ["pause", "--kill"], ["resume"]):
        assert say_at_once(capsys, *words, "mc") == (0, f"mc: {AFTER}\n"), words
    assert say_at_once(capsys, "test", "mc")[0] == 0
    ground.go(2)
    assert ground.task("mc").state is TaskState.RUNNING
    assert ground.task("mc").tests == 1
    assert not [each for each in ground.journal("mc") if "changes nothing" in each]


def test_a_resume_right_after_a_pause_is_not_lost(ground, jim, capsys):
    ground.start(TEXT, "mc")
    assert say_at_once(capsys, "resume", "mc") == (3, "mc: left as it is: mc is running\n")
    assert say_at_once(capsys, "resume", "--all") == (0, "no task fits; resume changes nothing\n")
    assert say_at_once(capsys, "throttle", "mc", "at_once=5")[0] == 0
    assert say_at_once(capsys, "resume", "mc") == (3, "mc: left as it is: mc is running\n"), (
        "only a pause makes a resume possible"
    )
    assert say_at_once(capsys, "pause", "mc")[1].startswith("mc: pauses; ")
    assert say_at_once(capsys, "resume", "--all") == (0, f"mc: {AFTER}\n")
    assert json.loads(say_at_once(capsys, "resume", "mc", "--json")[1]) == [
        {"task": "mc", "verb": "resume", "wish": {}, "told": AFTER}
    ]
    ground.go(2)
    assert ground.task("mc").state is TaskState.RUNNING
    assert "resume changes nothing: mc is running" in ground.journal("mc")


def test_what_waits_in_the_inbox_makes_a_verb_possible_for_a_pool(ground, jim, capsys, tmp_path):
    source = f'source = [ {{ list = "{a_list(tmp_path, "a")}" }} ]\nsplit = {{ splitter = "FileBased" }}'
    ground.start(f'[[task]]\nname = "mc"\n{SH}\n{source}\n', "mc")
    ground.go(5, 1.0)
    assert say_at_once(capsys, "close", "mc")[0] == 3
    assert say_at_once(capsys, "reopen", "mc")[0] == 0
    assert say_at_once(capsys, "add", "mc", "b") == (0, f"mc: {AFTER}\n")
    assert say_at_once(capsys, "close", "mc") == (0, f"mc: {AFTER}\n")
    ground.go(2)
    assert ground.items("mc").keys() == {"a", "b"}


def test_what_a_file_says_is_refused_also_while_wishes_wait(ground, jim, capsys):
    ground.start(TEXT, "mc")
    assert say_at_once(capsys, "pause", "mc")[0] == 0
    assert say_at_once(capsys, "reopen", "mc")[0] == 2, "it makes events"
    assert say_at_once(capsys, "start", "mc") == (3, "mc: left as it is: mc is running\n")
    assert say_at_once(capsys, "retry", "mc") == (3, "mc: left as it is: no piece has failed\n")


def test_a_task_that_was_accepted_is_no_failure_if_it_cannot_be_looked_at(ground, jim, monkeypatch):
    def fails(*_):
        raise PermissionError(13, "Permission denied", "/data")

    monkeypatch.setattr("jim.cli.tasks.create.hints", fails)
    code, told = jim("create", ground.write(TEXT))
    warning = "jim: warning: the tasks were accepted, and are there all the same; but JIM cannot look at them now: "
    done = "configured; `jim task test mc` tries it out"
    assert (code, told) == (0, f"{done}\n{warning}/data: Permission denied\n")
    assert jim("status", "mc")[0] == 0


def test_a_retry_of_no_piece_says_so_by_its_exit_code_and_waits_for_the_truth(ground, jim, monkeypatch):
    """The keeper decides on what it finds: with --wait, people hear of that."""
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    for each in list(ground.batch.tasks):
        ground.batch.finish(*each, code=3)
    ground.until(lambda: ground.task("mc").state is TaskState.FINISHED, 60.0)
    code, told = jim("retry", "mc", "--reason", "nothing like it")
    assert (code, told) == (3, "mc: 0 of 4 failed pieces are tried again\n")
    monkeypatch.setattr("jim.cli.awaited_wishes.time.sleep", lambda _: ground.go())
    code, told = jim("retry", "mc", "--reason", "exit 3", "--max", "1", "--wait")
    assert (code, told.splitlines()[-1]) == (0, "mc: retry is done")
    code, told = jim("remove", "mc", "--wait")
    assert code == 2, "it runs again"
    jim("cancel", "mc")
    ground.until(lambda: ground.task("mc").state is TaskState.CANCELLED, 60.0)
    assert jim("remove", "mc", "--wait")[1].splitlines()[-1] == "mc: it is forgotten"


def test_the_status_of_several_tasks_is_their_part_of_the_list(ground, jim, tmp_path):
    for name in "abc":
        ground.create(
            f'[[task]]\nname = "{name}"\n{SH}\nsource = [ {{ list = "{a_list(tmp_path, "1")}" }} ]\n', f"{name}.toml"
        )
    told = jim("status", "c", "a")[1].splitlines()
    assert [line.split()[0] for line in told[1:]] == ["c", "a"]
    assert [each["name"] for each in json.loads(jim("status", "c", "a", "--json")[1])] == ["c", "a"]
    assert jim("status", "a", "d")[0] == 4


def test_what_comes_next_for_very_many_tasks_is_one_short_line(ground, jim, tmp_path):
    one = f'{SH}\nsource = [ {{ list = "{a_list(tmp_path, "1")}" }} ]\n'
    told = jim("create", ground.write("".join(f'[[task]]\nname = "t{n}"\n{one}' for n in range(11))))[1].splitlines()
    assert told[-1] == "configured: 11 tasks; `jim task test t0` tries the first one out, `jim task status` lists all"


def test_what_is_so_already_is_told_and_exits_3(ground, jim):
    text = "\n".join(TEXT.replace('"mc"', f'"{name}"') for name in ("a", "b"))
    jim("create", ground.write(text))
    jim("start", "a", "b", "--untested")
    ground.until(lambda: len(ground.batch.tasks) == 8)
    assert jim("start", "a") == (3, "a: left as it is: a is running\n")
    assert jim("resume", "a") == (3, "a: left as it is: a is running\n")
    assert jim("pause", "a")[0] == 0
    assert jim("pause", "a") == (3, "a: left as it is: a is paused\n")
    assert jim("pause", "a", "--suspend")[0] == 0, "what is on the way goes on no more"
    assert jim("pause", "a", "--suspend")[0] == 3
    code, told = jim("pause", "a", "b")
    assert (code, [line[:23] for line in told.splitlines()]) == (
        3,
        ["a: left as it is: a is ", "b: pauses; 4 pieces on "],
    )
    assert ground.task("b").state is TaskState.PAUSED
    assert jim("pause", "a", "--kill")[0] == 0
    ground.until(lambda: not ground.counts("pieces", "a").get("sent"))
    assert jim("pause", "a", "--kill")[0] == 3


def test_a_pause_after_a_resume_that_still_waits_is_no_mistake(ground, jim):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.until(lambda: ground.batch.tasks)
    jim("pause", "mc")
    assert cli.main(["task", "resume", "mc"]) == 0
    assert cli.main(["task", "pause", "mc"]) == 0
    ground.go(2)
    assert ground.task("mc").state is TaskState.PAUSED
    assert [each.what for each in ground.store.tasks.journal(ground.task("mc").id)][-1] == "paused"


def test_several_tasks_are_cancelled_tried_again_and_removed(ground, jim):
    text = "\n".join(TEXT.replace('"mc"', f'"{name}"') for name in ("a", "b"))
    jim("create", ground.write(text))
    assert jim("retry", "a", "b")[0] == 3
    code, told = jim("cancel", "a", "b")
    assert (code, [line[:22] for line in told.splitlines()]) == (
        0,
        ["a: is cancelled, with ", "b: is cancelled, with "],
    )
    ground.until(lambda: ground.task("b").state is TaskState.CANCELLED, seconds=10.0)
    assert jim("cancel", "a") == (3, "a: left as it is: a is cancelled\n")
    assert jim("pause", "a")[0] == 3
    assert jim("resume", "a")[0] == 2, "nothing lets it go on"
    assert jim("remove", "a", "none")[0] == 4
    assert jim("remove", "a", "b")[0] == 0
    assert not ground.store.tasks.all()


def test_a_close_of_what_is_closed_exits_3(ground, jim, tmp_path):
    jim("create", ground.write(f'[[task]]\nname = "f"\n{SH}\nsource = [ {{ list = "{a_list(tmp_path, "x")}" }} ]\n'))
    jim("start", "f", "--untested")
    ground.until(lambda: ground.counts("items", "f"))
    code, told = jim("close", "f")
    assert (code, told[:33]) == (3, "f: left as it is: f is closed sin")
