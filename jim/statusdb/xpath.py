"""XPath over a grid job's document, in a child process, because an expression may need endless time or memory."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from pathlib import Path

from jim.errors import BadRequest, JimError

CPU_SECONDS = 10
MEMORY_BYTES = 2 * 1024**3
ANSWER_BYTES = 256 * 1024**2
HOME = Path(__file__).resolve().parents[2]
# Not `-m`: the child's directory is /, and its PYTHONPATH may be anyone's.
CHILD = "import sys; sys.path[:0] = sys.argv[1:2]; from jim.statusdb.xpath import child; sys.exit(child())"


def xpath(document: bytes, expression: str, cpu_seconds: int = CPU_SECONDS) -> list[str]:
    """Evaluate an expression; elements are returned as XML, everything else as text."""
    from jim.command import run

    with tempfile.NamedTemporaryFile(prefix="jim-", suffix=".xml") as file:
        file.write(document)
        file.flush()
        command = (sys.executable, "-P", "-s", "-c", CHILD, str(HOME), file.name, expression, str(cpu_seconds))
        answer = run(command, limit=4 * cpu_seconds)
    if answer.code != 0:
        said = answer.err.strip().splitlines()[-1:] if answer.code == 1 else []
        limits = f"it took more than {cpu_seconds} s or {MEMORY_BYTES >> 20:,} MiB, or its result is too large"
        raise BadRequest(said[0]) if said else JimError(f"JIM stopped XPath {expression[:200]!r}: {limits}")
    found: list[str] = json.loads(answer.out)
    return found


def child() -> int:
    """Evaluate within limits: `child HOME FILE EXPRESSION SECONDS`."""
    _, _, file, expression, seconds = sys.argv
    _limit({resource.RLIMIT_CPU: int(seconds), resource.RLIMIT_AS: MEMORY_BYTES, resource.RLIMIT_FSIZE: ANSWER_BYTES})
    from jim.statusdb.xml import evaluate

    try:
        sys.stdout.write(json.dumps(evaluate(Path(file), expression)))
        sys.stdout.flush()
    except JimError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (MemoryError, OSError):  # a limit was reached
        return 2
    return 0


def _limit(limits: dict[int, int]) -> None:
    for limit, most in (limits | {resource.RLIMIT_CORE: 0}).items():
        hard = resource.getrlimit(limit)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (allowed, allowed))
