"""Who may look: one person of one account, by a token that works once; what everybody else gets."""

from __future__ import annotations

import logging
import re

import pytest

from jim.cli import pages as cli_pages
from jim.pages.access import BURST, Access, Large, Rates, key_of
from jim.pages.app import SECURITY
from jim.pages.serving import serve
from tests.unit.pages.browser import PEER, PORT, Page, Person, addresses
from tests.unit.pages.grounds import Ground, ended


def test_without_a_session_nothing_is_shown(ground: Ground) -> None:
    stranger = Person(ground, logged_in=False)
    paths = addresses(stranger)
    assert {"/", "/jobs", "/jobs/1.json", "/jobs/1/0/log/stdout", "/jobs/1/result/tar", "/healthz"} <= set(paths)
    for path in (*paths, "/nothing", "/jobs/1.pdf"):
        answer = stranger.get(path)
        if path == "/healthz":
            assert (answer.status_code, answer.text) == (200, "ok\n")
        elif path.startswith("/static/"):
            assert answer.status_code == 404, "of files, there are only those of the style"
        else:
            assert answer.status_code == 401, path
            assert "jim pages" in answer.text
            assert {name: answer.headers[name] for name in SECURITY} == SECURITY, path


def test_a_refusal_has_the_style_of_the_site_and_no_menu(ground: Ground) -> None:
    stranger = Person(ground, logged_in=False)
    for path, status in (("/jobs", 401), ("/nothing", 401), ("/jobs%0d", 400)):
        answer = stranger.get(path)
        page = Page(answer.text)
        assert answer.status_code == status
        (style,) = page.all("link", rel="stylesheet")
        assert stranger.get(style["href"]).status_code == 200, "whoever is refused may have the style"
        assert (page.all("nav"), page.all("script")) == ([], [])
    answer = stranger.get("/jobs", Host="evil.example")
    assert (answer.status_code, "stylesheet" in answer.text) == (421, False), "its style would be refused, too"


def test_another_account_of_the_host_is_refused_whatever_it_has(ground: Ground) -> None:
    person = Person(ground)
    assert person.get("/jobs").status_code == 200
    person.access.peer = lambda *_: 1001
    for path in ("/jobs", "/jobs?token=f00d", "/healthz"):
        assert person.get(path).status_code == 403, path
    person.access.peer = lambda *_: None
    assert person.get("/jobs").status_code == 403


def test_a_host_that_is_not_this_machine_is_refused(person: Person) -> None:
    for host in ("localhost", "127.0.0.1", "127.0.0.2:80", "[::1]:9000", "LOCALHOST:8123"):
        assert person.get("/jobs", Host=host).status_code in (200, 401), host  # a cookie belongs to a name
    for host in (
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8123",
        "10.0.0.1",
        "",
        "a@localhost",
    ):
        assert person.get("/jobs", Host=host).status_code == 421, host


def test_what_proxies_say_counts_for_nothing(ground: Ground) -> None:
    stranger = Person(ground, logged_in=False)
    forged = {"X_Remote_User": "root", "X_Forwarded_For": "127.0.0.1", "X_Forwarded_Host": "localhost"}
    assert stranger.get("/jobs", **forged).status_code == 401


def test_the_token_works_once_and_leaves_the_address(ground: Ground) -> None:
    person = Person(ground, logged_in=False)
    answer = person.get("/jobs?failed=yes&token=f00d")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/jobs?failed=yes")
    cookie = answer.headers["Set-Cookie"]
    assert re.match(rf"jim-{PORT}=[0-9a-f]{{32}}\.\d+\.[0-9a-f]{{64}};", cookie)
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {each.strip() for each in cookie.split(";")}
    assert person.get("/jobs").status_code == 200
    assert person.get("/jobs?token=f00d").status_code == 303, "whoever is in already is led to the page"
    other = Person(ground, logged_in=False)
    other.access._used = True
    answer = other.get("/jobs?token=f00d")
    assert answer.status_code == 401
    assert "was used before" in answer.text


@pytest.mark.parametrize("token", ["", "f00", "F00D", "\u0661", "x" * 4000])
def test_another_token_is_none(ground: Ground, token: str) -> None:
    stranger = Person(ground, logged_in=False)
    assert stranger.get(f"/jobs?token={token}").status_code == 401
    assert stranger.get("/jobs?token=f00d").status_code == 303, "and it does not use up the right one"


@pytest.mark.parametrize(
    ("path", "led_to"),
    [
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/%5Cevil.example", "/"),
        ("/%2Fevil.example/x", "/evil.example/x"),  # of the own host
        ("/jobs/a%20b%3Fc%23d%25", "/jobs/a%20b%3Fc%23d%25"),
        ("/jobs/1/0/output/stra%C3%9Fe", "/jobs/1/0/output/stra%C3%9Fe"),
    ],
)
def test_a_token_leads_to_the_quoted_path_and_nowhere_else(ground: Ground, path: str, led_to: str) -> None:
    answer = Person(ground, logged_in=False).get(f"{path}?token=f00d")
    assert (answer.status_code, answer.headers["Location"]) == (303, led_to)


@pytest.mark.parametrize("character", ["%00", "%09", "%0a", "%0d", "%0d%0aSet-Cookie:%20a=b", "%1b", "%7f", "%C2%85"])
@pytest.mark.parametrize("path", ["/{}/evil.example/x", "/jobs{}", "/jobs/1/0/output/{}"])
def test_an_address_with_control_characters_is_refused(ground: Ground, path: str, character: str) -> None:
    """Browsers leave a tab out: `/%09/evil.example` would lead to another site."""
    stranger = Person(ground, logged_in=False)
    for query in ("", "?token=f00d"):
        answer = stranger.get(path.format(character) + query)
        assert (answer.status_code, answer.headers.get("Location")) == (400, None)
    assert stranger.get("/jobs?token=f00d").status_code == 303, "and the token is not used up"


def test_what_is_refused_counts_for_the_limit_of_requests(ground: Ground) -> None:
    stranger = Person(ground, logged_in=False)
    stranger.pages.rates = Rates(lambda: 0.0)
    stranger.access.peer = lambda *_: 1001
    assert [stranger.get("/jobs").status_code for _ in range(62)] == [403] * int(BURST) + [429] * 2


def test_a_cookie_is_signed_for_its_port_and_ends() -> None:
    now = [1_000_000.0]
    access = Access(b"key", 1, clock=lambda: now[0], token="t")
    cookie = access.begin("t")
    session = access.session(cookie)
    assert len(session) == 32
    for other in (Access(b"key", 2, clock=lambda: now[0]), Access(b"yek", 1, clock=lambda: now[0])):
        assert other.session(cookie) == ""
    name, end, mac = cookie.split(".")
    for forged in (f"{name}.{int(end) + 1}.{mac}", f"0{name[1:]}x.{end}.{mac}", f"{name}.{end}", "", "..", "é.1.é"):
        assert access.session(forged) == "", forged
    assert Access(b"key", 1, clock=lambda: now[0]).session(cookie) == session, "a restart logs nobody out"
    now[0] += 31 * 86_400
    assert access.session(cookie) == ""


def test_the_key_is_made_once_and_only_its_owner_reads_it(ground: Ground) -> None:
    key = key_of(ground.site.state)
    assert key_of(ground.site.state) == key
    assert len(key) == 64
    assert (ground.site.state / "pages.key").stat().st_mode & 0o777 == 0o600


def test_nothing_but_reading_is_served(person: Person) -> None:
    for method in ("post", "put", "delete", "patch", "options"):
        answer = getattr(person.client, method)("/jobs", headers={"Host": f"127.0.0.1:{PORT}"}, environ_overrides=PEER)
        assert answer.status_code == 405, method
        assert answer.headers["Allow"] == "GET, HEAD"


def test_a_page_of_another_site_reads_nothing(ground: Ground, person: Person) -> None:
    ground.add(1, 3, 60)
    for path in ("/", "/jobs", "/jobs/1", "/jobs/1.json", "/jobs/1.csv", "/jobs/1.xml", "/metrics", "/healthz"):
        rebound = person.get(path, Host=f"evil.example:{PORT}", Origin=f"http://evil.example:{PORT}")
        assert (rebound.status_code, "Grid job" in rebound.text) == (421, False), path
        other = person.get(path, Origin="http://evil.example", Sec_Fetch_Site="cross-site")
        assert "Access-Control-Allow-Origin" not in other.headers, path
        assert other.headers["Cross-Origin-Resource-Policy"] == "same-origin", path
    asked = {"Host": f"127.0.0.1:{PORT}", "Origin": "http://evil.example", "Access-Control-Request-Method": "GET"}
    assert person.client.options("/jobs", headers=asked, environ_overrides=PEER).status_code == 405
    cookie = person.client.get_cookie(person.access.cookie, domain="127.0.0.1")
    assert cookie is not None
    assert (cookie.same_site, cookie.http_only) == ("Strict", True)


def test_who_asks_too_often_waits_and_others_do_not() -> None:
    now = [0.0]
    rates = Rates(lambda: now[0])
    assert [rates.take("a") for _ in range(62)] == [True] * int(BURST) + [False] * 2
    assert rates.take("b")
    now[0] = 0.1  # two more by then
    assert [rates.take("a") for _ in range(3)] == [True, True, False]


def test_the_answer_says_when_to_come_again(person: Person) -> None:
    person.pages.rates.take = lambda _: False  # type: ignore[method-assign]
    answer = person.get("/jobs")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")


def test_few_large_documents_are_made_at_once() -> None:
    large = Large()
    assert [large.begin(client) for client in "aaabbc"] == [True, True, False, True, True, False]
    large.end("a")
    assert large.begin("c")


def test_a_large_document_is_refused_while_others_are_made(ground: Ground, person: Person) -> None:
    ended(ground, 1, 1, 60)
    person.pages.large.begin = lambda _: False  # type: ignore[method-assign]
    assert person.get("/jobs/1.xml").status_code == 429
    assert person.get("/jobs/1").status_code == 200


@pytest.mark.parametrize(
    ("full", "told"),
    [("wn1.example.org", "wn1.example.org"), ("localhost", "wn1"), ("localhost.localdomain", "wn1"), ("", "wn1")],
)
def test_the_ssh_command_names_no_localhost(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, full: str, told: str
) -> None:
    monkeypatch.setattr("socket.getfqdn", lambda: full)
    monkeypatch.setattr("socket.gethostname", lambda: "wn1")
    serving = serve(ground.site)
    try:
        assert serving.tunnel.endswith(f"@{told}")
    finally:
        serving.close()


def test_a_listener_is_on_loopback_and_says_how_to_reach_it(ground: Ground) -> None:
    serving = serve(ground.site)
    try:
        assert serving.server.socket.getsockname() == ("127.0.0.1", serving.port)
        assert serving.url == f"http://127.0.0.1:{serving.port}/?token={serving.access.token}"
        assert len(serving.access.token) == 32
        assert f"ssh -L {serving.port}:127.0.0.1:{serving.port} " in serving.tunnel
    finally:
        serving.close()


@pytest.mark.parametrize(
    "path", ["/jobs/1%0aGET%20/jobs/1/control/cancel/do%20303%201%20ms%20root", "/x%E2%80%AEy", "/x%0d", "/x%1b[2Jy"]
)
def test_nobody_forges_lines_of_the_log(
    ground: Ground, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    person = Person(ground)
    monkeypatch.setattr(logging, "basicConfig", lambda **given: lines.extend(given["handlers"]))
    lines = list[logging.Handler]()
    cli_pages._log(whole=True)
    (handler,) = lines
    with caplog.at_level(logging.INFO):
        for method in ("GET", "GET\nforged"):
            person.client.open(path, method=method)
    assert len(caplog.records) >= 2
    for record in caplog.records:
        assert handler.format(record).isprintable()
