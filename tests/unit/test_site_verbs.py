"""`jim site init` and `jim site check`, and what operators are told about them."""

import argparse
import json
import os
import pwd
import re
import sys
import tomllib
from collections import namedtuple
from pathlib import Path

import pytest

from jim import site as site_file
from jim import site_check, site_init
from jim.cli import site_verbs
from jim.errors import BadSite
from jim.model import Piece
from jim.settings import SECTIONS, settings
from jim.site import Site, load, read
from jim.site_check import FAILED, OK, WARNING, Finding, findings
from jim.statusdb.store import Store

LOCAL = "/dev/vda / ext4 rw 0 0\n"
NETWORK = "fs1:/x / nfs4 rw 0 0\n"
ME = pwd.getpwuid(os.getuid())
HERE = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_machine(tmp_path, monkeypatch):
    """A machine whose managed place is in the temporary directory, without batch systems."""
    for name in ("JIM_SITE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(site_file, "MANAGED_FILE", tmp_path / "etc/jim/site.toml")
    monkeypatch.setattr(site_file, "MANAGED_STATE", tmp_path / "var/lib/jim")
    monkeypatch.setattr(site_init.shutil, "which", lambda name: None)
    monkeypatch.setattr(site_init.socket, "gethostname", lambda: "head1")
    monkeypatch.setattr(site_init.os, "cpu_count", lambda: 12)


@pytest.fixture
def jim_site():
    def run(*words):
        parser = argparse.ArgumentParser()
        site_verbs.add_arguments(parser)
        return site_verbs.run(parser.parse_args(words))

    return run


@pytest.fixture
def managed(monkeypatch):
    monkeypatch.delenv("JIM_STATE")
    monkeypatch.setattr(site_verbs, "_is_root", lambda: True)


# init: the file


def test_the_file_sets_what_was_found(tmp_path, jim_site, capsys):
    assert jim_site("init") == 0
    file = tmp_path / "state/site.toml"
    assert str(file) in capsys.readouterr().out
    assert file.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(file.read_text()) == {
        "site": {"name": "head1"},
        "batch": {"system": "local"},
        "payload": {},
        "limits": {},
        "sizing": {},
        "keep": {},
    }
    assert load().batch == SECTIONS["batch"]()


def test_every_setting_is_there_with_its_meaning_and_its_default(tmp_path):
    text = site_init.site_text(site_init.look_around(tmp_path, mounts=LOCAL))
    whole = re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE).replace("[site]\n", "[site]\n")
    (tmp_path / "site.toml").write_text(whole)
    given = tomllib.loads(whole)
    assert {name: list(table) for name, table in given.items()} == {
        name: list(section._fields) for name, section in SECTIONS.items()
    }
    site = read(tmp_path / "site.toml", tmp_path)
    assert site.site.name == "head1"
    defaults = Site(state=tmp_path)
    assert (site.batch, site.limits, site.sizing, site.keep) == (
        defaults.batch,
        defaults.limits,
        defaults.sizing,
        defaults.keep,
    )
    for section in SECTIONS:
        for declared in settings(section).values():
            assert declared.rule.help[1:] in text


def test_the_file_tells_what_else_was_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(site_init.shutil, "which", lambda name: f"/usr/bin/{name}" if name == "sbatch" else None)
    text = site_init.site_text(site_init.look_around(tmp_path, mounts=LOCAL))
    assert "# Seen here, too: Slurm (sbatch).\nsystem = " in text
    assert "# This machine has 12 processors.\n# slots = 0\n" in text
    assert f'# The state directory, "{tmp_path}", is on ext4.\n# work = ""\n' in text


def test_a_shared_work_directory_makes_the_keeper_patient(tmp_path):
    mounts = f"{LOCAL}fs1:/w /shared nfs4 rw 0 0\n"
    found = site_init.look_around(tmp_path, "/shared/jim", mounts)
    assert found.values["site", "work"] == "/shared/jim"
    assert found.values["batch", "visible_seconds"] == 90.0
    assert "The work directory is on nfs4." in site_init.site_text(found)
    assert ("batch", "visible_seconds") not in site_init.look_around(tmp_path, "/jim", mounts).values


@pytest.mark.parametrize(
    "name", ['a"b', "back\\slash", "new\nline\n[batch]\nslots = 3", "tab\t", "ü", "\U0001f9ea", ""]
)
def test_any_directory_name_is_written_well(tmp_path, name):
    found = site_init.look_around(tmp_path / name, f"/w/{name}", LOCAL)
    (tmp_path / "site.toml").write_text(site_init.site_text(found))
    site = read(tmp_path / "site.toml", tmp_path)
    assert site.site.work == f"/w/{name}"
    assert site.batch.slots == 0


@pytest.mark.parametrize(("host", "name"), [("node.uni-x.de", "node.uni-x.de"), ("a;b$c", "a-b-c"), ("", "here")])
def test_a_host_name_is_made_a_site_name(tmp_path, monkeypatch, host, name):
    monkeypatch.setattr(site_init.socket, "gethostname", lambda: host)
    assert site_init.look_around(tmp_path, mounts=LOCAL).values["site", "name"] == name


def test_a_file_that_is_there_is_left_alone(tmp_path, jim_site):
    (tmp_path / "state").mkdir()
    file = tmp_path / "state/site.toml"
    file.write_text("# mine\n")
    with pytest.raises(BadSite, match="there already and was left as it is"):
        jim_site("init")
    assert file.read_text() == "# mine\n"
    assert list((tmp_path / "state").iterdir()) == [file]


def test_a_link_at_its_place_is_not_followed(tmp_path, jim_site):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/site.toml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadSite, match="there already"):
        jim_site("init")
    assert not (tmp_path / "elsewhere").exists()


def test_the_file_can_go_elsewhere(tmp_path, jim_site, monkeypatch):
    assert jim_site("init", "--file", str(tmp_path / "a/b.toml")) == 0
    monkeypatch.setenv("JIM_SITE", str(tmp_path / "c.toml"))
    assert jim_site("init") == 0
    assert (tmp_path / "a/b.toml").read_text() == (tmp_path / "c.toml").read_text()
    assert not (tmp_path / "state").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path, jim_site):
    (tmp_path / "file").touch()
    with pytest.raises(BadSite, match="cannot write"):
        jim_site("init", "--file", str(tmp_path / "file/site.toml"))


def test_a_network_file_system_is_refused_for_the_state(tmp_path):
    with pytest.raises(BadSite, match=r"network file system \(nfs4\)"):
        site_init.look_around(tmp_path, mounts=NETWORK)


def test_on_a_managed_site_a_person_is_told_where_the_settings_are(tmp_path, jim_site, monkeypatch):
    monkeypatch.delenv("JIM_STATE")
    monkeypatch.setattr(site_verbs, "_is_root", lambda: False)
    site_file.MANAGED_FILE.parent.mkdir(parents=True)
    site_file.MANAGED_FILE.touch()
    with pytest.raises(BadSite, match=r"this machine is managed.*Set JIM_STATE"):
        jim_site("init")


# init: a managed site


def test_root_makes_a_site_for_all(tmp_path, jim_site, managed):
    assert jim_site("init") == 0
    file = tmp_path / "etc/jim/site.toml"
    assert file.stat().st_mode & 0o777 == 0o644
    assert file.parent.stat().st_mode & 0o777 == 0o755
    assert load().managed
    with pytest.raises(BadSite, match="there already"):
        jim_site("init")


def test_an_account_gets_what_it_needs(tmp_path, jim_site, managed, capsys):
    assert jim_site("init", "--account", ME.pw_name) == 0
    place = tmp_path / "var/lib/jim"
    modes = {".": 0o755, ".by-uid": 0o755, ".published": 0o755, ME.pw_name: 0o700, f".published/{ME.pw_name}": 0o750}
    assert {name: (place / name).stat().st_mode & 0o777 for name in modes} == modes
    assert {(place / name).stat().st_uid for name in modes} == {ME.pw_uid}
    link = place / ".by-uid" / str(ME.pw_uid)
    assert str(link.readlink()) == f"../{ME.pw_name}"
    assert link.resolve() == load().state.resolve()
    assert f"made {place / ME.pw_name} for {ME.pw_name}" in capsys.readouterr().out


def test_done_again_it_changes_nothing(tmp_path, jim_site, managed, capsys):
    jim_site("init", "--account", ME.pw_name)
    (tmp_path / "var/lib/jim" / ME.pw_name / "status.db").touch()
    capsys.readouterr()
    assert jim_site("init", "--account", ME.pw_name) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "var/lib/jim" / ME.pw_name / "status.db").exists()


def test_a_strict_umask_shuts_nobody_out(tmp_path, jim_site, managed):
    old = os.umask(0o077)
    try:
        jim_site("init", "--account", ME.pw_name)
    finally:
        os.umask(old)
    for place in ("etc/jim", "var/lib/jim", "var/lib/jim/.by-uid", "var/lib/jim/.published"):
        assert (tmp_path / place).stat().st_mode & 0o777 == 0o755, place
    assert (tmp_path / "etc/jim/site.toml").stat().st_mode & 0o777 == 0o644


def test_an_account_gets_its_part_of_the_work_directory(tmp_path, jim_site, managed):
    (tmp_path / "shared").mkdir()
    assert jim_site("init", "--work", str(tmp_path / "shared"), "--account", ME.pw_name) == 0
    part = tmp_path / "shared" / ME.pw_name
    assert part == load().work
    assert part.stat().st_mode & 0o777 == 0o700


def test_a_work_directory_that_cannot_be_made_is_told(tmp_path, jim_site, managed, capsys):
    assert jim_site("init", "--work", str(tmp_path / "none"), "--account", ME.pw_name) == 0
    assert f"NOT made: {tmp_path / 'none' / ME.pw_name}" in capsys.readouterr().out


def test_an_unknown_account_is_refused(jim_site, managed):
    with pytest.raises(BadSite, match="no account 'no-such-account'"):
        jim_site("init", "--account", "no-such-account")


@pytest.mark.parametrize("name", ["../x", ".hidden", "a/b", ""])
def test_a_name_that_is_no_directory_name_is_refused(jim_site, managed, monkeypatch, name):
    account = namedtuple("account", "pw_name pw_uid pw_gid")
    monkeypatch.setattr(site_init.pwd, "getpwnam", lambda _: account(name, ME.pw_uid, ME.pw_gid))
    with pytest.raises(BadSite, match="cannot be a directory's name"):
        list(site_init.make_account(name, LOCAL))


def test_a_place_that_others_can_write_is_refused(tmp_path, managed):
    place = tmp_path / "var/lib/jim"
    place.mkdir(parents=True)
    place.chmod(0o777)
    with pytest.raises(BadSite, match="no one else can write"):
        list(site_init.make_account(ME.pw_name, LOCAL))


@pytest.mark.parametrize("name", [ME.pw_name, f".published/{ME.pw_name}"])
def test_a_link_in_place_of_a_directory_is_refused(tmp_path, managed, name):
    place = tmp_path / "var/lib/jim" / name
    place.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadSite, match="move it away"):
        list(site_init.make_account(ME.pw_name, LOCAL))


def test_a_uid_that_was_another_accounts_is_refused(tmp_path, managed):
    links = tmp_path / "var/lib/jim/.by-uid"
    links.mkdir(parents=True)
    (links / str(ME.pw_uid)).symlink_to("../somebody")
    with pytest.raises(BadSite, match="was the uid given to another account"):
        list(site_init.make_account(ME.pw_name, LOCAL))


def test_a_managed_place_on_a_network_file_system_is_refused(managed):
    with pytest.raises(BadSite, match="network file system"):
        list(site_init.make_account(ME.pw_name, NETWORK))


# check


class Adapter:
    name = "stub"
    shared_work = True

    def ping_command(self):
        return [sys.executable, "-c", ""]


@pytest.fixture(autouse=True)
def batch_system(monkeypatch):
    adapter = Adapter()
    monkeypatch.setattr("jim.opening.adapter_of", lambda site: adapter)
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
        "status DB",
        "state space",
        "work directory",
        "work space",
        "wrapper",
        "batch system",
        "promise",
        "keeper",
        "keeper --all",
        "clock",
    ]
    assert not list((tmp_path / "state").rglob("*check*"))


def test_a_catalogue_is_looked_into_where_there_is_one(check, tmp_path):
    check()
    place = tmp_path / "catalogue"
    (tmp_path / "state/site.toml").write_text(f'[site]\ncatalogue = "{place}"\n')
    found = check()["catalogue"]
    assert (found.level, str(place) in found.said) == (FAILED, True)
    assert found.todo.endswith("grid jobs wait that name a request_id or a dataset")
    for folder, names in (("requests", ["1.toml", "2.json", "README"]), ("datasets", ["raw.json"])):
        (place / folder).mkdir(parents=True)
        for name in names:
            (place / folder / name).touch()
    assert check()["catalogue"].said == f"request ids: 2, datasets: 1, in {place}"


def test_a_missing_library_is_told(monkeypatch, check):
    monkeypatch.setattr(site_check, "LIBRARIES", ("json", "no_such_library.etree"))
    found = check()["libraries"]
    assert (found.level, found.said) == (FAILED, "not there: no_such_library")
    assert "pip install no_such_library" in found.todo


def test_a_bad_site_file_is_told_and_ends_the_questions(check, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/site.toml").write_text("[batch]\nslotz = 3\n")
    found = check()
    assert list(found) == ["libraries", "site file"]
    assert found["site file"].level == FAILED
    assert f"{tmp_path}/state/site.toml:2: batch.slotz: unknown key" in found["site file"].said


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
    assert "its times count whole seconds" in found.said


@pytest.mark.parametrize(
    ("free", "inodes", "level"),
    [(10**6, 10**6, OK), (2 * 10**5, 10**6, WARNING), (10**4, 10**6, FAILED), (10**6, 9_999, WARNING)],
)
def test_space_is_counted(tmp_path, monkeypatch, free, inodes, level):
    about = namedtuple("about", "f_bavail f_frsize f_files f_favail")
    monkeypatch.setattr(site_check.os, "statvfs", lambda place: about(free, 4096, 10**7, inodes))
    assert site_check._space(tmp_path).level == level


def test_a_wrapper_that_cannot_run_fails_with_its_last_words(check, monkeypatch, tmp_path):
    shell = tmp_path / "shell"
    shell.mkdir()
    for name, text in (("local-job", "#!/bin/sh\necho no tools here >&2\nexit 72\n"), ("jim-publish", "")):
        (shell / name).write_text(text)
        (shell / name).chmod(0o755)
    monkeypatch.setattr(site_check, "shell_directory", lambda: shell)
    found = check()["wrapper"]
    assert found.level == FAILED
    assert "exit 72" in found.said
    assert "no tools here" in found.said
    assert "noexec" in found.todo


def test_a_wrapper_that_leaves_no_exit_record_fails(check, monkeypatch, tmp_path):
    shell = tmp_path / "shell"
    shell.mkdir()
    for name in ("local-job", "jim-publish"):
        (shell / name).write_text("#!/bin/sh\n")
        (shell / name).chmod(0o755)
    monkeypatch.setattr(site_check, "shell_directory", lambda: shell)
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
        raise BadSite("[batch] system: unknown batch system 'slurn'")

    monkeypatch.setattr("jim.opening.adapter_of", unknown)
    assert check()["batch system"].level == FAILED


def test_without_a_shared_work_directory_the_promise_is_the_batch_systems(check, batch_system):
    batch_system.shared_work = False
    found = check()["promise"]
    assert found.level == WARNING
    assert "is local's own promise" in found.said


def test_a_damaged_status_db_is_told(check, store, tmp_path):
    assert check()["status DB"] == Finding("status DB", OK, "all of it can be read")
    file = tmp_path / "state/status.db"
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    whole = file.read_bytes()
    for hurt in (b"garbage" * 1000, whole[:8192] + b"\x55" * (len(whole) - 8192), whole[: len(whole) // 2]):
        file.write_bytes(hurt)
        found = check()["status DB"]
        assert (found.level, found.said.partition(" (")[0]) == (FAILED, f"{file} is damaged")
        assert found.said.endswith("put the whole state directory aside (docs/operating.md, Troubleshooting)")


def test_a_large_status_db_is_read_for_a_while_only(check, store, monkeypatch):
    store.add_pieces(1, 0, [Piece(n, 1) for n in range(1000)])
    monkeypatch.setattr(site_check, "READING_SECONDS", -1.0)
    assert check()["status DB"] == Finding("status DB", OK, "no damage in what can be read of it in -1 s")


def test_unfinished_grid_jobs_want_a_keeper(check, store, tmp_path):
    found = check()["keeper"]
    assert (found.level, found.todo[:29]) == (WARNING, "start one: jim keeper --all; ")
    clock = site_check.Clock()
    heart = tmp_path / "state/heartbeat"
    heart.write_text(f"{clock.boot_id()} {int(clock.boot())}\n")
    assert check()["keeper"] == Finding("keeper", OK, "one runs")
    for stale in (f"{clock.boot_id()} {int(clock.boot()) - 60}", f"{clock.boot_id()} idle", "other 5", "", "x y z"):
        heart.write_text(stale)
        assert check()["keeper"].level == WARNING, stale


def test_a_request_in_the_inbox_wants_a_keeper(check, tmp_path):
    check()
    (tmp_path / "state/inbox/.half").touch()
    assert check()["keeper"].level == OK
    (tmp_path / "state/inbox/request-1").touch()
    assert check()["keeper"].level == WARNING


def test_a_managed_site_wants_keepers_after_a_reboot(check, tmp_path, monkeypatch):
    monkeypatch.delenv("JIM_STATE")
    site_file.MANAGED_FILE.parent.mkdir(parents=True)
    site_file.MANAGED_FILE.touch()
    found = check()["keeper --all"]
    assert found.level == WARNING
    assert "enable the timer jim-keepers.timer" in found.todo
    cron = tmp_path / "root/etc/cron.d/jim-keepers"
    cron.parent.mkdir(parents=True)
    cron.write_text("# * * * * * root /opt/jim/shell/jim keeper --all\n")
    assert check()["keeper --all"].level == WARNING
    told = (HERE / "share/cron/jim-keepers").read_text()
    for command in ("/opt/jim/shell/jim", '"/opt/a b/bin/jim"'):  # as it is shipped, and as it is installed
        cron.write_text(told.replace("/opt/jim/shell/jim", command))
        assert check()["keeper --all"].said == f"arranged in {cron}"
    timer = tmp_path / "root/etc/systemd/system/timers.target.wants/jim-keepers.timer"
    timer.parent.mkdir(parents=True)
    timer.symlink_to("/nowhere/jim-keepers.timer")
    assert "systemd timer" in check()["keeper --all"].said


def test_clocks_that_are_apart_are_a_warning(check, tmp_path):
    check()
    site = load()
    now = site_check.time.time()
    assert "file server is" in site_check._clock(site, now + 4000).said
    written = tmp_path / "state/status.db"
    written.touch()
    os.utime(written, (now + 4000,) * 2)
    assert "set back" in site_check._clock(site, now).said


# check: what is printed


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


# What operators are told

OPERATING = (HERE / "docs/operating.md").read_text()
INSTALLING = (HERE / "docs/installing.md").read_text()


def rows_after(heading):
    """Give the cells of the first table after a heading."""
    lines = OPERATING.partition(f"{heading}\n")[2].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|---"))
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_settings_is_that_of_the_site_file():
    told = {row[0].strip("`"): row[1:] for row in rows_after("## The site file")}
    real = {f"{section}.{name}": each for section in SECTIONS for name, each in settings(section).items()}
    assert list(told) == list(real)
    for name, (default, meaning) in told.items():
        declared, rule = real[name], real[name].rule
        value = tomllib.loads(f"x = {default.strip('`')}")["x"]
        assert value == (list(declared.default) if isinstance(declared.default, tuple) else declared.default), name
        assert meaning.lower().startswith(rule.help.lower()), name
        if rule.least is not None:
            assert meaning.endswith(f"({rule.least:,} to {rule.most:,})"), name


def test_the_variables_are_told():
    told = [row[0].strip("`") for row in rows_after("## Environment variables")]
    assert told == [site_file.STATE_VARIABLE, site_file.SITE_VARIABLE, "JIM_PYTHON", "NO_COLOR"]
    assert "${JIM_PYTHON:-}" in (HERE / "shell/jim-home").read_text()


def test_the_exit_codes_are_told():
    from jim.cli import EXIT_CODES

    assert [int(row[0]) for row in rows_after("## Exit codes")] == sorted(EXIT_CODES)
    assert [row[0] for row in rows_after("Of the wrapper, as the batch system sees it:")] == ["0", "1", "71", "72"]


def test_every_command_that_is_named_exists(jim_site):
    from jim.cli import VERBS

    assert set(re.findall(r"`jim (\w+)", OPERATING + INSTALLING)) <= set(VERBS)
    for name in re.findall(r"(?:/opt/jim|`)/?(share/[\w/.-]*\w|shell/[\w-]+)", OPERATING + INSTALLING):
        assert (HERE / name).exists() or list((HERE / name).parent.glob(f"{Path(name).name}*")), name
    parser = argparse.ArgumentParser()
    site_verbs.add_arguments(parser)
    for words in ("init --account mc --account cms", "init --work /shared/jim", "check --json", "check"):
        assert parser.parse_args(words.split())


def test_what_jim_needs_is_told():
    needed = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.match(r"\w+", each)[0] for each in needed}
    assert {name.partition(".")[0] for name in site_check.LIBRARIES} == names
    assert set(re.search(r"pip install (\w.*)", INSTALLING)[1].split()) == names
    assert (
        f"apt-get install make {' '.join(f'python3-{name}' for name in ('lxml', 'psutil', 'tenacity', 'rich'))}"
        in INSTALLING
    )


def test_the_unit_keeps_keepers_alive():
    unit = (HERE / "share/systemd/jim-keepers.service").read_text()
    assert "Type=oneshot\nExecStart=/opt/jim/shell/jim keeper --all\n" in unit
    for line in ("KillMode=process", "OOMPolicy=continue", "TasksMax=infinity"):
        assert f"\n{line}\n" in unit
    assert "\nOnCalendar=minutely\n" in (HERE / "share/systemd/jim-keepers.timer").read_text()
