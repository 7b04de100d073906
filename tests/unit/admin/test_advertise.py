"""What a site offers: from its site file, from what keepers have published, from the last site test."""

import json
import re
from pathlib import Path

import pytest

from jim import __version__
from jim.adapters.capacity import Capacity, Room
from jim.admin import advertise
from jim.cli.advertise import classad
from jim.idealizer.channel import Channel
from jim.reading.site import summaries
from jim.site import file as site_file
from tests.support.cli_home import SetClock
from tests.support.offering import CAPACITY, LONG, offering, summary


@pytest.fixture
def home(tmp_path, capsys, monkeypatch):
    yield from offering(tmp_path / "state", capsys, monkeypatch)


def test_a_site_that_never_ran_a_job_says_what_it_offers(home):
    offered = home.json("advertise")
    counts = offered.pop("counts")
    assert set(counts.values()) == {0}
    assert {"waiting", "running", "completed", "failed"} <= counts.keys()
    assert offered == {
        "site": "Wide Area",
        "host": "node1",
        "version": __version__,
        "at": "2026-01-31T12:00:00.000Z",
        "job_types": ["executable", "parametric"],
        "batch_system": "slurm",
        "queue": "long",
        "queues": ["short", "long"],
        "accounts": ["hep"],
        "wall_seconds": 7200,
        "most_wall_seconds": 86400,
        "most_memory_mb": 4000,
        "most_cores": 8,
        "most_local_jobs": 5000,
        "drained": "",
        "no_room": "",
        "slots": 16,
        "free_slots": 0,
        "pending": 3,
        "load": 0.19,
        "queue_rooms": {"long": {"slots": 16, "free_slots": 0, "pending": 3, "load": 0.19, "wall_seconds": 604_800}},
        "grid_jobs": 0,
        "waiting_seconds": None,
        "changed": "",
        "trouble": "",
        "unread": 0,
        "site_test": None,
    }


def test_a_site_without_room_says_so(home, monkeypatch):
    monkeypatch.setattr("jim.site.space.free_mb", lambda place: 150)  # more than the state directory must have
    assert home.json("advertise")["no_room"] == (
        f"the disk of the work directory {home.site.work} has 150 MB left, and disk.work_stop_mb is 200: JIM takes no "
        "new grid jobs and sends nothing until there is room; what runs goes on"
    )


def test_all_accounts_of_a_managed_site_count(tmp_path, home, monkeypatch):
    place = tmp_path / "lib/.published"
    for name, text in {
        "cms": summary({"running": 1}, at="2026-01-31T11:00:00.000Z", trouble="slurm: down"),
        "mc": summary({"running": 4, "failed": 1}),
        "odd": '{"jobs": 3}',
        "odder": "[]",
        "oddest": summary({"running": "many"}),
        "timeless": summary({"running": 1}, at="soon"),
        "deep": "[" * 100_000,
        "newer": summary({"running": 100, "unheard_of": 1}),
        "endless": '{"at": "2026-01-31T11:59:00Z", "trouble": "", "jobs": [{"counts": {"running": 1e999}}]}',
        "zoneless": summary({"running": 1}, at="2026-01-31T11:59:00"),
    }.items():
        (place / name).mkdir(parents=True)
        (place / name / "summary.json").write_text(text)
    (place / "led").mkdir()
    (place / "led/summary.json").symlink_to(place / "mc/summary.json")
    for name in ("private", "idle"):
        (place / name).mkdir()
    (place / "turn").touch()
    for name, time in (("cms", "2026-01-31T10"), ("mc", "2026-01-31T11"), ("odd", "9")):
        tested = {"at": f"{time}:00:00.000Z", "status": "ok", "line": name}
        (place / name / "site-test.json").write_text(json.dumps(tested))
    site = site_file.Site(state=tmp_path / "lib/root", managed=True)

    def read_regular(path, limit, real=summaries.read_regular):
        if path.parent.name == "private":  # root, who may run this, would be let in
            raise PermissionError(path)
        return real(path, limit)

    monkeypatch.setattr(summaries, "read_regular", read_regular)
    offered = advertise.offer(site, home.clock)
    assert (offered["grid_jobs"], offered["counts"]["running"], offered["counts"]["failed"]) == (2, 5, 1)
    assert (offered["trouble"], offered["changed"]) == ("slurm: down", "2026-01-31T11:59:00.000Z")
    assert offered["unread"] == 10
    assert offered["site_test"]["line"] == "mc"


def test_a_managed_site_without_accounts_offers_itself(tmp_path, home):
    offered = advertise.offer(site_file.Site(state=tmp_path / "lib/root", managed=True), home.clock)
    assert (offered["grid_jobs"], offered["unread"], offered["site_test"]) == (0, 0, None)


def test_the_job_types_are_those_that_there_are():
    offered = advertise.offer(site_file.Site(state=Path("/nowhere")), SetClock())
    assert {"executable", "parametric", "pythia_monte_carlo"} <= set(offered["job_types"])


def test_every_attribute_is_told():
    told = (Path(__file__).parents[3] / "docs/installing.md").read_text()
    named = set(re.findall(r"`(\w+)`", told.split("## Advertise the site")[1].split("\n## ")[0]))
    site = site_file.Site(state=Path("/nowhere"))
    rooms = {"queue_rooms": {"long": CAPACITY.queues["long"]._asdict()}, "waiting_seconds": 4} | LONG._asdict()
    tested = dict.fromkeys(advertise.TOLD, "2026-01-31T11:00:00.000Z")
    offered = advertise.offer(site, SetClock())
    names = {
        line.partition(" =")[0] for line in classad(offered | rooms | {"site_test": tested, "changed": tested["at"]})
    }
    assert {name for name in names if not name.startswith("LocalJobs")} <= named


def test_what_the_batch_system_does_not_tell_is_not_in_the_ad(home, monkeypatch):
    monkeypatch.setattr(Channel, "capacity", lambda channel: Capacity(Room(pending=4)))
    offered = advertise.offer(home.site, home.clock)
    assert (offered["pending"], offered["queue_rooms"]) == (4, {})
    assert not {"slots", "free_slots", "load"} & offered.keys()
