"""Which files of this machine the sender of a request may name."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from jim.errors import BadRequest
from jim.site.file import Site
from jim.site.realm import OWN, Realm, opener_of, realm_of
from jim.site.settings import General, Pages
from jim.site.walking import opened


@pytest.fixture
def home(tmp_path):
    """Return the home of an account: its key, the directory of a job, and what JIM keeps."""
    for each in (".ssh", "job/sub", "state/work/5", "state/batch", "state/keys", "state/tasks/t.1", "open"):
        (tmp_path / each).mkdir(parents=True)
    for each in (".ssh/id", "job/own", "job/sub/own", "state/keys/request-1", "state/work/5/token", "open/data"):
        (tmp_path / each).write_text(each)
    for each in ("state/pages.key", "state/status.db", "state/status.db-wal", "state/tasks/t.1/input", "secret"):
        (tmp_path / each).write_text(each)
    return tmp_path


def opener(home, *below, files=(), **general):
    site = Site(home / "state", site=General(**general), pages=Pages(proxy_secret=str(home / "secret")))
    return opener_of(site, Realm(tuple(map(str, below)), tuple(map(str, files))).text)


def content(opener, path):
    with os.fdopen(opener.open(str(path), "token")) as file:
        return file.read()


def refused(opener, path):
    with pytest.raises(BadRequest) as error:
        opener.open(str(path), "token")
    with pytest.raises(BadRequest):
        opener.require(str(path), "token")
    assert error.value.about == "token"
    return str(error.value)


def test_the_account_itself_names_what_it_can_read(home):
    assert opener_of(Site(home / "state"), "") is OWN
    (home / "link").symlink_to(".ssh/id")
    for each in (".ssh/id", "link", "state/work/5/token"):
        assert content(OWN, home / each)


def test_a_sender_names_what_lies_in_its_directories(home):
    (home / "job/link").symlink_to("sub/own")
    for each in ("job/own", "job/sub/own", "job/sub/../own"):
        assert content(opener(home, home / "job"), home / each).endswith("own")
    assert content(opener(home, home / "job"), home / "job/link") == "job/sub/own"
    opener(home, home / "job").require(str(home / "job/sub"), "inputs")
    opener(home, home / "job").require(str(home / "job"), "inputs")


@pytest.mark.parametrize(
    "name", [".ssh/id", "job/../.ssh/id", "job/link", "job/up/.ssh/id", "/etc/hostname", "job/../secret"]
)
def test_no_path_leads_out_of_a_realm(home, name):
    (home / "job/link").symlink_to(home / ".ssh/id")
    (home / "job/up").symlink_to("..")
    assert "may name only files of" in refused(opener(home, home / "job"), home / name)


def test_a_site_opens_further_directories_and_a_gatekeeper_single_files(home):
    own = opener(home, inputs_below=(str(home / "open"),), files=[home / "job/own"])
    assert content(own, home / "open/data") == "open/data"
    assert content(own, home / "job/own") == "job/own"
    refused(own, home / "job/sub/own")
    (home / "job/own").unlink()
    (home / "job/own").symlink_to(home / ".ssh/id")
    refused(own, home / "job/own")


def test_nothing_of_jim_s_own_is_ever_in_a_realm_that_has_the_home(home):
    own = opener(home, home)
    assert content(own, home / "job/own") == "job/own"
    for each in ("state/work/5/token", "state/keys/request-1", "state/pages.key", "state/status.db", "secret"):
        refused(own, home / each)
    for each in ("state", "state/keys", "state/work/5"):
        with pytest.raises(BadRequest):
            own.require(str(home / each), "inputs")
    (home / "job/work").symlink_to(home / "state/work")
    refused(own, home / "job/work/5/token")


def test_the_nearest_directory_decides_so_a_task_has_its_own_copies_alone(home):
    own = opener(home, home / "state/tasks/t.1")
    assert content(own, home / "state/tasks/t.1/input") == "state/tasks/t.1/input"
    refused(own, home / "state/keys/request-1")


@pytest.mark.parametrize("name", ["status.db", "status.db-wal", "pages.key", "work/5/token"])
def test_a_second_name_of_a_secret_is_no_way_to_it(home, name):
    os.link(home / "state" / name, home / "job/innocent")
    refused(opener(home, home / "job"), home / "job/innocent")


def test_other_files_with_several_names_are_read(home):
    """The cache of GRAM has nothing else."""
    os.link(home / "job/own", home / "job/again")
    assert content(opener(home, home / "job"), home / "job/again") == "job/own"


def test_nobody_learns_what_is_outside(home):
    own = opener(home, home / "job")
    there, lacking = (refused(own, home / ".ssh" / name).replace(name, "NAME") for name in ("id", "lacking"))
    assert there == lacking
    with pytest.raises(FileNotFoundError):
        own.open(str(home / "job/none"), "token")


def test_only_files_are_opened(home):
    os.mkfifo(home / "job/pipe")
    for each in ("pipe", "sub"):
        with pytest.raises(BadRequest, match="is not a regular file"):
            opener(home, home / "job").open(str(home / "job" / each), "token")


def test_programs_run_where_jim_keeps_nothing(home):
    own = opener(home, home / "job")
    with opened(str(home / "open")) as place:
        own.require_foreign(place.at, "there", "directory")
    for each in ("state", "state/work/5"):
        with opened(str(home / each)) as place, pytest.raises(BadRequest, match="there is JIM's own"):
            own.require_foreign(place.at, "there", "directory")


def test_it_is_kept_as_text(home):
    realm = Realm(("/a b",), ("/c",))
    assert realm_of({"below": ["/a b"], "files": ["/c"]}) == realm
    assert realm.text == '{"below": ["/a b"], "files": ["/c"]}'


@pytest.mark.parametrize("lost", ["state", "state/pages.key", "state/work/5/token"])
def test_while_a_disk_is_away_nothing_is_opened_for_strangers(home, monkeypatch, lost):
    """Without its device and inode, a directory of JIM's own would be like any other."""
    stat = os.stat

    def away(path, **more):
        if str(path) == str(home / lost):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        return stat(path, **more)

    os.link(home / "open/data", home / "open/second")
    monkeypatch.setattr(os, "stat", away)
    with pytest.raises(OSError, match=os.strerror(errno.ESTALE)):
        opener(home, inputs_below=(str(home),)).open(str(home / "open/second"), "inputs")


def test_while_the_work_directory_cannot_be_listed_no_second_name_is_opened(home, monkeypatch):
    def away(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    os.link(home / "state/work/5/token", home / "open/second")
    monkeypatch.setattr(Path, "iterdir", away)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        opener(home, home / "open").open(str(home / "open/second"), "inputs")


@pytest.mark.parametrize(
    "text", ["x", " ", "null", "[]", "{}", '{"below": "/", "files": []}', '{"below": [1], "files": []}']
)
def test_a_damaged_realm_opens_nothing(home, text):
    with pytest.raises(BadRequest, match="is damaged in the store"):
        opener_of(Site(home / "state"), text)
