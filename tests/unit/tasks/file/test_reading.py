"""The table of refusals: each row prints its sentence, with file, line and column before it, and stores nothing."""

from __future__ import annotations

import pytest

from jim.errors import BadRequest
from jim.site.file import Site
from jim.tasks.file import reading as task_file

GOOD = """\
[[task]]
name = "t"
[task.request]
job_type = "executable"
executable = "/bin/true"
[[task.source]]
events = 10
[task.release]
at_once = 5
[task.split]
[task.test]
"""
FILES = GOOD.replace("events = 10", 'list = "LIST"')
# What replaces what in a good file; the place, and the sentence.
WRONG = {
    "unknown word": (
        GOOD,
        "events = 10",
        "dirctory = '/x'",
        7,
        1,
        "source.dirctory: unknown; did you mean 'directory'? (known: ",
    ),
    "unknown table": (GOOD, "[task.test]", "[task.tset]", 11, 7, "task.tset: unknown; did you mean 'test'? (known: "),
    "no source": (
        GOOD,
        "[[task.source]]\nevents = 10\n",
        "",
        1,
        1,
        "task.source: task 't': no source: say events, directory, list, command, dataset or task",
    ),
    "two kinds": (
        GOOD,
        "events = 10",
        "events = 10\ndirectory = '/'",
        8,
        1,
        "source.directory: source: events and directory; a source is one of them",
    ),
    "no name": (
        GOOD,
        'name = "t"\n',
        "",
        1,
        1,
        "task.name: missing: a name has 1 to 48 of a-z, 0-9 and -, and begins with a letter",
    ),
    "bad name": (
        GOOD,
        'name = "t"',
        'name = "T x"',
        2,
        1,
        "task.name: 'T x': a name has 1 to 48 of a-z, 0-9 and -, and begins with a letter",
    ),
    "key": (GOOD, "executable = ", 'key = "k"\nexecutable = ', 5, 1, "request.key: a task gives its waves their keys"),
    "events": (GOOD, "executable = ", "events = 3\nexecutable = ", 5, 1, "request.events: say events in source"),
    "splitter": (
        GOOD,
        "executable = ",
        'splitter = "FileBased"\nexecutable = ',
        5,
        1,
        "request.splitter: say splitter in split",
    ),
    "request": (
        GOOD,
        "executable = ",
        "memory_mb = 0\nexecutable = ",
        5,
        1,
        "request.memory_mb: expected at least 1 and at most 100,000,000, found 0",
    ),
    "job type": (
        GOOD,
        '"executable"',
        '"executabel"',
        4,
        1,
        "request.job_type: unknown job type 'executabel'; did you mean 'executable'?",
    ),
    "analyser": (
        GOOD,
        'name = "t"',
        'name = "t"\nanalyser = "mysite.no.such"',
        3,
        1,
        "task.analyser: there is no 'mysite.no.such' in site.handlers",
    ),
    "number": (GOOD, "at_once = 5", "queued = 0", 9, 1, "release.queued: 0: must be 1 or more"),
    "kind": (GOOD, "at_once = 5", "at_once = 'x'", 9, 1, "release.at_once: expected a whole number, found 'x'"),
    "later word": (
        GOOD,
        "at_once = 5",
        "disk_gb = 5",
        9,
        1,
        "release.disk_gb: later: this version of JIM does not have a limit on the disk",
    ),
    "later table": (
        GOOD,
        "[task.test]",
        "[task.tail]",
        11,
        7,
        "task.tail: later: this version of JIM does not have an automatic tail",
    ),
    "later adapt": (
        GOOD,
        "[task.test]",
        "adapt = {}",
        11,
        1,
        "split.adapt: later: this version of JIM does not have sizes that JIM finds out",
    ),
    "overlap": (
        GOOD,
        "events = 10",
        "events = 10\n[[task.source]]\nevents = 3\nfirst_event = 9",
        10,
        1,
        "source.first_event: events 9 to 10 are in two sources",
    ),
    "campaigns": (
        GOOD,
        "events = 10",
        "events = 10\ncampaigns = 11",
        8,
        1,
        "source.campaigns: 11: there are only 10 events",
    ),
    "events with a splitter": (
        GOOD,
        "[task.split]",
        "[task.split]\nsplitter = 'FileBased'",
        11,
        1,
        "split.splitter: events are cut by their number; say events_per_piece in source",
    ),
    "no catalogue": (
        GOOD,
        "events = 10",
        "campaigns = 2",
        6,
        8,
        "task.source: task 't': no source: say events, directory, list, command, dataset or task",
    ),
    "list": (FILES, "LIST", "/no/such", 7, 1, "source.list: /no/such: no such file"),
    "directory": (
        FILES,
        'list = "LIST"',
        'directory = "/no/such"',
        7,
        1,
        "source.directory: /no/such: no such directory",
    ),
    "pattern": (FILES, 'list = "LIST"', 'list = "LIST"\ngroup = "("', 8, 1, "source.group: '(' is no pattern: "),
    "brackets": (
        FILES,
        'list = "LIST"',
        'list = "LIST"\ngroup = "x"',
        8,
        1,
        "source.group: no brackets: the first pair says what the group is",
    ),
    "no program": (
        FILES,
        'list = "LIST"',
        "command = ['/no/such', 'x']",
        7,
        1,
        "source.command: /no/such: no such program",
    ),
    "empty command": (
        FILES,
        'list = "LIST"',
        "command = []",
        7,
        1,
        "source.command: empty: say the program and its words",
    ),
    "dataset without a catalogue": (
        FILES,
        'list = "LIST"',
        "dataset = 'raw'",
        7,
        1,
        "source.dataset: this site has no catalogue (site.catalogue)",
    ),
    "directory and dataset": (
        FILES,
        'list = "LIST"',
        "directory = '/'\ndataset = 'raw'",
        8,
        1,
        "source.dataset: source: directory and dataset; a source is one of them",
    ),
    "dataset in the request": (
        FILES,
        "executable = ",
        "dataset = 'raw'\nexecutable = ",
        5,
        1,
        "request.dataset: say dataset in source",
    ),
    "foreign word": (
        FILES,
        'list = "LIST"',
        'list = "LIST"\nstable_seconds = 3',
        8,
        1,
        "source.stable_seconds: a source of kind list has no 'stable_seconds'",
    ),
    "open pool": (
        FILES,
        "[task.split]",
        "[task.split]\nparameters = { total_files = 10 }",
        11,
        16,
        "split.parameters.total_files: an open pool has no first 10 by name",
    ),
    "no items": (
        FILES,
        "[task.split]",
        "[task.split]\nsplitter = 'Parametric'",
        11,
        1,
        "split.splitter: Parametric splits no items; use source.list",
    ),
    "twice": (
        FILES,
        "[task.split]",
        "[task.split]\nsplitter = 'Harvest'\nparameters = { periodic_harvest_interval = 5 }",
        11,
        1,
        "split.splitter: Harvest with an interval reads items twice",
    ),
    "siblings": (
        FILES,
        "[task.split]",
        "[task.split]\nsplitter = 'SiblingProcessingBased'",
        11,
        1,
        "split.splitter: later: SiblingProcessingBased needs to be told producers or siblings",
    ),
    "correction": (
        FILES,
        "[task.split]",
        "[task.split]\nsplitter = 'LumiBased'\nparameters = { applyLumiCorrection = true }",
        12,
        16,
        'split.parameters.applyLumiCorrection: an open pool is not wholly known; say when = "closed"',
    ),
    "parameter": (
        FILES,
        "[task.split]",
        "[task.split]\nparameters = { file_per_job = 3 }",
        11,
        16,
        "split.parameters.file_per_job: unknown parameter; did you mean 'files_per_job'?",
    ),
    "when": (
        FILES,
        "[task.split]",
        "[task.split]\nwhen = 'soon'",
        11,
        1,
        "split.when: 'soon': must be full, now or closed",
    ),
    "second of a name": (
        GOOD,
        "[task.test]",
        f"[task.test]\n{GOOD}",
        13,
        1,
        "task.name: 't' is the name of two tasks of this file",
    ),
    "no task": ("", "", "", 0, 0, "there is no table [[task]]"),
    "model": (
        GOOD,
        "[[task]]",
        "[model]\nsummary = 'x'\n[[task]]",
        1,
        2,
        "model: this is a model; 'jim task create --model x hole=value' fills its holes",
    ),
    "of a request": (
        GOOD,
        "[[task]]",
        "job_type = 'executable'\n[[task]]",
        1,
        1,
        "job_type: this is for a request, which `jim submit` takes; a task file has tables [[task]] alone",
    ),
    "other table": (
        GOOD,
        "[[task]]",
        "[tasks]\n[[task]]",
        1,
        2,
        "tasks: unknown; a task file has tables [[task]] alone",
    ),
}


def told(file, text):
    file.write_text(text)
    with pytest.raises(BadRequest) as error:
        task_file.read(file, Site(state=file.parent / "state"))
    return str(error.value)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_its_sentence(tmp_path, name):
    (tmp_path / "names").write_text("a\n")
    good, old, new, line, column, words = WRONG[name]
    text = good.replace(old, new, 1).replace("LIST", str(tmp_path / "names")) if old else ""
    place = f"line {line}, column {column}: " if line else ""
    assert told(tmp_path / "x.toml", text).startswith(f"{tmp_path}/x.toml: {place}{words}")


FED = """\
[[task]]
name = "generate"
source = [ { events = 10, events_per_piece = 5 } ]
output = [ { name = "gen", files = "stdout" } ]
[task.request]
job_type = "executable"
executable = "/bin/true"
[[task]]
name = "reco"
source = [ { task = "generate", output = "gen", promises = true, when_broken = "wait" } ]
split = { splitter = "FileBased" }
output = [ { name = "gen", files = "stdout" } ]
[task.request]
job_type = "executable"
executable = "/bin/true"
"""


@pytest.mark.parametrize(
    ("old", "new", "column", "words"),
    [
        ('"generate", o', '"generat", o', 14, "source.task: there is no task 'generat'; did you mean 'generate'?"),
        ('put = "gen", p', 'put = "geen", p', 33, "source.output: 'generate' has no output 'geen'"),
        ('"wait"', '"skip"', 66, "source.when_broken: 'skip': must be wait or fail"),
        (
            '"FileBased"',
            '"SizeBased", parameters = { size_per_job = 1 }',
            49,
            "source.promises: SizeBased needs sizes,",
        ),
        ('task = "generate"', 'task = "reco"', 14, "source.task: reco -> reco: a task cannot feed itself"),
    ],
)
def test_a_wrong_connector_is_refused_where_it_stands(tmp_path, old, new, column, words):
    text = FED.replace(old, new, 1)
    assert text != FED
    assert told(tmp_path / "x.toml", text).startswith(f"{tmp_path}/x.toml: line 10, column {column}: {words}")


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    assert told(tmp_path / "x.toml", "[[task").startswith(f"{tmp_path}/x.toml: not TOML: ")
    with pytest.raises(BadRequest, match=r"cannot read the task file: .*No such file"):
        task_file.read(tmp_path / "none.toml", Site(state=tmp_path))


def test_what_a_task_leaves_out_has_its_default(tmp_path):
    (tmp_path / "names").write_text("a\n")
    file = tmp_path / "x.toml"
    file.write_text(FILES.replace("LIST", "names"))
    (spec,) = task_file.read(file, Site(state=tmp_path / "state"))
    record = spec.to_record()
    assert record["source"] == [{"kind": "list", "list": f"{tmp_path}/names", "every_seconds": 30, "group": ""}]
    assert record["split"] == {"splitter": "FileBased", "parameters": {}, "when": "full", "max_wait_seconds": 0}
    assert record["release"] == {"at_once": 5, "queued": 500, "first": 5, "probe_seconds": 600, "every_seconds": 60}
    assert record["test"] == {"pieces": 1, "check": (), "most_seconds": 0}


def test_events_are_sized_as_those_of_a_request(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(
        '[[task]]\nname = "mc"\nrequest = { job_type = "dzero_monte_carlo", request_id = "1", '
        'd0_release_version = "p14", jobfiles_dataset = "j" }\nsource = [ { events = 1_000_000, campaigns = 4 } ]\n'
    )
    (spec,) = task_file.read(file, Site(state=tmp_path / "state"))
    (source,) = spec.sources
    assert (source.events_per_piece, source.events) == (250, 1_000_000)
    assert source.why == "the job type's rule of thumb, 250 events per local job"
