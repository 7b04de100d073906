"""`jim site check`: its questions, and what is printed."""

import json
import os
import sys
import time
from collections import namedtuple

import pytest

from jim.admin import check as site_check
from jim.admin.check import findings
from jim.admin.finding import FAILED, OK, WARNING, Finding
from jim.errors import BadSite
from jim.model import Piece, Step
from jim.site import file as site_file
from jim.site.file import Site, load
from jim.statusdb.store import Store
from jim.trust import Untrusted
from jim.workdir.submission import PROGRAMS
from tests.support.machine import HERE, LOCAL, ME, NETWORK

pytestmark = pytest.mark.usefixtures("own_machine")


class Adapter:
    name = "stub"
    shared_work = True

    def ping_command(self):
        return [sys.executable, "-c", ""]


@pytest.fixture(autouse=True)
def batch_system(monkeypatch):
    adapter = Adapter()
    monkeypatch.setattr("jim.keeper.opening.adapter_of", lambda site: adapter)
    return adapter


@pytest.fixture
def check(tmp_path):
    def ask(mounts=LOCAL):
        return {each.name: each for each in findings(mounts, tmp_path / "root")}

    return ask


@pytest.fixture
def store(check, tmp_path):
    check()
    store = Store(tmp_path / "state/status.db", site_check.Clock(), write=True)
    store.add_grid_job(1, "k", "me", store.clock.utc(), {"job_type": "executable"})
    yield store
    store.close()


def test_a_good_place_is_good(check, tmp_path):
    found = check()
    assert {each.level for each in found.values()} == {OK}, found
    assert list(found) == [
        "libraries",
        "site file",
        "state directory",
        "locks",
        "state files",
        "inbox",
        "status DB",
        "serials",
        "state space",
        "work directory",
        "work space",
        "wrapper",
        "batch system",
        "promise",
        "keeper --all",
        "keeper",
        "clock",
    ]
    assert not list((tmp_path / "state").rglob("*check*"))


def test_the_code_that_a_site_brings_is_looked_at(check, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert "handlers" not in check()
    own = tmp_path / "own"
    (own / "svsite").mkdir(parents=True)
    (own / "svsite/darts.py").write_text("from jim.handlers.executable import Executable\n\nHANDLER = Executable\n")
    (tmp_path / "state/site.toml").write_text(f'[site]\nhandlers = "{own}"\n')
    assert (check()["handlers"].level, check()["handlers"].said) == (OK, f"{own}: svsite.darts")
    named = '[limits]\nanalyser = "svsite.bar.{}"\n[site]\nsteps = ["svsite.bar.{}"]\n'
    (own / "svsite/bar.py").write_text("def careful(failed): ...\ndef taxed(request): ...\n")
    (tmp_path / "state/site.toml").write_text(f'{named.format("careful", "taxed")}handlers = "{own}"\n')
    assert (check()["handlers"].level, check()["handlers"].said) == (
        OK,
        f"{own}: svsite.darts; svsite.bar.careful, svsite.bar.taxed",
    )
    for analyser, step, what in (("carefull", "taxed", "analyser"), ("careful", "taxi", "step of site.steps")):
        (tmp_path / "state/site.toml").write_text(f'{named.format(analyser, step)}handlers = "{own}"\n')
        found = check()["handlers"]
        assert (found.level, found.said.startswith(f"cannot load {what} 'svsite.bar.")) == (FAILED, True)
        assert "AttributeError" in found.said
    (tmp_path / "state/site.toml").write_text('[limits]\nanalyser = "jim.evidence.analysis.usual"\n')
    assert (check()["handlers"].level, check()["handlers"].said) == (OK, "jim.evidence.analysis.usual")
    (tmp_path / "state/site.toml").write_text(f'[site]\nhandlers = "{own}"\n')
    (own / "svsite/typo.py").write_text("HANDLER = Executabel\n")
    assert (check()["handlers"].level, "'Executabel' is not defined" in check()["handlers"].said) == (FAILED, True)
    (own / "svsite/darts.py").chmod(0o666)
    found = check()["handlers"]
    assert (found.level, found.said) == (FAILED, f"everybody can write to {own}/svsite/darts.py")
    assert found.todo.startswith("JIM runs nothing of it: inspect the files, then run chmod o-w ")


@pytest.mark.parametrize(
    ("account", "said", "todo"),
    [
        (0, "root runs nothing of {0}, for not only root can change {0}/far.py", "sudo -u ACCOUNT jim site check"),
        (
            1000,
            "{0}: no job type; not only root and this account can change {0}/far.py",
            "make sure that you trust who",
        ),
    ],
)
def test_code_of_another_owner_is_a_warning_and_root_runs_none_of_it(check, tmp_path, monkeypatch, account, said, todo):
    own = tmp_path / "own"
    own.mkdir()
    check()
    (tmp_path / "state/site.toml").write_text(f'[site]\nhandlers = "{own}"\n')
    monkeypatch.setattr("jim.admin.check.ROOT", os.geteuid() if account == 0 else -1)
    monkeypatch.setattr("jim.admin.check.of_others", lambda place, whose: iter([place / "far.py"]))
    found = check()["handlers"]
    assert (found.level, found.said) == (WARNING, said.format(own))
    assert found.todo.startswith(todo)


def test_an_adapter_of_another_owner_is_no_failure_for_root_and_is_told_without_a_number(check, tmp_path, monkeypatch):
    check()
    (tmp_path / "state/site.toml").write_text('[batch]\nsystem = "own.batch"\n')

    def refuses(site):
        raise Untrusted(tmp_path, "not only root can change it")

    monkeypatch.setattr("jim.keeper.opening.adapter_of", refuses)
    monkeypatch.setattr("jim.admin.check.ROOT", os.geteuid())
    found = check()["promise"]
    assert (found.level, found.said) == (WARNING, f"not looked at: {tmp_path}: not only root can change it")
    monkeypatch.setattr("jim.admin.check.ROOT", -1)
    found = check()["batch system"]  # one fault is told once
    assert (found.level, found.said) == (FAILED, f"{tmp_path}: not only root can change it")


def test_a_catalogue_is_looked_into_where_there_is_one(check, tmp_path):
    check()
    place = tmp_path / "catalogue"
    (tmp_path / "state/site.toml").write_text(f'[site]\ncatalogue = "{place}"\n')
    found = check()["catalogue"]
    assert (found.level, str(place) in found.said) == (FAILED, True)
    assert found.todo.endswith("requests that need the catalogue wait until it is readable")
    for folder, names in (("requests", ["1.toml", "2.json", "README"]), ("datasets", ["raw.json"])):
        (place / folder).mkdir(parents=True)
        for name in names:
            (place / folder / name).touch()
    assert check()["catalogue"].said == f"request ids: 2, datasets: 1, in {place}"


def test_a_missing_library_is_told(monkeypatch, check):
    monkeypatch.setattr(site_check, "LIBRARIES", ("json", "no_such_library.etree"))
    found = check()["libraries"]
    assert (found.level, found.said) == (FAILED, "missing: no_such_library")
    assert "pip install no_such_library" in found.todo


def test_a_bad_site_file_is_told_and_ends_the_questions(check, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/site.toml").write_text("[batch]\nslotz = 3\n")
    found = check()
    assert list(found) == ["libraries", "site file"]
    assert found["site file"].level == FAILED
    assert f"{tmp_path}/state/site.toml:2: batch.slotz: unknown key" in found["site file"].said


def test_a_work_directory_that_no_keeper_would_take_fails(check, store, tmp_path):
    (tmp_path / "state/instance").write_text("beef0001\n")
    assert check()["work directory"].level == OK
    store.set_grid_job(1, step=Step.ACTIVE)
    found = check()["work directory"]
    assert (found.level, "is empty (has no file instance): is it mounted?" in found.said) == (FAILED, True)
    (tmp_path / "state/work/instance").write_text("beef0002\n")
    assert "belongs to another state directory" in check()["work directory"].said
    (tmp_path / "state/work/instance").write_text("beef0001\n")
    assert check()["work directory"].level == OK


def test_a_state_directory_on_a_network_file_system_fails(check):
    found = check(NETWORK)
    assert list(found)[-1] == "state directory"
    assert found["state directory"].level == FAILED
    assert "network file system (nfs4)" in found["state directory"].said


def test_a_state_directory_of_another_account_fails(check, monkeypatch):
    check()
    monkeypatch.setattr(site_check.os, "geteuid", lambda: ME.pw_uid + 1)
    assert "belongs to uid" in check()["state directory"].said


def test_locks_that_keep_nobody_out_fail(check, monkeypatch):
    monkeypatch.setattr(site_check.fcntl, "flock", lambda file, how: None)
    assert check()["locks"].level == FAILED


def test_a_file_system_without_hard_links_fails(check, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(site_check.os, "link", refuse)
    found = check()["work directory"]
    assert (found.level, found.said) == (FAILED, "[Errno 1] Operation not permitted")


def test_times_in_whole_seconds_are_a_warning(check, monkeypatch):
    utime = os.utime
    monkeypatch.setattr(
        site_check.os, "utime", lambda file, ns: utime(file, ns=tuple(each // 10**9 * 10**9 for each in ns))
    )
    found = check()["work directory"]
    assert found.level == WARNING
    assert "file times have only whole seconds" in found.said


@pytest.mark.parametrize(
    ("free", "inodes", "level"),
    [(10**6, 10**6, OK), (2 * 10**5, 10**6, WARNING), (10**4, 10**6, FAILED), (10**6, 9_999, WARNING)],
)
def test_space_is_counted(tmp_path, monkeypatch, free, inodes, level):
    about = namedtuple("about", "f_bavail f_frsize f_files f_favail")
    monkeypatch.setattr(site_check.os, "statvfs", lambda place: about(free, 4096, 10**7, inodes))
    assert site_check._space(Site(state=tmp_path), "state", tmp_path).level == level


def test_a_wrapper_that_cannot_run_fails_with_its_last_words(check, monkeypatch, tmp_path):
    shell = tmp_path / "shell"
    shell.mkdir()
    for name in PROGRAMS:
        (shell / name).write_text("#!/bin/sh\necho no tools here >&2\nexit 72\n")
        (shell / name).chmod(0o755)
    monkeypatch.setattr(site_check, "SHELL", shell)
    found = check()["wrapper"]
    assert found.level == FAILED
    assert "exit 72" in found.said
    assert "no tools here" in found.said
    assert "noexec" in found.todo


def test_a_wrapper_that_leaves_no_exit_record_fails(check, monkeypatch, tmp_path):
    shell = tmp_path / "shell"
    shell.mkdir()
    for name in PROGRAMS:
        (shell / name).write_text("#!/bin/sh\n")
        (shell / name).chmod(0o755)
    monkeypatch.setattr(site_check, "SHELL", shell)
    assert check()["wrapper"].level == FAILED


def test_a_batch_system_that_does_not_answer_fails(check, monkeypatch, batch_system):
    monkeypatch.setattr(
        batch_system, "ping_command", lambda: ["/bin/sh", "-c", "echo no server >&2; exit 3"], raising=False
    )
    found = check()["batch system"]
    assert found.level == FAILED
    assert "exit 3" in found.said
    assert "no server" in found.said


def test_an_unknown_batch_system_fails(check, monkeypatch):
    def unknown(site):
        raise BadSite("batch.system: unknown batch system 'slurn'")

    monkeypatch.setattr("jim.keeper.opening.adapter_of", unknown)
    assert check()["batch system"].level == FAILED


def test_without_a_shared_work_directory_the_promise_is_the_batch_systems(check, batch_system):
    batch_system.shared_work = False
    found = check()["promise"]
    assert found.level == WARNING
    assert "only local ensures" in found.said


def test_a_damaged_status_db_is_told(check, store, tmp_path):
    assert check()["status DB"] == Finding("status DB", OK, "the whole status DB is readable")
    file = tmp_path / "state/status.db"
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    whole = file.read_bytes()
    for hurt in (b"garbage" * 1000, whole[:8192] + b"\x55" * (len(whole) - 8192), whole[: len(whole) // 2]):
        file.write_bytes(hurt)
        answers = check()
        assert [name for name, each in answers.items() if each.level == FAILED] == [
            "status DB"
        ]  # the fault is told once
        found = answers["status DB"]
        assert (found.level, found.said.partition(" (")[0]) == (FAILED, f"{file} is damaged")
        assert found.said.endswith("move the whole state directory away (docs/operating.md, Troubleshooting)")


def test_a_large_status_db_is_read_for_a_while_only(check, store, monkeypatch):
    store.add_pieces(1, 0, [Piece(n, 1) for n in range(1000)])
    monkeypatch.setattr(site_check, "READING_SECONDS", -1.0)
    assert check()["status DB"] == Finding("status DB", OK, "no damage found within -1 s")


def test_unfinished_grid_jobs_want_a_keeper(check, store, tmp_path):
    found = check()["keeper"]
    assert (found.level, found.todo[:29]) == (WARNING, "start a keeper: jim keeper --")
    clock = site_check.Clock()
    heart = tmp_path / "state/heartbeat"
    heart.write_text(f"{clock.boot_id()} {int(clock.boot())}\n")
    assert check()["keeper"] == Finding("keeper", OK, "a keeper runs")
    for stale in (f"{clock.boot_id()} {int(clock.boot()) - 60}", f"{clock.boot_id()} idle", "other 5", "", "x y z"):
        heart.write_text(stale)
        assert check()["keeper"].level == WARNING, stale


def test_a_site_file_that_is_newer_than_its_keeper_is_told(check, tmp_path):
    """A request that the door took in by the new file failed by the old one: `unknown splitter`."""
    clock = site_check.Clock()
    check()
    state = tmp_path / "state"
    (state / "heartbeat").write_text(f"{clock.boot_id()} {int(clock.boot())}\n")
    (state / "keeper.lock").write_text(f"{os.getpid()}\n")
    os.utime(state / "keeper.lock", (time.time() + 60,) * 2)
    (state / "site.toml").write_text("[batch]\nslots = 2\n")
    assert check()["keeper"] == Finding("keeper", OK, "a keeper runs")
    os.utime(state / "keeper.lock", (time.time() - 60,) * 2)
    found = check()["keeper"]
    assert (found.level, found.said) == (WARNING, f"the keeper began before {state}/site.toml was last changed")
    assert found.todo == "end it by `jim keeper --end`, which loses nothing: the next one reads the new file"


def test_a_request_in_the_inbox_wants_a_keeper(check, tmp_path):
    check()
    (tmp_path / "state/inbox/.half").touch()
    assert check()["keeper"].level == OK
    (tmp_path / "state/inbox/request-1").touch()
    assert check()["keeper"].level == WARNING


def test_root_of_several_accounts_gets_no_state_directory(check, monkeypatch):
    monkeypatch.delenv("JIM_STATE")
    monkeypatch.setattr("jim.admin.check.ROOT", os.geteuid())
    site_file.MANAGED_FILE.parent.mkdir(parents=True)
    site_file.MANAGED_FILE.touch()
    site_file.MANAGED_STATE.mkdir(parents=True)
    found = check()
    assert list(found) == ["libraries", "site file", "account", "promise", "keeper --all"]
    assert found["account"].todo == "run `sudo -u ACCOUNT jim site check` for each account"
    assert list(site_file.MANAGED_STATE.iterdir()) == []


def test_a_managed_site_wants_keepers_after_a_reboot(check, tmp_path, monkeypatch):
    monkeypatch.delenv("JIM_STATE")
    site_file.MANAGED_FILE.parent.mkdir(parents=True)
    site_file.MANAGED_FILE.touch()
    found = check()["keeper --all"]
    assert found.level == WARNING
    assert "enable the timer jim-keepers.timer" in found.todo
    cron = tmp_path / "root/etc/cron.d/jim-keepers"
    cron.parent.mkdir(parents=True)
    (tmp_path / "root/usr/bin").mkdir(parents=True)
    (tmp_path / "root/usr/bin/crontab").touch()
    cron.write_text("# * * * * * root /opt/jim/shell/jim keeper --all\n")
    assert check()["keeper --all"].level == WARNING
    told = (HERE / "share/cron/jim-keepers").read_text()
    for command in ("/opt/jim/shell/jim", '"/opt/a b/bin/jim"'):  # as it is shipped, and as it is installed
        cron.write_text(told.replace("/opt/jim/shell/jim", command))
        found = check()["keeper --all"]
        assert (found.level, found.said) == (OK, f"{cron} starts keepers")
    (tmp_path / "root/usr/bin/crontab").unlink()
    found = check()["keeper --all"]
    nobody = f"{cron} starts keepers, but nothing reads it: no cron is installed"
    assert (found.level, found.said, found.todo) == (WARNING, nobody, "install cron")
    timer = tmp_path / "root/etc/systemd/system/timers.target.wants/jim-keepers.timer"
    timer.parent.mkdir(parents=True)
    timer.symlink_to("/nowhere/jim-keepers.timer")
    assert "systemd timer" in check()["keeper --all"].said


def test_clocks_that_are_apart_are_a_warning(check, tmp_path):
    check()
    site = load()
    now = site_check.time.time()
    assert "file server differs" in site_check._clock(site, now + 4000).said
    written = tmp_path / "state/status.db"
    written.touch()
    os.utime(written, (now + 4000,) * 2)
    assert "set back" in site_check._clock(site, now).said


def test_check_prints_a_line_each_and_exits_3_for_failures_only(jim_site, monkeypatch, capsys):
    found = [Finding("a", OK, "fine"), Finding("b", WARNING, "hm\x1b[2J", "do this")]
    monkeypatch.setattr(site_check, "findings", lambda: iter(found))
    assert jim_site("check") == 0
    assert capsys.readouterr().out == "ok       a: fine\nwarning  b: hm\\x1b[2J; do this\n"
    found.append(Finding("c", FAILED, "broken"))
    assert jim_site("check") == 3
    capsys.readouterr()
    assert jim_site("check", "--json") == 3
    assert json.loads(capsys.readouterr().out) == {
        "ok": False,
        "checks": [
            {"name": "a", "level": "ok", "said": "fine", "todo": ""},
            {"name": "b", "level": "warning", "said": "hm\x1b[2J", "todo": "do this"},
            {"name": "c", "level": "failed", "said": "broken", "todo": ""},
        ],
    }
