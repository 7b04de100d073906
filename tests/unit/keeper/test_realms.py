"""What the keeper reads and writes for a stranger is checked again each time: the files may have changed meanwhile."""

from __future__ import annotations

import hashlib
import os

import pytest

from jim import run_grid_job
from jim.doors import inbox
from jim.keeper.queue.renewing import LOOKED_EVERY
from jim.keeper.results.placing import PATIENCE_SECONDS
from jim.site.realm import Realm
from tests.support.stand_ins import World

KEY = b"the.key.of.the.account"


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, None)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: None)
    (tmp_path / "key").write_bytes(KEY)
    return world


@pytest.fixture
def iwd(tmp_path):
    """Return a directory that a schedd has made for a job."""
    made = tmp_path / "spool/cluster1.proc0.subproc0"
    made.mkdir(parents=True)
    (made / "token").write_bytes(b"abc")
    (made / "data").write_bytes(b"data")
    return made


@pytest.fixture
def submit(world, tmp_path, iwd):
    def submit(*words, inputs=()):
        (tmp_path / "list").write_text("".join(f"{each}\n" for each in inputs))
        options = ("-c", "/bin/true", "-w", iwd, "-o", "out", "-D", "home_bl_1", "-I", tmp_path / "list", *words)
        (tmp_path / "call").write_bytes(
            b"".join(f"{word}\0".encode() for word in (len(options), tmp_path / "spool", *options))
        )
        assert run_grid_job.main(["--door", "condor", "submit", str(tmp_path / "call")]) == 0
        return world

    return submit


def nowhere(world):
    """Tell whether nothing that the keeper has written holds the key."""
    files = [each for each in world.site.work.rglob("*") if each.is_file()]
    return all(KEY not in each.read_bytes() for each in files)


def instead(file, target):
    """Put a link to another file in the place of a file."""
    file.unlink()
    file.symlink_to(target)


def test_an_input_that_became_a_link_after_the_door_had_seen_it_is_not_sent(submit, iwd, tmp_path):
    world = submit(inputs=["data"])
    instead(iwd / "data", tmp_path / "key")
    world.until(lambda: world.finished(1))
    assert "may name only files of" in world.store.grid_job(1).reason
    assert nowhere(world)


def test_a_directory_of_inputs_that_leads_elsewhere_meanwhile_is_not_sent(submit, iwd, tmp_path):
    (iwd / "tree").mkdir()
    (iwd / "tree/file").write_bytes(b"data")
    world = submit(inputs=["tree"])
    (tmp_path / "home").mkdir()
    (tmp_path / "home/file").write_bytes(KEY)
    (iwd / "tree").rename(iwd / "was")
    (iwd / "tree").symlink_to(tmp_path / "home")
    world.until(lambda: world.finished(1))
    assert nowhere(world)


def test_a_token_that_became_another_file_is_not_handed_over(submit, iwd, tmp_path):
    world = submit("-V", f'"BEARER_TOKEN_FILE={iwd}/token"')
    world.until(lambda: world.batch.tasks)
    assert (world.site.work / "1/token").read_bytes() == b"abc"
    instead(iwd / "token", tmp_path / "key")
    world.go(3, seconds=LOOKED_EVERY)
    (line,) = (each for each in world.store.journals.of(1) if each.now == "token cannot be renewed")
    assert "may name only files of" in line.reason
    assert (world.site.work / "1/token").read_bytes() == b"abc"
    (iwd / "token").unlink()
    (iwd / "token").write_bytes(b"def")
    world.go(3, seconds=LOOKED_EVERY)
    assert (world.site.work / "1/token").read_bytes() == b"def"


def test_the_token_of_another_grid_job_is_handed_over_under_no_name(submit, iwd, world):
    (world.site.work / "7").mkdir()
    (world.site.work / "7/token").write_bytes(KEY)
    submit("-V", f'"BEARER_TOKEN_FILE={iwd}/token"')
    (iwd / "token").unlink()
    os.link(world.site.work / "7/token", iwd / "token")
    world.go(5, seconds=LOOKED_EVERY)
    (world.site.work / "7/token").unlink()
    assert nowhere(world)


def test_a_person_of_the_account_may_name_another_credential_for_a_stranger_s_job(submit, iwd, world, tmp_path):
    submit("-V", f'"BEARER_TOKEN_FILE={iwd}/token"')
    (tmp_path / "key").write_bytes(b"longer.lived")
    inbox.wish(world.site.state, "edit", "1", changes={"token": str(tmp_path / "key")})
    world.until(lambda: world.batch.tasks)
    assert (world.site.work / "1/token").read_bytes() == b"longer.lived"
    (tmp_path / "key").write_bytes(b"renewed")
    world.go(3, seconds=LOOKED_EVERY)
    assert (world.site.work / "1/token").read_bytes() == b"renewed"


def out(world, content=b"said\n"):
    world.batch.start(1, 1)
    listed = f"file {len(content)} {hashlib.sha256(content).hexdigest()} stdout\n"
    world.batch.finish(1, 1, extra=listed, files=[("stdout", content)])


def test_outputs_follow_no_link_that_was_put_into_their_directory(submit, iwd, tmp_path):
    world = submit("-o", "sub/out")
    (tmp_path / "elsewhere").mkdir()
    (iwd / "sub").symlink_to(tmp_path / "elsewhere")
    world.until(lambda: world.batch.tasks)
    out(world)
    world.until(lambda: world.finished(1))
    world.go(5, seconds=PATIENCE_SECONDS / 2)
    assert "the outputs cannot be placed" in world.answer(1)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_output_that_is_a_link_is_replaced_and_not_followed(submit, iwd, tmp_path):
    world = submit()
    (iwd / "out").symlink_to(tmp_path / "key")
    world.until(lambda: world.batch.tasks)
    out(world)
    world.until(lambda: "JobStatus=4" in world.answer(1))
    assert ((iwd / "out").read_bytes(), (iwd / "out").is_symlink()) == (b"said\n", False)
    assert (tmp_path / "key").read_bytes() == KEY


def test_a_directory_of_the_job_that_leads_to_jim_s_own_meanwhile_takes_no_output(submit, iwd, world):
    submit("-o", "1")
    iwd.rename(iwd.with_name("away"))
    iwd.symlink_to(world.site.state / "answers")
    world.until(lambda: world.batch.tasks)
    before = (world.site.state / "answers/1").read_bytes()
    out(world)
    world.until(lambda: world.finished(1))
    world.go(3)
    assert (world.site.state / "answers/1").read_bytes().startswith(before[:20])
    assert not list((world.site.state / "answers").glob(".1.jim*"))


def test_a_link_in_the_place_of_the_directory_of_the_job_takes_no_output_elsewhere(submit, iwd, tmp_path):
    """Where all accounts may make directories, as below a session directory, a payload can replace its own."""
    world = submit("-o", "authorized_keys")
    (tmp_path / "home").mkdir()
    iwd.rename(iwd.with_name("away"))
    iwd.symlink_to(tmp_path / "home")
    world.until(lambda: world.batch.tasks)
    out(world)
    world.until(lambda: world.finished(1))
    world.go(5, seconds=PATIENCE_SECONDS / 2)
    assert list((tmp_path / "home").iterdir()) == []
    assert f"{iwd} is a link now, and JIM follows none there" in world.answer(1)


def test_a_link_in_the_place_of_the_directory_of_the_job_hands_over_no_token_from_elsewhere(submit, iwd, tmp_path):
    world = submit("-V", f'"BEARER_TOKEN_FILE={iwd}/token"')
    world.until(lambda: world.batch.tasks)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/token").write_bytes(KEY)
    iwd.rename(iwd.with_name("away"))
    iwd.symlink_to(tmp_path / "home")
    world.go(5, seconds=LOOKED_EVERY)
    assert nowhere(world)


def test_the_realm_is_stored_with_the_grid_job(submit, iwd, world):
    submit()
    world.go(1)
    assert world.store.grid_job(1).realm == Realm((str(iwd),)).text
    world.restart()
    assert world.store.grid_job(1).realm == Realm((str(iwd),)).text
