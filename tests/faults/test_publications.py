"""A flood of publications harms neither the payloads nor the keeper, who takes starts and ends first."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.real import until

PAYLOADS, A_SECOND, SECONDS = 100, 10_000, 60
MOST_SECONDS = 10 * SECONDS  # a slow machine takes longer for as many publications: the flood takes all that it gives
# Arguments: the spool, a second's number of publications, and the names of attempts, each `MARK.INDEX`.
FLOOD = """
import os, sys, time
spool, rate, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
began, sent = time.monotonic(), 0
print("begun", flush=True)
while True:
    while sent > rate * (time.monotonic() - began):
        time.sleep(0.001)
    name = names[sent % len(names)]
    draft = f"{spool}/.{name}.pub.flood"
    with open(draft, "w") as out:
        out.write(f"phase load {sent} 1000000000 events\\n")
    os.rename(draft, f"{spool}/{name}.pub.phase-load")
    sent += 1
    if sent % rate == 0:
        with open(f"{spool}/.draft", "w") as out:
            out.write(str(sent))
        os.rename(f"{spool}/.draft", f"{spool}/.sent")
"""


def published(spool: Path) -> int:
    """Tell how many publications the flood has written, in whole seconds' worth."""
    told = spool / ".sent"
    return int(told.read_text()) if told.exists() else 0


def reports(spool: Path) -> set[str]:
    """Name the starts and ends that lie in the spool."""
    found = set()
    with suppress(FileNotFoundError):
        found = {each.name for each in os.scandir(spool) if not each.name.startswith(".") and ".pub." not in each.name}
    return found


@pytest.mark.torture
def test_starts_and_ends_are_taken_within_a_second_while_one_key_is_published_600_000_times(place) -> None:
    hurt = place("p", slots=PAYLOADS + 2)
    spool = hurt.site.work / "spool"
    body = 'test "$JIM_GRID_JOB" != 1 || until [ -e "$0.go" ]; do sleep 1; done'
    hurt.submit(PAYLOADS, body=body)
    hurt.submit(100 * SECONDS, key="short", body=body)  # they start and end all the time, in the last two slots
    hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == PAYLOADS, "all payloads run")
    with hurt.store() as store:
        mark = store.submission(1, 1).mark
    names = [f"{mark}.{index}" for index in range(1, PAYLOADS + 1)]
    flood = subprocess.Popen(
        [sys.executable, "-P", "-s", "-c", FLOOD, str(spool), str(A_SECOND), *names], stdout=subprocess.PIPE, text=True
    )
    assert flood.stdout
    assert flood.stdout.readline() == "begun\n"
    seen, longest, taken = dict[str, float](), 0.0, 0
    began = time.monotonic()
    try:
        while (sent := published(spool)) < A_SECOND * SECONDS:
            now = time.monotonic()
            assert now < began + MOST_SECONDS, f"the flood has come no further than {sent:,}"
            there = reports(spool)
            for name in seen.keys() - there:
                longest, taken = max(longest, now - seen.pop(name)), taken + 1
            for name in there - seen.keys():
                seen[name] = now
            longest = max([longest, *(now - since for since in seen.values())])
            time.sleep(0.02)
    finally:
        flood.kill()
        flood.communicate()
    print(f"{sent:,} published in {now - began:.0f} s, {taken} reports taken, the slowest in {longest:.2f} s")
    assert longest <= 1.0
    assert taken >= SECONDS
    (hurt.place / "payload.sh.go").touch()
    until(lambda: all(hurt.state_of(n) == "completed" for n in (0, 1, PAYLOADS - 1)), "no payload is harmed")
    with hurt.store() as store:
        assert len(store.publications.phases_of(1, 0)) == 1
