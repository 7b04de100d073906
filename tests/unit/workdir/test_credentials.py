"""Proxies and tokens: when they end, what is refused at the door, and that nothing of them stays."""

from __future__ import annotations

import base64
import json
import re
import time
from pathlib import Path

import pytest

from jim.doors.gram.request import attributes_of
from jim.doors.intake import prepare
from jim.errors import BadRequest
from jim.site.file import Site
from jim.workdir import credentials, senders
from tests.support.certificates import LONG, LONG_END, LONGER, LONGER_END, OLD, OLD_END

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


def test_no_link_of_a_payload_lets_the_keeper_make_a_file_elsewhere(tmp_path):
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid/token").write_bytes(b"abc\n")
    (tmp_path / "grid/.token.was").symlink_to(tmp_path / "made")
    credentials.take_back(tmp_path / "grid", {})
    assert not (tmp_path / "made").exists()
    assert (tmp_path / "grid/.token.was").is_file()


@pytest.mark.parametrize("link", ["grid", "grid/s1"])
def test_behind_a_link_of_a_payload_no_credential_is_removed(tmp_path, link):
    home = tmp_path / "home"
    home.mkdir()
    (home / "proxy.pem").write_bytes(OLD)
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(home)
    if link == "grid/s1":
        (tmp_path / "grid/proxy").write_bytes(OLD)
        credentials.remove(tmp_path / "grid")
        assert not (tmp_path / "grid/proxy").exists()
    else:
        with pytest.raises(NotADirectoryError):
            credentials.remove(tmp_path / "grid")
    assert (home / "proxy.pem").exists()


def test_a_proxy_with_many_begins_of_certificates_is_read_at_once() -> None:
    """Whoever reads it holds up its whole process, and a keeper does so every ten seconds."""
    longest = OLD + b"-----BEGIN CERTIFICATE-----" * ((credentials.LONGEST - len(OLD)) // 27)
    began = time.process_time()
    assert credentials.ends("proxy", longest) == OLD_END
    assert senders.claims(longest) == senders.claims(OLD)
    assert time.process_time() - began < 1


def test_a_certificate_is_what_stands_between_its_begin_and_its_end() -> None:
    begin, end = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
    content = end + begin + b"cut short" + begin + b"one" + end + b"two" + end + begin + end + begin + b"three" + end
    assert [*credentials.certificates(content)] == [b"one", b"three"]
