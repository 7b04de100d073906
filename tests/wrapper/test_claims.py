"""The wrapper under every shell: one of many runs, and a claim is alive as long as its wrapper is."""

import pytest

from tests.wrapper.worker import HOST, MARK, Site, processes_of, sh, until


@pytest.mark.parametrize(
    ("claim", "host"), [("nonce other\nhost node9\npid 1\n", "node9"), ("nonce other\nhost -\nfence 4711\n", "-")]
)
def test_a_claim_that_is_taken(site: Site, claim: str, host: str) -> None:
    site.jobs(*sh("echo ran >>../ledger"))
    (site.here / "claim.1").write_text(claim)
    assert site.run(JIM_BATCH_ID="4712") == 71
    [refused] = site.here.glob("refused.1.*")
    nonce = refused.name.removeprefix("refused.1.")
    facts = [f"nonce {nonce}", f"host {HOST}", f"pid {site.started[0].pid}", "batch 4712", "restart -"]
    told = refused.read_text().splitlines()
    assert (told[:5], told[5].split(" ")[0], told[6:]) == (facts, "started", ["winner other"])
    assert (site.spool / f"{MARK}.1.refused").read_text() == refused.read_text()
    assert site.file("claim.1") == claim
    assert not (site.here / "run.1").exists()
    assert not (site.here / "ledger").exists()
    assert host in claim


def test_many_wrappers_race_for_one_claim(site: Site) -> None:
    site.jobs(*sh("echo ran >>../ledger"))
    ends = sorted(process.wait(30) for process in [site.start() for _ in range(12)])
    assert ends == [0] + [71] * 11
    assert site.file("ledger") == "ran\n"
    winner = site.file("claim.1").splitlines()[0].removeprefix("nonce ")
    losers = list(site.here.glob("refused.1.*"))
    assert len(losers) == 11
    assert all(loser.read_text().endswith(f"winner {winner}\n") for loser in losers)
    assert site.record()["nonce"] == winner


def test_ln_worked_but_its_answer_was_lost(site: Site) -> None:
    site.fake("ln", '$real "$@"; exit 1')
    site.jobs(*sh("echo ran >>../ledger"))
    assert site.run() == 0
    assert site.file("ledger") == "ran\n"
    assert site.run() == 71
    assert site.file("ledger") == "ran\n"


def test_ln_claims_to_have_worked(site: Site) -> None:
    site.fake("ln", "exit 0")
    site.no_naps()
    site.jobs(*sh("echo ran >>../ledger"))
    assert site.run() == 72
    assert site.naps() == ["1", "2", "4"]
    assert not (site.here / "ledger").exists()
    assert "cannot read claim.1" in site.file("log.1")


def test_a_claim_may_take_a_while_to_show(site: Site) -> None:
    site.fake("ln", 'case $2 in claim.1) ;; *) exec $real "$@" ;; esac')
    site.fake("sleep", "[ $1 = 60 ] && exec $real 60; ln=$(command -v /bin/ln); [ -e claim.1 ] || $ln c.* claim.1")
    site.jobs("/bin/true")
    assert site.run() == 0


@pytest.mark.parametrize("claim", ["", "host node9\n"])
def test_a_claim_that_names_nobody(site: Site, claim: str) -> None:
    site.no_naps()
    site.jobs("/bin/true")
    (site.here / "claim.1").write_text(claim)
    assert site.run() == 72
    assert not (site.here / "run.1").exists()


def test_a_claim_is_touched(site: Site) -> None:
    site.jobs(*sh("mkfifo gate; read line <gate"), facts=("touch 0.05",))
    process = site.start()
    until((site.here / "run.1").exists)
    claim = site.here / "claim.1"
    first = claim.stat().st_mtime_ns
    until(lambda: claim.stat().st_mtime_ns > first)
    process.terminate()
    process.wait(10)
    until(lambda: not processes_of(process.pid))


def test_nothing_is_left_running(site: Site) -> None:
    site.jobs("/bin/true")
    process = site.start()
    assert process.wait(10) == 0
    until(lambda: not processes_of(process.pid), 0.5)
