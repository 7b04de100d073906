"""What an HTCondor-CE and JIM do together, beyond the quick proof."""

from __future__ import annotations

import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from tests.live.ce.computing_element import HELD, IDLE, LONG, RUNNING, SITE, began, pythia
from tests.live.site import until

pytestmark = pytest.mark.long


# Results


@pytest.mark.parametrize("code", [0, 9])
def test_spooled_files_come_back_also_of_a_program_that_failed(ce, code):
    place = ce.directory()
    (place / "given").write_text("input\n")
    program = ce.program(place, f"cat given; echo oops >&2; mkdir sub; echo 42 >sub/result; exit {code}")
    job = ce.submit(
        place,
        "-spool",
        executable=program,
        transfer_input_files="given",
        transfer_output_files="sub/result",
        should_transfer_files="YES",
        when_to_transfer_output="ON_EXIT",
    )
    assert ce.ended(job) == code
    for name in (program, "given"):
        (place / name).unlink()
    ce.run("condor_transfer_data", job, cwd=place)
    ce.run("condor_rm", job)
    assert ((place / "out").read_text(), (place / "err").read_text()) == ("input\n", "oops\n")
    (result,) = place.rglob("result")
    assert result.read_text() == "42\n"


def test_events_in_8_local_jobs_bring_a_tar_and_a_picture(ce):
    setup = ce.place / "setup.sh"
    setup.write_text(pythia())
    ce.site_file(f'{SITE}[payload]\nsetup = "{setup}"\n')
    ce.kill(f"run_grid_job keeper {ce.state}")
    place, before = ce.directory(), ce.jobs()
    job = ce.submit(
        place,
        executable="/bin/true",
        transfer_executable="false",
        output="results.tar",
        transfer_output_files="mass.svg",
        _JIM_job_type='"pythia_monte_carlo"',
        _JIM_events='"20000"',
        _JIM_events_per_job='"2500"',
    )
    number = ce.new(before)
    line = until(lambda: "generate" in _line(place) and _line(place), "a line of progress", 120)
    assert line.startswith("generate ")
    assert line.endswith(" of 8 local jobs completed\n")
    assert ce.attribute(job, "JobStatus") in ("1", RUNNING)
    assert ce.ended(job, 600) == 0
    assert len(ce.show(number)["counts"]) == 1
    assert ce.show(number)["counts"] == {"completed": 8}
    with tarfile.open(place / "results.tar") as tar:
        events = [tar.extractfile(each).read() for each in tar.getnames() if "/events" in each]
    assert len(events) == 8
    assert sum(each.count(b"\n") for each in events) >= 20_000
    assert (place / "mass.svg").read_text().startswith("<svg")
    ce.site_file(SITE)
    ce.kill(f"run_grid_job keeper {ce.state}")


def _line(place: Path) -> str:
    file = place / "results.tar.status"
    return file.read_text() if file.exists() else ""


@pytest.mark.parametrize(
    ("universe", "lines"),
    [
        ("vanilla", {"environment": '"JIM_JOB_TYPE=pythia_monte_carlo JIM_EVENTS=20000"'}),
        ("grid", {"environment": "JIM_JOB_TYPE=pythia_monte_carlo;JIM_EVENTS=20000"}),  # HTCondor's old syntax
        (
            "grid",
            {"_remote_CERequirements": r'"JIM_job_type == \"pythia_monte_carlo\" && JIM_events == 20000"'},
        ),
        ("grid", {"_remote_JIM_job_type": '"pythia_monte_carlo"', "_remote_JIM_events": '"20000"'}),
    ],
    ids=["environment", "old environment", "CERequirements", "remote_"],
)
def test_each_way_to_say_what_is_to_be_split_reaches_jim(ce, universe, lines):
    place, before = ce.directory(), ce.jobs()
    job = ce.submit(place, universe=universe, executable="/bin/true", transfer_executable="false", **lines)
    number = ce.new(before)
    ce.run("condor_rm", job)
    until(lambda: ce.show(number)["step"] == "finished", "it is cancelled")
    shown = ce.show(number)
    assert (shown["type"], shown["request"]["events"]) == ("pythia_monte_carlo", 20_000)


def test_resources_pass_the_route_but_not_the_memory_that_nobody_asked_for(ce):
    place, before = ce.directory(), ce.jobs()
    (place / "large").write_bytes(b"#!/bin/sh\nexit\n" + b"#" * 200_000_000)  # HTCondor asks for 200 MB by itself
    (place / "large").chmod(0o755)
    ce.own(place / "large")
    asked = {"request_memory": "500", "request_cpus": "1", "_maxWallTime": "20"}
    jobs = [ce.submit(place, executable="large"), ce.submit(place, executable="large", **asked)]
    numbers = until(lambda: len(set(ce.jobs()) - set(before)) == 2 and sorted(set(ce.jobs()) - set(before)), "both")
    found = [ce.show(number)["request"] for number in numbers]
    limits = sorted((each["memory_mb"] or 0, each["wall_seconds"] or 0, each["cores"] or 0) for each in found)
    assert limits == [(0, 0, 1), (500, 1200, 1)]
    for job in jobs:
        ce.run("condor_rm", job)


# Hold, release, remove


def test_hold_and_release_is_once_more(ce):
    place, before = ce.directory(), ce.jobs()
    program = ce.program(place, f"echo begun >>{place}/ledger; {LONG.replace('go', str(place / 'go'))}; exit 7")
    job = ce.submit(place, universe="grid", executable=program)
    first = ce.new(before)
    until(lambda: began(ce, first), "it runs")
    ce.number(job)
    ce.run("condor_hold", job)
    until(lambda: ce.show(first)["status"] == "killed", "it is cancelled")
    ce.run("condor_release", job)
    second = ce.new([*before, first])
    assert ce.show(second)["key"] == f"{ce.show(first)['key']}#2"
    until(lambda: began(ce, second), "it runs again")
    ce.own(place / "go") if (place / "go").exists() else (place / "go").touch()
    assert ce.ended(job) == 7
    assert (place / "ledger").read_text() == "begun\nbegun\n"


def test_hold_and_release_of_a_routed_job_is_another_job(ce):
    place, before = ce.directory(), ce.jobs()
    job = ce.submit(place, executable=ce.program(place, LONG.replace("go", str(place / "go"))))
    first = ce.new(before)
    until(lambda: began(ce, first), "it runs")
    ce.run("condor_hold", job)
    until(lambda: ce.show(first)["status"] == "killed", "it is cancelled")
    (place / "go").touch()
    ce.run("condor_release", job)
    assert ce.ended(job) == 0
    assert len(ce.jobs()) == len(before) + 2


def test_removed_while_it_is_submitted(ce):
    place, before = ce.directory(), ce.jobs()
    with ce.after_the_answer() as held:
        job = ce.submit(place, universe="grid", executable=ce.program(place, LONG))
        until(held.exists, "the script waits")
        number = ce.new(before)
        ce.run("condor_rm", job)
        held.unlink()
        until(lambda: ce.show(number)["step"] == "finished", "it is cancelled")
    assert ce.show(number)["status"] in ("killed", "new")


# Kills


@pytest.mark.parametrize("who", ["blahpd", "condor_schedd"])
def test_killed_between_jim_s_answer_and_the_script_s(ce, who):
    place, before = ce.directory(), ce.jobs()
    with ce.after_the_answer() as held:
        job = ce.submit(place, universe="grid", executable=ce.program(place, "echo once; exit 6"))
        until(held.exists, "the script waits")
        assert ce.kill(who)
        held.unlink()
        until(lambda: "Total for all users" in ce.run("condor_q", "-totals", check=False), "the schedd answers")
        assert ce.ended(job) == 6
        assert ce.calls() == 2
    assert len(set(ce.jobs()) - set(before)) == 1
    assert (place / "out").read_text() == "once\n"


def test_the_keeper_is_killed(ce):
    place, before = ce.directory(), ce.jobs()
    program = ce.program(place, LONG.replace("go", str(place / "go")) + "; echo through; exit 5")
    job = ce.submit(place, universe="grid", executable=program)
    number = ce.new(before)
    until(lambda: began(ce, number), "it runs")
    os.kill(ce.keeper(), signal.SIGKILL)
    (place / "go").touch()
    assert ce.ended(job) == 5  # the status calls start the next keeper
    assert (place / "out").read_text() == "through\n"


def test_jim_is_away_for_two_minutes(ce):
    """No keeper runs, and none can start: a job keeps its last state, and is never held."""
    place, before = ce.directory(), ce.jobs()
    program = ce.program(place, LONG.replace("go", str(place / "go")) + "; exit 4")
    job = ce.submit(place, universe="grid", executable=program)
    number = ce.new(before)
    until(lambda: began(ce, number), "it runs")
    until(lambda: ce.attribute(job, "JobStatus") == RUNNING, "HTCondor knows")
    python = ce.home / "python"
    python.write_text("/bin/false\n")
    os.kill(ce.keeper(), signal.SIGKILL)
    (place / "go").touch()
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert ce.attribute(job, "JobStatus") == RUNNING
        time.sleep(5)
    python.write_text(f"{ce.python}\n")
    assert ce.ended(job) == 4


def test_a_wrong_request_is_a_held_job_with_a_sentence(ce):
    place, before = ce.directory(), ce.jobs()
    job = ce.submit(
        place, executable="/bin/true", transfer_executable="false", _JIM_job_type='"nosuch"', universe="grid"
    )
    direct = ce.submit(
        place, universe="grid", executable="/bin/true", transfer_executable="false", _remote_JIM_job_type='"nosuch"'
    )
    assert ce.ended(job) == 0  # that attribute needs a route, or remote_
    until(lambda: ce.attribute(direct, "JobStatus") == HELD, "it is held")
    assert "jim-submit: job_type: unknown job type 'nosuch'" in ce.attribute(direct, "HoldReason")
    ce.run("condor_rm", direct)
    assert len(ce.jobs()) == len(before) + 1


def test_a_directory_that_is_away_for_a_while_gets_its_outputs(ce):
    place, before = ce.directory(), ce.jobs()
    program = ce.program(ce.place, LONG.replace("go", str(ce.place / "go-away")) + "; echo there", "away.sh")
    job = ce.submit(place, universe="grid", executable=str(ce.place / program), transfer_executable="false")
    number = ce.new(before)
    until(lambda: began(ce, number), "it runs")
    away = place.rename(place.with_name("elsewhere"))
    (ce.place / "go-away").touch()
    until(lambda: "outputs not placed" in ce.jim("show", str(number)), "JIM tells of it")
    assert ce.attribute(job, "JobStatus") in (IDLE, RUNNING)
    away.rename(place)
    assert ce.ended(job) == 0
    assert (place / "out").read_text() == "there\n"


# Many, and credentials


def test_jobs_at_once_each_once_with_its_own_output(ce):
    place, before = ce.directory(), ce.jobs()
    program = ce.program(place, f"echo $1 >>{place}/ledger; echo of $1; exit $(($1 % 2))")
    (place / "ledger").touch()
    ce.own(place / "ledger")
    job = ce.submit(
        place,
        copies=100,
        universe="grid",
        executable=program,
        arguments="$(Process)",
        output="out.$(Process)",
        error="err.$(Process)",
    )
    cluster = job.partition(".")[0]
    until(lambda: not ce.run("condor_q", cluster, "-af", "ProcId").strip(), "all have ended", 600)
    told = ce.run("condor_history", cluster, "-af", "ProcId", "JobStatus", "ExitCode").split("\n")
    assert sorted(line for line in told if line) == sorted(f"{n} 4 {n % 2}" for n in range(100))
    assert sorted(map(int, (place / "ledger").read_text().split())) == list(range(100))
    assert [(place / f"out.{n}").read_text() for n in range(100)] == [f"of {n}\n" for n in range(100)]
    assert len(ce.jobs()) == len(before) + 100


def test_a_renewed_token_reaches_the_payload(ce):
    place = ce.directory()
    (place / "token").write_text("first")
    (place / "token").chmod(0o600)
    ce.own(place / "token")
    text = 'show() { cat "$BEARER_TOKEN_FILE"; }; show; until show | grep -q second; do sleep 0.5; done; show'
    job = ce.submit(
        place, universe="grid", executable=ce.program(place, text), environment=f'"BEARER_TOKEN_FILE={place}/token"'
    )
    until(lambda: (ce.state / "work" / str(ce.number(job)) / "s1/run.1/stdout").exists(), "it runs")
    (place / "new").write_text("second")
    (place / "new").chmod(0o600)
    ce.own(place / "new").rename(place / "token")
    assert ce.ended(job) == 0
    assert (place / "out").read_text() == "firstsecond"


def make_proxy(ce, place: Path, name: str) -> Path:
    """Make what HTCondor takes for a proxy: a certificate with its key."""
    words = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/O=Grid/CN={name}")
    key, certificate = place / f"{name}.key", place / f"{name}.pem"
    subprocess.run(
        ["openssl", *words, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True, timeout=60
    )
    proxy = place / f"proxy-{name}"
    proxy.write_text(certificate.read_text() + key.read_text())
    proxy.chmod(0o600)
    return ce.own(proxy)


def test_a_renewed_proxy_reaches_the_payload(ce):
    place = ce.directory()
    show = 'openssl x509 -noout -subject -in "$X509_USER_PROXY"'
    text = f"{show}; until {show} | grep second; do sleep 1; done"
    make_proxy(ce, place, "first").rename(place / "proxy")
    job = ce.submit(place, universe="grid", executable=ce.program(place, text), x509userproxy=str(place / "proxy"))
    until(lambda: (ce.state / "work" / str(ce.number(job)) / "s1/run.1/stdout").exists(), "it runs")
    make_proxy(ce, place, "second").rename(place / "proxy")
    assert ce.ended(job) == 0
    assert [line[-6:].strip() for line in (place / "out").read_text().splitlines()] == ["first", "second"]
    assert ce.show(ce.number(job))["sender"]["dn"].endswith("first")
