"""What comes at the worst moment."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.live.gram.gatekeeper import GATEKEEPER, SAMGRID, SITE, until
from tests.live.site import Daemon
from tests.live.site import until as patiently

pytestmark = pytest.mark.long


@pytest.fixture
def held(gate):
    """Batch commands that submit wait for as long as this file is there."""
    hold, front = gate.home.parent / "hold", gate.home.parent / "front"
    front.write_text(f'#!/bin/sh\nwhile [ -e {hold} ]; do sleep 0.1; done\nexec "$@"\n')
    front.chmod(0o755)
    words = [str(front), gate.python, "-P", "-s", "-m", "jim.localbatch", "--area", str(gate.state / "batch"), "submit"]
    gate.end("run_grid_job keeper")
    gate.site_file(f"{SITE}[batch.commands]\nsubmit = {json.dumps(words)}\n")
    hold.touch()
    yield hold
    hold.unlink(missing_ok=True)
    gate.end("run_grid_job keeper")
    gate.site_file(SITE)


def test_cancel_while_it_is_split(gate):
    contact, job = gate.submit("&(executable=none)(jim_job_type=pythia_monte_carlo)(events=200000)(events_per_job=1)")
    keeper = Daemon(gate.state / "keeper.lock", ())
    until(gate.has_keeper, "a keeper has the lock")
    with keeper.frozen():
        assert gate.show(job)["step"] in ("accepted", "resolved")
        client = gate.start("globusrun", "-kill", contact)
        until(lambda: any((gate.state / "inbox").glob("wish-*")), "the wish is there")
    client.communicate(timeout=90)
    assert client.returncode == 0
    assert gate.answer(job).endswith("GRAM_SCRIPT_ERROR:8\n\n")
    assert not gate.show(job)["submissions"]


def test_cancel_while_it_is_sent(gate, held):
    file = gate.script("exec sleep 600")
    contact, job = gate.submit(f"&(executable={file})")
    until(lambda: gate.show(job)["counts"].get("submitting"), "it is being sent")
    client = gate.start("globusrun", "-kill", contact)
    until(lambda: gate.show(job)["wish"] == "cancel", "the keeper knows")
    held.unlink()
    client.communicate(timeout=90)
    assert client.returncode == 0
    assert gate.answer(job).endswith("GRAM_SCRIPT_ERROR:8\n\n")
    assert not gate.pids("sleep 600")


def test_cancel_while_it_is_collected_comes_too_late(gate):
    file = gate.script("truncate -s 800M big")
    out = gate.account / "collected.tar"
    rsl = f"&(executable={file})(jim_job_type=parametric)(argument_sets=(1))(outputs=big)(stdout={out})"
    contact, job = gate.submit(rsl)
    until(lambda: gate.show(job)["step"] in ("collecting", "finished"), "it is collected")
    assert gate.run("globusrun", "-kill", contact)[0] == 0
    until(lambda: gate.status(contact) == "DONE", "it is done")
    assert gate.answer(job) == "GRAM_SCRIPT_JOB_STATE:8\n\n"
    assert out.stat().st_size == (gate.state / f"work/{job}/result/{job}.tar").stat().st_size
    out.unlink()
    shutil.rmtree(gate.state / f"work/{job}")


def test_a_killed_gatekeeper(gate):
    go = gate.home.parent / "go-without-gatekeeper"
    file = gate.script(f"until [ -e {go} ]; do sleep 0.2; done; echo through")
    client = gate.start("globusrun", "-s", "-r", SAMGRID, f"&(executable={file})")
    until(lambda: gate.pids(str(file)), "it runs")
    GATEKEEPER.kill()
    assert gate.run("globus-job-run", SAMGRID, "/bin/true")[0] == 12
    go.touch()
    assert client.communicate(timeout=60)[0] == "through\n"
    GATEKEEPER.start_again()
    until(lambda: gate.run("globusrun", "-a", "-r", SAMGRID)[0] == 0, "the gatekeeper is back")


def test_restart_finds_a_job_again(gate):
    go = gate.home.parent / "go-again"
    file = gate.script(f"until [ -e {go} ]; do sleep 0.2; done; echo found again")
    out = gate.account / "restarted.out"
    out.unlink(missing_ok=True)
    contact, job = gate.submit(f"&(executable={file})(stdout={out})(save_state=yes)")
    until(lambda: ":2\n" in gate.answer(job), "it runs")
    gate.end("globus-job-manager ")
    client = gate.start("stdbuf", "-oL", "globusrun", "-r", SAMGRID, f"&(restart={contact})")
    # A job manager first settles, and forgets, what has ended since; only then does it hear whom it was started for.
    assert "GRAM Job submission successful\n" in client.stdout, client.communicate(timeout=90)
    go.touch()
    said = client.communicate(timeout=90)
    assert "GLOBUS_GRAM_PROTOCOL_JOB_STATE_DONE" in said[0], said
    assert out.read_text() == "found again\n"
    assert len([each for each in gate.jobs() if each >= job]) == 1


def test_a_proxy_that_expires_and_is_renewed(gate):
    short = gate.proxy("short.pem", "0:11")
    gate.end("globus-job-manager ")
    go = gate.home.parent / "go-renewed"
    file = gate.script(f"until [ -e {go} ]; do sleep 0.2; done; echo renewed")
    out = gate.account / "renewed.out"
    out.unlink(missing_ok=True)
    _, job = gate.submit(f"&(executable={file})(stdout={out})", proxy=short)
    patiently(lambda: not gate.pids("globus-job-manager "), "GRAM gives it up 10 minutes before the proxy ends", 120)
    assert gate.pids(str(file))
    go.touch()
    assert gate.run("globus-job-run", SAMGRID, "/bin/echo", "again")[1] == "again\n"
    until(lambda: out.read_text() == "renewed\n", "its output was delivered")
    assert gate.answer(job) == "GRAM_SCRIPT_JOB_STATE:8\n\n"
