"""Measures reading and checking a large request in JDF or RSL, and whether the time grows only with its length."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by `python -P`, which leaves it out

from bench.taking import Figure
from jim.request import check, read

ASKED = {
    "job_type": "dzero_monte_carlo",  # the one that declares most
    "request_id": "13669",
    "events": 20_000,
    "d0_release_version": "p14.07.00",
    "jobfiles_dataset": "jobfiles",
    "minbias_dataset": "minbias",
    "environment": {"LANG": "C"},
}
VARIABLES = 1000  # of the environment, however long the request is


def requests(size: int, runs: int) -> Iterator[Figure]:
    """Read requests of so many bytes and of half as many, and check the attributes of a usual one."""
    with tempfile.TemporaryDirectory(prefix="jim-bench-") as directory:
        for language, written in (("JDF", _jdf), ("RSL", _rsl)):
            half, whole = Path(directory, f"half.{language.lower()}"), Path(directory, f"whole.{language.lower()}")
            half.write_text(written(size // 2))
            whole.write_text(written(size))
            times = [(_seconds_of(half), _seconds_of(whole)) for _ in range(runs)]
            shorter, longer = (median(each) for each in zip(*times, strict=True))
            yield Figure(f"{language}, {size:,} bytes read", longer, "s", 0.5, f"{runs} runs, processor time")
            yield Figure(f"{language}, twice the bytes", longer / shorter, "×", 2.5)
    checks = [_alone() for _ in range(runs)]
    yield Figure("attributes of a request checked", median(checks) * 1000, "ms", 2, "the first of a process")


def _seconds_of(file: Path) -> float:
    began = time.process_time()
    request = read(file)
    took = time.process_time() - began
    if len(request["arguments"]) < 10:
        raise RuntimeError(f"{file} was not understood")
    return took


def _jdf(size: int) -> str:
    """Arguments bare and in quotes, half and half, on lines of their own; variables; comments."""
    head = "job_type = executable\nexecutable = /bin/echo\n"
    head += "".join(f"+VARIABLE_{n} = value {n}  # comment\n" for n in range(VARIABLES))
    line = '  /store/run1/file-0001.root --tag p14.07.00 "two words" "a ""quoted"" word" x=1 \\\n'
    return f"{head}arguments = \\\n{line * ((size - len(head)) // len(line))}  last\n"


def _rsl(size: int) -> str:
    """Arguments bare and in quotes, with a variable on each line and some joined; a comment every ten lines; pairs."""
    pairs = "".join(f'(VARIABLE_{n} "value {n}")' for n in range(VARIABLES))
    head = f"&(rsl_substitution=(STORE /store/run1))(executable=/bin/echo)(environment={pairs})\n(arguments=\n"
    line = ' --tag p14.07.00 "two words" "a ""quoted"" word" \'x=1\' $(STORE)/file-0001.root\n'
    lines = line * 10 + " out#put (* comment *)\n"
    return f"{head}{lines * ((size - len(head)) // len(lines))})\n"


def _alone() -> float:
    command = [sys.executable, "-P", "-s", __file__]
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return float(done.stdout)


def main() -> None:
    """Check a request, its job type loaded with it."""
    began = time.process_time()
    check(dict(ASKED))
    print(time.process_time() - began)


if __name__ == "__main__":
    main()
