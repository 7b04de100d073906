"""What happens seldom between an ARC CE and JIM."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.live.arc.computing_element import CONTROL, LAB, SHARE, SITE, began, submit, waits_for
from tests.live.site import USER, until

pytestmark = pytest.mark.long

SHORT = SITE.replace("[batch]\n", "[batch]\nmost_wall_seconds = 600\nwall_seconds = 600\n")


def resume(ce, place, job):
    until(lambda: "Failed" in ce.stat(place, job), "its user sees it", 180)
    ce.client("arcresume", "-j", str(place / "jobs"), ce.urls[job], cwd=place)
    until(lambda: ce.word(job) != "FINISHED", "it goes on")


def kill(ce, place, job):
    ce.client("arckill", "-j", str(place / "jobs"), "-k", ce.urls[job])


def waiting_job(ce, more=""):
    """Return the directory, the job and the grid job of one that runs until its directory has a file `go`."""
    place = ce.directory()
    job = submit(ce, place, f"{waits_for(place)}; {more}")
    number = ce.number(job)
    until(lambda: began(ce, number), "it runs")
    return place, job, number


def test_no_text_of_a_user_hands_a_job_to_another_account(ce):
    """A-REX drops newlines, and keeps other characters that Python takes for the end of a line."""
    odd = "x\u2028localid=0.7\u2028sessiondir=/etc"
    place = ce.directory()
    job = ce.submit(place, f'(executable="/bin/false")(arguments="{odd}")(jobname="{odd}")(stdout="out")')
    ce.number(job)
    assert f"jobname={odd}\n" in (CONTROL / f"job.{job}.local").read_text()
    ce.until(job, "FINISHED")
    assert "(1)" in ce.failure(job)


def test_an_account_that_names_the_proxy_of_another_job_gets_nothing_of_it(ce):
    """A-REX keeps the proxies of all users where only it may read, and gives the file about a job to its account."""
    (place, mine, _), (beside, other, _) = waiting_job(ce), waiting_job(ce)
    local, proxy = CONTROL / f"job.{mine}.local", CONTROL / f"job.{mine}.proxy"
    own, others = (CONTROL / f"job.{each}.local" for each in (mine, other))
    own, others = (re.findall("^delegationid=(.+)$", each.read_text(), re.MULTILINE)[0] for each in (own, others))
    assert own != others
    scan = [str(SHARE / "scan-jim-job"), "--config", str(LAB / "run/arex.cfg"), str(CONTROL)]
    subprocess.run(scan, check=True, timeout=60)
    before = proxy.read_bytes(), proxy.stat().st_ino
    forge = 'text=$(sed "s/^delegationid=.*/delegationid=$1/" "$0") && printf "%s\n" "$text" >"$0"'
    ce.run(["sh", "-c", forge, str(local), others], ["runuser", "-u", USER, "--"])
    subprocess.run(scan, check=True, timeout=60)
    assert (proxy.read_bytes(), proxy.stat().st_ino) == before
    ce.run(["sh", "-c", forge, str(local), own], ["runuser", "-u", USER, "--"])
    for each, job in ((place, mine), (beside, other)):
        (each / "go").touch()
        ce.until(job, "FINISHED")


def test_a_rex_itself_names_who_sent_a_job(ce):
    place, job, number = waiting_job(ce)
    sender = ce.show(number)["sender"]
    assert (sender["dn"], sender["claimed"]) == ("/DC=org/DC=jimlab/CN=Grid User", False)
    (place / "go").touch()
    ce.until(job, "FINISHED")


def test_killed_right_after_it_was_resumed_it_ends(ce):
    place = ce.directory()
    (place / "ledger").touch()
    (place / "ledger").chmod(0o666)
    job = submit(ce, place, f"echo begun >>{place}/ledger; exit 3", '(rerun="2")')
    first = ce.number(job)
    ce.until(job, "FINISHED")
    resume(ce, place, job)
    until(lambda: ce.word(job) == "INLRMS", "it is INLRMS again")
    (CONTROL / f"accepting/job.{job}.cancel").touch()  # clients see for a minute that it has failed, and kill nothing
    ce.until(job, "FINISHED", 240)
    until(lambda: ce.show(ce.jobs()[-1])["step"] == "finished", "nothing of it runs")
    assert ce.failure(job) != ""
    assert (place / "ledger").read_text().count("begun") <= 1 + (ce.jobs()[-1] != first)


def test_a_job_that_jim_refused_is_resumed_once_the_site_allows_it(ce):
    ce.site_file(SHORT)
    place, before = ce.directory(), ce.jobs()
    job = submit(ce, place, "echo good", '(rerun="2")(walltime="30")')
    ce.until(job, "FINISHED")
    assert "1,800 s, more than the 600 s that this site allows" in ce.log(job)
    assert ce.jobs() == before
    ce.site_file(SITE)
    resume(ce, place, job)
    ce.until(job, "FINISHED", 180)
    assert ce.failure(job) == ""
    assert (LAB / f"session/{job}/out").read_text() == "good\n"
    assert len(ce.jobs()) == len(before) + 1


def test_a_resumed_job_that_jim_refuses_fails_with_a_sentence(ce):
    place = ce.directory()
    job = submit(ce, place, "exit 3", '(rerun="2")(walltime="30")')
    ce.number(job)
    ce.until(job, "FINISHED")
    before = ce.jobs()
    ce.site_file(SHORT)
    resume(ce, place, job)
    ce.until(job, "FINISHED", 240)
    assert "1,800 s, more than the 600 s that this site allows" in ce.failure(job)
    assert ce.jobs() == before
    ce.site_file(SITE)


@contextmanager
def full(session):
    """Let a session directory have little room."""
    owner = session.stat()
    room = f"size=64k,uid={owner.st_uid},gid={owner.st_gid},mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", room, "jim", str(session)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(session)], check=True)


@contextmanager
def read_only(session):
    """Let nobody write into a session directory."""
    for words in (["--bind", session, session], ["-o", "remount,bind,ro", session]):
        subprocess.run(["mount", *map(str, words)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(session)], check=True)


@pytest.mark.parametrize("hurt", [full, read_only])
def test_a_session_directory_that_takes_no_outputs_keeps_the_job_until_it_does(ce, hurt):
    place, job, number = waiting_job(ce, "head -c 1000000 /dev/zero")
    session = LAB / f"session/{job}"
    owner = session.stat().st_uid
    with hurt(session):
        (place / "go").touch()
        until(lambda: "its outputs are not yet in" in ce.jim("explain", str(number)), "explain says it")
        assert ce.word(job) == "INLRMS"
    ce.until(job, "FINISHED", 300)
    assert ce.failure(job) == ""
    out = (session / "out").stat()
    assert (out.st_size, out.st_uid) == (1_000_000, owner)


def kill_scans():
    """Kill what looks for ends just now, of root and of the account."""
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (each / "cmdline").read_bytes()
            if b"jim.doors.arc.scanning" in line and os.fsencode(CONTROL) in line:
                os.kill(int(each.name), signal.SIGKILL)


def test_resumed_three_times_under_kills_it_runs_four_times_and_never_twice_at_once(ce):
    place = ce.directory()
    for name in ("ledger", "lock"):
        (place / name).touch()
        (place / name).chmod(0o666)
    alone = f"exec 9>>{place}/lock; flock -n 9 || echo twice >>{place}/ledger"
    text = f"{alone}\necho begun >>{place}/ledger; sleep 1; [ -e {place}/go ] || exit 3; echo good"
    job, before = submit(ce, place, text, '(rerun="3")'), ce.jobs()
    for killed in ("keeper", "scans", "A-REX"):
        ce.until(job, "FINISHED", 180)
        assert "exit 3" in ce.failure(job)
        if killed == "A-REX":
            (place / "go").touch()
        resume(ce, place, job)
        until(lambda: ce.word(job) == "INLRMS", "it is INLRMS again")
        if killed == "A-REX":
            ce.kill_arex()
            ce.start_arex()
        end = time.monotonic() + 25
        while time.monotonic() < end and killed != "A-REX":
            ce.kill(f"run_grid_job keeper {ce.state}") if killed == "keeper" else kill_scans()
            time.sleep(0.3)
    ce.until(job, "FINISHED", 180)
    assert ce.failure(job) == ""
    assert (LAB / f"session/{job}/out").read_text() == "good\n"
    assert (place / "ledger").read_text() == "begun\n" * 4
    keys = [ce.show(number)["key"] for number in ce.jobs() if number not in before]
    assert {*keys, job} == {job, f"{job}#2", f"{job}#3", f"{job}#4"}


def test_very_long_names_and_texts(ce):
    place, name = ce.directory(), "o" * 200
    job = submit(
        ce,
        place,
        'printf %s "$1" | wc -c; printf %s "$LONG" | wc -c; echo 42 >"$2"',
        f'(arguments="{"a" * 20_000}" "{name}")(environment=("LONG" "{"e" * 20_000}"))(outputfiles=("{name}" ""))'
        f'(jobname="{"n" * 1000}")',
    )
    ce.until(job, "FINISHED")
    assert ce.failure(job) == ""
    assert (LAB / f"session/{job}/out").read_text().split() == ["20000", "20000"]
    assert (LAB / f"session/{job}/{name}").read_text() == "42\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('(environment=("JIM_CORES" "２"))', "jim-submit: count (cores): expected a whole number, found '２'"),
        ('(environment=("JIM_NOSUCH" "1"))', "jim-submit: 'nosuch': unknown attribute"),
        ('(environment=("JIM_KEY" "k"))', "jim-submit: key: the gatekeeper names each job itself; leave this out"),
        ('(runtimeenvironment="JIM/PYTHIA" "events")', "jim-submit: JIM/PYTHIA: 'events': expected NAME=VALUE"),
        ('(runtimeenvironment="JIM/PYTHIA" "events=-1")', "jim-submit: events: "),
    ],
)
def test_what_jim_cannot_do_is_a_failed_job_with_a_sentence(ce, more, words):
    before, job = ce.jobs(), submit(ce, ce.directory(), "true", more)
    ce.until(job, "FINISHED")
    assert "Job submission to LRMS failed" in ce.failure(job)
    assert words in ce.log(job)
    assert ce.jobs() == before


def test_a_rex_killed_after_it_took_an_end_is_told_it_once_more(ce):
    """It writes the state of each job anew when it starts; nobody has resumed this one."""
    place = ce.directory()
    (place / "ledger").touch()
    (place / "ledger").chmod(0o666)
    job = submit(ce, place, f"echo begun >>{place}/ledger; {waits_for(place)}; exit 3", '(rerun="2")')
    number = ce.number(job)
    until(lambda: began(ce, number), "it runs")
    ce.kill_arex()
    (place / "go").touch()
    until(lambda: ce.show(number)["step"] == "finished", "it has ended")
    done, before = CONTROL / f"job.{job}.lrms_done", (CONTROL / f"processing/job.{job}.status").stat().st_mtime_ns
    for _ in range(20):
        subprocess.run([SHARE / "scan-jim-job", "--config", LAB / "arc.conf", CONTROL], check=True, timeout=60)
        if done.exists():
            break
    done.unlink()  # as A-REX does when it takes an end
    with ce.replaced("scan", "#!/bin/sh\nexit 0\n"):
        ce.start_arex()
        until(lambda: (CONTROL / f"processing/job.{job}.status").stat().st_mtime_ns != before, "it is written anew")
        time.sleep(25)
    ce.until(job, "FINISHED", 180)
    assert "exit 3" in ce.failure(job)
    assert (place / "ledger").read_text() == "begun\n"
    assert ce.jobs()[-1] == number


def test_a_rex_killed_while_it_cancels(ce):
    place, job, number = waiting_job(ce)
    with ce.after_the_answer("cancel") as held:
        kill(ce, place, job)
        until(held.exists, "the script waits")
        ce.kill_arex()
        held.unlink()
    ce.start_arex()
    ce.until(job, "FINISHED", 180)
    assert ce.show(number)["status"] == "killed"


def test_a_cancel_that_never_reached_jim_is_left_by_the_scan(ce):
    place, job, number = waiting_job(ce)
    with ce.replaced("cancel", "#!/bin/sh\nexit 0\n"):
        kill(ce, place, job)
        until(lambda: ce.word(job) == "CANCELING", "it is being cancelled")
        ce.kill_arex()
    ce.start_arex()
    ce.until(job, "FINISHED", 180)
    assert ce.show(number)["status"] == "killed"


def test_registered_twice_it_is_the_same(ce):
    assert "already leads to" in ce.as_root("arc", "register")
    assert "failed" not in ce.check()
