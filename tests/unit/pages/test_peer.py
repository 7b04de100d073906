"""Whose the other end of a connection is."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from jim.pages import peer
from jim.pages.peer import uid_in, uid_of_peer

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1FBB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 5501 1 0000 100 0 0 10 0
   1: 0100007F:C350 0100007F:1FBB 01 00000000:00000000 00:00000000 00000000  1001        0 5502 1 0000 20 4 30 10 -1
   2: 0100007F:C351 0100007F:1FBB 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0000
"""
TABLE_6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1FBB 01 00000000:00000000 00:00000000 00000000  1002        0 5503 1
"""  # noqa: E501
OWN = ("127.0.0.1", 0x1FBB)


def test_the_owner_of_a_connection_is_read_from_the_kernel_s_table() -> None:
    assert uid_in(TABLE, ("127.0.0.1", 0xC350), OWN) == 1001
    assert uid_in(TABLE, ("127.0.0.1", 0xC351), OWN) is None, "nobody has that socket any more, and 0 is root"
    assert uid_in(TABLE, ("127.0.0.1", 0xC352), OWN) is None
    assert uid_in(TABLE_6, ("127.0.0.1", 0xC350), OWN) == 1002, "a peer with a socket of IPv6"


@pytest.fixture(params=[True, False], ids=["asked", "in the tables"])
def answers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the kernel answers for a single socket."""
    if not request.param:
        monkeypatch.setattr(peer, "SOCK_DIAG", 31)  # a protocol that no kernel has
    return bool(request.param)


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv4 in IPv6"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection of this account to a server of IPv4."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(request.param) as client:
        port = server.getsockname()[1]
        client.connect(("127.0.0.1", port) if request.param == socket.AF_INET else ("::ffff:127.0.0.1", port))
        with server.accept()[0] as there:
            yield client, there


def test_the_owner_of_a_real_connection_is_found(answers: bool, ends: tuple[socket.socket, socket.socket]) -> None:
    client, there = ends
    theirs, ours = there.getpeername(), there.getsockname()
    assert uid_of_peer(*theirs, *ours) == os.getuid()
    assert (peer._asked(theirs, ours) if answers else peer._in_tables(theirs, ours)) == os.getuid()
    assert uid_of_peer("127.0.0.1", 1, *ours) is None
    client.close()
    assert uid_of_peer(*theirs, *ours) is None, "nobody has that socket any more, and 0 is root"
