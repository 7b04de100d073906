"""The examples of tasks on a real Slurm: campaigns, files that arrive, the recovery of what has failed, and a chain."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.live.arc.computing_element import pythia
from tests.live.site import ROOT, USER, LiveSite, until

pytestmark = pytest.mark.long

SECONDS, DAMAGED = 120, 25
LIMIT = 1800.0


@pytest.fixture
def examples(lab, make_site):
    """Make a site on Slurm, with the examples and their stores in a directory of its user."""

    def make(*stores: str, settings: str) -> LiveSite:
        lab("slurm")
        made = make_site("slurm")
        with (made.place / "site.toml").open("a") as file:
            file.write(settings.format(place=made.place))
        shutil.copytree(ROOT / "examples", made.place, dirs_exist_ok=True)
        for each in stores:
            (made.place / "tasks" / each).mkdir()
        for each in made.place.rglob("*"):
            shutil.chown(each, USER, USER)
        return made

    return make


def ended(site: LiveSite, *names: str) -> bool:
    """Tell whether tasks are finished; they must have completed."""
    told = [json.loads(site.jim("task", "status", each, "--json")) for each in names]
    for each in told:
        assert each["state"] != "finished" or each["outcome"] == "completed", each
    return all(each["state"] == "finished" for each in told)


def stored(site: LiveSite, store: str) -> list[str]:
    return [path.read_text() for path in sorted((site.place / "tasks" / store).iterdir())]


def create(site: LiveSite, name: str, change: dict[str, str]) -> None:
    """Create the tasks of an example, with these changes."""
    file = site.place / f"tasks/{name}.toml"
    text = file.read_text()
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    site.jim("task", "create", str(file))


def test_campaigns_are_tried_out_and_each_merged_into_one_file(examples) -> None:
    settings = '[site]\ncatalogue = "{place}/catalogue"\n[payload]\ntools = "{place}/standins"\n'
    site = examples("reco", "merged", settings=settings)
    create(site, "mc-13669", {"events = 200_000": "events = 20_000"})
    site.jim("task", "test", "mc-13669", "--watch")
    site.jim("task", "start", "--untested", "merge-13669")
    site.jim("task", "start", "mc-13669")
    until(lambda: ended(site, "mc-13669", "merge-13669"), "campaigns are merged", LIMIT)
    merged = [sorted(int(line[:9]) for line in text.splitlines()) for text in stored(site, "merged")]
    assert sorted(merged) == [list(range(n * 5_000 + 1, (n + 1) * 5_000 + 1)) for n in range(4)]


def test_a_chain_ends_in_one_mass_peak(examples) -> None:
    site = examples("generated", "reconstructed", "peak", settings='[payload]\nsetup = "{place}/setup.sh"\n')
    (site.place / "setup.sh").write_text(pythia())
    create(site, "chain", {})
    site.jim("task", "start", "--untested", "generate", "reconstruct", "merge")
    until(lambda: ended(site, "generate", "reconstruct", "merge"), "the chain has ended", LIMIT)
    (peak,) = stored(site, "peak")
    assert peak.startswith("2000 events from 1 to 2000, each once; the peak is between ")
    numbers = [int(line.split("\t")[0]) for text in stored(site, "reconstructed") for line in text.splitlines()]
    assert Counter(numbers) == Counter(range(1, 2_001))


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


def test_exactly_what_failed_of_files_that_arrived_is_recovered(examples) -> None:
    site = examples("incoming", settings="[limits]\nattempts = 1\n")
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
