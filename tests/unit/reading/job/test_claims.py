"""Claims of running local jobs."""

import os

from jim.model import State, Witness
from tests.support.cli_home import explained, sent


def claimed(home):
    """Let a local job run that has just won its claim; give the directory of claims, and when that was."""
    sent(home)
    place = home.site.work / "1" / "s1"
    place.mkdir(parents=True)
    (place / "claim.1").write_text("")
    return place, (place / "claim.1").stat().st_mtime


def test_explain_how_fresh_a_claim_is(home, monkeypatch):
    _, touched = claimed(home)
    monkeypatch.setattr("time.time", lambda: touched + 42)
    assert "on node7 since 2026-01-31 11:00:00 UTC, claim touched 42 s ago\n" in explained(home, "1.0")


def test_explain_what_is_called_running_and_gives_no_sign_of_life(home, monkeypatch):
    place, touched = claimed(home)
    monkeypatch.setattr("time.time", lambda: touched + 180)  # it may miss three touches, one a minute
    assert "not touched" not in explained(home, "1")
    assert "not touched" not in explained(home, "1.0")
    monkeypatch.setattr("time.time", lambda: touched + 725)
    told = (
        "\n* 1 local job has not touched its claim, though the batch system lists it as running:"
        " 1.0 on node7 for 12 min 5 s"
        "\n  evidence: claim, just now"
        "\n  next:     JIM waits until the batch system reports its end, then tries again; have the node checked\n"
    )
    assert told in explained(home, "1")
    assert explained(home, "1.0").endswith(told)
    assert "not touched" not in explained(home, "1.1")
    (place / "claim.2").write_text("")
    os.utime(place / "claim.2", (touched + 1, touched + 1))
    home.move(1, State.RUNNING, Witness.CLAIM)
    home.store.set_attempt(1, 1, 2, host="node8", started="2026-01-31T11:00:00.000Z")
    assert (
        "\n* 2 local jobs have not touched their claims, though the batch system lists them as running:"
        " 1.0 on node7 for 12 min 5 s\n"
    ) in explained(home, "1")
