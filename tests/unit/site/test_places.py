"""Where the site file and the state directory are found, and what a state directory needs."""

import errno
import getpass
import os
from pathlib import Path

import pytest

from jim.errors import BadSite
from jim.files.durable import file_system_of
from jim.site import file as site_file
from jim.site.file import Site, load, make_state, own_state

MOUNTS = """\
/dev/vda / ext4 rw,relatime 0 0
fs1:/export/home /home nfs4 rw,vers=4.2 0 0
/dev/vdb /home/local\\040disk xfs rw 0 0
tmpfs /run tmpfs rw 0 0
fs2:/w /w lustre rw 0 0
none /wide fuse.sshfs rw 0 0
"""


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch):
    for name in ("JIM_STATE", "JIM_SITE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(site_file, "MANAGED_FILE", tmp_path / "etc/jim/site.toml")
    monkeypatch.setattr(site_file, "MANAGED_STATE", tmp_path / "var/lib/jim")


# Where it is found


def test_without_anything_the_state_is_in_the_home(tmp_path):
    assert load() == Site(state=tmp_path / "home/.local/state/jim")


def test_the_xdg_state_home_counts_if_absolute(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert load().state == tmp_path / "xdg/jim"
    monkeypatch.setenv("XDG_STATE_HOME", "xdg")
    assert load().state == tmp_path / "home/.local/state/jim"


def test_a_site_file_in_the_state_directory_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("JIM_STATE", str(tmp_path))
    (tmp_path / "site.toml").write_text('[site]\nname = "mine"\n')
    site = load()
    assert (site.state, site.file, site.site.name, site.managed) == (tmp_path, tmp_path / "site.toml", "mine", False)


def test_the_variable_names_another_site_file(tmp_path, monkeypatch):
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "s"))
    monkeypatch.setenv("JIM_SITE", str(tmp_path / "other.toml"))
    (tmp_path / "other.toml").write_text('[site]\nname = "other"\n')
    assert load().site.name == "other"


def test_a_managed_site_gives_each_account_its_directory(tmp_path, monkeypatch):
    site_file.MANAGED_FILE.parent.mkdir(parents=True)
    site_file.MANAGED_FILE.write_text(f'[site]\nwork = "{tmp_path}/shared"\n')
    site = load()
    account = site_file.pwd.getpwuid(os.getuid()).pw_name
    assert site.managed
    assert site.state == tmp_path / "var/lib/jim" / account
    assert site.work == tmp_path / "shared" / account
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "own"))
    own = load()
    assert (own.managed, own.state, own.work) == (False, tmp_path / "own", tmp_path / "shared" / "own")


# What a state directory needs


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/jim", "ext4"),
        ("/", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/state", "nfs4"),
        ("/homeless", "ext4"),
        ("/home/local disk/me", "xfs"),
        ("/run/jim", "tmpfs"),
        ("/w/12", "lustre"),
    ],
)
def test_the_file_system_is_that_of_the_longest_mount_point(path, kind):
    assert file_system_of(Path(path), MOUNTS) == kind


def test_a_file_system_mounted_over_another_counts():
    assert file_system_of(Path("/a/b"), "x /a ext4 rw 0 0\ny /a nfs rw 0 0\n") == "nfs"


@pytest.mark.parametrize(
    "kind",
    [
        *("nfs", "nfs4", "lustre", "gpfs", "cifs", "fuse.sshfs", "ceph", "beegfs", "smb3"),
        *("panfs", "pvfs2", "orangefs", "wekafs"),
    ],
)
def test_a_network_file_system_is_refused_with_the_reason(tmp_path, kind):
    with pytest.raises(BadSite, match=rf"network file system \({kind}\).*Set JIM_STATE"):
        make_state(Site(state=tmp_path / "s"), f"x / {kind} rw 0 0\n")


def test_a_state_directory_is_made_whole_and_private(tmp_path):
    site = Site(state=tmp_path / "a/s")
    make_state(site, MOUNTS)
    for place in ("", "inbox", "keys", "answers", "work", "work/spool", "work/rejected"):
        assert (site.state / place).stat().st_mode & 0o777 == 0o700, place


def test_one_that_others_could_read_is_closed(tmp_path):
    site = Site(state=tmp_path / "s")
    site.state.mkdir()
    site.state.chmod(0o755)
    make_state(site, MOUNTS)
    make_state(site, MOUNTS)
    assert site.state.stat().st_mode & 0o777 == 0o700


def test_one_behind_a_closed_directory_is_not_called_a_link(tmp_path, monkeypatch):
    def closed(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setenv("JIM_STATE", str(tmp_path / "s"))
    monkeypatch.setattr("jim.site.file.resolved", closed)
    with pytest.raises(BadSite, match=r"JIM_STATE: cannot use .*/s: Permission denied; name another directory"):
        load()


def test_one_that_cannot_be_made_is_told_with_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadSite, match=r"cannot make the state directory.*JIM_STATE"):
        make_state(Site(state=tmp_path / "file/s"), MOUNTS)


def test_a_work_directory_that_cannot_be_made_is_told_as_such(tmp_path, monkeypatch):
    """A state directory of one's own obeys the site file of root; whoever reads that it cannot be made looks there."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/own").touch()
    site_file.MANAGED_FILE.parent.mkdir(parents=True)
    site_file.MANAGED_FILE.write_text(f'[site]\nwork = "{tmp_path}/shared"\n')
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "own"))
    words = (
        r"work directory: .*shared/own'; .*site\.toml names it, as .*/own has no site file: `jim site init` makes one"
    )
    with pytest.raises(BadSite, match=words):
        make_state(load(), MOUNTS)
    (tmp_path / "own/site.toml").write_text(f'[site]\nwork = "{tmp_path}/shared"\n')
    with pytest.raises(BadSite, match=r"work directory: .*; correct \[site\] work in .*/own/site\.toml"):
        make_state(load(), MOUNTS)


def test_an_account_without_a_home_is_told_what_root_can_do(tmp_path, monkeypatch):
    """A gatekeeper passes no JIM_STATE."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    name = getpass.getuser()
    with pytest.raises(BadSite, match=rf"JIM_STATE to .* ask root to run: jim site init --account {name}$"):
        make_state(Site(state=own_state()), MOUNTS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "file",
            "{}/file cannot be a state directory, because it is not a directory; to use a directory of your own",
        ),
        (
            "file/below/it",
            "{0}/file/below/it cannot be a state directory, because {0}/file is not a directory; to use a directory",
        ),
    ],
)
def test_a_state_directory_that_can_be_none_is_refused(tmp_path, name, said):
    (tmp_path / "file").touch()
    with pytest.raises(BadSite) as refused:
        load(str(tmp_path / name))
    assert str(refused.value).startswith(said.format(tmp_path))


def test_the_state_directory_of_another_account_is_refused_with_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda place, mode: False)
    monkeypatch.setattr("jim.site.whose.name_of", lambda uid: "alice")
    with pytest.raises(
        BadSite, match="belongs to alice, but this is alice: run this command as alice; to use a directory of your own"
    ):
        load(str(tmp_path))
