"""The examples of tasks on a real Slurm: files that arrive, and the recovery of what has failed of them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.live.site import ROOT, USER, LiveSite

pytestmark = pytest.mark.long

SECONDS, DAMAGED = 120, 25
LIMIT = 1800.0


@pytest.fixture(scope="module")
def site(lab, make_site) -> LiveSite:
    """A site on Slurm, with the examples in a directory of its user."""
    lab("slurm")
    made = make_site("slurm", more="[limits]\nattempts = 1\n")
    shutil.copytree(ROOT / "examples/tasks", made.place / "tasks")
    (made.place / "tasks/incoming").mkdir()
    for each in (made.place / "tasks", *(made.place / "tasks").rglob("*")):
        shutil.chown(each, USER, USER)
    return made


def run(site: LiveSite, *words: str | Path) -> subprocess.Popen[str]:
    """Run a program of the examples as the lab's user, with `jim` on its PATH."""
    told = site.environment | {"PATH": f"{site.home / 'shell'}:{site.environment['PATH']}"}
    variables = [f"{name}={value}" for name, value in told.items()]
    command = ["runuser", "-u", USER, "--", "env", "-i", *variables, *map(str, words)]
    place = site.place / "tasks"
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=place)


def counted(site: LiveSite) -> Counter[str]:
    """Return the lines of all outputs in the tars of all waves."""
    lines: Counter[str] = Counter()
    for wave in (site.state / "work").glob("[0-9]*"):  # `jim status` shows the last 20
        _, files = site.tar(int(wave.name))
        for name, content in files.items():
            if "/counts_" in name:
                lines.update(content.decode().splitlines())
    return lines


def test_exactly_what_failed_of_files_that_arrived_is_recovered(site: LiveSite) -> None:
    site.jim("task", "create", str(site.place / "tasks/arrivals.toml"))
    site.jim("task", "start", "--untested", "arrivals")
    incoming = site.place / "tasks/incoming"
    dropping = run(site, "./drop-files", incoming, str(SECONDS), str(DAMAGED))
    script = run(site, "./recover", incoming)
    told, _ = script.communicate(timeout=LIMIT)
    assert script.returncode == 0, told
    dropping.communicate(timeout=60)
    assert dropping.returncode == 0
    there = {str(path): len(path.read_text().splitlines()) for path in incoming.glob("*.raw")}
    assert len(there) > SECONDS
    assert counted(site) == Counter(f"{path} {events}" for path, events in there.items())
    task = json.loads(site.jim("task", "status", "arrivals", "--json"))
    assert (task["outcome"], task["items"]) == ("completed", {"completed": len(there)})
    assert task["pieces"]["replaced"] <= len(there) // DAMAGED
