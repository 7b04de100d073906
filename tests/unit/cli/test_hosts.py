"""jim hosts: the hosts on which attempts ran, and which of them JIM avoids."""

from __future__ import annotations

import pytest

from jim.evidence.avoiding import FACT, Avoided, to_store
from jim.evidence.hosts import BlackHole
from jim.model import Kind, Reason, State, Witness
from tests.support.cli_home import EVIL, EVIL_SHOWN

HOLE = BlackHole("wn099", 7, 1769860000.0, 1769860007.0, 2.0, 20, 20)


@pytest.fixture
def busy(home):
    """Two local jobs failed on wn099, one runs on wn1."""
    home.beat()
    home.add()
    home.send(0, 1, 2, state="confirmed", batch_id="4711")
    for idx, host in ((1, "wn099"), (2, "wn099"), (3, "wn1")):
        home.store.set_attempt(1, 1, idx, host=host, started="2026-01-31T11:00:00.000Z")
    for idx in (1, 2):
        home.later(f"2026-01-31T11:59:{idx:02d}.000Z")
        home.store.set_attempt(1, 1, idx, verdict="failed", reason=Reason(Kind.EXIT, {"code": 3}, f"exit 3 {EVIL}"))
        home.move(idx - 1, State.FAILED, Witness.EXIT_RECORD, "exit 3")
    home.move(2, State.RUNNING, Witness.CLAIM)
    home.later("2026-01-31T12:00:00.000Z")
    return home


def avoid(home, *those):
    home.store.set_fact(FACT, to_store(those))


BLACK = Avoided("wn099", 1769860800.0, 1769864400.0, times=2, hole=HOLE)  # 12:00 and 13:00 UTC


def test_no_host_is_known_before_an_attempt_has_started(home):
    assert home.out("hosts") == "no attempt has started on any host yet\n"
    assert home.json("hosts") == []


def test_the_worst_comes_first_with_the_reason_of_its_failures(busy):
    head, first, second = busy.out("hosts").splitlines()
    assert head.split("  ")[0] == "host"
    assert " ".join(first.split()) == f"wn099 2 0 0 58 s ago 2 × exit 3 {EVIL_SHOWN}"
    assert " ".join(second.split()) == "wn1 0 0 1"


def test_what_is_avoided_says_until_when_and_why(busy):
    avoid(busy, BLACK, Avoided("wn7", 1769860800.0, reason="its disk"))
    told = {each["host"]: each["avoided"] for each in busy.json("hosts")}
    assert told == {
        "wn099": "avoided as a black hole since 2026-01-31T12:00:00Z, 2 times in a row; "
        "one attempt may try it from 2026-01-31T13:00:00Z on",
        "wn7": "avoided since 2026-01-31T12:00:00Z: named by an administrator: its disk",
        "wn1": "",
    }
    assert "one attempt may try it from 2026-01-31 13:00:00 UTC on" in busy.out("hosts")
    avoid(busy, Avoided("wn099", 0.0, 9.0, times=1, tried_since=1769860800.0, hole=HOLE))
    assert "on trial since 2026-01-31 12:00:00 UTC: one attempt may try it, others leave it" in busy.out("hosts")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_of_any_width_shows_it_all(busy, monkeypatch, columns):
    avoid(busy, BLACK)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = busy.out("hosts")
    assert max(map(len, out.splitlines())) <= columns
    assert "one attempt may try it from 2026-01-31 13:00:00 UTC on" in " ".join(out.split())


def test_one_host_shows_its_attempts(busy):
    avoid(busy, BLACK)
    out = busy.out("hosts", "wn099")
    assert out.startswith(
        "host         wn099\navoided      avoided as a black hole since 2026-01-31 12:00:00 UTC, 2 times"
    )
    assert "attempts     2: 0 completed, 2 failed, 0 running" in out
    assert [line.split()[:2] for line in out.splitlines()[-2:]] == [["1.1", "1"], ["1.0", "1"]]
    document = busy.json("hosts", "wn099")
    assert [(each["grid"], each["n"], each["verdict"]) for each in document["attempts"]] == [
        (1, 1, "failed"),
        (1, 0, "failed"),
    ]
    assert document["grid_jobs"] == [{"grid": 1, "attempts": 2, "failed": 2}]


def test_a_host_that_nobody_knows_is_refused(busy):
    code, out, error = busy.run("hosts", "nowhere")
    assert (code, out) == (4, "")
    assert error == "jim: no attempt is known to have run on a host 'nowhere'\n"


def test_an_order_that_is_not_in_force_says_why(busy):
    busy.out("site", "avoid", "wn1")
    assert {each["host"]: each["avoided"] for each in busy.json("hosts")}["wn1"] == (
        "named; a keeper reads this within 10 s"
    )
    (busy.site.state / "heartbeat").unlink()
    assert {each["host"]: each["avoided"] for each in busy.json("hosts")}["wn1"] == (
        "named; no keeper runs, and the next one reads this"
    )
    busy.beat()
    busy.later("2099-01-01T00:00:00.000Z")
    assert {each["host"]: each["avoided"] for each in busy.json("hosts")}["wn1"].startswith(
        "named, but not avoided: JIM"
    )


def test_a_black_hole_that_is_still_used_says_why(busy, monkeypatch):
    hole = HOLE._replace(host="wn1")
    monkeypatch.setattr("jim.reading.hosts.black_holes", lambda tried: [hole])
    avoided = {each["host"]: each["avoided"] for each in busy.json("hosts")}["wn1"]
    assert avoided == (
        "a black hole, but not avoided: JIM avoids at most a quarter of its hosts, and never the last one; 7 attempts "
        "failed in a row within 7 s, each in at most 2 s, while 20 of the last 20 elsewhere went well"
    )
    avoid(busy, BLACK, Avoided("wn1", 1769860800.0))
    assert "but not avoided" not in busy.out("hosts")
    avoid(busy)
    hole = hole._replace(last=1769860790.0)
    assert "but not avoided" not in busy.out("hosts"), "the keeper may judge it just now"


def test_explain_names_them_and_what_does_not_count(busy):
    avoid(busy, BLACK)
    busy.store.spared.spare((1, 1, 3), 2, "wn099")
    assert "* JIM avoids 1 host: wn099\n" in busy.out("explain", "1")
    assert "* not counted, because a host was to blame: 1 attempt\n" in busy.out("explain", "1.2")
