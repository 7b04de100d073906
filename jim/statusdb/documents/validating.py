"""Compares publications with the grammars of job types, in a child process with limits."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jim.errors import JimError

CPU_SECONDS, WALL_SECONDS = 10, 20
MEMORY_BYTES, ANSWER_BYTES = 1 << 30, 256 << 20
HOME = Path(__file__).resolve().parents[3]
# Not `-m`: the child's directory is /.
CHILD = (
    "import sys; sys.path[:0] = sys.argv[1:2]; from jim.statusdb.documents.validating import child; sys.exit(child())"
)


class Found(NamedTuple):
    """How grammars are faulty, by their files, and how elements differ from their grammar; empty: in nothing."""

    faults: Mapping[str, str]
    differing: Sequence[str]


def compare(elements: Sequence[tuple[str, Mapping[str, str]]]) -> Found:
    """Compare elements, each with the files of its job type's grammars by namespace."""
    from jim.command import run_confined

    # Files without names: whoever is killed leaves none behind.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(json.dumps(elements).encode())
        given.seek(0)
        command = (sys.executable, "-I", "-c", CHILD, str(HOME))
        answer = run_confined(command, given=given, out=out, limit=WALL_SECONDS)
        if answer.code != 0:
            said = answer.err.strip().splitlines()[-1:] or [f"exit {answer.code}"]
            raise JimError(f"publications could not be compared with grammars: {said[0]}")
        out.seek(0)
        return Found(*json.load(out))


def child() -> int:
    """Compare within limits: `child HOME`, the elements on standard input."""
    for limit, most in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, ANSWER_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (allowed, allowed))
    from jim.statusdb.documents.xml import differences

    sys.stdout.write(json.dumps(differences(json.load(sys.stdin))))
    sys.stdout.flush()
    return 0
