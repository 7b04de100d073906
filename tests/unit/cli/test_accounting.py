"""jim accounting: sums over the lines of the accounting."""

from __future__ import annotations

import json

import pytest


def line(home, day: str, number: int, **more) -> None:
    facts = {"id": f"ab-{number}.0-1", "dn": "/CN=A", "vo": "dteam", "job_type": "executable", "queue": "short"}
    facts |= {"started": f"{day}T10:00:00Z", "ended": f"{day}T11:00:00Z", "cores": 2, "verdict": "completed"}
    facts |= {"wall_seconds": 3600.0, "cpu_seconds": 1800.0} | more
    place = home.site.state / "accounting"
    place.mkdir(exist_ok=True)
    with (place / f"{day}.jsonl").open("a") as file:
        file.write(json.dumps(facts) + "\n")


@pytest.fixture
def told(home):
    line(home, "2026-01-30", 1)
    line(home, "2026-01-31", 2)
    line(home, "2026-01-31", 2)  # the same attempt, after a restore
    line(home, "2026-01-31", 3, dn="", vo="", wall_seconds=None, cpu_seconds=None, verdict="again")
    with (home.site.state / "accounting/2026-01-31.jsonl").open("a") as file:
        file.write('{"id": "ab-4.0-1", "dn')  # is being written
    return home


def test_lines_are_added_up_by_columns(told):
    assert json.loads(told.out("accounting", "--by", "vo,type", "--json")) == [
        {
            "vo": "dteam",
            "type": "executable",
            "attempts": 2,
            "completed": 2,
            "wall_seconds": 7200.0,
            "core_seconds": 14400.0,
            "cpu_seconds": 3600.0,
            "unmeasured": 0,
            "implausible": 0,
        },
        {
            "vo": "",
            "type": "executable",
            "attempts": 1,
            "completed": 0,
            "wall_seconds": 0.0,
            "core_seconds": 0.0,
            "cpu_seconds": 0.0,
            "unmeasured": 1,
            "implausible": 0,
        },
    ]
    assert told.out("accounting").splitlines() == [
        "dn     claimed  attempts  completed  wall h  core h  CPU h  not measured  implausible",
        "/CN=A  claimed  2         2          2.00    4.00    1.00   0             0",
        "                1         0          0.00    0.00    0.00   1             0",
    ]


def test_only_what_ended_since_counts(told):
    (found, _) = json.loads(told.out("accounting", "--since", "2026-01-31", "--json"))
    assert found["attempts"] == 1
    assert told.out("accounting", "--since", "2026-02-01") == "no attempt has ended in that time\n"


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (
            ["--by", "queu"],
            "--by: 'queu' is no column; did you mean 'queue'? (known: account, dn, queue,",
        ),
        (["--since", "yesterday"], "since"),
    ],
)
def test_bad_input_is_refused_with_what_is_possible(told, words, refusal):
    code, out, err = told.run("accounting", *words)
    assert (code, out) == (2, "")
    assert refusal in err
