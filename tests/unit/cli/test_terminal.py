"""A terminal that is painted: only what changed is written, and it is left as it was, however that ends."""

import os
import signal
import termios

import pytest

from tests.support.pseudo_terminal import OnTerminal

PAINTS = """
import sys
from jim.cli.terminal import Terminal
from jim.doors.serving import serve
def work():
    with Terminal() as terminal:
        count, key = 0, "none"
        while key != "q":
            size = terminal.size()
            terminal.paint(["always", f"{size.columns} x {size.lines}", f"{count}: {key!r}"][:size.lines], size)
            key, count = terminal.wait(60), count + 1
    return 0
sys.exit(serve(work, lambda words, error: print(words)))
"""


@pytest.fixture
def painted():
    with OnTerminal(PAINTS) as program:
        program.until("0: 'none'")
        yield program


def test_a_screen_of_its_own_is_painted_in_one_go_and_left_at_the_end(painted):
    assert painted.picture.modes == {"1049": True, "25": False, "7": False}
    mode = termios.tcgetattr(painted._slave)
    assert not mode[3] & (termios.ICANON | termios.ECHO)
    assert mode[3] & termios.ISIG, "Ctrl-C is a signal"
    painted.press("q")
    assert painted.ended() == 0
    assert painted.is_as_before()


def test_only_lines_that_differ_are_written(painted):
    painted.press("x")
    assert painted.until("1: 'x'") == "\x1b[3;1H1: 'x'\x1b[K"


def test_another_size_is_painted_anew_at_once(painted):
    painted.resize(60, 10)
    text = painted.until("60 x 10")
    assert text.startswith("\x1b[2J")
    assert str(painted.picture).splitlines()[:3] == ["always", "60 x 10", "1: ''"]


@pytest.mark.parametrize("key", ["\x1b[A", "é", "abc"])
def test_what_is_no_key_of_it_is_taken_and_means_nothing(painted, key):
    painted.press(key)
    painted.until("1: '?'")
    painted.press("q")
    assert painted.ended() == 0


def test_ctrl_c_leaves_the_terminal_as_it_was(painted):
    painted.press("\x03")
    assert painted.ended() == 130
    assert painted.is_as_before()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_it_leaves_the_terminal_as_it_was(painted, number):
    painted.process.send_signal(number)
    assert painted.ended() == 128 + number
    assert painted.is_as_before()
    assert "Traceback" not in painted.written


def test_a_terminal_that_is_gone_ends_it(painted):
    os.close(painted._slave)
    os.close(painted.keys)
    assert painted.process.wait(20) == 128 + signal.SIGHUP


def test_a_terminal_that_somebody_has_stopped_does_not_hold_up_the_end(painted):
    painted.press("\x13")
    painted.press("x")
    painted._take(0.2)
    painted.process.send_signal(signal.SIGTERM)
    assert painted.ended() == 128 + signal.SIGTERM
    assert termios.tcgetattr(painted._slave) == painted.before


SHELL = f"""
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    exec({PAINTS!r})
while os.WIFSTOPPED(status := os.waitpid(pid, os.WUNTRACED)[1]):
    os.tcsetpgrp(0, os.getpid())
    os.write(1, b"stopped")
    os.tcsetpgrp(0, pid)
    os.killpg(pid, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_ctrl_z_gives_the_terminal_to_the_shell_until_it_goes_on():
    with OnTerminal(SHELL) as painted:
        painted.until("0: 'none'")
        painted.press("\x1a")
        text = painted.until("1: ''")
        left, again = text.split("stopped")
        assert left.endswith("\x1b[?25h\x1b[?1049l")
        assert again.startswith("\x1b[?1049h\x1b[?25l")
        assert str(painted.picture).startswith("always\n80 x 24\n1: ''")
        painted.press("q")
        assert painted.ended() == 0
        assert painted.is_as_before()
