"""The table of refusals of the contract, row by row, as people see them: the words, exit 2, and nothing is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from jim import cli
from jim.tasks.effects import OLDER
from tests.unit.tasks.ground import a_list

GEN = """\
[[task]]
name = "gen"
request = { job_type = "executable", executable = "/bin/true", outputs = ["d0reco_*"] }
source = [ { events = 10, events_per_piece = 5 } ]
output = [ { name = "gen", files = "d0reco_*", store = "STORE" } ]
"""
RECO = """\
[[task]]
name = "reco"
request = { job_type = "executable", executable = "/bin/true", arguments = ["$InputFiles"], outputs = ["out_*"] }
source = [ { task = "gen", output = "gen", promises = true } ]
split = { splitter = "FileBased", parameters = { files_per_job = 2 } }
output = [ { name = "reco", files = "out_*" } ]
"""
NAMES = """\
[[task]]
name = "names"
request = { job_type = "executable", executable = "/bin/true", arguments = ["$InputFiles"] }
source = [ { list = "names.txt" } ]
split = { parameters = {} }
"""
FILES = {"gen": GEN, "reco": GEN + RECO, "names": NAMES}
# What is wrong: the file, what replaces what in it, and the sentence behind file, line and column.
OF_FILES = {
    "unknown word": (
        "gen",
        "events = 10",
        'dirctory = "/"',
        "source.dirctory: unknown; did you mean 'directory'? (known",
    ),
    "no source": (
        "gen",
        "source = [ { events = 10, events_per_piece = 5 } ]\n",
        "",
        "task 'gen': no source: say events, directory, list, command, dataset or task",
    ),
    "two kinds in one": (
        "names",
        "list =",
        'directory = "/", dataset = "d", list =',
        "source: directory and list and dataset; a source is one of them",
    ),
    "no such upstream": (
        "reco",
        'task = "gen"',
        'task = "gem"',
        "source.task: there is no task 'gem'; did you mean 'gen'?",
    ),
    "no such output": ("reco", 'output = "gen"', 'output = "geen"', "source.output: 'gen' has no output 'geen'"),
    "when_broken": (
        "reco",
        "promises = true",
        'promises = true, when_broken = "skip"',
        "source.when_broken: 'skip': must be wait or fail",
    ),
    "cycle": (
        "reco",
        "events = 10, events_per_piece = 5",
        'task = "reco", output = "reco"',
        "source.task: gen -> reco -> gen: a task cannot feed itself",
    ),
    "own output watched": (
        "gen",
        "events = 10, events_per_piece = 5",
        'directory = "STORE"',
        "STORE is watched by a source of task 'gen': what it brings would come back as input",
    ),
    "key": ("gen", "request = { ", 'request = { key = "k", ', "request.key: a task gives its waves their keys"),
    "events": ("gen", "request = { ", "request = { events = 3, ", "request.events: say events in source"),
    "splitter": (
        "names",
        "request = { ",
        'request = { splitter = "FileBased", ',
        "request.splitter: say splitter in split",
    ),
    "analyser not there": (
        "gen",
        'name = "gen"\nrequest',
        'name = "gen"\nanalyser = "mysite.analysis.carful"\nrequest',
        "task.analyser: there is no 'mysite.analysis.carful' in site.handlers",
    ),
    "splitter on open pool": (
        "names",
        "parameters = {}",
        'splitter = "FileBased", parameters = { total_files = 10 }',
        "split.parameters.total_files: an open pool has no first 10 by name",
    ),
    "splitter of requests": (
        "names",
        "parameters = {}",
        'splitter = "Parametric"',
        "split.splitter: Parametric splits no items; use source.list",
    ),
    "promises not possible": (
        "reco",
        '"FileBased", parameters = { files_per_job = 2 }',
        '"SizeBased"',
        "source.promises: SizeBased needs sizes, which a promise does not tell",
    ),
    "output not brought": (
        "gen",
        'files = "d0reco_*"',
        'files = "x*"',
        "output.files: 'x*': the job type brings only stdout, stderr, d0reco_*",
    ),
    "no store where there must be one": (
        "reco",
        ', store = "STORE"',
        "",
        "output.store: missing: worker nodes of 'condor_transfer' do not see the work directory",
    ),
    "store not there": ("gen", '"STORE"', '"STORE/x"', "output.store: STORE/x: no such directory"),
    "no catalogue": (
        "names",
        'list = "names.txt"',
        'dataset = "d"',
        "source.dataset: this site has no catalogue (site.cat",
    ),
    "bad pattern": (
        "names",
        'list = "names.txt"',
        'list = "names.txt", group = "run"',
        "source.group: no brackets: the first pair says what the group is",
    ),
    "numbers": ("gen", "output =", "release = { first = 0 }\noutput =", "release.first: 0: must be 1 or more"),
}


@pytest.fixture
def write(ground, monkeypatch):
    """Write a task file, changed in one place."""
    monkeypatch.chdir(ground.place)
    (ground.place / "store").mkdir()
    (ground.place / "names.txt").write_text("/data/1\nclosed\n")

    def write(name: str, old: str = "", new: str = "") -> Path:
        text = FILES[name]
        assert old in text
        file = ground.place / f"{name}.toml"
        file.write_text(text.replace(old, new, 1).replace("STORE", str(ground.place / "store")))
        return file

    return write


def plain(told: str) -> str:
    return " ".join(told.split())


@pytest.mark.parametrize("row", OF_FILES)
def test_what_is_wrong_in_a_file_is_told_and_nothing_is_stored(ground, jim, write, row, monkeypatch):
    name, old, new, words = OF_FILES[row]
    if row.startswith("no store"):
        monkeypatch.setattr("jim.tasks.file.connecting.sees_work", lambda _site: False)
        words = words.replace("condor_transfer", ground.site.batch.system)
    file = write(name, old, new)
    code, told = jim("create", file)
    assert code == 2
    assert words.replace("STORE", str(ground.place / "store")) in plain(told)
    assert f"{file}: line " in plain(told)
    assert ground.store.tasks.all() == []


def test_at_once_0_is_allowed_and_explained(ground, jim, write):
    assert jim("create", write("gen", "output =", "release = { at_once = 0 }\noutput ="))[0] == 0
    assert jim("start", "gen", "--untested")[0] == 0
    assert "throttle: at_once = 0" in plain(jim("explain", "gen")[1])


def test_a_hole_without_a_value(jim):
    code, told = jim("create", "--model", "d0-reprocess")
    assert (code, "model d0-reprocess: hole 'run' has no value: run number, for example 194341" in plain(told)) == (
        2,
        True,
    )


# What is wrong with a verb: what people did before, the verb, its exit code and the sentence.
OF_VERBS = {
    "name taken": (
        ["start gen --untested"],
        "create OTHER",
        2,
        "with other content; choose another name, or 'jim task cancel gen'",
    ),
    "start untested": (
        [],
        "start gen",
        2,
        "gen has not been tested as it is now; 'jim task test gen', or start --untested",
    ),
    "change after start": (
        ["start gen --untested"],
        "fix gen job_type=parametric",
        2,
        "gen runs; what may change now: limits, priority, fixes, items",
    ),
    "closed pool": (
        ["start names --untested"],
        "add names /data/2",
        2,
        "; 'jim task add --reopen' opens it again",
    ),
    "remove while live": (["start gen --untested"], "remove gen", 2, "gen has 2 pieces on the way; cancel it first"),
    "remove of what feeds": (
        ["cancel gen"],
        "remove gen",
        2,
        "gen feeds 'reco', which is not finished; finish or cancel that first",
    ),
    "cancel of what feeds": (
        ["start gen --untested", "start reco --untested"],
        "cancel gen",
        0,
        "reco waits for 2 promises that will not be fulfilled",
    ),
    "start in a test": (
        ["test gen"],
        "start gen",
        2,
        "gen is testing; 'jim task explain gen' tells how far its test is",
    ),
    "start of what pauses": (
        ["start gen --untested", "pause gen"],
        "start gen",
        2,
        "gen is paused; 'jim task resume gen' lets it go on",
    ),
    "resume before a start": ([], "resume gen", 2, "gen is configured; 'jim task test gen' comes first"),
    "restored store": (["OLDER"], "resume gen", 2, f"gen: {OLDER}; only 'jim task cancel gen' is possible"),
}


@pytest.mark.parametrize("row", OF_VERBS)
def test_what_a_verb_cannot_do_is_told_and_changes_nothing(ground, jim, write, row):
    before, verb, code, words = OF_VERBS[row]
    assert jim("create", write("reco"))[0] == 0
    assert jim("create", write("names"))[0] == 0
    for each in before:
        if each == "OLDER":
            ground.store.tasks.change(ground.task("gen").id, state="paused", reason=OLDER)
        else:
            assert jim(*each.split())[0] == 0
            ground.go(8, 1.0)
    was = ground.task("gen")
    given = verb.replace("OTHER", str(write("gen", "events = 10", "events = 20")))
    found, told = jim(*given.split())
    assert words in plain(told)
    assert found == code
    if code:
        assert ground.task("gen")._replace(updated="") == was._replace(updated="")


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ('key = "task:x:1"', "key: 'task:' is for tasks"),
        ("pieces = []", "pieces: only a task hands in pieces"),
        ('task = "gen"', "task: only a task hands in this"),
        ('[[task]]\nname = "gen"', "task: this is a task file: `jim task create FILE` takes it"),
    ],
)
def test_a_door_takes_nothing_that_is_for_tasks(ground, capsys, monkeypatch, attribute, words):
    file = ground.place / "r.toml"
    file.write_text(f'job_type = "executable"\nexecutable = "/bin/true"\n{attribute}\n')
    monkeypatch.setattr("jim.keeper.waking.wake_or_tell", lambda *_: None, raising=False)
    assert cli.main(["submit", str(file)]) == 2
    assert words in plain(capsys.readouterr().err)
    assert ground.store.grid_jobs() == []


def test_a_verb_on_a_wave_names_that_of_the_task(ground, jim, write, capsys):
    jim("create", write("gen"))
    jim("start", "gen", "--untested")
    ground.until(lambda: ground.batch.tasks)
    assert cli.main(["resplit", "1.1"]) == 2
    told = plain(capsys.readouterr().err)
    assert "1.1 is piece gen/1: use 'jim task recover gen'" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("share", "gen", "3"), "share: later: this version of JIM does not have shares of the places"),
        (("fix", "gen", "--undo", "1"), "--undo: later: this version of JIM does not have an undo of fixes"),
        (("graph", "gen", "--dot"), "--dot: later: this version of JIM does not have graphs for Graphviz"),
        (("throttle", "gen", "disk_gb=3"), "disk_gb: later: this version of JIM does not have a limit on the disk"),
    ],
)
def test_what_is_decided_and_not_there_yet_is_refused_by_name(ground, jim, tmp_path, words, told):
    ground.create(NAMES.replace("names.txt", str(a_list(tmp_path, "a"))).replace('"names"', '"gen"'))
    assert jim(*words) == (2, f"jim: {told}\n")
