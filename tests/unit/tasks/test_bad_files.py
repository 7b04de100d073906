"""Task files as people spoil them: each is refused with file, place, what is wrong and what would be right."""

from __future__ import annotations

import os

import pytest

from jim.errors import BadRequest
from jim.site.file import Site
from jim.tasks.file import reading as task_file

REQUEST = 'request = { job_type = "executable", executable = "/bin/true", outputs = ["o.dat"] }\n'
GEN = f"""\
[[task]]
name = "gen"
{REQUEST}source = [ {{ events = 10, events_per_piece = 5 }} ]
output = [ {{ name = "gen", files = "o.dat" }} ]
"""
FED = f'[[task]]\nname = "fed"\n{REQUEST}source = [ {{ task = "gen", output = "gen", promises = true }} ]\n'
FILES = """\
[[task]]
name = "d"   # a name = "d"
[task.request]
job_type = "executable"
executable = "/bin/true"
[[task.source]]
directory = "/tmp"
files = "*.raw"
[task.split]
splitter = "FileBased"
parameters = { files_per_job = 3 }
"""
A_NAME = "a name has 1 to 48 of a-z, 0-9 and -, and begins with a letter"
# What replaces what in which text, and what is said of it behind the name of the file.
BAD = [
    ("empty", "", "", "", "there is no table [[task]]"),
    (
        "one bracket",
        GEN,
        "[[task]]",
        "[task]",
        "line 1, column 2: task is no list of tables; each begins with [[task]]",
    ),
    ("a number", "task = 3\n", "", "", "line 1, column 1: task is no list of tables; each begins with [[task]]"),
    ("half a list", GEN, "events = 10", "events = [", "not TOML: "),
    ("a table twice", FILES, "[task.split]", "[task.split]\n[task.split]", "not TOML: "),
    ("a word twice", GEN, "output =", 'name = "b"\noutput =', "not TOML: "),
    (
        "very deep",
        GEN,
        "output =",
        f"summary = {'[' * 500}{']' * 500}\noutput =",
        "not TOML: lists or tables are nested",
    ),
    ("no character", GEN, 'name = "gen"\n', 'name = "gen"\nsummary = "\0"\n', "not TOML: "),
    ("no name", GEN, 'name = "gen"\nrequest', "request", f"line 1, column 1: task.name: missing: {A_NAME}"),
    ("capital", GEN, 'name = "gen"\n', 'name = "Gen"\n', f"line 2, column 1: task.name: 'Gen': {A_NAME}"),
    ("accent", GEN, 'name = "gen"\n', 'name = "gén"\n', f"line 2, column 1: task.name: 'gén': {A_NAME}"),
    ("long", GEN, 'name = "gen"\n', f'name = "{"g" * 49}"\n', f"line 2, column 1: task.name: '{'g' * 49}': {A_NAME}"),
    (
        "escape",
        GEN,
        'name = "gen"\n',
        'name = "\\u001b[2J"\n',
        "line 2, column 1: task.name: '\\x1b[2J' holds characters",
    ),
    ("same name", GEN + GEN, "", "", "line 7, column 1: task.name: 'gen' is the name of two tasks of this file"),
    (
        "a date",
        GEN,
        "output =",
        "summary = 2026-01-31\noutput =",
        "line 5, column 1: task.summary: expected a text, found 2",
    ),
    (
        "no request",
        GEN,
        REQUEST,
        "",
        "line 1, column 1: task.request: missing: say what each grid job asks for, at least",
    ),
    (
        "a text",
        GEN,
        REQUEST,
        'request = "x"\n',
        "line 3, column 1: task.request: expected a table, found 'x' (what each",
    ),
    (
        "attribute",
        GEN,
        "outputs =",
        "output =",
        "line 3, column 64: request.output: unknown attribute; did you mean 'outputs'",
    ),
    (
        "a word that a rule before it has, too",
        FILES,
        'executable = "/bin/true"\n',
        'executable = "/bin/true"\nretry = [ { when = "memory", change = { memory_mb = "*2" } } ]\nmemory_mb = "9"\n',
        "line 7, column 1: request.memory_mb: expected a whole number, found '9'",
    ),
    (
        "job type",
        GEN,
        '"executable", ',
        '"executble", ',
        "line 3, column 13: request.job_type: unknown job type 'executble'",
    ),
    (
        "huge",
        GEN,
        "events = 10",
        f"events = {10**30}",
        f"line 4, column 14: source.events: {10**30}: must be at most 1,000,",
    ),
    ("none", GEN, "events = 10", "events = 0", "line 4, column 14: source.events: 0: must be 1 or more"),
    (
        "a half",
        GEN,
        "events = 10",
        "events = 10.5",
        "line 4, column 14: source.events: expected a whole number, found 10.5",
    ),
    (
        "true",
        GEN,
        "events = 10",
        "events = true",
        "line 4, column 14: source.events: expected a whole number, found true",
    ),
    (
        "no source",
        GEN,
        "source = [ {",
        "priority = 1 #",
        "line 1, column 1: task.source: task 'gen': no source: say events",
    ),
    (
        "one table",
        GEN,
        "[ { events = 10, events_per_piece = 5 } ]",
        "{ }",
        "line 4, column 1: task.source: expected a list",
    ),
    (
        "not a number",
        GEN,
        "output =",
        "test = { most_seconds = nan }\noutput =",
        "line 5, column 10: test.most_seconds: nan: m",
    ),
    (
        "for ever",
        GEN,
        "output =",
        "test = { most_seconds = inf }\noutput =",
        "line 5, column 10: test.most_seconds: inf: m",
    ),
    (
        "check",
        GEN,
        "output =",
        'test = { check = ["./no"] }\noutput =',
        "line 5, column 10: test.check: HERE/no: no such p",
    ),
    ("no output", GEN, 'name = "gen", ', "", f"line 5, column 1: output.name: missing: {A_NAME}"),
    (
        "no files",
        GEN,
        ', files = "o.dat"',
        "",
        "line 5, column 1: output.files: missing: say which files of a piece are",
    ),
    (
        "store",
        GEN,
        '"o.dat" }',
        '"o.dat", store = "no" }',
        "line 5, column 45: output.store: HERE/no: no such directory",
    ),
    (
        "upstream",
        GEN + FED,
        'task = "gen"',
        'task = "gn"',
        "line 9, column 14: source.task: there is no task 'gn'; did you",
    ),
    (
        "stream",
        GEN + FED,
        'output = "gen"',
        'output = "gn"',
        "line 9, column 28: source.output: 'gen' has no output 'gn'; d",
    ),
    ("no stream", GEN + FED, ', output = "gen"', "", "line 9, column 1: source.output: missing (known: gen)"),
    (
        "itself",
        FED,
        'task = "gen"',
        'task = "fed"',
        "line 4, column 28: source.output: 'fed' has no output; say [[task.out",
    ),
    ("directory", FILES, "/tmp", "/no/such", "line 7, column 1: source.directory: /no/such: no such directory"),
    ("a file", FILES, "/tmp", "/etc/passwd", "line 7, column 1: source.directory: /etc/passwd: no such directory"),
    (
        "spelling",
        FILES,
        "directory",
        "dirctory",
        "line 7, column 1: source.dirctory: unknown; did you mean 'directory'?",
    ),
    (
        "any path",
        FILES,
        "*.raw",
        "/data/*.raw",
        "line 8, column 1: source.files: '/data/*.raw': a pattern of names below t",
    ),
    (
        "above",
        FILES,
        "*.raw",
        "../*.raw",
        "line 8, column 1: source.files: '../*.raw': a pattern of names below the directory",
    ),
    (
        "no ending",
        FILES,
        "files =",
        'closed_by = "END"\nfiles =',
        "line 8, column 1: source.closed_by: 'END': no ending: that of",
    ),
    (
        "no dot before the ending",
        FILES,
        "files =",
        'closed_by = "done-*"\nfiles =',
        "line 8, column 1: source.closed_by: 'done-*': no ending: that of",
    ),
    (
        "one ending of many files",
        FILES,
        "files =",
        'closed_by = "*.END"\nfiles =',
        "line 8, column 1: source.closed_by: '*.END': it closes no group but 'END': the ending",
    ),
    (
        "splitter",
        FILES,
        "FileBased",
        "FileBsed",
        "line 10, column 1: split.splitter: unknown splitter 'FileBsed'; did you",
    ),
    (
        "no items",
        FILES,
        "FileBased",
        "Parametric",
        "line 10, column 1: split.splitter: Parametric splits no items; use source.",
    ),
    (
        "parameter",
        FILES,
        "files_per_job",
        "file_per_job",
        "line 11, column 16: split.parameters.file_per_job: unknown parame",
    ),
    (
        "parameters",
        FILES,
        "{ files_per_job = 3 }",
        "[3]",
        "line 11, column 1: split.parameters: expected a table, found [3]",
    ),
    (
        "negative",
        FILES,
        "[task.split]\n",
        "[task.split]\nmax_wait_seconds = -1\n",
        "line 10, column 1: split.max_wait_seconds: -1",
    ),
    (
        "model",
        GEN,
        "[[task]]",
        "[model]\n[[task]]",
        "line 1, column 2: model: this is a model; 'jim task create --model x",
    ),
]


def refused(tmp_path, text):
    """Return what is said of a task file behind its name."""
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(BadRequest) as error:
        task_file.read(file, Site(state=tmp_path / "state"))
    found = str(error.value)
    assert found.startswith(f"{file}: ")
    return found.removeprefix(f"{file}: ").replace(str(tmp_path), "HERE")


@pytest.mark.parametrize(("text", "old", "new", "told"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_spoilt_file_is_refused_with_its_place(tmp_path, text, old, new, told):
    assert old in text
    assert refused(tmp_path, text.replace(old, new, 1)).startswith(told)


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_file(tmp_path):
    text = GEN.replace('"gen"\n', '"Gen"\n', 1).replace("events = 10", 'events = "10", first = 3')
    text += "priority = 5000\nrelease = { first = 0, atonce = 3 }\n"
    head, *lines = refused(tmp_path, text + FILES.replace("/tmp", "/no/such").replace("FileBased", "FileBsed")).split(
        "\n"
    )
    assert head == "8 things are wrong:"
    assert [each.split(": ")[:2] for each in lines] == [
        ["  line 2, column 1", "task.name"],
        ["  line 4, column 14", "source.events"],
        ["  line 4, column 29", "source.first"],
        ["  line 6, column 1", "task.priority"],
        ["  line 7, column 13", "release.first"],
        ["  line 7, column 24", "release.atonce"],
        ["  line 14, column 1", "source.directory"],
        ["  line 17, column 1", "split.splitter"],
    ]


@pytest.mark.parametrize("spoil", [lambda text: text.replace("\n", "\r\n"), lambda text: text.replace(" = ", "\t=\t")])
def test_line_ends_and_tabs_are_no_fault(tmp_path, spoil):
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xef\xbb\xbf" + spoil(GEN).encode())
    assert [each.name for each in task_file.read(file, Site(state=tmp_path / "state"))] == ["gen"]


TWO = FILES.replace("/tmp", "/no/{1").replace("[task.split]", '[[task.source]]\ndirectory = "/no/2"\n[task.split]')
STORES = """\
[[task.output]]
name = "a"
files = "o.dat"
store = "/no/3"
[task.output.expects]
events = 3
[[task.output]]
store = "/no/4"
name = "b"
files = "o.dat"
"""
WITHIN = "[ { directory = '/no/{1', files = '*' }, { list = '/no/2' }, { directory = '/no/3' } ]"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (TWO, ["line 7, column 1: source.directory: /no/{1", "line 10, column 1: source.directory: /no/2"]),
        (
            GEN.replace('output = [ { name = "gen", files = "o.dat" } ]\n', STORES),
            ["line 8, column 1: output.store: /no/3", "line 12, column 1: output.store: /no/4"],
        ),
        (
            GEN.replace("[ { events = 10, events_per_piece = 5 } ]", WITHIN),
            [
                "line 4, column 14: source.directory: /no/{1",
                "line 4, column 53: source.list: /no/2",
                "line 4, column 73: source.directory: /no/3",
            ],
        ),
        (
            FED.replace(" } ]", ' }, { task = "gem", output = "x" } ]'),
            [
                "line 4, column 14: source.task: there is no task 'gen'",
                "line 4, column 65: source.task: there is no task",
            ],
        ),
    ],
)
def test_one_fault_in_two_tables_is_told_at_both(tmp_path, text, places):
    lines = [each.strip() for each in refused(tmp_path, text).split("\n")[1:]]
    assert [line[: len(place)] for line, place in zip(lines, places, strict=True)] == places


PLACES = """\
[[task]]
name = "d"
request = { job_type = "executable", executable = "/bin/true" }
split = { splitter = "FileBased", parameters = { files_per_job = 3 } }
[[task.source]]
directory = "%s"
files = "%s"
[[task.source]]
directory = "%s"
files = "%s"
"""
ONCE = "which another source of this task watches: name it once"


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (("real", "*.raw"), ("HERE/link", "*.raw"), f"line 9, column 1: HERE/link is HERE/real, {ONCE}"),
        (("link", "*.raw"), ("real", "*.dat"), f"line 9, column 1: HERE/real is HERE/link, {ONCE}"),
        (("real", "*"), ("real/sub/..", "*"), f"line 9, column 1: HERE/real/sub/.. is HERE/real, {ONCE}"),
        (("real", "**"), ("link", "**"), f"line 9, column 1: HERE/link is HERE/real, {ONCE}"),
        (("real", "**"), ("link/sub", "*"), f"line 9, column 1: HERE/link/sub is HERE/real/sub, {ONCE}"),
        (("below", "*"), ("real", "*/a.raw"), f"line 6, column 1: HERE/below is HERE/real/sub, {ONCE}"),
        (("link", "sub/*"), ("real/sub", "*"), f"line 9, column 1: HERE/real/sub is HERE/link/sub, {ONCE}"),
        (("real", "**"), ("real/way", "*"), f"line 9, column 1: HERE/real/way is HERE/real/sub, {ONCE}"),
        (("real", "**"), ("real/sub/../sub", "*"), f"line 9, column 1: HERE/real/sub/../sub is HERE/real/sub, {ONCE}"),
        (("real", "*.raw"), ("HERE/real", "*.dat"), ""),
        (("real", "*.raw"), ("./real/", "*.dat"), ""),
        (("real", "**"), ("real/sub", "*"), ""),
        (("link", "**"), ("link/sub", "*"), ""),
        (("real", "*"), ("below", "*"), ""),
        (("real", "**"), ("other", "**"), ""),
        (("real/sub", "**"), ("link", "*"), ""),
        (("reallink", "**"), ("real", "**"), ""),
    ],
)
def test_one_directory_under_two_names_is_refused(tmp_path, first, second, told):
    """Each of its files would be two items, and worked on twice."""
    for name in ("real/sub", "other", "reallink"):
        (tmp_path / name).mkdir(parents=True)
    for name, leads in (("link", "real"), ("below", "real/sub"), ("real/way", "sub")):
        (tmp_path / name).symlink_to(leads)
    text = (PLACES % (*first, *second)).replace("HERE", str(tmp_path))
    if told:
        assert refused(tmp_path, text) == told.replace(": HERE", ": source.directory: HERE", 1)
    else:
        (tmp_path / "y.toml").write_text(text)
        assert len(task_file.read(tmp_path / "y.toml", Site(state=tmp_path / "state"))) == 1


def test_one_directory_under_three_names_is_told_at_the_second_and_the_third(tmp_path):
    (tmp_path / "real").mkdir()
    for name in ("one", "two"):
        (tmp_path / name).symlink_to("real")
    text = (PLACES % ("real", "*", "one", "*")) + '[[task.source]]\ndirectory = "two"\n'
    assert refused(tmp_path, text).split("\n")[1:] == [
        f"  line 9, column 1: source.directory: HERE/one is HERE/real, {ONCE}",
        f"  line 12, column 1: source.directory: HERE/two is HERE/real, {ONCE}",
    ]


def test_what_is_no_text_file_is_refused(tmp_path):
    (tmp_path / "latin").write_bytes("# caf\u00e9\n".encode("latin-1"))
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fifo")
    why = {
        "latin": "not a text file (line 1, column 6, after '# caf', is not UTF-8)",
        "fifo": "is not a regular file",
        "loop": "Too many levels of symbolic links",
        "": "is not a regular file",
        "no": "No such file or directory",
    }
    for name, words in why.items():
        with pytest.raises(BadRequest, match=r"^cannot read the task file: ") as error:
            task_file.read(tmp_path / name, Site(state=tmp_path / "state"))
        assert words in str(error.value), name
