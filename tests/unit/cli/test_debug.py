"""jim debug."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from jim.guide import SHELL
from jim.model import State, Witness
from jim.workdir.submission import PROGRAMS

HOME = str(Path(__file__).parents[3])
JOBS = """\
* mark jim-cafe-1-1
* spool ../../spool
* touch 60
* limit 1000
1 n 0
1 attempt 1
1 seed 11
1 arg /bin/sh
1 arg -c
1 arg echo "$JIM_SEED" of \x1b[2J; exit 3
1 end
"""


@pytest.fixture
def failed(home, monkeypatch, tmp_path):
    """Grid job 1, whose local job 1.0 failed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    home.add(size=2)
    home.send(0, state="confirmed", batch_id="4711")
    home.move(0, State.FAILED, Witness.EXIT_RECORD, "exit 3")
    home.store.set_attempt(1, 1, 1, verdict="failed", reason="exit 3")
    place = home.site.work / "1"
    (place / "s1/run.1").mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy2(SHELL / name, place / name)
    (place / "s1/jobs").write_text(JOBS)
    (place / "s1/run.1/stdout").write_text("as it was\n")
    return home


def test_the_payload_is_run_once_more_in_a_copy(failed, tmp_path):
    code, out, err = failed.run("debug", "1.0", "--run", "--in", str(tmp_path / "here"))
    assert (code, err) == (1, "")
    assert out.startswith("local job    1.0, attempt 1: failed\nreason       exit 3\ncommand      /bin/sh -c ")
    assert f"== {tmp_path}/here/1/s1/run.1/stdout\n11 of \\x1b[2J\n" in out
    assert out.endswith(f"\nend          exit 3\ncopy         {tmp_path}/here; it stays until `rm -r` removes it\n")
    assert (failed.site.work / "1/s1/run.1/stdout").read_text() == "as it was\n"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["1", "--run"], 2, "`jim debug` needs one local job, for example 1.0"),
        (["1.0-1", "--run"], 2, "`jim debug` needs one local job"),
        (["1.1", "--run"], 6, "1.1 has not been submitted yet, so there is nothing to copy"),
        (["1.0", "--run", "--attempt", "2"], 4, "there is no attempt 2 of 1.0; it had 1"),
        (["1.0"], 2, "a shell needs a terminal; `--run` runs the payload once"),
        (["1.0", "--run", "--in", "/dev"], 1, "the copy cannot be made: /dev: File exists"),
    ],
)
def test_what_cannot_be_copied_is_told(failed, words, code, told):
    got, out, err = failed.run("debug", *words)
    assert (got, out) == (code, "")
    assert told in err


def test_a_removed_directory_is_told(failed):
    (failed.site.work / "instance").write_text("cafe")
    shutil.rmtree(failed.site.work / "1")
    assert "s1 no longer exists: it was removed" in failed.run("debug", "1.0", "--run")[2]


ALONE = """
import sys
from jim.cli import main
sys.exit(main(["debug", "1.0", "--run"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_payload_does_not_outlive_its_run(failed, tmp_path, number):
    """Whether Ctrl-C, a kill or a closed window ends `jim debug`."""
    pid = tmp_path / "pid"
    os.mkfifo(pid)
    jobs = failed.site.work / "1/s1/jobs"
    jobs.write_text(JOBS.replace('echo "$JIM_SEED" of \x1b[2J; exit 3', f"echo $$ >{pid}; exec sleep 100"))
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", ALONE], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": HOME}
    )
    payload = os.pidfd_open(int(pid.read_text()))
    try:
        process.send_signal(number)
        said, _ = process.communicate(timeout=30)
        ended, _, _ = select.select([payload], [], [], 0)
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(payload, signal.SIGKILL)
        os.close(payload)
    assert ended
    assert "\nend          " in said


IN_A_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from jim.cli import main
sys.exit(main(["debug", "1.0"]))
"""


def read_until(terminal, words, told=b""):
    while words not in told:
        assert select.select([terminal], [], [], 30)[0], told
        told += os.read(terminal, 4096)
    return told


def test_a_shell_opens_where_the_payload_runs_with_what_it_left(failed):
    """Its terminal is real: the shell reads what is typed, and Ctrl-C ends what runs in it."""
    terminal, its_end = pty.openpty()
    command = [sys.executable, "-P", "-c", IN_A_TERMINAL]
    environment = os.environ | {"PYTHONPATH": HOME}
    process = subprocess.Popen(
        command, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True, env=environment
    )
    os.close(its_end)
    try:
        said = read_until(terminal, b"1.0 $ ")
        os.write(terminal, b"cat stdout; sh -c 'echo be''gun; exec sleep 100'\n")
        assert b"as it was" in read_until(terminal, b"begun")
        os.write(terminal, b"\x03")
        read_until(terminal, b"1.0 $ ")
        os.write(terminal, b"echo $JIM_SEED > seed; exit 5\n")
        read_until(terminal, b"until `rm -r` removes it")
        assert process.wait(30) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(terminal)
    assert b"command      /bin/sh -c" in said
    (copy,) = Path(os.environ["TMPDIR"]).glob("jim-debug-1.0-*")
    assert (copy / "1/s1/run.1/seed").read_text() == "11\n"
    assert (failed.site.work / "1/s1/run.1/stdout").read_text() == "as it was\n"
