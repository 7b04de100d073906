"""Tells which account is at the other end of a connection of this machine."""

from __future__ import annotations

import ipaddress
import socket
import struct
from contextlib import suppress
from pathlib import Path

ORPHAN = 0  # the inode of a socket that no process has open
# What sock_diag(7) calls these.
SOCK_DIAG, BY_FAMILY, REQUEST, ANY_STATE, NO_COOKIE = 4, 20, 1, 0xFFFFFFFF, 0xFFFFFFFF
HEADER, QUESTION, ENDS, ANSWER = "=IHHII", "=BBBBI", "!HH16s16s", "=IIIII"
BEFORE_ANSWER = 16 + 4 + 48  # octets: the header, four small fields, the two ends
Address = tuple[str, int]


def uid_of_peer(address: str, port: int, own_address: str, own_port: int) -> int | None:
    """Return the uid at the other end of a local connection; None if there is none to be found."""
    local, remote = (address, port), (own_address, own_port)
    try:
        return _asked(local, remote)
    except (OSError, struct.error):  # this kernel, or this container, does not answer
        return _in_tables(local, remote)


def _asked(local: Address, remote: Address) -> int | None:
    """Ask the kernel for this one socket: among very many connections, its tables take a tenth of a second to read."""
    ends = [ipaddress.ip_address(address).packed for address, _ in (local, remote)]
    family = socket.AF_INET if {*map(len, ends)} == {4} else socket.AF_INET6
    question = struct.pack(QUESTION, family, socket.IPPROTO_TCP, 0, 0, ANY_STATE)
    question += struct.pack(ENDS, local[1], remote[1], *ends) + struct.pack("=III", 0, NO_COOKIE, NO_COOKIE)
    header = struct.pack(HEADER, struct.calcsize(HEADER) + len(question), BY_FAMILY, REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as kernel:
        kernel.send(header + question)
        answer = kernel.recv(4096)
    if struct.unpack_from(HEADER, answer)[1] != BY_FAMILY:
        raise OSError("no such socket, or no answer")
    *_, uid, inode = struct.unpack_from(ANSWER, answer, BEFORE_ANSWER)
    return None if inode == ORPHAN else int(uid)


def _in_tables(local: Address, remote: Address) -> int | None:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            found = uid_in(Path(f"/proc/net/{table}").read_text(), local, remote)
            if found is not None:
                return found
    return None


def uid_in(table: str, local: Address, remote: Address) -> int | None:
    """Return the owner of a socket in the kernel's table; None for a socket that no process has open."""
    ours, theirs = (_ends(*each) for each in (local, remote))
    for line in table.splitlines()[1:]:
        words = line.split()
        if words[1] in ours and words[2] in theirs and words[9] != str(ORPHAN):
            return int(words[7])
    return None


def _ends(address: str, port: int) -> set[str]:
    """Return the kernel's forms of an address and port: IPv4, and IPv4 as IPv6."""
    packed = ipaddress.ip_address(address).packed
    mapped = bytes(10) + b"\xff\xff" + packed if len(packed) == 4 else packed
    return {f"{_words(each)}:{port:04X}" for each in (packed, mapped)}


def _words(packed: bytes) -> str:
    return "".join(packed[at : at + 4][::-1].hex() for at in range(0, len(packed), 4)).upper()
