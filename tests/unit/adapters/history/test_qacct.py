"""qacct as the history of Grid Engine."""

from __future__ import annotations

import subprocess

from tests.unit.adapters.history.chosen import by_name, words

ADAPTED = by_name("sge", "qacct")


def test_it_is_asked_for_one_job_a_call_and_for_few():
    command = by_name("sge", "qacct", ["echo", "site"]).history_command(["7", "8"])
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout == "site -j 7\nsite -j 8\n"
    assert ADAPTED.history_command(["7"])[-1] == "/usr/lib/gridengine/qacct"
    assert ADAPTED.most_asked == 10


def test_it_tells_what_the_file_tells():
    found = words("sge/8.1.9", "history-qacct", adapter=ADAPTED)
    assert found.items() >= {"1.1": "failed 0", "3.1": "failed 100", "5.1": "failed 37"}.items()
