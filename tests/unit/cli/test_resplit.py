"""People ask for a local job to be split again; the verb refuses what cannot be."""

import json

from jim.model import State, Step
from jim.request import check
from jim.site.settings import General
from jim.work.pieces import herd_of
from tests.support.splitting_work import ASKED, FILES


def test_people_split_again(home, monkeypatch):
    pieces = list(herd_of(*check(ASKED | {"splitter": "LumiBased", "input_files": FILES}), 1, General(), 9))
    home.add(size=0, **ASKED | {"splitter": "LumiBased", "splitter_parameters": {}, "input_files": FILES})
    home.store.set_grid_job(1, step=Step.RESOLVED)
    home.store.add_pieces(1, 0, pieces)
    home.store.end_split(1, len(pieces))
    assert "1.0 is waiting: only a completed, failed or killed local job" in home.run("resplit", "1.0")[2]
    home.move(0, State.FAILED)
    assert home.run("resplit", "1")[0] == 2
    assert "expected a whole number" in home.run("resplit", "1.0", "-p", "lumis_per_job=0")[2]
    assert "numbered from 1.4" in home.out("resplit", "1.0", "-p", "lumis_per_job=1")
    home.store.set_grid_job(1, place="1")
    (home.site.work / "instance").write_text("cafe0001\n")
    code, _, told = home.run("resplit", "1.0", "-p", "lumis_per_job=1")
    assert (code, "/1 was removed, and nothing of 1 can run without it" in told) == (2, True)
    home.move(0, State.FAILED_FROZEN)
    assert "nothing: other local jobs do its work" in home.out("explain", "1.0")
    again = json.loads(home.out("copy", "1.3"))
    assert again == {"job_type": "executable", "executable": "/bin/echo", "arguments": ["3"], "came_from": "1.3"}
    assert check(again)
    assert home.run("copy", "1")[0] == 2
