"""`jim site init`: the file of an account, and a managed site."""

import errno
import os
import re
import tomllib
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest

from jim import cli
from jim.admin import init
from jim.cli import site_verbs
from jim.clock import Clock
from jim.errors import BadSite
from jim.site import file as site_file
from jim.site.file import Site, load, make_state, read
from jim.site.sections import Queue
from jim.site.settings import SECTIONS, settings
from jim.statusdb import open_store
from tests.support.machine import LOCAL, ME, NETWORK

pytestmark = pytest.mark.usefixtures("own_machine")


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
        "disk": {},
        "pages": {},
    }
    assert load().batch == SECTIONS["batch"]()


def test_no_grid_job_runs_as_root(tmp_path, jim_site, monkeypatch):
    """An account of uid 0, whatever its name, would give everybody at a gatekeeper the machine."""
    monkeypatch.setattr("jim.admin.init.ROOT", ME.pw_uid)
    with pytest.raises(BadSite, match=rf"^{ME.pw_name} is root, as whom no grid job may run"):
        jim_site("init", "--account", ME.pw_name)
    assert not (tmp_path / "etc").exists()
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("submit", "hello.toml"),
        ("task", "create", "hello.toml"),
        ("site", "test"),
        ("keeper",),
        ("pages",),
        ("pages", "token"),
    ],
)
def test_root_hands_in_nothing_on_a_site_of_several_accounts(tmp_path, jim_site, managed, monkeypatch, capsys, words):
    """Root may write beside the accounts: its first grid job made it one of them, and ran with all of its rights."""
    jim_site("init")
    monkeypatch.chdir(tmp_path)
    Path("hello.toml").write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    monkeypatch.setattr("jim.site.whose.ROOT", ME.pw_uid)
    assert cli.main([*words]) == 3
    told = "".join(capsys.readouterr())
    assert "this is root, as whom no grid job may run: run this command as an account of the site, for" in told
    assert not load().state.exists()


def test_root_is_not_told_to_become_an_account(managed, jim_site, monkeypatch, capsys):
    """`jim site init --account root` is refused, so nothing may advise it."""
    jim_site("init")
    monkeypatch.setattr("jim.site.whose.ROOT", ME.pw_uid)
    for words in (("task", "status"), ("task", "graph")):
        assert cli.main([*words]) == 0
    told = capsys.readouterr().out
    assert told.count("; run this command as an account of the site, for example by `sudo -u ACCOUNT jim …`\n") == 2
    assert "init --account root" not in told


def test_a_check_by_root_says_that_it_is_not_about_the_accounts(jim_site, managed, monkeypatch, capsys):
    jim_site("init")
    monkeypatch.setattr("jim.admin.check.ROOT", ME.pw_uid)
    jim_site("check")
    assert "warning  account: this is root, as whom no grid job may run, and proves n" in capsys.readouterr().out


def test_every_setting_is_there_with_its_meaning_and_its_default(tmp_path):
    text = init.site_text(init.look_around(tmp_path, mounts=LOCAL))
    whole = re.sub(r"^# (?=\w+ = |\[queues)", "", text, flags=re.MULTILINE).replace("[site]\n", "[site]\n")
    (tmp_path / "site.toml").write_text(whole)
    given = tomllib.loads(whole)
    assert {name: list(table) for name, table in given.items()} == {
        **{name: list(section._fields) for name, section in SECTIONS.items()},
        "queues": ["NAME"],
    }
    assert list(given["queues"]["NAME"]) == list(Queue._fields)
    usual = Site(state=tmp_path).batch
    assert given["queues"]["NAME"] == {key: getattr(usual, key) for key in Queue._fields}
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
    monkeypatch.setattr(init.shutil, "which", lambda name: f"/usr/bin/{name}" if name == "sbatch" else None)
    text = init.site_text(init.look_around(tmp_path, mounts=LOCAL))
    assert "# Also found: Slurm (sbatch).\nsystem = " in text
    assert "# This machine has 12 processors.\n# slots = 0\n" in text
    assert f'# The state directory, "{tmp_path}", is on ext4.\n# work = ""\n' in text


def test_a_shared_work_directory_makes_the_keeper_patient(tmp_path):
    mounts = f"{LOCAL}fs1:/w /shared nfs4 rw 0 0\n"
    found = init.look_around(tmp_path, "/shared/jim", mounts)
    assert found.values["site", "work"] == "/shared/jim"
    assert found.values["batch", "visible_seconds"] == 90.0
    assert "The work directory is on nfs4." in init.site_text(found)
    assert ("batch", "visible_seconds") not in init.look_around(tmp_path, "/jim", mounts).values


@pytest.mark.parametrize(
    "name", ['a"b', "back\\slash", "new\nline\n[batch]\nslots = 3", "tab\t", "ü", "\U0001f9ea", ""]
)
def test_any_directory_name_is_written_well(tmp_path, name):
    found = init.look_around(tmp_path / name, f"/w/{name}", LOCAL)
    (tmp_path / "site.toml").write_text(init.site_text(found))
    site = read(tmp_path / "site.toml", tmp_path)
    assert site.site.work == f"/w/{name}"
    assert site.batch.slots == 0


@pytest.mark.parametrize(("host", "name"), [("node.uni-x.de", "node.uni-x.de"), ("a;b$c", "a-b-c"), ("", "here")])
def test_a_host_name_is_made_a_site_name(tmp_path, monkeypatch, host, name):
    monkeypatch.setattr(init.socket, "gethostname", lambda: host)
    assert init.look_around(tmp_path, mounts=LOCAL).values["site", "name"] == name


def test_a_file_that_is_there_is_left_alone(tmp_path, jim_site):
    (tmp_path / "state").mkdir()
    file = tmp_path / "state/site.toml"
    file.write_text("# mine\n")
    with pytest.raises(BadSite, match="exists already and was not changed"):
        jim_site("init")
    assert file.read_text() == "# mine\n"
    assert list((tmp_path / "state").iterdir()) == [file]


def test_a_link_at_its_place_is_not_followed(tmp_path, jim_site):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/site.toml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadSite, match="exists already"):
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
        init.look_around(tmp_path, mounts=NETWORK)


def test_on_a_managed_site_a_person_is_told_where_the_settings_are(tmp_path, jim_site, monkeypatch):
    monkeypatch.delenv("JIM_STATE")
    monkeypatch.setattr(site_verbs, "_is_root", lambda: False)
    site_file.MANAGED_FILE.parent.mkdir(parents=True)
    site_file.MANAGED_FILE.touch()
    with pytest.raises(BadSite, match=r"this machine is managed.*set JIM_STATE"):
        jim_site("init")


def test_root_makes_a_site_for_all(tmp_path, jim_site, managed):
    assert jim_site("init") == 0
    file = tmp_path / "etc/jim/site.toml"
    assert file.stat().st_mode & 0o777 == 0o644
    assert file.parent.stat().st_mode & 0o777 == 0o755
    assert load().managed
    with pytest.raises(BadSite, match="exists already"):
        jim_site("init")


def test_an_account_that_makes_the_site_is_told_that_root_must(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1007)
    with pytest.raises(BadSite, match=r"^/ belongs to root: run this command as root$"):
        init._make_for_all(Path("/"))


def test_an_account_gets_what_it_needs(tmp_path, jim_site, managed, capsys):
    assert jim_site("init", "--account", ME.pw_name) == 0
    place = tmp_path / "var/lib/jim"
    modes = {".": 0o755, ".by-uid": 0o755, ".published": 0o755, ME.pw_name: 0o700, f".published/{ME.pw_name}": 0o750}
    assert {name: (place / name).stat().st_mode & 0o777 for name in modes} == modes
    assert {(place / name).stat().st_uid for name in modes} == {ME.pw_uid}
    turn = (place / ".turns" / ME.pw_name).stat()
    assert (turn.st_mode & 0o777, turn.st_uid) == (0o644, ME.pw_uid)
    assert load().turn_file == place / ".turns" / ME.pw_name
    link = place / ".by-uid" / str(ME.pw_uid)
    assert str(link.readlink()) == f"../{ME.pw_name}"
    assert link.resolve() == load().state.resolve()
    assert f"made {place / ME.pw_name} for {ME.pw_name}" in capsys.readouterr().out


def test_done_again_it_changes_nothing(tmp_path, jim_site, managed, capsys):
    jim_site("init", "--account", ME.pw_name)
    (tmp_path / "var/lib/jim" / ME.pw_name / "status.db").touch()
    capsys.readouterr()
    assert jim_site("init", "--account", ME.pw_name) == 0
    assert capsys.readouterr().out == f"{ME.pw_name} has all that it needs already; nothing was made\n"
    assert (tmp_path / "var/lib/jim" / ME.pw_name / "status.db").exists()


def test_a_strict_umask_shuts_nobody_out(tmp_path, jim_site, managed):
    old = os.umask(0o077)
    try:
        jim_site("init", "--account", ME.pw_name)
    finally:
        os.umask(old)
    for place in ("etc/jim", "var/lib/jim", "var/lib/jim/.by-uid", "var/lib/jim/.published", "var/lib/jim/.turns"):
        assert (tmp_path / place).stat().st_mode & 0o777 == 0o755, place
    assert (tmp_path / "etc/jim/site.toml").stat().st_mode & 0o777 == 0o644


def test_an_account_gets_its_part_of_the_work_directory(tmp_path, jim_site, managed):
    (tmp_path / "shared").mkdir()
    assert jim_site("init", "--work", str(tmp_path / "shared"), "--account", ME.pw_name) == 0
    part = tmp_path / "shared" / ME.pw_name
    assert part == load().work
    assert part.stat().st_mode & 0o777 == 0o700


def test_a_part_of_the_work_directory_that_root_may_not_make_is_told(tmp_path, jim_site, managed, monkeypatch, capsys):
    (tmp_path / "shared").mkdir()
    usual = init._make_own

    def squashed(directory, *more):
        if directory.is_relative_to(tmp_path / "shared"):
            raise PermissionError(errno.EACCES, "Permission denied")
        yield from usual(directory, *more)

    monkeypatch.setattr(init, "_make_own", squashed)
    assert jim_site("init", "--work", str(tmp_path / "shared"), "--account", ME.pw_name) == 3
    place, what = tmp_path / "shared" / ME.pw_name, f"make it yourself, for {ME.pw_name}, mode 700"
    assert f"NOT made: {place} (Permission denied); {what}\n" in capsys.readouterr().out


@pytest.mark.parametrize("more", [(), ("--account", ME.pw_name)])
def test_a_work_directory_that_is_not_there_is_refused_before_anything_is_made(tmp_path, jim_site, managed, more):
    """Else the site file named it, an exit code of 0 said that all was well, and no account could use the site."""
    with pytest.raises(BadSite, match="none is no directory: mount it, or make it if it is new; nothing was made"):
        jim_site("init", "--work", str(tmp_path / "none"), *more)
    assert list(tmp_path.rglob("*jim*")) == []


def test_an_account_is_added_by_the_same_words(tmp_path, jim_site, managed, capsys):
    """Whoever repeats the first command with one account more says again what the site file has."""
    (tmp_path / "shared").mkdir()
    words = "init", "--work", str(tmp_path / "shared"), "--account", ME.pw_name
    assert jim_site(*words) == jim_site(*words) == 0
    (tmp_path / "other").mkdir()
    with pytest.raises(BadSite, match=r"site\.toml has another work directory, .*/shared: edit `work` in it, and"):
        jim_site("init", "--work", str(tmp_path / "other"), "--account", ME.pw_name)


def test_an_unknown_account_is_refused_before_anything_is_made(tmp_path, jim_site, managed):
    """A mistyped account made a managed site of the machine: its site file was written before the refusal."""
    for known in ((), ("--account", ME.pw_name)):
        with pytest.raises(
            BadSite, match=r"no account 'no-such-account' .*: make it first \(useradd -m no-such-account\)"
        ):
            jim_site("init", *known, "--account", "no-such-account")
    assert list(tmp_path.rglob("*jim*")) == []


@pytest.mark.parametrize("name", ["../x", ".hidden", "a/b", ""])
def test_a_name_that_is_no_directory_name_is_refused(jim_site, managed, monkeypatch, name):
    account = namedtuple("account", "pw_name pw_uid pw_gid")
    monkeypatch.setattr(init.pwd, "getpwnam", lambda _: account(name, ME.pw_uid, ME.pw_gid))
    with pytest.raises(BadSite, match="is not usable as a directory name"):
        list(init.make_account(name, LOCAL))


def test_a_place_that_others_can_write_is_refused(tmp_path, managed):
    place = tmp_path / "var/lib/jim"
    place.mkdir(parents=True)
    place.chmod(0o777)
    with pytest.raises(BadSite, match="only root may write to it"):
        list(init.make_account(ME.pw_name, LOCAL))


@pytest.mark.parametrize("name", [ME.pw_name, f".published/{ME.pw_name}"])
def test_a_link_in_place_of_a_directory_is_refused(tmp_path, managed, name):
    place = tmp_path / "var/lib/jim" / name
    place.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadSite, match="move it away"):
        list(init.make_account(ME.pw_name, LOCAL))


def test_a_uid_that_was_another_accounts_is_refused(tmp_path, managed):
    links = tmp_path / "var/lib/jim/.by-uid"
    links.mkdir(parents=True)
    (links / str(ME.pw_uid)).symlink_to("../somebody")
    with pytest.raises(BadSite, match="does another account have this uid now"):
        list(init.make_account(ME.pw_name, LOCAL))


def test_a_managed_place_on_a_network_file_system_is_refused(managed):
    with pytest.raises(BadSite, match="network file system"):
        list(init.make_account(ME.pw_name, NETWORK))


def test_what_was_handed_in_before_is_not_gone(tmp_path, jim_site, managed, monkeypatch, capsys):
    """From now on the account's commands look at another place, where nothing of it is."""
    own = tmp_path / site_file.OWN
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(init, "OWN", str(own))  # below the home directory that the tests' account has
    make_state(Site(own))
    with closing(open_store(own, Clock(), write=True)) as store:
        store.add_grid_job(7, "k", "me", Clock().utc(), {"job_type": "executable"})
    assert jim_site("init", "--account", ME.pw_name) == 0
    told = capsys.readouterr().out.splitlines()[-1]
    name, reached = ME.pw_name, f"`JIM_STATE={own} jim status` shows it"
    assert told == f"what {name} handed in before is in {own}, and its keeper goes on with it; as {name}, {reached}"
    make_state(load())
    assert cli.main(["status"]) == 0
    words = f"what was handed in before this machine had a site file is in {own}; 1 grid job of it is unfinished: "
    assert f"\n{words}{reached}, `JIM_STATE={own} jim keeper --all` goes on with it\n" in capsys.readouterr().out
    assert cli.main(["show", "7"]) == 4
    assert f"; grid jobs from before this machine had a site file are in {own}: {reached}" in capsys.readouterr().err
    monkeypatch.setenv("JIM_STATE", str(own))
    assert cli.main(["status"]) == 0
    assert "handed in before" not in capsys.readouterr().out
