"""XPath over a whole document, in a child process, because an expression may need endless time or memory."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from jim.errors import BadRequest, JimError
from jim.guide import guide

CPU_SECONDS, WALL_SECONDS = 10, 20
MEMORY_BYTES = 1024**3
ANSWER_BYTES = 256 * 1024**2
FIRST_TO_DIE = "1000"  # the kernel's highest rank, if memory runs out
HOME = Path(__file__).resolve().parents[3]
# Not `-m`: the child's directory is /.
CHILD = "import sys; sys.path[:0] = sys.argv[1:2]; from jim.statusdb.documents.xpath import child; sys.exit(child())"
LOWEST = 19  # priority: it takes what nobody else wants of the processors
LIMITS = {
    resource.RLIMIT_CPU: CPU_SECONDS,
    resource.RLIMIT_AS: MEMORY_BYTES,
    resource.RLIMIT_FSIZE: ANSWER_BYTES,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_NPROC: 0,
}


class Most(NamedTuple):
    """How much of the results is wanted; -1: everything."""

    nodes: int = -1
    size: int = -1  # bytes


ALL = Most()


def xpath(document: IO[bytes], expression: str, out: IO[bytes], most: Most = ALL) -> None:
    """Evaluate an expression; write a line of JSON for each result, then their number."""
    from jim.command import run_confined

    words = (expression, *map(str, most))
    command = (sys.executable, "-I", "-c", CHILD, str(HOME), *words)
    document.seek(0)
    answer = run_confined(command, given=document, out=out, limit=WALL_SECONDS)
    if answer.code == 0:
        return
    said = answer.err.strip().splitlines()[-1:] if answer.code == 1 else []
    limits = (
        f"it needs more than {CPU_SECONDS} s of CPU time, {WALL_SECONDS} s or {MEMORY_BYTES >> 20:,} MiB of memory, or "
        f"its result has more than {ANSWER_BYTES >> 20} MiB. Name fewer grid jobs, or write an expression that JIM "
        f"translates ({guide('xpath.md')})"
    )
    raise BadRequest(said[0]) if said else JimError(f"JIM stopped XPath {expression[:200]!r}: {limits}")


def child() -> int:
    """Evaluate within limits: `child HOME EXPRESSION NODES BYTES`, the document on standard input."""
    _, _, expression, *most = sys.argv
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_DIE)
    os.nice(LOWEST)
    from jim.statusdb.documents.xml import evaluate

    for limit, allowed in LIMITS.items():
        _limit(limit, allowed)
    try:
        for line in _lines(evaluate(sys.stdin.buffer, expression), Most(*map(int, most))):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except JimError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (MemoryError, OSError):  # a limit was reached
        return 2
    return 0


def _lines(found: Sequence[tuple[str, str, bool]], most: Most) -> Iterator[str]:
    """Yield the wanted results, and then the number of all."""
    size = 0
    for number, each in enumerate(found):
        size += len(each[1])
        if number == most.nodes or size > most.size >= 0:
            break
        yield json.dumps(each)
    yield json.dumps(len(found))


def _limit(limit: int, most: int) -> None:
    hard = resource.getrlimit(limit)[1]
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (allowed, allowed))
