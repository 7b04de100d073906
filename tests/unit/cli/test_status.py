"""jim status."""

import json

from jim.model import State, Step, Witness
from tests.cli_home import EVIL, EVIL_SHOWN, RECORD_NAMES

# status


def test_no_grid_jobs_yet(home):
    assert home.out("status") == f"no grid jobs yet in {home.site.state}; `jim submit FILE` submits one\n"
    assert home.json("status") == []


def test_each_grid_job_has_a_line(home):
    home.beat()
    home.add(1)
    home.move(0, State.RUNNING, Witness.CLAIM)
    home.finish("failed", f"1 of 4 {EVIL}")
    home.add(2, size=0)
    home.later("2026-01-31T12:01:05.000Z")
    assert home.out("status") == (
        "id  type        step      status  local jobs            seen           reason\n"
        f"1   executable  finished  failed  1 running, 3 waiting                 1 of 4 {EVIL_SHOWN}\n"
        "2   executable  accepted  new                           1 min 5 s ago\n"
    )
    assert [line.split()[0] for line in home.out("status", "2").splitlines()] == ["id", "2"]


def test_grid_jobs_are_listed_as_one_json_document(home):
    home.add()
    (record,) = home.json("status", "1")
    assert record == {
        "id": 1,
        "key": "key-1",
        "type": "executable",
        "owner": "alice",
        "step": "split",
        "status": "submitted",
        "herd": "single",
        "counts": {"waiting": 4},
        "reason": "",
        "witness": "keeper",
        "seen": "2026-01-31T12:00:00.000Z",
        "age_s": 0.0,
        "created": "2026-01-31T11:00:00.000Z",
        "updated": "2026-01-31T12:00:00.000Z",
    }
    assert list(record) == RECORD_NAMES


def test_only_the_last_finished_are_listed(home):
    for number in range(1, 26):
        home.add(number, size=0)
        if number > 1:
            home.store.set_grid_job(number, step=Step.FINISHED, outcome="completed")
    assert [record["id"] for record in home.json("status")] == [1, *range(6, 26)]


def test_status_says_what_makes_ages_grow(home):
    home.add()
    home.beat(ago=60)
    assert home.out("status").endswith(
        "\nno keeper is running: the last heartbeat was 60 s ago; a poll, a wish or `jim keeper` starts one\n"
    )
    home.beat()
    home.site.summary.write_text(json.dumps({"trouble": f"sinfo {EVIL}"}))
    assert home.out("status").endswith(f"\nthe batch system does not answer: sinfo {EVIL_SHOWN}\n")


def test_status_takes_the_filters_of_the_pages(home):
    home.add(1)
    home.move(0, State.FAILED)
    for number in (2, 3, 4):
        home.add(number, size=0, job_type="pythia_monte_carlo")
    assert [record["id"] for record in home.json("status", "--failed")] == [1]
    assert [record["id"] for record in home.json("status", "--type", "pythia_monte_carlo", "--limit", "2")] == [3, 4]
    assert home.out("status", "--limit", "2").endswith("\n2 of 4 grid jobs; --after 3 shows those before\n")
    assert [record["id"] for record in home.json("status", "--after", "3")] == [1, 2]
    assert home.out("status", "--status", "killed") == "no grid job fits\n"
    code, _, err = home.run("status", "--status", "faild")
    assert (code, err.startswith("jim: status cannot be 'faild'; did you mean 'failed'?")) == (2, True)
    assert home.run("status", "1", "--failed")[0] == 2
