"""Wrappers and payloads: killed at every step, started twice, started late; and an `ln` that lies."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.faults.real import DONE, LIMIT, alive, at_once, until

# What a wrapper starts one after the other, and how often.
COMMANDS = "sed ln mkdir date sort stat sha256sum dd mv cp cat rm".split()
CALLS = len("sed ln ln mkdir date date sort stat sha256sum stat dd mv ln".split())
# In the first submission, index I is hurt at the wrapper's call number (I + 3) / 4, before or after the real command;
# what is killed is the wrapper, which leads its session, or all of the session: a node.
HURT = """
[ "$LOCALBATCH_ID" = 1 ] || exec "$real" "$@"
echo $name >>"$place/calls.$LOCALBATCH_INDEX"
read -r _ _ _ _ _ leader rest </proc/self/stat
hurt() { [ $((LOCALBATCH_INDEX % 2)) = 0 ] && kill -s KILL $leader || kill -s KILL -- -$leader; }
due=$(( $(wc -l <"$place/calls.$LOCALBATCH_INDEX") == (LOCALBATCH_INDEX + 3) / 4 ))
[ $due$((LOCALBATCH_INDEX / 2 % 2)) = 10 ] && hurt
"$real" "$@"
code=$?
[ $due$((LOCALBATCH_INDEX / 2 % 2)) = 11 ] && hurt
exit $code
"""


def run_again(place, k: int = 1, index: int = 1, batch: int = 1) -> subprocess.Popen[bytes]:
    """Start a task's script once more, as a batch system does that requeues a job."""
    script = place.site.work / f"1/s{k}/job.sh"
    more = {"LOCALBATCH_INDEX": str(index), "LOCALBATCH_ID": str(batch)}
    process = subprocess.Popen([script], env=place.environment(more), start_new_session=True)
    place.started.append(process)
    return process


def test_wrapper_or_node_killed_at_every_command(place):
    hurt = place("p", slots=6)
    for name in COMMANDS:
        hurt.front(name, HURT)
    pieces = 4 * CALLS
    hurt.submit(pieces)
    hurt.finish()
    hurt.check(pieces)
    calls = [len((hurt.place / f"calls.{index}").read_text().split()) for index in range(1, pieces + 1)]
    assert calls[::2] == [call for call in range(1, CALLS + 1) for _ in range(2)], "a node does nothing once it is dead"
    # The last but one, mv, gives the exit record its name: from then on the attempt counts.
    again = {n for n, attempt in hurt.events("start") if attempt == 2}
    assert again == {*range(44), 44, 47}
    assert "attempt 1: lost: signal 9" in hurt.journal()
    assert "attempt 1: signal 9" in hurt.journal()
