"""A batch system of the real world behind it."""

from __future__ import annotations

import shutil
import tarfile

import pytest

from tests.live.gram.gatekeeper import SAMGRID
from tests.live.site import FAST, KEPT, LABS, ROOT

pytestmark = pytest.mark.long

EVENTS_TYPE = """
from jim.handlers.base import BY_EVENTS, Handler

class Counting(Handler):
    attributes = BY_EVENTS

    def command_and_arguments(self, request, job, piece):
        return "/usr/bin/seq", str(piece.first_event), str(piece.first_event + piece.events - 1)

HANDLER = Counting
"""


@pytest.fixture
def slurm(gate, lab):
    """JIM on the Slurm lab, with a job type of the site's own."""
    lab("slurm")
    own = gate.home.parent / "own/lab"
    own.mkdir(parents=True, exist_ok=True)
    (own / "counting.py").write_text(EVENTS_TYPE)
    gate.let_poll(f'[site]\nhandlers = "{own.parent}"\n[batch]\nsystem = "slurm"\n{FAST}{KEPT}')
    yield gate
    gate.let_poll()


def test_what_slurm_can_never_start_is_told_to_the_client(gate, lab):
    lab("slurm")
    gate.let_poll(f'[batch]\nsystem = "slurm"\n{FAST}[limits]\nstuck_seconds = 5\n{KEPT}')
    try:
        rsl = "&(executable=/bin/echo)(arguments=hi)(max_wall_time=999999)"
        code, out, err = gate.run("globusrun", "-s", "-r", SAMGRID, rsl)
        why = "1 of 1 local job failed: can never start as it was asked for: PartitionTimeLimit"
        assert (code, out, f"Details: {why}\n" in err) == (17, "", True), err
        assert gate.run("globusrun", "-s", "-r", SAMGRID, "&(executable=/bin/echo)(arguments=hi)")[1] == "hi\n"
    finally:
        gate.let_poll()


D0 = {
    "sam_experiment": "d0",
    "group": "mcc99",
    "station_name": "manhep",
    "runjob_requestid": "13669",
    "runjob_numevts": "2000",
    "d0_release_version": "p14.07.00",
    "jobfiles_dataset": "mcc99-p14.07.00-jobfiles",
    "minbias_dataset": "mcc99-p14.07.00-minbias",
}
PHASES = ("generator", "d0gstar", "d0sim", "d0reco")


def staged(tar):
    """Ask for the tar as a file of the client's, and see that none is there before."""
    tar.unlink(missing_ok=True)
    there = "(scratch_dir=/tmp)(directory=$(SCRATCH_DIRECTORY))"
    return f"{there}(file_stage_out=(results.tar $(GLOBUSRUN_GASS_URL){tar}))"


def test_a_request_of_d0_becomes_eight_local_jobs_of_slurm(slurm):
    out, standins = slurm.ours() / "d0.tar", slurm.home.parent / "standins"
    shutil.copytree(ROOT / "examples/standins", standins)
    said = "".join(f"({name}={value})" for name, value in (D0 | {"program": f"{standins}/mc_runjob"}).items())
    rsl = f"&(executable=/bin/ls)(jim_job_type=dzero_monte_carlo){said}{staged(out)}"
    code, _, err = slurm.run("globusrun", "-w", "-r", SAMGRID, rsl)
    assert (code, err) == (0, "")
    job = slurm.jobs()[-1]
    assert out.read_bytes() == slurm.tar(job)
    (sent,) = slurm.show(job)["submissions"]
    ended = [
        line.partition("ArrayTaskId=")[2].split()[0]
        for line in (LABS / "slurm/log/jobcomp.log").read_text().splitlines()
        if " JobState=COMPLETED " in line and f" ArrayJobId={sent['batch_id']} " in line
    ]
    assert sorted(ended) == [*"12345678"]
    with tarfile.open(out) as tar:
        brought = {name: tar.extractfile(name).read() for name in tar.getnames()}
    names = {f"{job}.{n}/{name}_13669_{n:04d}" for n in range(8) for name in ("stdout", "stderr")}
    for phase in PHASES:
        files = [f"{job}.{n}/{phase}_p14.07.00_13669_{1 + 250 * n:08d}" for n in range(8)]
        names |= {*files, *(f"{name}.json" for name in files)}
        events = [[int(line[:9]) for line in brought[name].splitlines()] for name in files]
        assert events == [list(range(1 + 250 * n, 251 + 250 * n)) for n in range(8)]
    own = {"summary.json", *(f"jim/{name}" for name in ("summary.json", "jobs.csv", "journal.csv", "log"))}
    assert brought.keys() == names | own


def test_a_job_type_of_the_site_s_own(slurm):
    out = slurm.ours() / "events.tar"
    rsl = f"&(executable=none)(jim_job_type=lab.counting)(events=500){staged(out)}"
    code, _, err = slurm.run("globusrun", "-w", "-r", SAMGRID, rsl)
    assert (code, err) == (0, "")
    job = slurm.jobs()[-1]
    with tarfile.open(out) as tar:
        pieces = [tar.extractfile(f"{job}.{n}/stdout").read().split() for n in range(2)]
    assert [[int(event) for event in piece] for piece in pieces] == [list(range(1, 251)), list(range(251, 501))]
