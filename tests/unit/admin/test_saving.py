"""jim site backup: what is saved, when, and where to."""

import errno
import os
import re
import tarfile
from contextlib import closing

import pytest

from jim.admin import saving
from jim.clock import Clock
from jim.doors import inbox
from jim.errors import BadRequest, Damaged, StoreError, UnknownJob
from jim.statusdb import open_store
from jim.statusdb.store import Store
from tests.support.machine import DATA


def names(file):
    with tarfile.open(file) as tar:
        return sorted(tar.getnames())


def test_a_backup_holds_the_store_and_what_the_doors_have_written(home, tmp_path, monkeypatch):
    monkeypatch.setattr("jim.site.file.MANAGED_FILE", tmp_path / "none")  # whoever tests JIM may have a site
    home.add(1)
    inbox.deposit(home.site.state, "later", {"job_type": "executable", "executable": "/bin/true", "key": "later"})
    (home.site.state / "keeper.log").write_text("much\n")
    (home.site.state / "inbox/.half-written").write_text("{")
    (home.site.state / "keys/link").symlink_to("/etc/passwd")
    os.mkfifo(home.site.state / "answers/pipe")
    file = tmp_path / "backup.tar"
    told = home.out("site", "backup", str(file))
    assert told == (
        f"saved {home.site.state} with 1 grid job as {file} ({file.stat().st_size:,} bytes)\n"
        "verified: its 6 files were read again, and the database among them has no damage\n"
        f"the work directory {home.site.work}, with the tars, is no part of it\n"
    )
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar", "state"]
    saved = names(file)
    assert {"status.db", "next-id", "answers/1"} <= {*saved}
    assert [name for name in saved if name.startswith(("inbox/", "keys/"))] == sorted(
        str(path.relative_to(home.site.state))
        for room in ("inbox", "keys")
        for path in (home.site.state / room).iterdir()
        if path.name not in (".half-written", "link")
    )
    with tarfile.open(file) as tar:
        # Root unpacks it: each directory must be there with its owner, before what is in it.
        made = {each.name for each in tar if each.isdir() and (each.uid, each.mode & 0o777) == (os.getuid(), 0o700)}
        assert made == {"answers", "inbox", "keys"}
        tar.extractall(tmp_path / "back", **DATA)
    with closing(open_store(tmp_path / "back", Clock())) as store:
        assert [(job.id, job.key) for job in store.grid_jobs()] == [(1, "key-1")]
        assert store.counts(1) == home.store.counts(1)


def test_a_site_test_that_runs_meanwhile_is_no_part_of_it(home, tmp_path):
    """Its files change and go while they are read, and after a restore nobody wants them."""
    home.add(1)
    trial = home.site.state / "site-test-slurm-abc"
    trial.mkdir()
    (trial / "status.db-wal").write_text("much")
    (home.site.state / "site-test.json").write_text("{}")
    list(saving.save(home.site, tmp_path / "backup.tar"))
    assert [name for name in names(tmp_path / "backup.tar") if name.startswith("site-test")] == ["site-test.json"]


def test_a_request_that_is_taken_in_meanwhile_is_in_the_backup(home, tmp_path, monkeypatch):
    """Then it is no more in the inbox; so the store is copied last."""
    home.add(1)
    inbox.deposit(home.site.state, "key-2", {"job_type": "executable", "executable": "/bin/true", "key": "key-2"})
    files = saving._files

    def taken_in(state, *left_out):
        yield from files(state, *left_out)
        home.add(2)

    monkeypatch.setattr("jim.admin.saving._files", taken_in)
    list(saving.save(home.site, tmp_path / "backup.tar"))
    with tarfile.open(tmp_path / "backup.tar") as tar:
        tar.extract("status.db", tmp_path, **DATA)
    with closing(open_store(tmp_path, Clock())) as store:
        assert [job.id for job in store.grid_jobs()] == [1, 2]


def test_a_site_file_from_elsewhere_is_saved_for_people(home, tmp_path, monkeypatch):
    home.add(1)
    site = tmp_path / "site.toml"
    site.write_text('[site]\nname = "here"\n')
    monkeypatch.setenv("JIM_SITE", str(site))
    home.out("site", "backup", str(tmp_path / "backup.tar"))
    with tarfile.open(tmp_path / "backup.tar") as tar:
        assert tar.extractfile("saved-site.toml").read() == site.read_bytes()
        assert {each.mode & 0o777 for each in tar if each.name == "status.db"} == {0o600}
    (home.site.state / "saved-site.toml").write_text("of a restore")
    monkeypatch.delenv("JIM_SITE")
    site.rename(home.site.state / "site.toml")
    home.out("site", "backup", str(tmp_path / "another.tar"))
    assert {"site.toml"} == {name for name in names(tmp_path / "another.tar") if name.endswith(".toml")}


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda tar: tar.write_bytes(tar.read_bytes().replace(b"key-1", b"key-2")), "status.db differs"),
        (lambda tar: tar.write_bytes(tar.read_bytes()[:512]), "it cannot be read: "),
        (lambda tar: tar.write_bytes(b""), "it cannot be read: empty file"),
    ],
)
def test_a_backup_that_is_not_what_was_saved_is_not_kept(home, tmp_path, monkeypatch, harm, why):
    home.add(1)
    sync = saving._sync

    def write_badly(file):
        sync(file)
        harm(file)

    monkeypatch.setattr("jim.admin.saving._sync", write_badly)
    code, out, error = home.run("site", "backup", str(tmp_path / "backup.tar"))
    assert (code, out) == (1, "")
    assert re.search(f"jim: the backup is not what was saved: .*({why})", error)
    assert error.endswith("Nothing was kept; try again\n")
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_store_that_is_damaged_is_no_backup(home, tmp_path, monkeypatch):
    home.add(1)
    damaged = Damaged("status.db is damaged")

    def look(self, seconds):
        raise damaged

    monkeypatch.setattr("jim.statusdb.store.Store.look_for_damage", look)
    with pytest.raises(Damaged):
        list(saving.save(home.site, tmp_path / "backup.tar"))
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_line_of_the_accounting_that_is_written_meanwhile_is_in_the_backup(home, tmp_path, monkeypatch):
    """Its mark may be gone from the store then; so the accounting is copied after the store."""
    home.add(1)
    day = home.site.state / "accounting/2026-01-31.jsonl"
    day.parent.mkdir()
    day.write_text("before\n")
    copy_to = Store.copy_to

    def accounted(self, file):
        with day.open("a") as lines:
            lines.write("meanwhile\n")
        copy_to(self, file)

    monkeypatch.setattr("jim.statusdb.store.Store.copy_to", accounted)
    list(saving.save(home.site, tmp_path / "backup.tar"))
    with tarfile.open(tmp_path / "backup.tar") as tar:
        assert tar.extractfile("accounting/2026-01-31.jsonl").read() == b"before\nmeanwhile\n"
        assert len(tar.getnames()) == len({*tar.getnames()})


def test_no_file_is_overwritten_and_no_half_backup_is_left(home, tmp_path, monkeypatch):
    file = tmp_path / "backup.tar"
    with pytest.raises(UnknownJob, match="nothing to save"):
        list(saving.save(home.site, file))
    home.add(1)
    with pytest.raises(BadRequest, match=r"none is no directory: name a file in a directory that exists"):
        list(saving.save(home.site, tmp_path / "none/backup.tar"))

    with monkeypatch.context() as here:
        here.setattr("os.access", lambda *_: False)
        with pytest.raises(BadRequest, match=r"this account may not write to .*: name a file in another directory"):
            list(saving.save(home.site, file))

    def full(self, file):
        raise StoreError("no room")

    def unwritable(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as here:
        here.setattr("jim.statusdb.store.Store.copy_to", full)
        with pytest.raises(StoreError):
            list(saving.save(home.site, file))
    with monkeypatch.context() as here:
        here.setattr("tarfile.open", unwritable)
        with pytest.raises(OSError, match=re.escape(f"No space left on device: '{file}'")):
            list(saving.save(home.site, file))
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    file.write_text("of somebody")
    with pytest.raises(BadRequest, match="is there already: name a new file"):
        list(saving.save(home.site, file))
    assert file.read_text() == "of somebody"
