"""A site that has something to offer, and what its keepers publish: for tests of `jim advertise`."""

import json

from jim.adapters.capacity import Capacity, Room
from jim.admin import advertise
from jim.idealizer.channel import Channel
from tests.support.cli_home import Home

LONG = Room(16, 0, 3, 0.19)
CAPACITY = Capacity(LONG, {"long": LONG._replace(wall_seconds=604_800), "closed to requests": LONG})
SITE = """
[site]
name = "Wide Area"
[batch]
system = "slurm"
queue = "long"
queues = ["short", "long"]
account = "hep"
accounts = ["hep"]
wall_seconds = 7200
most_wall_seconds = 86400
most_memory_mb = 4000
most_cores = 8
[limits]
local_jobs = 5000
"""


def offering(state, capsys, monkeypatch):
    """Make the state directory of a site, and close it in the end."""
    place = Home(state, capsys, monkeypatch)
    (place.site.state / "site.toml").write_text(SITE)
    monkeypatch.setattr("jim.cli.advertise.Clock", lambda: place.clock)
    monkeypatch.setattr(Channel, "capacity", lambda channel: CAPACITY)
    monkeypatch.setattr("socket.gethostname", lambda: "node1")
    monkeypatch.setattr(advertise, "types", lambda own="": {"executable": {}, "parametric": {}})
    yield place
    place.close()


def summary(*counts, at="2026-01-31T11:59:00.000Z", trouble="", waits=()):
    """Write what a keeper publishes of grid jobs with these counts."""
    jobs = [{"id": 1, "counts": each} for each in counts]
    told = {"site": "x", "at": at, "trouble": trouble, "failures": 0, "retry_due": 0, "jobs": jobs}
    return json.dumps(told | ({"waits": list(waits)} if waits else {}))  # an older version publishes none
