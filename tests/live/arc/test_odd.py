"""What happens seldom between an ARC CE and JIM."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager

import pytest

from tests.live.arc.computing_element import CONTROL, LAB, SITE, began, submit, waits_for
from tests.live.site import until

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


def test_killed_right_after_it_was_resumed_it_runs_no_more(ce):
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
    assert (place / "ledger").read_text() == "begun\n"
    assert ce.jobs()[-1] == first


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


def test_a_full_session_directory_keeps_the_job_until_there_is_room(ce):
    place, job, number = waiting_job(ce, "head -c 1000000 /dev/zero")
    session = LAB / f"session/{job}"
    owner = session.stat().st_uid
    with full(session):
        (place / "go").touch()
        until(lambda: "its outputs are not yet in" in ce.jim("explain", str(number)), "explain says it")
        assert ce.word(job) == "INLRMS"
    ce.until(job, "FINISHED", 300)
    assert ce.failure(job) == ""
    out = (session / "out").stat()
    assert (out.st_size, out.st_uid) == (1_000_000, owner)


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
