"""The one room that starts processes: whatever a command does, it ends in time and fills nothing."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jim import command as room
from jim.command import end_marked, run
from jim.errors import JimError
from jim.model import Answer


def sh(text, **more):
    return run(["/bin/sh", "-c", text], **{"limit": 20} | more)


def lives(pid):
    """Tell whether a process is there and more than a zombie."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except FileNotFoundError:
        return False


def test_what_a_command_gives_back():
    answer = sh("echo out; printf 'last \\377words' >&2; exit 3")
    assert (answer.code, answer.out, answer.err) == (3, "out\n", "last �words")
    assert sh("kill -9 $$").code == -9


def test_what_was_run_is_told_with_what_was_asked_and_can_be_pasted():
    asked = [
        "sbatch",
        "--partition=grid",
        "--account=mc",
        "--cpus-per-task=2",
        "--mem=500M",
        "--tmp=7M",
        "--time=61",
        "--parsable",
    ]
    assert Answer((*asked, "a b"), 1, "", "no\n", 0.12).facts() == f"no (exit 1 after 0.1 s: {' '.join(asked)} 'a b')"
    ids = [str(number) for number in range(10_000)]
    told = Answer(("scancel", *ids), None, "", "", 60.0).facts()
    assert told.startswith(
        "no output (did not return after 60.0 s: scancel 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
    )
    assert told.endswith("…)")
    assert len(told) < 250


def test_a_command_that_cannot_be_started():
    answer = run(["/no/such/command"], limit=1)
    assert (answer.code, answer.err[:14]) == (127, "cannot start: ")


def test_a_command_gets_nothing_by_chance(monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    inherited = os.open("/", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        answer = sh(f"echo ${{SECRET-none}} $LC_ALL $JIM_COMMAND_OF; pwd; cat; ls /proc/$$/fd/{inherited}", mark="m")
    finally:
        os.close(inherited)
    assert answer.out == "none C m\n/\n"


def test_a_command_that_does_not_return_is_ended_with_its_children():
    answer = sh("sleep 60 & echo $!; wait", limit=0.5)
    assert answer.code is None
    assert answer.seconds < 10
    end = time.monotonic() + 10
    while lives(answer.out.strip()):  # a kill is not waited for
        assert time.monotonic() < end


def test_a_grandchild_that_keeps_the_output_open_does_not_hold_us():
    answer = sh("sleep 5 & echo $!")
    assert (answer.code, answer.seconds < 4) == (0, True)
    os.kill(int(answer.out), 9)


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_command_that_does_not_stop_talking_is_ended_before_it_fills_the_memory(monkeypatch, stream):
    monkeypatch.setattr(room, "LONGEST_OUTPUT", 1_000_000)
    answer = sh(f"exec yes >&{stream}")
    assert (answer.code, answer.out, answer.err) == (None, "", "it printed more than 1,000,000 bytes")
    assert answer.seconds < 10


def test_an_answer_that_is_too_long_to_be_read_whole_is_none(monkeypatch):
    monkeypatch.setattr(room, "LONGEST_OUTPUT", 1000)
    assert sh("head -c 1000 /dev/zero").code == 0
    assert sh("head -c 1001 /dev/zero").code is None


def test_what_has_left_the_session_and_lives_on_can_write_no_more(tmp_path):
    go, told = tmp_path / "go", tmp_path / "told"
    os.mkfifo(go)
    os.mkfifo(told)
    later = f"read line <{go}; echo more 2>{tmp_path}/words; echo $? >{told}"
    assert sh(f"echo first; exec setsid sh -c '{later}' &").out == "first\n"
    go.write_text("on\n")
    assert told.read_text() != "0\n"


@pytest.fixture
def sleeper():
    started = []

    def start(**environment):
        started.append(subprocess.Popen(["/bin/sleep", "600"], env=environment))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def test_the_command_of_this_mark_is_ended_and_no_other(sleeper):
    mine, other = sleeper(JIM_COMMAND_OF="jim-a-1-1"), sleeper(JIM_COMMAND_OF="jim-a-1-11")
    assert end_marked("jim-a-1-1", "BATCH_ID") == [mine.pid]
    assert mine.wait(10) == -9
    assert other.poll() is None


def test_the_job_that_inherited_the_mark_from_its_batch_command_is_spared(sleeper):
    job = sleeper(JIM_COMMAND_OF="jim-a-1-1", BATCH_ID="4711")
    assert end_marked("jim-a-1-1", "BATCH_ID") == []
    assert job.poll() is None


# A forked process


def test_a_forked_process_answers_and_goes_on(tmp_path):
    done = tmp_path / "done"
    assert room.forked(lambda: b"answer", done.touch, 20) == b"answer"
    until = time.monotonic() + 20
    while not done.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_forked_process_without_an_answer_says_why(tmp_path):
    def long():
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(60)

    def refused():
        raise JimError("the site file is wrong")

    with pytest.raises(JimError, match=r"^TypeError: can't concat int to bytes$"):
        room.forked(lambda: b"part" + 1, (tmp_path / "then").touch, 20)
    with pytest.raises(JimError, match=r"^the site file is wrong$"):
        room.forked(refused, (tmp_path / "then").touch, 20)
    with pytest.raises(JimError, match=r"^its process ended without a word$"):
        room.forked(lambda: os._exit(1), (tmp_path / "then").touch, 20)
    with pytest.raises(JimError, match=r"^it took longer than 0\.5 s$"):
        room.forked(long, list, 0.5)
    assert not (tmp_path / "then").exists()
    until = time.monotonic() + 20
    while lives(int((tmp_path / "pid").read_text())):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def very_many():
    """Let this process have very many files open; how many it usually may have depends on who runs the tests."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("very_many")
def test_a_forked_process_answers_a_process_with_very_many_files(monkeypatch):
    real = os.pipe

    def far():
        """Return a pipe with descriptors above those that `select` knows."""
        near = real()
        found = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 1100) for each in near]
        for each in near:
            os.close(each)
        return found

    monkeypatch.setattr(os, "pipe", far)
    assert room.forked(lambda: b"answer", list, 20) == b"answer"


HEARS = """
import signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGALRM])
from jim.command import run

def answer(*_):
    print(run(["sh", "-c", "exit 3"], limit=9).code, sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    return 0

"""


@pytest.mark.parametrize(
    "program",
    [
        "from jim.doors.serving import serve; serve(answer, print)",
        "from jim.keeper.main import run_keeper; from pathlib import Path; run_keeper(Path(sys.argv[1]), answer)",
    ],
)
def test_a_caller_that_ignores_or_blocks_signals_makes_no_command_seem_to_end_well(tmp_path, program):
    """Daemons in Perl often ignore CHLD, and a process passes that on: a failed listing would show an empty queue."""
    done = subprocess.run(
        [sys.executable, "-c", HEARS + program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": room.HOME, "PATH": "/usr/bin:/bin", "JIM_STATE": str(tmp_path)},
    )
    assert done.stdout == "3 []\n", done.stderr


def test_a_signal_right_after_the_start_ends_the_command(monkeypatch):
    """A closed window ended `jim debug` before it had said what is to be done then, and the payload ran on."""

    class Signalled(subprocess.Popen):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(room.subprocess, "Popen", Signalled)
    assert room.attend(["/bin/sleep", "100"], env={}, alone=True) == -signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
