"""The pages on a Unix socket, behind a web server that names its users."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from jim import cli
from jim.errors import BadRequest, BadSite
from jim.pages.proxied import Proxied, secret_of
from jim.pages.serving import Serving, serve_at
from jim.pages.tokens import Role
from jim.site.settings import Pages as Settings
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.grounds import Ground, end_server

HOST = "jim.example.org"
SETTINGS = Settings(
    hosts=(HOST,), see=("@physics", "carol"), look=("alice", "@ops"), control=("dan", "@shift"), controls=True
)
SECRET = "0123456789abcdef0123"


class Asking(http.client.HTTPConnection):
    """A connection to a Unix socket, as a web server makes it."""

    def __init__(self, path: Path) -> None:
        super().__init__(HOST, timeout=20)
        self.path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)

    def status(self, where: str, method: str = "GET", body: str | None = None, **headers: str) -> int:
        """Ask; double underscores of names stand for hyphens."""
        self.request(method, where, body, {name.replace("__", "-"): value for name, value in headers.items()})
        answer = self.getresponse()
        self.content, self.headers = answer.read().decode(), answer.headers
        return answer.status


@pytest.fixture
def served(ground: Ground, tmp_path: Path) -> Iterator[Serving]:
    ground.add(1, 3, 60, arguments=["s3cr3t"])
    (tmp_path / "secret").touch(0o600)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    settings = SETTINGS._replace(proxy_secret=str(tmp_path / "secret"))
    made = serve_at(ground.site._replace(pages=settings), tmp_path / "pages.socket")
    (ground.site.state / "answers" / "1").write_bytes(b"accepted")
    thread = threading.Thread(target=made.server.run)
    thread.start()
    yield made
    end_server(made, thread)


@pytest.fixture
def asking(served: Serving, tmp_path: Path) -> Iterator[Asking]:
    made = Asking(tmp_path / "pages.socket")
    yield made
    made.close()


def test_groups_and_users_have_the_roles_of_the_site_file(asking: Asking) -> None:
    for user, groups, status, sees in (
        ("alice", "", 200, True),
        ("bob", "physics, ops", 200, True),
        ("carol", "", 200, False),
        ("dave", "other,physics", 200, False),
        ("eve", "phys", 403, False),
        ("@ops", "", 400, False),  # a group is no user
    ):
        assert asking.status("/jobs/1", X__Remote__User=user, X__Remote__Groups=groups) == status, user
        assert ("s3cr3t" in asking.content) == sees, user
    assert asking.status("/site", X__Remote__User="carol") == 404
    assert asking.status("/site", X__Remote__User="alice") == 200


def test_whoever_has_no_role_gets_a_refusal_in_the_style_of_the_site(asking: Asking) -> None:
    assert asking.status("/jobs/1", X__Remote__User="eve") == 403
    style = re.search(r'href="(/static/jim\.\w+\.css)"', asking.content)
    assert style
    assert "<nav" not in asking.content
    assert asking.status(style[1], X__Remote__User="eve") == 200


@pytest.mark.parametrize("user", ["@shift", "@physics", "*", "@", " @shift ", "dan\x7f"])
def test_a_user_has_no_role_of_a_group_by_its_name(user: str) -> None:
    """In the site file, `@shift` is a group, and `*` everybody."""
    settings = SETTINGS._replace(look=("*", "@ops"))
    with pytest.raises(BadRequest, match=r"^X-Remote-User (names no user|must name one user)"):
        Proxied(settings).user({"X-Remote-User": user}.get)  # type: ignore[arg-type]


def test_without_a_user_or_with_two_nobody_is_let_in(asking: Asking) -> None:
    assert asking.status("/jobs") == 401
    assert "named no user in X-Remote-User" in asking.content
    assert asking.status("/jobs", X__Remote__User="alice, bob") == 400
    asking.putrequest("GET", "/jobs")
    for user in ("carol", "alice"):
        asking.putheader("X-Remote-User", user)
    asking.endheaders()
    answer = asking.getresponse()
    answer.read()
    assert answer.status == 400
    assert asking.status("/healthz") == 200


def test_over_tcp_the_headers_say_nothing(ground: Ground) -> None:
    person = Person(ground, logged_in=False)
    assert person.get("/jobs", X_Remote_User="alice", X_Remote_Groups="ops").status_code == 401


@pytest.mark.parametrize("name", ["X-Remote-User", "X-Remote-Groups", "X-JIM-Proxy-Secret", "X-Forwarded-Prefix"])
def test_a_header_that_decides_and_comes_twice_is_refused(asking: Asking, name: str) -> None:
    asking.putrequest("GET", "/jobs")
    for header in ("X-Remote-User", name, name.lower()):
        asking.putheader(header, "alice")
    asking.endheaders()
    answer = asking.getresponse()
    assert (answer.status, b"more than one header" in answer.read()) == (400, True)


CANCEL = "/jobs/1/control/cancel"


def test_without_the_secret_nobody_controls(asking: Asking, ground: Ground) -> None:
    for user, groups, secret, status in (
        ("dan", "", SECRET, 200),
        ("eve", "shift", SECRET, 200),
        ("dan", "", "", 404),
        ("dan", "", SECRET[:-1], 404),
        ("dan", "", "\xe9", 404),
        ("alice", "ops", SECRET, 404),
    ):
        headers = {"X__Remote__User": user, "X__Remote__Groups": groups, "X__JIM__Proxy__Secret": secret}
        assert asking.status(CANCEL, **headers) == status, (user, secret)
        assert asking.status("/jobs/1", **headers) == 200, "whoever controls may look"
        assert ("s3cr3t" in asking.content, CANCEL in asking.content) == (True, status == 200)


def form(asking: Asking, **headers: str) -> str:
    """Open the page and give its form."""
    assert asking.status(CANCEL, **headers) == 200
    page = Page(asking.content[asking.content.index('<form method="post"') :])
    return urlencode({each["name"]: each["value"] for each in page.all("input", type="hidden")})


def test_a_user_s_form_is_for_this_user_and_for_the_origin_that_the_web_server_names(
    asking: Asking, ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    dan = {"X__Remote__User": "dan", "X__JIM__Proxy__Secret": SECRET}
    typed = {"Content__Type": "application/x-www-form-urlencoded"}
    sent = form(asking, **dan)
    for headers, status in (
        ({**dan, "X__Remote__User": "eve", "X__Remote__Groups": "shift", "Origin": f"https://{HOST}"}, 403),
        ({**dan, "Origin": f"http://{HOST}"}, 403),
        ({**dan, "Origin": "https://evil.example"}, 403),
        ({**dan, "Origin": f"https://{HOST}", "X__JIM__Proxy__Secret": "x"}, 404),
        ({**dan, "Origin": f"http://{HOST}", "X__Forwarded__Proto": "http"}, 303),
        ({**dan, "Origin": f"https://{HOST}"}, 303),
    ):
        assert asking.status(f"{CANCEL}/do", "POST", sent, **typed, **headers) == status, headers
    left = [json.loads(path.read_text()) for path in (ground.site.state / "inbox").glob("wish-*")]
    assert [each["by"] for each in left] == ["dan, by the pages"] * 2
    assert "cancel of 1 requested by dan: ends 3 local jobs: 3 wait" in caplog.text
    assert f"POST {CANCEL}/do 404" in caplog.text
    assert f"dan through uid {os.getuid()}" in caplog.text


def test_pages_below_a_path_of_the_web_server_link_below_this_path(asking: Asking) -> None:
    alice = {"X__Remote__User": "alice", "X__Forwarded__Prefix": "/jim/alice/"}
    for path in ("/", "/jobs", "/jobs?q=wn1", "/jobs/1", "/jobs/1/0", "/hosts", "/site", "/schema", "/nothing"):
        asking.status(path, **alice)
        page = Page(asking.content)
        found = [each.get("href") or each.get("action") for tag in ("a", "link", "form") for each in page.all(tag)]
        absolute = [each for each in found if each and each.startswith("/")]
        assert len(absolute) > 2
        assert [each for each in absolute if not each.startswith("/jim/alice/")] == [], path
    assert asking.status("/jobs.json?limit=1", **alice) == 200
    for evil in ("//evil.example", "https://evil.example", '/"><script>', "/a/../..//b", "/a b"):
        assert asking.status("/jobs", X__Remote__User="alice", X__Forwarded__Prefix=evil) == 400, evil


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        ("0123456789abcdef", 0o640, "may be read by others"),
        ("0123456789abcde\n", 0o600, "needs at least 16 characters"),
        (None, 0, "cannot be read: "),
    ],
)
def test_a_secret_that_is_none_is_refused_at_the_start(tmp_path: Path, content, mode, words) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    with pytest.raises(BadSite, match=words):
        secret_of(Settings(proxy_secret=str(path)))
    assert secret_of(Settings()) == b""


def test_the_names_of_the_headers_are_the_site_s(ground: Ground) -> None:
    settings = SETTINGS._replace(user_header="Remote-User", groups_header="Remote-Groups")
    given = {"Remote-User": "bob", "Remote-Groups": "physics", "X-Remote-User": "alice"}
    assert Proxied(settings).user(lambda name: given.get(name, "")) == ("bob", Role.SEE)


def test_only_the_hosts_of_the_site_file_are_answered(asking: Asking) -> None:
    for host, status in ((HOST, 200), (f"{HOST}:8443", 200), ("localhost", 421), ("evil.example", 421), ("", 421)):
        assert asking.status("/jobs", X__Remote__User="alice", Host=host) == status, host


def test_users_behind_one_socket_have_limits_of_their_own(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jim.pages.access.RATE", 0.0)  # a slow machine asks less than the limit
    statuses = [asking.status("/static/none", X__Remote__User="carol") for _ in range(80)]
    assert 429 in statuses
    assert asking.status("/jobs", X__Remote__User="alice") == 200


def test_a_token_works_behind_the_web_server_too(asking: Asking, ground: Ground) -> None:
    person = Person(ground)
    _, secret = person.pages.tokens.made("see", 1)
    assert asking.status("/metrics", Authorization=f"Bearer {secret}") == 200
    assert asking.status("/metrics", Authorization="Bearer nonsense", X__Remote__User="alice") == 401


def test_the_socket_is_for_its_group_and_replaces_an_old_one(served: Serving, ground: Ground, tmp_path: Path) -> None:
    path = tmp_path / "pages.socket"
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    old = socket.socket(socket.AF_UNIX)
    old.bind(str(tmp_path / "old"))
    old.close()
    other = serve_at(ground.site._replace(pages=SETTINGS), tmp_path / "old")
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o660
    other.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="in use"):
        serve_at(ground.site._replace(pages=SETTINGS), tmp_path / "file")
    assert os.path.exists(tmp_path / "file"), "no other file is removed"  # noqa: PTH110


def test_without_the_names_of_the_web_server_nothing_is_served(
    ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadSite):
        serve_at(ground.site, tmp_path / "pages.socket")
    assert cli.main(["pages", "--socket", str(tmp_path / "pages.socket")]) == 3
    assert "[pages] hosts" in capsys.readouterr().err
    (ground.site.state / "site.toml").write_text(f'[pages]\nhosts = ["{HOST}"]\n')
    assert cli.main(["pages", "--socket", "/nowhere/pages.socket"]) == 2
    assert "the socket /nowhere/pages.socket cannot be made: No such file" in capsys.readouterr().err
