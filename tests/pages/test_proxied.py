"""The pages on a Unix socket, behind a web server that names its users."""

from __future__ import annotations

import http.client
import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jim import cli
from jim.errors import BadSite
from jim.pages.serving import Serving, serve_at
from jim.site.settings import Pages as Settings
from tests.pages.browser import Person
from tests.pages.grounds import Ground

HOST = "jim.example.org"
SETTINGS = Settings(hosts=(HOST,), see=("@physics", "carol"), look=("alice", "@ops"))


class Asking(http.client.HTTPConnection):
    """A connection to a Unix socket, as a web server makes it."""

    def __init__(self, path: Path) -> None:
        super().__init__(HOST, timeout=20)
        self.path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)

    def status(self, where: str, **headers: str) -> int:
        """Ask; double underscores of names stand for hyphens."""
        self.request("GET", where, headers={name.replace("__", "-"): value for name, value in headers.items()})
        answer = self.getresponse()
        self.content, self.headers = answer.read().decode(), answer.headers
        return answer.status


@pytest.fixture
def served(ground: Ground, tmp_path: Path) -> Iterator[Serving]:
    ground.add(1, 3, 60, arguments=["s3cr3t"])
    made = serve_at(ground.site._replace(pages=SETTINGS), tmp_path / "pages.socket")
    thread = threading.Thread(target=made.server.run)
    thread.start()
    yield made

    def end() -> None:
        for each in list(made.server._map.values()):
            each.close()

    made.server.trigger.pull_trigger(end)
    thread.join(10)
    made.server.task_dispatcher.shutdown(timeout=5)
    assert not thread.is_alive()


@pytest.fixture
def asking(served: Serving, tmp_path: Path) -> Iterator[Asking]:
    made = Asking(tmp_path / "pages.socket")
    yield made
    made.close()


def test_88_groups_and_users_have_the_roles_of_the_site_file(asking: Asking) -> None:
    for user, groups, status, sees in (
        ("alice", "", 200, True),
        ("bob", "physics, ops", 200, True),
        ("carol", "", 200, False),
        ("dave", "other,physics", 200, False),
        ("eve", "phys", 403, False),
        ("@ops", "", 200, True),  # a web server names no such user
    ):
        assert asking.status("/jobs/1", X__Remote__User=user, X__Remote__Groups=groups) == status, user
        assert ("s3cr3t" in asking.content) == sees, user
    assert asking.status("/site", X__Remote__User="carol") == 404
    assert asking.status("/site", X__Remote__User="alice") == 200


def test_37_without_a_user_or_with_two_nobody_is_let_in(asking: Asking) -> None:
    assert asking.status("/jobs") == 401
    assert "named no user in X-Remote-User" in asking.content
    assert asking.status("/jobs", X__Remote__User="alice, bob") == 401
    asking.putrequest("GET", "/jobs")
    for user in ("carol", "alice"):
        asking.putheader("X-Remote-User", user)
    asking.endheaders()
    answer = asking.getresponse()
    answer.read()
    assert answer.status == 401
    assert asking.status("/healthz") == 200


def test_37_over_tcp_the_headers_say_nothing(ground: Ground) -> None:
    person = Person(ground, logged_in=False)
    assert person.get("/jobs", X_Remote_User="alice", X_Remote_Groups="ops").status_code == 401


def test_43_only_the_hosts_of_the_site_file_are_answered(asking: Asking) -> None:
    for host, status in ((HOST, 200), (f"{HOST}:8443", 200), ("localhost", 421), ("evil.example", 421), ("", 421)):
        assert asking.status("/jobs", X__Remote__User="alice", Host=host) == status, host


def test_89_users_behind_one_socket_have_limits_of_their_own(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
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
