"""Proxies and tokens: when they end, that they are handed over and renewed, and that nothing of them stays."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.doors.gram.request import attributes_of
from jim.doors.intake import prepare
from jim.errors import BadRequest
from jim.model import State, Step
from jim.reading.view import look
from jim.reading.waits import of_grid_job
from jim.site.file import Site
from jim.workdir import credentials
from tests.stand_ins import World

# Certificates without their keys. The times are those that `openssl x509 -enddate` tells.
OLD, OLD_END = (  # version 3, until Jan 31 12:00:00 2026 GMT
    b"""\
-----BEGIN CERTIFICATE-----
MIIBNTCB3aADAgECAgEFMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMMA2ppbTAeFw0y
NTAxMDEwMDAwMDBaFw0yNjAxMzExMjAwMDBaMA4xDDAKBgNVBAMMA2ppbTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABN4Kp4sjIcfF9UsYF8om5upbUybIimKJF8yv
3bnsBoYhv+PfxAHzQQ5LMPkLpXLhR6fKToWDfZG1HZ3LFTZDQMejLDAqMAkGA1Ud
EwQCMAAwHQYDVR0OBBYEFID9TLbOU8vs/cn6Z9KrbH5DN1CzMAoGCCqGSM49BAMC
A0cAMEQCIE/cDpJxp9maHOhd7SJZdkZS/AVF5k/CeouycIMZ2sCzAiBitmLt5Ccv
Mu/QY0Q5RomNcCRfdu17eNyYLrNd9hS0Gg==
-----END CERTIFICATE-----
""",
    1769860800,
)
LONG, LONG_END = (  # version 1, until Dec 31 23:59:59 2049 GMT
    b"""\
-----BEGIN CERTIFICATE-----
MIIBAjCBqgIBAzAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANqaW0wHhcNMjUwMTAx
MDAwMDAwWhcNNDkxMjMxMjM1OTU5WjAOMQwwCgYDVQQDDANqaW0wWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAATeCqeLIyHHxfVLGBfKJubqW1MmyIpiiRfMr9257AaG
Ib/j38QB80EOSzD5C6Vy4Uenyk6Fg32RtR2dyxU2Q0DHMAoGCCqGSM49BAMCA0cA
MEQCIGM45vXi14WwptlU4YcOkSl8Fuyr3S45e/JW2JZWKjgfAiBrKV95uLdUnAVB
S87lxCJdwy+Wml4sbjiD04im/h6y+g==
-----END CERTIFICATE-----
""",
    2524607999,
)
LONGER, LONGER_END = (  # until Jan  1 00:00:00 2055 GMT, written with four digits
    b"""\
-----BEGIN CERTIFICATE-----
MIIBBTCBrAIBBDAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANqaW0wIBcNMjUwMTAx
MDAwMDAwWhgPMjA1NTAxMDEwMDAwMDBaMA4xDDAKBgNVBAMMA2ppbTBZMBMGByqG
SM49AgEGCCqGSM49AwEHA0IABN4Kp4sjIcfF9UsYF8om5upbUybIimKJF8yv3bns
BoYhv+PfxAHzQQ5LMPkLpXLhR6fKToWDfZG1HZ3LFTZDQMcwCgYIKoZIzj0EAwID
SAAwRQIgSuMI1N0qt3YWM988LaU2gwaIrJhLx2RFf+BGHIB+iyMCIQD53cm27TZ1
th/wXUG7GrQQkqEaGjfqc64lROoyvIjThA==
-----END CERTIFICATE-----
""",
    2682374400,
)
NOW = 1772539200.0  # 2026-03-03T12:00:00Z


def token(**claims: object) -> bytes:
    parts = (base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in ({"alg": "none"}, claims))
    return b".".join([*parts, b"signature"]) + b"\n"


@pytest.mark.parametrize(
    ("kind", "content", "end"),
    [
        ("proxy", OLD, OLD_END),
        ("proxy", LONG, LONG_END),
        ("proxy", LONGER, LONGER_END),
        ("proxy", LONGER + b"-----BEGIN PRIVATE KEY-----\nx\n" + OLD + LONG, OLD_END),
        ("token", token(exp=1772539201), 1772539201),
        ("token", token(sub="me"), None),
        ("token", token(exp=-1e300), 0.0),
        ("token", token(exp=float("-inf")), 0.0),
        ("token", token(exp=float("nan")), 0.0),
        ("token", token(exp=1e300), 253_402_300_799),
        ("token", token(exp=10**400), None),
        ("token", token(exp="never"), None),
        ("token", b"x." + base64.urlsafe_b64encode(b"[" * 90_000), None),
        ("token", b"opaque", None),
        ("token", b"a.b.c", None),
        ("token", b"..", None),
    ],
)
def test_a_credential_says_when_it_expires(kind: str, content: bytes, end: int | None) -> None:
    assert credentials.ends(kind, content) == end
    if end is not None:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", credentials.shown_time(end))


@pytest.mark.parametrize("content", [b"no certificate", LONG[:80] + LONG[300:], LONG.replace(b"MII", b"AAA")])
def test_what_is_no_proxy(content: bytes) -> None:
    with pytest.raises(BadRequest, match="proxy: "):
        credentials.ends("proxy", content)


@pytest.mark.parametrize("at", range(0, 240, 7))
def test_a_spoilt_certificate_never_does_more_than_be_refused(at: int) -> None:
    der = bytearray(base64.b64decode(b"".join(OLD.split(b"\n")[1:-2])))
    der[at] ^= 0xFF
    spoilt = b"-----BEGIN CERTIFICATE-----" + base64.b64encode(bytes(der)) + b"-----END CERTIFICATE-----"
    try:
        assert isinstance(credentials.ends("proxy", spoilt), float)
    except BadRequest as error:
        said = str(error)
    else:
        said = "proxy: a certificate in it is unreadable: "  # it was no matter
    assert said.startswith("proxy: a certificate in it is unreadable: ")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "now", lambda: NOW)


def refused(tmp_path: Path, **files: str) -> str:
    """Hand in a request that names these, and give what is said."""
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"job_type": "executable", "executable": "/bin/true", **files}))
    with pytest.raises(BadRequest) as caught:
        prepare(file, Site(state=tmp_path / "state"))
    return str(caught.value).removeprefix(f"{file}: line 1, column 55: ")


@pytest.mark.usefixtures("now")
def test_what_is_refused_at_the_door(tmp_path: Path) -> None:
    proxy = tmp_path / "x509up_u1000"
    assert (
        refused(tmp_path, proxy=str(proxy)) == f"proxy: cannot read the X.509 proxy {proxy}: No such file or directory"
    )
    proxy.write_bytes(OLD)
    assert refused(tmp_path, proxy=str(proxy)) == (
        f"proxy: the X.509 proxy {proxy} expired at 2026-01-31T12:00:00Z; renew it and try again"
    )
    proxy.write_bytes(token(exp=NOW))
    assert refused(tmp_path, token=str(proxy)) == (
        f"token: the token {proxy} expired at 2026-03-03T12:00:00Z; renew it and try again"
    )
    proxy.write_bytes(b"")
    assert refused(tmp_path, token=str(proxy)) == f"token: {proxy} is empty"
    assert "not a regular file" in refused(tmp_path, proxy="/dev/null")
    assert refused(tmp_path, proxy="x509up").startswith("proxy: 'x509up' is not possible")


def notes(world: World, grid: int) -> list[tuple[str, str]]:
    return [(line.now, line.reason) for line in world.store.journal(grid) if line.now.startswith("proxy")]


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


def test_copies_of_killed_wrappers_go_in_the_end_also_of_one_that_was_taken_out_of_the_request(tmp_path: Path) -> None:
    for name in ("s1", "s2"):
        (tmp_path / name).mkdir()
    for name in ("proxy", ".token.77", "s1/proxy.3", "s2/.proxy.1.5c", "s2/token.2"):
        (tmp_path / name).write_text("secret")
    (tmp_path / "s1/jobs").write_text("* proxy.3\n")
    credentials.take_back(tmp_path, {})
    assert not (tmp_path / "proxy").exists()
    credentials.remove(tmp_path)
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")) == ["s1", "s1/jobs", "s2"]


def test_a_gatekeepers_proxy_is_the_one_that_it_renews() -> None:
    description = {
        "uniqid": ["1.2"],
        "executable": ["/bin/true"],
        "directory": ["/home/griduser/d"],
        "environment": [["X509_USER_PROXY", "/home/griduser/.globus/job/h/1.2/x509_user_proxy"], ["A", "b"]],
    }
    found = attributes_of(description)
    assert found["environment"] == {"A": "b"}
    assert found["proxy"] == "/home/griduser/.globus/job/h/1.2/x509_user_proxy"
