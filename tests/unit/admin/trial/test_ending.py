"""However `jim site test` ends, it cleans up, and says so in one line."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.faults.real import until
from tests.unit.admin.trial.ended import alive, ledger, running

LONG = pytest.mark.torture
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("which", [SIGNALS[0], *(pytest.param(each, marks=LONG) for each in SIGNALS[1:])])
def test_a_signal_ends_it_cleanly(tried, which):
    process, payloads = running(tried)
    process.send_signal(which)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    line = f"JIM SITE UNKNOWN - interrupted by {which.name}"
    assert out.splitlines()[-1] == line
    assert json.loads((tried.state / "site-test.json").read_text())["line"] == line
    assert tried.leftovers() == []
    until(lambda: not any(map(alive, payloads)), "their end")


def test_each_finding_is_said_at_once(tried):
    process = tried.start("batch", "roundtrip")
    until(lambda: ledger(tried), "payloads")  # of a level that takes a minute
    assert process.stdout.readline().startswith("submits 6 local jobs to local")
    lines = [process.stdout.readline() for _ in range(3)]
    assert lines[2].startswith("ok       one job: ")
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=60)


BROKEN = """class Broken(Local):
    def parse_query(self, answer):
        raise TypeError("unhashable type")


ADAPTER = Broken"""


@pytest.mark.parametrize("level", ["config", "roundtrip"])
def test_a_fault_in_an_adapter_ends_it_cleanly(tried, level):
    tried.write_adapter(BROKEN)
    began = time.monotonic()
    done = tried.program(level, "array", "--json")  # which loads code of the site
    assert (done.returncode, done.stderr) == (3, "")
    assert time.monotonic() - began < 40  # what cannot be learned is not waited for a minute
    report = json.loads(done.stdout)
    assert report["line"].startswith("JIM SITE UNKNOWN - ")
    assert "TypeError: unhashable type (broken.py, line 6)" in report["line"]
    assert json.loads((tried.state / "site-test.json").read_text()) == report
    # Without a listing nothing proves the end of what had not started yet when the fault showed itself.
    checks = [(each["test"], each["level"]) for each in report["checks"] if each["name"] != "cleaning"]
    assert checks[-2:] == [
        (level, "unknown"),
        ("array", "skipped"),
    ]
    assert tried.leftovers() == []
