"""Proxies and tokens of running jobs are renewed, and nothing is sent with one that has expired."""

from __future__ import annotations

from errno import EACCES, ESTALE
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.errors import BadRequest
from jim.keeper.queue import renewing
from jim.model import State, Step
from jim.reading.job.waits import of_grid_job
from jim.reading.view import look
from jim.site.file import Site
from jim.workdir import credentials
from tests.support.certificates import LONG, LONG_END, LONGER, OLD
from tests.support.stand_ins import World

NOW = 1772539200.0  # 2026-03-03T12:00:00Z


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "now", lambda: NOW)


@pytest.mark.usefixtures("now")
@pytest.mark.parametrize("error", [PermissionError(EACCES, "Permission denied"), None], ids=["another's", "empty"])
def test_one_that_its_gatekeeper_is_just_renewing_is_read_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: PermissionError | None
) -> None:
    world = World(tmp_path, monkeypatch)
    proxy = tmp_path / "x509up"
    proxy.write_bytes(LONG)
    grid = world.submit(1, proxy=str(proxy))
    read, looks, pauses = credentials.read_whole, [], []

    def while_it_is_renewed(descriptor: int, longest: int, path: str) -> bytes:
        looks.append(path)
        content = read(descriptor, longest, path)
        if len(looks) > 2:
            return content
        if error:
            raise error
        return b""

    monkeypatch.setattr(credentials, "read_whole", while_it_is_renewed)
    monkeypatch.setattr(credentials.time, "sleep", pauses.append)
    world.until(lambda: world.batch.tasks)
    assert (world.site.work / str(grid) / "proxy").read_bytes() == LONG
    assert pauses == [0.1, 0.4]


@pytest.mark.usefixtures("now")
def test_one_that_is_not_there_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials.time, "sleep", lambda _: pytest.fail("waited"))
    with pytest.raises(BadRequest, match="No such file"):
        credentials.content_soon("proxy", str(tmp_path / "none"))


def notes(world: World, grid: int) -> list[tuple[str, str]]:
    return [(line.now, line.reason) for line in world.store.journals.of(grid) if line.now.startswith("proxy")]


@pytest.mark.usefixtures("now")
def test_it_is_handed_over_renewed_and_gone_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch)
    proxy = tmp_path / "x509up"
    proxy.write_bytes(LONG)
    grid = world.submit(1, proxy=str(proxy))
    world.until(lambda: world.batch.tasks)
    place = world.site.work / str(grid)
    assert ((place / "proxy").read_bytes(), oct((place / "proxy").stat().st_mode)) == (LONG, "0o100600")
    world.batch.start(1)
    (place / "s1" / "proxy.1").write_bytes(LONG)  # as a wrapper that is killed leaves it
    (place / "s1" / ".proxy.1.nonce").write_bytes(LONG)
    (place / ".proxy.4711").write_bytes(LONG)  # as a keeper that is killed does
    proxy.write_bytes(LONGER)
    world.go(15, seconds=1.0)
    assert (place / "proxy").read_bytes() == LONGER
    proxy.write_bytes(OLD)
    world.go(25, seconds=1.0)
    assert (place / "proxy").read_bytes() == LONGER  # a worse one is not taken
    proxy.unlink()
    world.go(15, seconds=1.0)
    why = f"proxy: the X.509 proxy {proxy} expired at 2026-01-31T12:00:00Z; renew it and try again"
    gone = f"proxy: cannot read the X.509 proxy {proxy}: No such file or directory"
    assert notes(world, grid) == [
        ("proxy renewed", "good until 2055-01-01T00:00:00Z"),
        ("proxy cannot be renewed", why),
        ("proxy cannot be renewed", gone),
    ]
    world.batch.finish(1)
    world.until(lambda: world.finished(grid))
    assert not [each for each in place.rglob("*") if "proxy" in each.name]
    stored = b"".join(each.read_bytes() for each in world.site.state.rglob("*") if each.is_file())
    for content in (LONG, LONGER):
        assert content.split(b"\n")[3] not in stored  # in no database, tar or log


def expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[World, int]:
    """Hand in two local jobs with a proxy that expires before they are sent."""
    world, time = World(tmp_path, monkeypatch), [NOW]
    monkeypatch.setattr(credentials, "now", lambda: time[0])
    proxy = tmp_path / "x509up"
    proxy.write_bytes(LONG)
    grid = world.submit(2, proxy=str(proxy))
    world.until(lambda: world.store.grid_jobs(Step.RESOLVED))
    time[0] = LONG_END + 1.0
    world.keeper.workers.forget("credentials")
    world.go(30, seconds=1.0)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    return world, grid


def test_nothing_is_sent_with_one_that_has_expired_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, grid = expired(tmp_path, monkeypatch)
    assert (world.state(grid), world.batch.tasks) == (State.WAITING, {})
    assert [what for what, _ in notes(world, grid)] == ["proxy expired"]
    waits = [wait.what for wait in of_grid_job(look(), world.store.grid_job(grid))]
    assert "2 local jobs wait to be submitted: its X.509 proxy expired at 2049-12-31T23:59:59Z" in waits
    (tmp_path / "x509up").write_bytes(LONGER)
    world.until(lambda: len(world.batch.tasks) == 2)


def test_one_that_is_asked_for_no_more_is_handed_on_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, grid = expired(tmp_path, monkeypatch)
    assert world.batch.tasks == {}  # it has expired
    inbox.wish(world.site.state, "suspend", str(grid))
    inbox.wish(world.site.state, "edit", str(grid), changes={"proxy": None})
    world.go(2)
    assert "expired" not in str(list(of_grid_job(look(), world.store.grid_job(grid))))
    assert not (world.site.work / str(grid) / "proxy").exists()
    inbox.wish(world.site.state, "resume", str(grid))
    world.until(lambda: len(world.batch.tasks) == 2)
    assert not (world.site.work / str(grid) / "proxy").exists()


def test_a_damaged_realm_keeps_no_other_grid_job_from_its_credential(tmp_path):
    site, wanted = Site(tmp_path / "state"), {}
    (tmp_path / "token").write_text("abc\n")
    for grid, realm in ((1, "x"), (2, "")):
        (tmp_path / str(grid)).mkdir()
        wanted[grid] = renewing.Named({"token": str(tmp_path / "token")}, realm)
    first, second = renewing._look(site, {1: tmp_path / "1", 2: tmp_path / "2"}, wanted)
    assert (first.what, second.what) == ("cannot be renewed", "renewed")
    assert "is damaged in the store" in first.reason
    assert not (tmp_path / "1/token").exists()


def test_what_a_payload_does_to_the_directory_of_its_grid_job_keeps_no_other_from_its_credential(tmp_path):
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "1").write_text("a file now")
    (tmp_path / "2").mkdir()
    wanted = {grid: renewing.Named({"token": str(tmp_path / "token")}, "") for grid in (1, 2)}
    first, second = renewing._look(Site(tmp_path / "state"), {1: tmp_path / "1", 2: tmp_path / "2"}, wanted)
    assert (first.what, second.what) == ("cannot be renewed", "renewed")
    assert str(tmp_path / "1") in first.reason
    assert (tmp_path / "2/token").read_text() == "abc\n"


def test_a_file_server_that_is_away_says_nothing_of_a_credential(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("abc\n")
    monkeypatch.setattr(credentials, "pass_on", lambda *_: (_ for _ in ()).throw(OSError(ESTALE, "stale")))
    wanted = {1: renewing.Named({"token": str(tmp_path / "token")}, "")}
    with pytest.raises(OSError, match="stale"):
        renewing._look(Site(tmp_path / "state"), {1: tmp_path / "1"}, wanted)
