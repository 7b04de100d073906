"""XPath over a grid job's document, in a child process: an expression can take for ever, or all memory."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from pathlib import Path

from jim.errors import JimError

CPU_SECONDS = 10
MEMORY_BYTES = 2 * 1024**3
ANSWER_BYTES = 64 * 1024**2
HOME = Path(__file__).resolve().parents[2]
# Not `-m`: the child's directory is / and its PYTHONPATH anyone's.
CHILD = "import sys; sys.path[:0] = sys.argv[1:2]; from jim.statusdb.xpath import child; sys.exit(child())"


def xpath(document: bytes, expression: str) -> list[str]:
    """Evaluate an expression; elements come back as XML, everything else as text."""
    from jim.idealizer.run import run

    with tempfile.NamedTemporaryFile(prefix="jim-", suffix=".xml") as file:
        file.write(document)
        file.flush()
        command = (sys.executable, "-P", "-s", "-c", CHILD, str(HOME), file.name, expression)
        answer = run(command, limit=2 * CPU_SECONDS)
    if answer.code != 0:
        said = answer.err.strip().splitlines()[-1:] if answer.code == 1 else []
        limits = f"it took more than {CPU_SECONDS} s or {MEMORY_BYTES >> 20:,} MiB"
        raise JimError(said[0] if said else f"XPath {expression[:200]!r} was given up: {limits}")
    found: list[str] = json.loads(answer.out)
    return found


def child() -> int:
    """Evaluate within limits: `child HOME FILE EXPRESSION`."""
    for limit, most in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, ANSWER_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (allowed, allowed))
    from jim.statusdb.xml import evaluate

    try:
        sys.stdout.write(json.dumps(evaluate(Path(sys.argv[2]), sys.argv[3])))
        sys.stdout.flush()
    except (JimError, MemoryError, OSError) as error:
        sys.stderr.write(f"{error or type(error).__name__}\n")
        return 1
    return 0
