"""What an ARC CE and JIM do together, beyond the quick proof."""

from __future__ import annotations

import os
import signal
import tarfile
import time

import pytest

from tests.live.arc.computing_element import CONTROL, LAB, LONG, SHARE, SITE, began, pythia, submit, waits_for
from tests.live.site import until

pytestmark = pytest.mark.long


def test_events_in_8_local_jobs_bring_a_tar_and_a_picture(ce):
    setup = ce.place / "setup.sh"
    setup.write_text(pythia())
    ce.site_file(f'{SITE}[payload]\nsetup = "{setup}"\n')
    place = ce.directory()
    job = ce.submit(
        place,
        '(executable="/bin/true")(stdout="out")(outputfiles=("z.tar" "")("mass.svg" ""))'
        '(runtimeenvironment="JIM/PYTHIA" "events=20000" "events_per_job=2500")',
    )
    number = ce.number(job)
    info = until(
        lambda: "generate" in (told := ce.as_root("arc", "info", given=f"{ce.id_of(job)}\n")) and told, "info", 120
    )
    assert f"job {ce.id_of(job)} R generate " in info
    assert " of 8 local jobs completed" in info
    ce.until(job, "FINISHED", 600)
    assert ce.show(number)["counts"] == {"completed": 8}
    got = ce.got(place, job)
    with tarfile.open(got / "z.tar") as tar:
        events = [tar.extractfile(each).read() for each in tar.getnames() if "/events" in each]
    assert len(events) == 8
    assert sum(each.count(b"\n") for each in events) >= 20_000
    assert (got / "mass.svg").read_text().startswith("<svg")
    ce.site_file(SITE)


def test_clients_see_the_phases_of_a_split_job(ce):
    place = ce.directory()
    program = ce.program(place, waits_for(place))
    job = ce.submit(
        place,
        f'(executable="{program}")(inputfiles=("{program}" ""))(outputfiles=("all.tar" ""))'
        '(runtimeenvironment="JIM/PARAMETRIC" "argument_sets=[[""a""],[""b""]]")',
    )
    shown = until(lambda: "Other Messages: JIM:" in (told := ce.stat(place, job)) and told, "arcstat shows it", 180)
    assert "0 of 2 local jobs completed" in shown
    (place / "go").touch()
    ce.until(job, "FINISHED")


def test_a_job_that_failed_is_resumed_by_its_user_and_is_another_grid_job(ce):
    place = ce.directory()
    job = submit(ce, place, f"echo begun >>{place}/ledger; [ -e {place}/go ] || exit 3; echo good", '(rerun="2")')
    (place / "ledger").touch(mode=0o666)
    (place / "ledger").chmod(0o666)
    first = ce.number(job)
    ce.until(job, "FINISHED")
    assert "exit 3" in ce.failure(job)
    (place / "go").touch()
    until(lambda: "Failed" in ce.stat(place, job), "its user sees it", 180)
    ce.client("arcresume", "-j", str(place / "jobs"), ce.urls[job], cwd=place)
    until(lambda: ce.word(job) == "INLRMS", "it is INLRMS again")
    ce.until(job, "FINISHED")
    assert ce.failure(job) == ""
    assert (LAB / f"session/{job}/out").read_text() == "good\n"
    assert (place / "ledger").read_text() == "begun\nbegun\n"
    second = ce.jobs()[-1]
    assert (second, ce.show(second)["key"]) == (second, f"{job}#2")
    assert second != first


def test_what_a_killed_split_job_has_left_comes_back(ce):
    place = ce.directory()
    program = ce.program(place, f"echo said; {waits_for(place)}")
    job = ce.submit(
        place,
        f'(executable="{program}")(inputfiles=("{program}" ""))(outputfiles=("all.tar" ""))'
        '(runtimeenvironment="JIM/PARAMETRIC" "argument_sets=[[""a""],[""b""]]")',
    )
    number = ce.number(job)
    until(lambda: began(ce, number), "it runs")
    ce.client("arckill", "-j", str(place / "jobs"), "-k", ce.urls[job])
    ce.until(job, "FINISHED")
    assert ce.show(number)["status"] == "killed"
    with tarfile.open(LAB / f"session/{job}/all.tar") as tar:
        assert f"{number}.0.killed/stdout" in tar.getnames()


def test_removed_while_it_is_submitted(ce):
    place, before = ce.directory(), ce.jobs()
    with ce.after_the_answer() as held:
        job = submit(ce, place, LONG)
        until(held.exists, "the script waits")
        (number,) = until(lambda: set(ce.jobs()) - set(before), "JIM has it")
        ce.client("arckill", "-j", str(place / "jobs"), "-k", ce.urls[job])
        held.unlink()
        ce.until(job, "FINISHED")
        until(lambda: ce.show(number)["step"] == "finished", "it is cancelled")
    assert ce.show(number)["status"] in ("killed", "new")


def test_a_wrong_request_is_a_failed_job_with_a_sentence(ce):
    place, before = ce.directory(), ce.jobs()
    job = submit(ce, place, "true", '(environment=("JIM_JOB_TYPE" "nosuch"))')
    many = submit(ce, ce.directory(), "true", '(count="4")(countpernode="2")')
    for each in (job, many):
        ce.until(each, "FINISHED")
        assert "Job submission to LRMS failed" in ce.failure(each)
    assert "jim-submit: job_type: unknown job type 'nosuch'" in ce.log(job)
    assert "jim-submit: countpernode: '2': a local job has one node; ask for fewer processors" in ce.log(many)
    assert ce.jobs() == before


def test_a_killed_keeper_is_started_by_the_scan(ce):
    place = ce.directory()
    job = submit(ce, place, waits_for(place))
    number = ce.number(job)
    until(lambda: began(ce, number), "it runs")
    os.kill(ce.keeper(), signal.SIGKILL)
    (place / "go").touch()
    ce.until(job, "FINISHED")
    assert ce.failure(job) == ""


def test_jim_is_away_for_two_minutes(ce):
    """No keeper runs, and none can start: a job keeps its last state, and ends as it should."""
    place = ce.directory()
    job = submit(ce, place, f"{waits_for(place)}; exit 4")
    number = ce.number(job)
    until(lambda: began(ce, number), "it runs")
    python = ce.home / "python"
    known = python.read_text()
    python.write_text("/bin/false\n")
    os.kill(ce.keeper(), signal.SIGKILL)
    (place / "go").touch()
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert ce.word(job) == "INLRMS"
        time.sleep(5)
    python.write_text(known)
    ce.until(job, "FINISHED")
    assert "(4)" in ce.failure(job)


def test_a_rex_away_while_a_job_ends_learns_of_it(ce):
    place = ce.directory()
    job = submit(ce, place, waits_for(place))
    number = ce.number(job)
    until(lambda: began(ce, number), "it runs")
    ce.kill_arex()
    (place / "go").touch()
    until(lambda: ce.show(number)["step"] == "finished", "it has ended")
    ce.start_arex()
    ce.until(job, "FINISHED")
    assert ce.failure(job) == ""


def test_jobs_at_once_each_once_with_its_own_output(ce):
    place, before = ce.directory(), ce.jobs()
    (place / "ledger").touch()
    (place / "ledger").chmod(0o666)
    program = ce.program(place, f"echo $1 >>{place}/ledger; echo of $1; exit $(($1 % 2))")
    one = f'(executable="{program}")(arguments="%d")(inputfiles=("{program}" ""))(stdout="out")'
    jobs = ce.submit_many(place, [one % n for n in range(100)])
    for each in jobs:
        ce.until(each, "FINISHED", 600)
    assert [bool(ce.failure(each)) for each in jobs] == [n % 2 == 1 for n in range(100)]
    assert sorted(map(int, (place / "ledger").read_text().split())) == list(range(100))
    assert [(LAB / f"session/{each}/out").read_text() for each in jobs] == [f"of {n}\n" for n in range(100)]
    assert len(ce.jobs()) == len(before) + 100


def test_a_renewed_proxy_reaches_the_payload(ce):
    place = ce.directory()
    text = 'sum() { cksum <"$X509_USER_PROXY"; }; first=$(sum)\n'
    text += 'until [ "$(sum)" != "$first" ]; do sleep 0.5; done; echo new'
    job = submit(ce, place, text)
    number = ce.number(job)
    until(lambda: began(ce, number), "it runs")
    ce.client("arcproxy", "-P", str(LAB / "user/proxy.pem"), "-c", "validityPeriod=200h")
    ce.client("arcrenew", "-j", str(place / "jobs"), ce.urls[job], cwd=place)
    ce.until(job, "FINISHED", 300)
    assert (LAB / f"session/{job}/out").read_text() == "new\n"


def test_the_check_proves_the_connection(ce):
    said = ce.check()
    assert "failed" not in said
    assert "a job came through A-REX to JIM, and its output came back" in said


def test_unregistered_nothing_is_left(ce):
    ce.as_root("arc", "unregister")
    assert not list(LAB.glob("runtime/JIM/*"))
    assert not list(SHARE.glob("*-jim-job")) + list(SHARE.glob("JIM*"))
    ce.as_root("arc", "register")
    assert (CONTROL / "processing").is_dir()
