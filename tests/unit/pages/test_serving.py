"""The pages over a real connection, by waitress."""

from __future__ import annotations

import http.client
import os
import resource
import select
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from jim.model import Step
from jim.pages import serving as server
from jim.pages.serving import Serving, serve
from tests.unit.pages.grounds import Ground, end_server


class Reader:
    """A client that keeps its connection and its cookie."""

    def __init__(self, serving: Serving) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=20)
        self.cookie = ""

    def get(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        self.connection.request(method, path, headers={"Cookie": self.cookie, **headers})
        answer = self.connection.getresponse()
        answer.content = answer.read()  # type: ignore[attr-defined]
        if set_ := answer.headers["Set-Cookie"]:
            self.cookie = set_.partition(";")[0]
        return answer


@pytest.fixture
def served(ground: Ground) -> Iterator[Serving]:
    made = serve(ground.site)
    thread = threading.Thread(target=made.server.run)
    thread.start()
    yield made
    end_server(made, thread)


@pytest.fixture
def reader(served: Serving) -> Iterator[Reader]:
    made = Reader(served)
    assert made.get(f"/?token={served.access.token}").status == 303
    yield made
    made.connection.close()


def test_a_person_is_let_in_by_the_token_and_reads(ground: Ground, served: Serving, reader: Reader) -> None:
    ground.add(1, 3, 60)
    answer = reader.get("/jobs/1")
    assert answer.status == 200
    assert b"Grid job 1" in answer.content  # type: ignore[attr-defined]
    assert answer.headers["Server"] == "jim"
    assert reader.get("/jobs/1", If_None_Match="x").status == 200
    assert reader.get("/jobs/1", **{"If-None-Match": answer.headers["ETag"]}).status == 304
    assert reader.get("/jobs/1", "POST").status == 405
    stranger = Reader(served)
    assert stranger.get("/jobs/1").status == 401
    assert stranger.get(f"/?token={served.access.token}").status == 401
    assert stranger.get("/healthz").content == b"ok\n"  # type: ignore[attr-defined]
    stranger.connection.close()
    assert reader.get("/jobs/1", "HEAD").content == b""  # type: ignore[attr-defined]


def test_another_uid_is_refused_on_a_real_connection(served: Serving, reader: Reader) -> None:
    assert reader.get("/jobs").status == 200
    served.access.uid = os.getuid() + 1
    assert reader.get("/jobs").status == 403


def test_the_kernel_is_asked_once_for_a_connection_and_anew_for_the_next(served: Serving, reader: Reader) -> None:
    asked, ask = [], served.access.peer
    served.access.peer = lambda *ends: asked.append(ends) or ask(*ends)  # type: ignore[func-returns-value]
    assert [reader.get("/jobs").status for _ in range(3)] == [200] * 3
    assert asked == [], "it was asked when the person was let in"
    other = Reader(served)
    assert [other.get("/jobs").status for _ in range(3)] == [401] * 3
    assert len(asked) == 1
    other.connection.close()


def _is_closed(port: int) -> bool:
    """Tell whether a new connection is closed, before anything was sent."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_connection_of_another_account_is_closed_at_once(served: Serving, reader: Reader) -> None:
    """It could otherwise take the places and threads of the pages."""
    own, ask = os.getuid(), served.access.peer
    for owner in (own + 1, None):
        served.access.peer = lambda *_, owner=owner: owner
        assert _is_closed(served.port)
        assert reader.get("/jobs").status == 200
    served.access.peer = ask
    assert len(served.server.active_channels) == 1


def test_the_account_itself_has_a_bounded_number_of_connections(
    served: Serving, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_OWN", 4)
    idle = [Reader(served) for _ in range(3)]
    assert [each.get("/healthz").status for each in idle] == [200] * 3
    assert reader.get("/jobs").status == 200
    late = Reader(served)
    assert late.get("/healthz").status == 200, "the connection that was idle longest has made room"
    assert idle[0].connection.sock.recv(1) == b""
    assert reader.get("/jobs").status == 200
    for each in served.server.active_channels.values():
        each.requests.append(None)  # all are at work
    try:
        assert _is_closed(served.port)
    finally:
        for each in served.server.active_channels.values():
            each.requests.clear()
    for each in (*idle, late):
        each.connection.close()


def test_a_poll_without_news_keeps_its_connection(ground: Ground, served: Serving, reader: Reader) -> None:
    ground.add(1, 3, 60)
    tag = reader.get("/jobs/1").headers["ETag"]
    asked: list[object] = []
    served.access.peer = lambda *ends: asked.append(ends)  # type: ignore[func-returns-value]
    for _ in range(3):
        answer = reader.get("/jobs/1", **{"If-None-Match": tag})
        assert (answer.status, answer.headers["Connection"]) == (304, None)
    assert asked == [], "a new connection would have been looked at"
    answer = reader.get("/jobs/1", **{"If-None-Match": tag, "Connection": "close"})
    assert (answer.status, answer.headers["Connection"]) == (304, "close"), "who asks for that gets it"


def test_more_than_1024_open_descriptors_are_no_fault(ground: Ground, served: Serving, reader: Reader) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        assert max(opened) > 1024
        late = Reader(served)  # both of its ends have higher numbers
        late.cookie = reader.cookie
        assert [late.get("/jobs").status for _ in range(3)] == [200] * 3
        assert late.connection.sock.fileno() > 1024
        late.connection.close()
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert reader.get("/jobs").status == 200


def test_a_restart_on_the_same_port_logs_nobody_out_and_two_do_not_disturb(ground: Ground, reader: Reader) -> None:
    other = serve(ground.site)
    try:
        assert other.access.cookie != reader.cookie.partition("=")[0]
        assert other.access.session(reader.cookie.partition("=")[2]) == "", "it is for another port"
    finally:
        other.close()


def test_a_large_file_is_sent_by_and_by(ground: Ground, reader: Reader) -> None:
    ground.add(1, 1, 60)
    content = os.urandom(3_000_000)
    ground.collect(1, {"1.0/z": content})
    ground.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    whole = reader.get("/jobs/1/result/tar")
    assert whole.content[512:3_000_512] == content  # type: ignore[attr-defined]
    part = reader.get("/jobs/1/result/tar", Range="bytes=512-3000511")
    assert (part.status, part.content) == (206, content)  # type: ignore[attr-defined]
    document = reader.get("/jobs/1.xml")
    assert document.content.startswith(b"<?xml")  # type: ignore[attr-defined]
    assert reader.get("/jobs").status == 200, "the connection goes on"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", b"431"),
        (b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000, b"413"),
        (b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", b"4"),
        (b"GET http://evil.example/jobs HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421"),
        (b"nonsense\r\n\r\n", b"40"),
        (b"GET /jobs HTTP/1.1\r\n\r\n", b"421"),
    ],
)
def test_odd_requests_get_an_error(served: Serving, sent: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(sent)
        answer = connection.recv(4096)
    assert answer.split(b" ")[1].startswith(status), answer[:200]


def test_a_request_that_does_not_come_in_time_is_closed(
    served: Serving, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SEND_SECONDS", 0.3)
    with (
        socket.create_connection(("127.0.0.1", served.port), timeout=20) as silent,
        socket.create_connection(("127.0.0.1", served.port), timeout=20) as slow,
        socket.create_connection(("127.0.0.1", served.port), timeout=20) as body,
    ):
        slow.sendall(b"GET /jobs HTTP/1.1\r\nHost:")
        body.sendall(b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
        closed = select.poll()  # `select` takes no descriptor above 1,023
        closed.register(body, select.POLLIN)
        began = time.monotonic()
        while time.monotonic() - began < 10:  # byte by byte, as long as somebody listens
            try:
                body.sendall(b"x")
            except OSError:
                break
            if closed.poll(50):
                break
        assert silent.recv(100) == b""
        assert slow.recv(100) == b""
        assert time.monotonic() - began < 10
    assert reader.get("/jobs").status == 200, "a connection that has asked in time is kept"


def test_all_threads_share_one_arena_where_the_c_library_has_arenas(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr("ctypes.CDLL", lambda _: SimpleNamespace(mallopt=lambda *words: told.append(words)))
    server.share_memory()
    assert told == [(-8, 1)]
    monkeypatch.setattr("ctypes.CDLL", lambda _: SimpleNamespace())
    server.share_memory()
