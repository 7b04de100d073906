"""A grid job, stored for documents."""

from jim.clock import Clock
from jim.model import Piece, State, Step, Witness
from jim.statusdb.store import Store
from tests.support.exit_records import exit_record

NOON = "2026-01-31T12:00:00.000Z"
NOON_S = "1769860800.000"
SUM = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
RECORD = exit_record("jim-3f9a-12-1", 12, f"file 1048576 {SUM} events.dat\nrefused link escape.dat\n")


class FixedClock(Clock):
    """It is always noon."""

    def utc(self):
        return NOON


def stored(place):
    """A grid job of two local jobs: the first ran, failed and runs again; the second waits."""
    store = Store(place / "status.db", FixedClock(), write=True)
    request = {
        "job_type": "executable",
        "events": 500,
        "environment": {"MODE": "fast & loose"},
        "outputs": ["*.dat", "log"],
        "arguments": [["a", "b"], []],
        "queue": None,
    }
    store.add_grid_job(12, "gk-1", "mc", "2026-01-31T11:00:00.000Z", request)
    pieces = [Piece(1, 250), Piece(251, 250, ("-x", "<y>"))]
    store.add_pieces(12, 0, pieces)
    store.set_grid_job(12, why="250 < 1,000 events", events_per_job=250)
    store.end_split(12, 2)
    for k in (1, 2):
        store.intend(12, k, f"jim-3f9a-12-{k}", [store.local_job(12, 0)])
    store.set_attempt(12, 1, 1, host="node7", started=NOON, record=RECORD, verdict="again", reason="exit 3")
    store.set_local_job(12, 0, state=State.RUNNING, witness=Witness.CLAIM, reason="")
    store.set_grid_job(12, step=Step.ACTIVE, started=1)
    return store
