"""The site file: what is in it, what may be, and the batch system that it names."""

import errno
import sys
from pathlib import Path

import pytest

from jim import __version__
from jim.errors import BadSite
from jim.model import Resources
from jim.site.file import Batch, Site, check_system, read
from jim.site.settings import SECTIONS


@pytest.fixture
def write(tmp_path):
    def write_it(text):
        file = tmp_path / "site.toml"
        file.write_text(text)
        return file

    return write_it


# What is in it


def test_an_empty_file_gives_the_defaults(write, tmp_path):
    file = write("")
    assert read(file, tmp_path) == Site(state=tmp_path, file=file)


def test_what_is_set_counts_and_the_rest_stays(write, tmp_path):
    site = read(
        write(
            '[site]\nname = "Ghent T2"\n[batch]\nslots = 4\nquery_seconds = 5\n'
            '[batch.commands]\nsubmit = ["qsub", "-P", "mine"]\n[keep]\nfinished_days = 0.5\n'
        ),
        tmp_path,
    )
    assert site.site.name == "Ghent T2"
    assert (site.batch.slots, site.batch.query_seconds, site.batch.commands) == (
        4,
        5,
        {"submit": ["qsub", "-P", "mine"]},
    )
    assert site.keep.finished_days == 0.5
    assert site.limits == SECTIONS["limits"]()


def test_what_a_request_leaves_open_the_site_fills_in():
    site = Site(Path("/s"), batch=Batch(queue="long", account="hep", wall_seconds=60))
    assert site.complete(Resources()) == Resources("long", 60, None, "hep", None, None)
    asked = Resources("q", 5, 100, "me", 8, 2000)
    assert site.complete(asked) == asked
    assert Site(Path("/s")).complete(Resources()) == Resources(None, 86_400)


def test_who_names_no_time_limit_has_none_that_the_site_forbids(write, tmp_path):
    site = read(write("[batch]\nmost_wall_seconds = 3600\n"), tmp_path)
    assert site.complete(Resources()) == Resources(None, 3600)
    assert read(write("[sizing]\nrecommended_cpu_seconds = 60\n"), tmp_path).sizing.most_cpu_seconds == 0


# What may be

WRONG = {
    "unknown key": ("[batch]\nslots = 1\nslotz = 2\n", 3, "batch.slotz: unknown key; did you mean 'slots'"),
    "key of another section": ("[limits]\n\nslots = 2\n", 3, "limits.slots: unknown key"),
    "unknown section": ("# mine\n[batsh]\nslots = 1\n", 2, "unknown section [batsh]; did you mean 'batch'"),
    "key of a newer JIM": ("[batch]\nhopes = 2\n", 2, f"; this is JIM {__version__}: a setting of a newer one has to"),
    "section of a newer JIM": ("[newer]\nhopes = 2\n", 1, f"; this is JIM {__version__}: a setting of a newer one has"),
    "a key without a section": ('\nname = "x"\n', 2, "unknown section [name]"),
    "a section that is a value": ("\nbatch = 3\n", 2, "batch must be a section: write [batch]"),
    "a list of sections": ("[[batch]]\nslots = 3\n", 1, "batch must be a section: write [batch]"),
    "text for a number": ('[batch]\nslots = "4"\n', 2, "batch.slots: expected a whole number, found '4'"),
    "fraction for a whole number": ("[batch]\nslots = 4.5\n", 2, "batch.slots: expected a whole number, found 4.5"),
    "true for a whole number": ("[batch]\nslots = true\n", 2, "batch.slots: expected a whole number, found true"),
    "false for a number": (
        "[keep]\n\nfinished_days = false\n",
        3,
        "keep.finished_days: expected a number, found false",
    ),
    "number for a text": ("[site]\nname = 7\n", 2, "site.name: expected a text, found 7"),
    "nan": ("[batch]\nquery_seconds = nan\n", 2, "batch.query_seconds: must be between 0.1 and 3,600, found nan"),
    "infinity": ("[batch]\nquery_seconds = inf\n", 2, "must be between 0.1 and 3,600, found inf"),
    "negative": ("[limits]\nattempts = -1\n", 2, "limits.attempts: must be between 1 and 100, found -1"),
    "too large": ("[limits]\nattempts = 101\n", 2, "limits.attempts: must be between 1 and 100, found 101"),
    "too small": ("[batch]\nquery_seconds = 0.05\n", 2, "must be between 0.1 and 3,600, found 0.05"),
    "odd name": ('[site]\nname = "a/b"\n', 2, "site.name: must match"),
    "empty name": ('[site]\nname = ""\n', 2, "site.name: must match"),
    "queue that is an option": ('[batch]\nqueue = "-x"\n', 2, "batch.queue: must match"),
    "adapter that is a path": ('[batch]\nsystem = "../x"\n', 2, "batch.system: must match"),
    "command that is no list": (
        '[batch]\ncommands = { submit = "qsub" }\n',
        2,
        "expected lists of words without line breaks",
    ),
    "command without words": ("[batch.commands]\nsubmit = []\n", 1, "expected lists of words"),
    "command without a program": ('[batch.commands]\nsubmit = [""]\n', 1, "each list begins with a program"),
    "command that no batch system has": (
        '[batch.commands]\nsumbit = ["qsub"]\n',
        1,
        "batch.commands: unknown command 'sumbit'; did you mean 'submit'?",
    ),
    "command of two lines": ('[batch]\ncommands = { submit = ["a\\nb"] }\n', 2, "expected lists of words without"),
    "options that are a text": ('[batch]\noptions = "-P grid"\n', 2, "batch.options: expected a list, found '-P grid'"),
    "option of two lines": ('[batch]\noptions = ["-P", "a\\nb"]\n', 2, "expected a list of words without line breaks"),
    "option with NUL": ('[batch]\noptions = ["a\\u0000"]\n', 2, "expected a list of words without line breaks"),
    "options that are numbers": ("[batch]\noptions = [1]\n", 2, "batch.options: expected a list of words"),
    "location without a name": ('[site]\nlocations = ["A", " "]\n', 2, "site.locations: a location must have a name"),
    "queue that is a number": ("[batch]\nqueues = [1]\n", 2, "batch.queues: no request can name 1"),
    "queue that no request may name": (
        '[batch]\nqueues = ["long", "my queue"]\n',
        2,
        "batch.queues: no request can name 'my queue': a name must match [A-Za-z0-9][\\w.@:-]*",
    ),
    "account that no request may name": ('[batch]\naccounts = ["-P"]\n', 2, "batch.accounts: no request can name '-P'"),
    "queue that is not among its queues": (
        '[batch]\nqueues = ["long", "short"]\n\nqueue = "lnog"\n',
        4,
        "batch.queue: 'lnog' is not in batch.queues; did you mean 'long'? (known: long, short)",
    ),
    "account that is not among its accounts": (
        '[batch]\naccount = "me"\naccounts = ["hep"]\n',
        2,
        "batch.account: 'me' is not in batch.accounts (known: hep)",
    ),
    "time limit above the largest": (
        "[batch]\nmost_wall_seconds = 500\nwall_seconds = 1_000\n",
        3,
        "batch.wall_seconds: 1,000 is more than batch.most_wall_seconds, 500",
    ),
    "recommended CPU time above the largest": (
        "[sizing]\nrecommended_cpu_seconds = 7_200\nmost_cpu_seconds = 3_600\n",
        2,
        "sizing.recommended_cpu_seconds: 7,200 is more than sizing.most_cpu_seconds, 3,600",
    ),
    "account that is an option": ('[batch]\naccount = "-x"\n', 2, "batch.account: must match"),
    "no cores at all": ("[batch]\nmost_cores = 0\n", 2, "batch.most_cores: must be between 1 and 1,000,000, found 0"),
    "adapter with two dots": ('[batch]\nsystem = "a..b"\n', 2, "batch.system: must match"),
    "adapter that ends in a dot": ('[batch]\nsystem = "a."\n', 2, "batch.system: must match"),
    "relative work": ('[site]\n\nwork = "w"\n', 3, "site.work: must be an absolute path, found 'w'"),
    "work with NUL": ('[site]\nwork = "/w\\u0000x"\n', 2, "site.work: must be an absolute path"),
    "work that is a file": ('[site]\nwork = "/etc/passwd"\n', 2, "must be a directory, but /etc/passwd is not one"),
    "work below a file": ('[site]\nwork = "/etc/passwd/a/b"\n', 2, "must be a directory, but /etc/passwd is not one"),
    "relative handlers": ('[site]\nhandlers = "./h"\n', 2, "site.handlers: must be an absolute path"),
    "handlers with NUL": ('[site]\nhandlers = "/\\u0000"\n', 2, "site.handlers: must be an absolute path"),
    "handlers that are a file": ('[site]\nhandlers = "/etc/passwd"\n', 2, "but /etc/passwd is not one"),
    "handlers that are not there": (
        '[site]\nhandlers = "/nowhere/h"\n',
        2,
        "site.handlers: must be an existing directory, found '/nowhere/h'",
    ),
    "room that stops and does not warn": (
        "[disk]\nwork_warn_mb = 5\n\nstate_stop_mb = 2_500\n",
        4,
        "disk.state_stop_mb: 2,500 is more than disk.state_warn_mb, which is 2,000 where nothing is set: set that, too",
    ),
    "room that warns too late": (
        "[disk]\nwork_stop_mb = 60_000\n\nwork_warn_mb = 50_000\n",
        4,
        "disk.work_warn_mb: 50,000 is less than disk.work_stop_mb, 60,000",
    ),
    "setting in a line of its section": (
        '[site]\nname = "x"\n\n[keep]\n[queues."a:b"]\nwall_seconds = 0\n',
        6,
        "queues.a:b.wall_seconds: must be between",
    ),
    "section in one line": ('[site]\nname = "x"\n[queues]\nlong = { wall_seconds = 0 }\n', 4, "must be between"),
    "whole section as a dotted key": ('keep.idle_seconds = 1\nbatch.slots = "x"\n', 2, "batch.slots: expected"),
    "dotted key": ('[site]\nname = "x"\n\n[batch]\nslotz.x = 3\n', 5, "batch.slotz: unknown key"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_told_with_its_place(write, tmp_path, case):
    text, line, words = WRONG[case]
    file = write(text)
    with pytest.raises(BadSite) as error:
        read(file, tmp_path)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert words in str(error.value)
    assert error.value.exit_code == 3


def test_a_mistake_in_range_says_what_the_setting_means(write, tmp_path):
    with pytest.raises(
        BadSite,
        match=r"\(batch system local only: number of jobs that run at once; 0: one per processor\)",
    ):
        read(write("[batch]\nslots = -4\n"), tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[batch\n", "line 1"),
        (b"[batch]\nslots = \n", "line 2"),
        (b"\xff\xfe", "line 1, column 1"),
        (b"[a]\n[a]\n", ":2: section [a] begins at line 1: put its settings there, and remove this line"),
        (b"# [disk]\n\n[disk]\n[keep]\n[ disk ] # more\n", ":5: section [disk] begins at line 3: put its"),
        (b'[queues.a]\n[batch]\n[queues."a"]\n', ":3: section [queues.a] begins at line 1: put its"),
        (b"[batch]\nslots = 1\nqueue = 'a'\nslots = 2\n", ":4: batch.slots is set in line 2 already: remove one"),
        (b"[batch]\nslots = 1\nslots = 2\n[keep\n", ":3: batch.slots is set in line 2 already: remove one"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_with_its_place(tmp_path, content, words):
    file = tmp_path / "site.toml"
    file.write_bytes(content)
    with pytest.raises(BadSite) as error:
        read(file, tmp_path)
    assert str(file) in str(error.value)
    assert words in str(error.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadSite) as error:
        read(tmp_path / "none.toml", tmp_path)
    assert str(error.value) == f"cannot read the site file {tmp_path}/none.toml: No such file or directory"


@pytest.mark.parametrize("managed", [False, True])
def test_a_site_file_that_accounts_cannot_read_is_told_with_what_helps(tmp_path, monkeypatch, managed):
    """An editor or a copy under a strict umask closes it to all accounts, and root sees nothing of that."""

    def closed(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("jim.site.file.settings_in", closed)
    with pytest.raises(BadSite) as error:
        read(tmp_path / "site.toml", tmp_path, managed=managed)
    todo = f"; all accounts must be able to read it: run chmod a+r {tmp_path}/site.toml"
    assert str(error.value) == f"cannot read the site file {tmp_path}/site.toml: Permission denied{todo * managed}"


def test_a_work_directory_need_not_be_there_yet(write, tmp_path):
    assert read(write(f'[site]\nwork = "{tmp_path}/later/work"\n'), tmp_path).site.work == f"{tmp_path}/later/work"


def test_a_link_to_a_directory_is_one(write, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    text = "".join(f'{key} = "{tmp_path}/link"\n' for key in ("work", "handlers"))
    assert read(write(f"[site]\n{text}"), tmp_path).site.handlers == f"{tmp_path}/link"


# The batch system


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("slrum", "unknown batch system 'slrum'; did you mean 'slurm'? (known: condor, condor_transfer, local,"),
        ("base", "unknown batch system 'base'"),
        ("os.path", "cannot load the adapter 'os.path': module 'posixpath' has no attribute 'ADAPTER'"),
        ("no_such.adapter", "cannot load the adapter 'no_such.adapter': No module named 'no_such'"),
        ("jim_odd_site.odd", "cannot load the adapter 'jim_odd_site.odd': invalid syntax (odd.py, line 1)"),
    ],
)
def test_a_batch_system_without_adapter_is_refused(tmp_path, monkeypatch, system, words):
    (tmp_path / "jim_odd_site").mkdir()
    (tmp_path / "jim_odd_site/odd.py").write_text("class\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with pytest.raises(BadSite) as error:
        check_system(Site(tmp_path, batch=Batch(system=system)))
    assert str(error.value).startswith(f"batch.system: {words}")


def test_a_batch_system_without_adapter_is_refused_with_its_place(write, tmp_path):
    file = write('[site]\nname = "here"\n\n[batch]\nslots = 2\nsystem = "slrum"\n')
    with pytest.raises(BadSite) as error:
        check_system(read(file, tmp_path))
    assert str(error.value).startswith(f"{file}:6: batch.system: unknown batch system 'slrum'; did you mean 'slurm'?")


def test_an_adapter_of_the_site_s_own_is_taken(tmp_path, monkeypatch):
    (tmp_path / "jim_test_site").mkdir()
    (tmp_path / "jim_test_site/mine.py").write_text("ADAPTER = object\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    check_system(Site(tmp_path, batch=Batch(system="jim_test_site.mine")))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\xff\xfe", r"not a text file (line 1, column 5, after '\x7fELF', is not UTF-8)"),
        (b"[batch]\nslots = " + b"9" * 5000, "a number has more than 4,300 digits"),
        (b"x = " + b"[" * 5000, "nested too deeply"),
    ],
)
def test_what_is_no_site_file_is_told_in_words(tmp_path, content, said):
    file = tmp_path / "site.toml"
    file.write_bytes(content)
    with pytest.raises(BadSite) as refused:
        read(file, tmp_path)
    assert str(refused.value) == f"{file}: {said}"


def test_the_mark_that_some_editors_begin_with_does_no_harm(tmp_path):
    file = tmp_path / "site.toml"
    file.write_bytes(b"\xef\xbb\xbf[batch]\nslots = 3\n")
    assert read(file, tmp_path).batch.slots == 3
