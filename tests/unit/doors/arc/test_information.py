"""The Perl module of A-REX's information provider, with a `jim` that says what a test wants."""

import shutil
import subprocess
from pathlib import Path

import pytest

SHELL = Path(__file__).resolve().parents[4] / "shell"
ASK = r"""
use JIMmod;
my $told = JIMmod::get_lrms_info({ jobs => [map { "1000.$_" } 1 .. 20000], queues => { jim => { users => ['u'] } } });
my ($all, $jobs) = ($told->{cluster}, $told->{jobs});
print "$all->{totalcpus} slots, $all->{usedcpus} used, $told->{queues}{jim}{running} in the queue, ";
print scalar(keys %$jobs), " jobs, $_->{status} @{$_->{comment}}\n" for $jobs->{'1000.7'};
"""


@pytest.fixture
def ask(tmp_path):
    """Return what A-REX learns, and what it finds on stderr, if `jim arc info` is this script."""
    (tmp_path / "shell/arc").mkdir(parents=True)
    shutil.copy(SHELL / "arc/JIMmod.pm", tmp_path / "shell/arc")

    def asked(script: str) -> tuple[str, str]:
        (tmp_path / "shell/jim").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "shell/jim").chmod(0o755)
        words = ["perl", f"-I{tmp_path}/shell/arc", "-e", ASK]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done
        return done.stdout, done.stderr

    return asked


def test_what_jim_says_reaches_a_rex(ask):
    told, err = ask("cat >/dev/null; echo site slots 8; echo site free_slots 3; echo job 1000.7 R 1 of 9 local jobs")
    assert told == "8 slots, 5 used, 5 in the queue, 20000 jobs, R JIM: 1 of 9 local jobs\n"
    assert err == ""


@pytest.mark.parametrize(("script", "why"), [("exit 3", "exit code 3"), ("kill -9 $$", "signal 9")])
def test_a_jim_that_ends_early_does_not_end_the_information_provider(ask, tmp_path, script, why):
    told, err = ask(script)
    assert told == "0 slots, 0 used, 0 in the queue, 20000 jobs, O \n"
    assert err == f"{tmp_path}/shell/arc/../jim arc info failed: {why}\n"
