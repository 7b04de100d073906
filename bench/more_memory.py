"""Runs a thousand local jobs of which 2 % need twice the memory, without a rule for that and with one.

    .venv/bin/python bench/more_memory.py [LOCAL JOBS]

It takes some minutes, and prints the table of docs/requests.md. The payload really holds that memory, and the local
batch system really kills what holds more than it has asked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by `python -P`, which leaves it out

from bench.place import HOME, Place

ASKED_MB, USUAL_MB, LARGE_MB, ONE_IN = 64, 20, 110, 50
RULE = [{"when": "memory", "change": {"memory_mb": "*2"}}]
# What holds more stays for a second, so that the batch system sees it.
PAYLOAD = f"""\
import sys, time
held = b"x" * (int(sys.argv[1]) << 20)
time.sleep(1 if len(held) > {USUAL_MB} << 20 else 0)
"""


def measured(local_jobs: int, rule: list[dict[str, Any]]) -> dict[str, object]:
    """Run the local jobs once and return the rows of a column."""
    with Place(slots=os.cpu_count() or 1) as place:
        program = place.directory / "hold.py"
        program.write_text(PAYLOAD)
        sets = [[str(LARGE_MB if n % ONE_IN == 0 else USUAL_MB)] for n in range(local_jobs)]
        words = [sys.executable, "-I", "-S", str(program)]
        asked = {"executable": words[0], "arguments": words[1:], "argument_sets": sets, "memory_mb": ASKED_MB}
        file = place.request("hold", job_type="parametric", retry=rule, **asked)
        began = time.monotonic()
        jim(place, "submit", file, "--watch")
        took = time.monotonic() - began
        job = json.loads(jim(place, "show", "1", "--json", "--all"))
    states = Counter(each["status"] for each in job["local_jobs"])
    return {
        "completed": f"{states['completed']:,}",
        "failed": f"{states['failed']:,}",
        "attempts in all": f"{sum(each['size'] for each in job['submissions']):,}",
        "grid job": job["status"],
        "time": f"{took:.0f} s",
    }


def jim(place: Place, *words: str) -> str:
    """Run a verb of the command line; a grid job that fails is no failure here."""
    command = [str(HOME / "shell/jim"), *words]
    done = subprocess.run(command, env=place.environment, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> None:
    """Print both columns as a table."""
    local_jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    without, ruled = measured(local_jobs, []), measured(local_jobs, RULE)
    print(
        f"| {local_jobs:,} local jobs, {-(-local_jobs // ONE_IN):,} of them with twice the memory | no rule | a rule |"
    )
    print("|---|---|---|")
    for name, value in without.items():
        print(f"| {name} | {value} | {ruled[name]} |")


if __name__ == "__main__":
    main()
