"""A call of the kernel that fails, or is the last one, in a wrapper and in two doors: each call once, by strace."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.injected import NO_STRACE, calls, can_trace, faults, traced
from tests.faults.real import at_once
from tests.unit.shell.place import Place
from tests.wrapper.worker import MARK, SHELLS, Site, left, ours, sh, until

pytestmark = [pytest.mark.torture, pytest.mark.skipif(not can_trace(), reason=NO_STRACE)]
PATH = os.defpath + ":/usr/bin:/bin"
CARRIED = 4  # local jobs in two carriers
MOST = int(os.environ.get("JIM_CALLS", "10"))  # of a wrapper's calls of one kind, from the first to the last


def some_of(found: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Choose some calls of each kind, from the first to the last."""
    chosen = []
    for kind in {name for name, _ in found}:
        of_it = [each for each in found if each[0] == kind]
        chosen += of_it[:: -(-len(of_it) // MOST)]
    return chosen


# The wrapper


def wrapper(place: Path, before: list[str], code: int = 0) -> Site:
    """Run a wrapper to its end, with something before its shell; then wait until nothing of it lives."""
    site = Site(place, [*before, *SHELLS["sh"]], PATH)
    site.jobs(*sh(f"echo start >>../ledger; sleep 0.05; echo end >>../ledger; exit {code}"), facts=("touch 1",))
    site.codes = [site.start().wait(120)]
    until(lambda: not left(site) and not ours(site), 60)
    return site


def judge_wrapper(site: Site, code: int) -> None:
    """Compare what the wrapper has left with what the payload has written. JIM believes records, not exit codes."""
    ledger = (site.here / "ledger").read_text().split() if (site.here / "ledger").exists() else []
    (exit_code,) = site.codes
    assert ledger.count("start") <= 1, "it ran twice"
    assert ledger.count("start") == 0 or (site.here / "claim.1").exists(), "it ran without a claim"
    if (site.here / "exit.1").exists():
        told = site.record()
        assert told["code"] != "0" or ledger == ["start", "end"], "a good end, but there was none"
        if ledger == ["start", "end"]:
            assert told["code"] in (str(code), "-"), "another end than the real one"
    assert exit_code != 71 or not ledger, "superseded, and it ran"


@pytest.mark.parametrize("code", [0, 3])
def test_a_wrapper_with_a_fault_at_each_call_starts_a_payload_once_and_tells_no_wrong_end(
    tmp_path: Path, code: int
) -> None:
    log = tmp_path / "trace"
    whole = wrapper(tmp_path / "whole", traced(log), code)
    judge_wrapper(whole, code)
    assert whole.record()["code"] == str(code)
    found = calls(log)

    def run(number: int, before: list[str]) -> Callable[[], None]:
        def one() -> None:
            place = tmp_path / str(number)
            judge_wrapper(wrapper(place, before, code), code)
            shutil.rmtree(place)

        return one

    at_once((name, run(number, before)) for number, (name, before) in enumerate(faults(some_of(found))))


# A lane of a carrier

LANE = """
mkdir {root}/hurt 2>/dev/null || exec $real "$@"
exec {before} $real "$@"
"""


def carried(place: Path, before: list[str]) -> Site:
    """Run a carrier of one lane, with something before its first start; then another carrier, which helps."""
    site = Site(place, SHELLS["sh"], PATH)
    site.fake("setsid", LANE.format(root=site.root, before=" ".join(before)))
    facts = [f"mark {MARK}", "touch 1", "spool ../../spool", "limit 10000000000", "carriers 2", "lanes 1"]
    lines = [f"* {each}" for each in facts]
    script = "echo start >>../ledger.$JIM_INDEX; sleep 0.05; echo end >>../ledger.$JIM_INDEX"
    for index in range(1, CARRIED + 1):
        own = [f"n {index - 1}", "attempt 1", "seed 4711", *(f"arg {word}" for word in sh(script)), "end"]
        lines += [f"{index} {each}" for each in own]
    (site.here / "jobs").write_text("".join(f"{line}\n" for line in lines))
    for carrier in (1, 2):
        command = [*site.shell, str(site.here.parent / "local-carrier"), str(site.here), str(carrier)]
        environment = {"PATH": f"{site.root / 'bin'}:{PATH}", "HOME": "/"}
        code = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, timeout=120, check=False).returncode
        assert code == 0, "a carrier's exit code says something of its local jobs"
    until(lambda: not ours(site), 60)
    return site


def judge_carried(site: Site) -> None:
    """Nothing ran twice or without a claim, no good end is told that was none, and nothing is left to nobody."""
    for index in range(1, CARRIED + 1):
        file = site.here / f"ledger.{index}"
        ledger = file.read_text().split() if file.exists() else []
        assert ledger.count("start") <= 1, f"{index} ran twice"
        assert (site.here / f"claim.{index}").exists(), f"{index} is left to nobody"
        with contextlib.suppress(FileNotFoundError, AssertionError, IndexError):
            told = site.record(index)
            assert told["code"] != "0" or ledger == ["start", "end"], f"{index}: a good end, but there was none"


@pytest.mark.parametrize("follow", [[], ["-f"]], ids=["lane", "lane and all below"])
def test_a_lane_with_a_fault_at_each_call_runs_nothing_twice_and_leaves_nothing(
    tmp_path: Path, follow: list[str]
) -> None:
    """With `-f`, each process that the lane starts meets the fault at its own call of that number."""
    log = tmp_path / "trace"
    whole = carried(tmp_path / "whole", traced(log))
    judge_carried(whole)
    assert len(list(whole.here.glob("exit.*"))) == CARRIED
    found = calls(log)

    def run(number: int, before: list[str]) -> Callable[[], None]:
        def one() -> None:
            place = tmp_path / str(number)
            judge_carried(carried(place, [before[0], *follow, *before[1:]]))
            shutil.rmtree(place)

        return one

    at_once((name, run(number, before)) for number, (name, before) in enumerate(faults(some_of(found))))


# The doors

KEYED = 'job_type = "executable"\nexecutable = "/bin/true"\nkey = "one"\n'


def door(place: Place, name: str, word: str, before: list[str]) -> tuple[int, str, str]:
    script = Path(__file__).parents[2] / "shell" / name
    return place.door("", program=[*before, "/bin/sh", str(script), word])


@contextlib.contextmanager
def a_place(directory: Path):
    directory.mkdir()
    place = Place(directory)
    try:
        yield place
    finally:
        place.close()
        shutil.rmtree(directory)


def test_a_door_with_a_fault_at_each_call_takes_in_a_request_once(tmp_path: Path) -> None:
    """Whatever it says, the same request again gets one id, and the same one as before."""

    def submit(directory: Path, before: list[str]) -> None:
        with a_place(directory) as place:
            place.request(KEYED)
            code, out, _ = door(place, "jim-submit", "request.toml", before)
            again = door(place, "jim-submit", "request.toml", [])
            assert again[0] == 0, again
            assert again[1].startswith("GRAM_SCRIPT_JOB_ID:"), again
            if code == 0:
                assert again[1] == out, "two ids"
            requests = [each for each in (place.state / "inbox").iterdir() if each.name.startswith("request-")]
            assert len(requests) == 1, requests

    log = tmp_path / "trace"
    submit(tmp_path / "whole", traced(log))
    found = calls(log, [str(tmp_path / "whole/state"), '"request.toml"'])
    assert {"openat", "link", "fsync", "rename"} <= {name for name, _ in found}
    at_once(
        (name, lambda number=number, before=before: submit(tmp_path / str(number), before))
        for number, (name, before) in enumerate(faults(found))
    )


RUNS = "GRAM_SCRIPT_JOB_STATE:2\n\n"


def test_a_poll_with_a_fault_at_each_call_tells_what_is_there_or_nothing(tmp_path: Path) -> None:
    """GRAM takes an error for the end of a job."""

    def poll(directory: Path, before: list[str]) -> None:
        with a_place(directory) as place:
            place.add(12, answer=RUNS.encode())
            place.beat(0)
            code, out, err = door(place, "jim-poll", "12", before)
            assert "ERROR" not in out, (code, out, err)
            assert RUNS.startswith(out) or not out.strip(), (code, out, err)  # GRAM passes over half a one

    log = tmp_path / "trace"
    poll(tmp_path / "whole", traced(log))
    at_once(
        (name, lambda number=number, before=before: poll(tmp_path / str(number), before))
        for number, (name, before) in enumerate(faults(calls(log)))
    )


def test_strace_is_what_fails_a_call(tmp_path: Path) -> None:
    """The adversary itself."""
    file = tmp_path / "file"
    file.write_text("x")
    codes, calm = set(), {**os.environ, "LC_ALL": "C"}  # without files of a locale
    for number in range(1, 9):  # libraries come first, and the dynamic linker may do without its cache
        ((name, before), *_) = faults([("openat", number)])
        assert name == f"openat {number}: error=EIO"
        codes.add(subprocess.run([*before, "cat", str(file)], env=calm, capture_output=True, check=False).returncode)
    assert codes >= {0, 1}
