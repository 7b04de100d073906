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
HOME = Path(__file__).resolve().parents[2]
# Not `-m`: the child's directory is /, and its PYTHONPATH may be anyone's.
CHILD = "import sys; sys.path[:0] = sys.argv[1:2]; from jim.statusdb.validating import child; sys.exit(child())"


class Found(NamedTuple):
    """How grammars are faulty, by their files, and how elements differ from their grammar; empty: in nothing."""

    faults: Mapping[str, str]
    differing: Sequence[str]


def compare(elements: Sequence[tuple[str, Mapping[str, str]]]) -> Found:
    """Compare elements, each with the files of its job type's grammars by namespace."""
    from jim.command import run

    with tempfile.NamedTemporaryFile("w", prefix="jim-", suffix=".json") as file:
        json.dump(elements, file)
        file.flush()
        command = (sys.executable, "-P", "-s", "-c", CHILD, str(HOME), file.name)
        answer = run(command, limit=WALL_SECONDS)
    if answer.code != 0:
        said = answer.err.strip().splitlines()[-1:] or [f"exit {answer.code}"]
        raise JimError(f"publications could not be compared with grammars: {said[0]}")
    return Found(*json.loads(answer.out))


def child() -> int:
    """Compare within limits: `child HOME FILE`."""
    for limit, most in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, ANSWER_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (allowed, allowed))
    from jim.statusdb.xml import differences

    sys.stdout.write(json.dumps(differences(json.loads(Path(sys.argv[2]).read_text()))))
    sys.stdout.flush()
    return 0
