"""What delays submissions, as lists of grid jobs say it."""

import pytest

from jim.jobs import Sender
from jim.model import State, Step
from tests.support.cli_home import sent


def reasons(home):
    head, *rows = home.out("status").partition("\n\n")[0].splitlines()
    return {int(row.split()[0]): row[head.index("reason") :].strip() for row in rows}


@pytest.fixture
def two(home):
    """Two grid jobs of one sender, one of another: 3 local jobs of the first are in the queue."""
    sent(home)
    home.move(2, State.SUBMITTED)
    for number, dn in ((1, "/CN=Ann"), (2, "/CN=Ann"), (3, "/CN=Bob"), (4, "")):
        if number > 1:
            home.add(number)
        if dn:
            home.store.senders.put(number, Sender(dn))
    return home


@pytest.mark.parametrize(
    ("limit", "of_1_and_2", "of_3_and_4"),
    [
        ("queued_per_dn = 0", "", ""),
        ("queued_per_dn = 4", "", ""),
        (
            "queued_per_dn = 3",
            "waits: 3 local jobs of its sender are in the queue, and limits.queued_per_dn allows 3",
            "",
        ),
        ("queued = 2", *["waits: 3 local jobs are in the queue, and limits.queued allows 2"] * 2),
    ],
)
def test_status_says_which_limit_delays_a_grid_job(two, limit, of_1_and_2, of_3_and_4):
    (two.site.state / "site.toml").write_text(f"[limits]\n{limit}\n")
    assert reasons(two) == {1: of_1_and_2, 2: of_1_and_2, 3: of_3_and_4, 4: of_3_and_4}


def test_a_grid_job_that_has_nothing_to_send_now_does_not_wait_for_a_limit(two):
    (two.site.state / "site.toml").write_text("[limits]\nqueued_per_dn = 1\n")
    two.store.set_grid_job(1, wish="suspend")
    for n in range(4):
        two.store.set_local_job(2, n, due=5000.0)
    two.store.senders.put(3, Sender("/CN=Ann"))
    two.store.set_grid_job(3, step=Step.FINISHED, outcome="killed")
    assert "waits" not in two.out("status")
