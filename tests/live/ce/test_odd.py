"""What happens seldom between an HTCondor-CE and JIM."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.live.ce.computing_element import HELD, IDLE, LONG, REMOVED, RUNNING, began
from tests.live.site import until

pytestmark = pytest.mark.long


def waits_for(place):
    return LONG.replace("go", str(place / "go"))


def running_job(ce, text="", **lines):
    """Return the directory, the job and the grid job of one that runs until its directory has a file `go`."""
    place, before = ce.directory(), ce.jobs()
    program = ce.program(place, f"{text}\n{waits_for(place)}; echo through")
    job = ce.submit(place, universe="grid", executable=program, **lines)
    number = ce.new(before)
    until(lambda: began(ce, number), "it runs")
    until(lambda: ce.attribute(job, "JobStatus") == RUNNING, "HTCondor knows")
    return place, job, number


def test_removed_by_force_it_is_forgotten_by_htcondor_and_goes_on_in_jim(ce):
    """As the page says: HTCondor cancels nothing then."""
    place, job, number = running_job(ce)
    ce.run("condor_rm", "-forcex", job, check=False)  # only what is being removed can be removed by force
    assert ce.attribute(job, "JobStatus") == RUNNING
    ce.run("condor_rm", job)
    ce.run("condor_rm", "-forcex", job)
    assert not ce.run("condor_q", job, "-af", "JobStatus").strip()
    (place / "go").touch()
    until(lambda: ce.show(number)["step"] == "finished", "it ends")
    assert ce.show(number)["status"] == "completed"
    assert (place / "out").read_text() == "through\n"


def test_held_and_released_three_times_it_never_runs_twice_at_once(ce):
    """Keeper, gridmanager and blahpd are killed in between."""
    place = ce.directory()
    ledger, lock = ce.place / f"ledger-{ce.count}", ce.place / f"lock-{ce.count}"
    for each in (ledger, lock):
        each.touch()
        ce.own(each)
    alone = f"exec 9>>{lock}; flock -n 9 || echo twice >>{ledger}\n"
    before, program = ce.jobs(), ce.program(place, f"{alone}echo begun >>{ledger}\n{waits_for(place)}; exit 3")
    job = ce.submit(place, universe="grid", executable=program)
    number = ce.new(before)
    numbers = [number]
    for killed in (["keeper"], ["condor_gridmanager", "blahpd"], ["keeper", "condor_gridmanager", "blahpd"]):
        until(lambda: began(ce, numbers[-1]), "it runs")
        until(lambda: ce.attribute(job, "JobStatus") == RUNNING, "HTCondor knows")
        ce.run("condor_hold", job)
        ce.kill(*(f"run_grid_job keeper {ce.state}" if name == "keeper" else name for name in killed))
        until(lambda: ce.show(numbers[-1])["status"] == "killed", "it is cancelled", 300)
        assert ce.attribute(job, "JobStatus") == HELD
        ce.run("condor_release", job)
        numbers.append(ce.new([*before, *numbers]))
    key = ce.show(number)["key"]
    assert [ce.show(each)["key"] for each in numbers[1:]] == [f"{key}#2", f"{key}#3", f"{key}#4"]
    (place / "go").touch()
    assert ce.ended(job, 300) == 3
    assert ledger.read_text() == "begun\n" * 4
    assert [ce.show(each)["status"] for each in numbers] == ["killed"] * 3 + ["failed"]


@contextmanager
def read_only(place):
    for words in (["--bind", place, place], ["-o", "remount,bind,ro", place]):
        subprocess.run(["mount", *map(str, words)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def full(place):
    owner = place.stat()
    room = f"size=64k,uid={owner.st_uid},gid={owner.st_gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", room, "jim", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("hurt", [read_only, full])
def test_a_directory_that_takes_no_outputs_for_a_while_gets_them(ce, hurt):
    place, before = ce.directory(), ce.jobs()
    go = ce.place / f"go-{ce.count}"
    program = ce.program(place, f"{LONG.replace('go', str(go))}; head -c 1000000 /dev/zero")
    job = ce.submit(place, universe="grid", executable=program)
    number = ce.new(before)
    until(lambda: began(ce, number), "it runs")
    with hurt(place):
        go.touch()
        until(lambda: "its outputs are not yet in" in ce.jim("explain", str(number)), "explain says it")
        assert ce.attribute(job, "JobStatus") in (IDLE, RUNNING)
    assert ce.ended(job, 300) == 0
    out = (place / "out").stat()
    assert (out.st_size, out.st_uid) == (1_000_000, place.stat().st_uid)


def test_very_long_names_and_texts(ce):
    place, before = ce.directory(), ce.jobs()
    program = ce.program(place, 'printf %s "$1" | wc -c; printf %s "$LONG" | wc -c; echo 42 >"$2"', "p" * 200)
    name = "o" * 255
    job = ce.submit(
        place,
        universe="grid",
        executable=program,
        arguments=f"\"'{'a' * 30_000}' {name}\"",
        environment=f'"LONG={"e" * 30_000}"',
        output="s" * 255,
        transfer_output_files=name,
        _remote_JIM_name='"' + "n" * 100 + '"',
    )
    assert ce.ended(job) == 0
    assert len(ce.jobs()) == len(before) + 1
    assert (place / ("s" * 255)).read_text().split() == ["30000", "30000"]
    assert (place / name).read_text() == "42\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"batch_extra_submit_args": "--exclusive"}, "BatchExtraSubmitArgs: '--exclusive': a local job cannot have"),
        ({"request_gpus": "2", "_remote_GPUNumber": "2"}, "request_gpus: '2': a local job cannot have"),
        ({"_remote_HostNumber": "3"}, "HostNumber: '3': a local job cannot have"),
        ({"_remote_WholeNodes": "true"}, "WholeNodes: 'yes': a local job cannot have"),
        ({"_remote_JIM_test": '"perhaps"'}, "perhaps"),
        ({"_remote_JIM_cores": '"２"'}, "cores"),
        ({"_remote_JIM_nosuch": '"1"'}, "'nosuch': unknown attribute"),
        ({"_remote_JIM_key": '"k"'}, "key: the gatekeeper names each job itself; leave this out"),
    ],
)
def test_what_jim_cannot_do_is_a_held_job_with_a_sentence(ce, line, words):
    place, before = ce.directory(), ce.jobs()
    job = ce.submit(place, universe="grid", executable="/bin/true", transfer_executable="false", **line)
    until(lambda: ce.attribute(job, "JobStatus") == HELD, "it is held")
    assert words in ce.attribute(job, "HoldReason")
    assert ce.jobs() == before
    ce.run("condor_rm", job)


def test_removed_before_its_submission_is_answered_and_the_keeper_is_killed(ce):
    place, before = ce.directory(), ce.jobs()
    with ce.after_the_answer() as held:
        job = ce.submit(place, universe="grid", executable=ce.program(place, waits_for(place)))
        until(held.exists, "the script waits")
        number = ce.new(before)
        ce.run("condor_rm", job)
        with suppress(ProcessLookupError):
            os.kill(ce.keeper(), signal.SIGKILL)
        held.unlink()
        until(lambda: ce.show(number)["step"] == "finished", "it is cancelled")
    assert ce.show(number)["status"] in ("killed", "new")
    assert ce.attribute(job, "JobStatus") == REMOVED


def test_an_account_without_a_home_gets_a_held_job_with_a_sentence(ce):
    name = "homeless"
    subprocess.run(["useradd", "-M", "-d", "/nonexistent", "-s", "/bin/sh", name], check=True)
    place = Path(tempfile.mkdtemp(prefix="jim-homeless-"))
    place.chmod(0o777)
    try:
        (place / "job.sub").write_text(
            "universe = grid\ngrid_resource = batch jim\nexecutable = /bin/true\ntransfer_executable = false\n"
            "log = log\nqueue\n"
        )
        told = ce.run("runuser", "-u", name, "--", "condor_submit", "-terse", "job.sub", as_root=True, cwd=place)
        job = told.split()[0]
        until(lambda: ce.attribute(job, "JobStatus") == HELD, "it is held")
        reason = ce.attribute(job, "HoldReason")
        ce.run("condor_rm", job, as_root=True)
        assert "jim-submit: cannot make the state directory: [Errno 13] Permission denied: '/nonexistent'" in reason
        assert f"ask root to run: jim site init --account {name}" in reason
    finally:
        shutil.rmtree(place)
        ce.kill("condor_gridmanager", "blahpd")
        # Another test may have processes of this uid, in namespaces of its own.
        subprocess.run(["userdel", "-f", name], check=False, capture_output=True)
