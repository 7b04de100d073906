"""Work directories on a file server as NFS shows it, with two clients: the keeper on one, local jobs on the other."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.real import until
from tests.live.faults import Counts
from tests.live.nfslike import BOTH, GO, HEAD, NODE, SharedPlace, Twins, faults_made, faulty, take_down
from tests.wrapper.worker import pack, sh

AWAY = 20
LONG = pytest.mark.long
DATA = "until mkdir -p d && echo $1 >d/$JIM_LOCAL_JOB.dat; do sleep 0.1; done 2>/dev/null"


@pytest.fixture(scope="module", autouse=True)
def both_up(lab):
    lab("nfslike")
    yield
    take_down()


@pytest.fixture
def place(tmp_path):
    place = SharedPlace(tmp_path)
    yield place
    place.close()


@pytest.fixture
def many_attempts(tmp_path):
    """For faults that also hit the batch system, which then cannot start the wrapper."""
    place = SharedPlace(tmp_path, attempts=10)
    yield place
    place.close()


@pytest.fixture
def carriers(tmp_path):
    """With bundles of four, all at once, in all of its requests."""
    place = SharedPlace(tmp_path, attempts=10)
    place.asks = {"bundle": 4, "at_once": 4, "cores": 1, "memory_mb": 50}
    yield place
    place.close()


@pytest.fixture
def twins(tmp_path):
    twins = Twins(tmp_path)
    yield twins
    twins.end()


def test_caches_alone(place):
    assert place.through(60) == Counts(60, 0, 0, 0, 0)


def test_caches_alone_with_carriers(carriers):
    assert carriers.through(48) == Counts(48, 0, 0, 0, 0)


# Answers that get lost, calls that fail


@pytest.mark.parametrize("answer", [*(pytest.param(each, marks=LONG) for each in ("EIO", "ETIMEDOUT", "again")), "any"])
def test_answers_get_lost_on_the_node(place, answer):
    """Of link, rename and mkdir: done, and the client told otherwise."""
    before = faults_made("node")
    with faulty(NODE, lost=0.15, answer=answer):
        assert place.through(24) == Counts(24, 0, 0, 0, 0)
    assert faults_made("node") > before


@LONG
@pytest.mark.parametrize("answer", ["EIO", "again", "any"])
@pytest.mark.parametrize("clients", [HEAD, BOTH], ids="-".join)
def test_answers_get_lost(place, clients, answer):
    before = faults_made()
    with faulty(clients, lost=0.1, answer=answer):
        assert place.through(24) == Counts(24, 0, 0, 0, 0)
    assert faults_made() > before


@LONG
@pytest.mark.parametrize("clients", [HEAD, NODE, BOTH], ids="-".join)
def test_answers_to_carriers_get_lost(carriers, clients):
    before = faults_made()
    with faulty(clients, lost=0.1, answer="any"):
        assert carriers.through(24) == Counts(24, 0, 0, 0, 0)
    assert faults_made() > before


SELDOM = [(HEAD, "link,rename,mkdir"), (HEAD, "list")]  # so few calls that a fault would not be sure


def share(clients, ops):
    """Give the share of calls that fail. A tar is written by so many calls that it would seldom be whole."""
    return 0.2 if (clients, ops) in SELDOM else 0.02 if ops == "write,create" else 0.05


@LONG
@pytest.mark.parametrize("ops", ["link,rename,mkdir", "open", "read", "write,create", "list"])
@pytest.mark.parametrize("clients", [HEAD, NODE, BOTH], ids="-".join)
def test_calls_fail(many_attempts, clients, ops):
    """What is told to be completed has its outputs; where these could not be read for a moment, it is done again."""
    before = faults_made()
    with faulty(clients, refuse=share(clients, ops), ops=ops):
        for key in map(str, range(5)):
            counts = many_attempts.through(24, key=key, outputs=("d/*.dat",), body=DATA)
            assert counts._replace(again=0) == Counts(24, 0, 0, 0, 0)
            if faults_made() > before:  # chance may spare all calls of a grid job
                break
    assert faults_made() > before


@LONG
@pytest.mark.parametrize("ops", ["link,rename,mkdir", "open", "read", "write,create", "list"])
def test_calls_of_carriers_fail(carriers, ops):
    before = faults_made()
    with faulty(BOTH, refuse=share(BOTH, ops), ops=ops):
        for key in map(str, range(5)):
            counts = carriers.through(24, key=key, outputs=("d/*.dat",), body=DATA)
            assert counts._replace(again=0) == Counts(24, 0, 0, 0, 0)
            if faults_made() > before:
                break
    assert faults_made() > before


@LONG
def test_links_are_made_late(place):
    """The client has given up asking for them by then."""
    with faulty(BOTH, late=0.3, late_seconds=2):
        assert place.through(24) == Counts(24, 0, 0, 0, 0)


# A server that is away for longer than three touches, while listings show no job


@LONG
@pytest.mark.parametrize("soft", [0, 1], ids=["hard", "soft"])
@pytest.mark.parametrize("later", [0, 20], ids=["both come back", "the node comes back later"])
def test_the_server_is_away(place, soft, later):
    place.submit(8, body=GO)
    place.start_keeper()
    place.running(8)
    place.hidden.touch()
    place.is_called("query", 3)
    back = place.away(AWAY, soft=soft, later=later)
    until(lambda: min(place.touched()) > back, "all have touched their claims again")
    place.is_called("history", 3)
    assert Counter(place.events("start")) == {(n, 1): 1 for n in range(8)}
    place.hidden.unlink()
    place.go()
    place.finish()
    assert place.counts(8) == Counts(8, 0, 0, 0, 0)


@LONG
def test_the_server_is_away_for_carriers(carriers):
    carriers.submit(8, body=GO)
    carriers.start_keeper()
    carriers.running(8)
    carriers.hidden.touch()
    carriers.is_called("query", 3)
    back = carriers.away(AWAY)
    until(lambda: min(carriers.touched()) > back, "all have touched their claims again")
    assert Counter(carriers.events("start")) == {(n, 1): 1 for n in range(8)}
    carriers.hidden.unlink()
    carriers.go()
    carriers.finish()
    assert carriers.counts(8) == Counts(8, 0, 0, 0, 0)


@LONG
def test_a_server_that_loses_power_forgets_claims(place):
    """As one exported `async` does: what it had acknowledged a moment before is not on its disk."""
    place.submit(8, body=GO)
    place.start_keeper()
    place.running(8)
    back = place.away(6)
    for claim in place.site.work.glob("*/s*/claim.*"):
        for forgotten in (claim, claim.parent / f"c.{claim.read_text().split()[1]}"):
            forgotten.unlink()
    place.hidden.touch()
    place.is_called("query", 3)
    until(lambda: len(place.touched()) == 8 and min(place.touched()) > back, "all have claimed again")
    place.is_called("history", 3)
    assert Counter(place.events("start")) == {(n, 1): 1 for n in range(8)}
    place.hidden.unlink()
    place.go()
    place.finish()
    assert place.counts(8) == Counts(8, 0, 0, 0, 0)


@LONG
@pytest.mark.parametrize("soft", [0, 1], ids=["hard", "soft"])
def test_local_jobs_end_while_the_server_is_away(place, soft):
    """A soft mount may cost a payload's outputs, and so the work is done again; never a good end."""
    told = f'echo "written $me" >>{place.ledger}'  # before that, a write would wait for the server
    place.writes += f"\n{told}\n{GO}"
    place.submit(8)
    place.start_keeper()
    until(lambda: len(place.events("written")) == 8, "all payloads have left their outputs")
    place.away(AWAY, soft=soft)
    place.go()
    until(lambda: len(place.events("end")) == 8, "all payloads have ended", AWAY / 2)
    place.finish()
    counts = place.counts(8)
    assert counts._replace(again=0) == Counts(8, 0, 0, 0, 0)
    assert soft or not counts.again


# Twins: a batch system has started the same attempt on both nodes at the same moment


@pytest.mark.parametrize(
    "faults",
    [{}, pytest.param({"lost": 0.2}, marks=LONG), pytest.param({"late": 0.2, "late_seconds": 1}, marks=LONG)],
    ids=["caches", "lost", "late"],
)
def test_one_of_two_twins_runs(twins, faults):
    count = 20
    for index in range(1, count + 1):
        twins.jobs(*sh(f"echo start {index} >>{twins.ledger}"), index=index)
    with faulty(BOTH, **faults):
        codes = [sorted(twins.both(index)) for index in range(1, count + 1)]
    assert sorted(twins.ledger.read_text().split("start ")) == sorted(["", *(f"{n}\n" for n in range(1, count + 1))])
    assert all(code[0] == 0 for code in codes)
    if not faults:
        assert codes == [[0, 71]] * count


def test_the_keeper_forbids_what_a_node_is_about_to_start(twins):
    """Whoever gets the claim, the other one knows."""
    count = 20
    for index in range(1, count + 1):
        twins.jobs(*sh(f"echo {index} >>{twins.ledger}"), index=index)
    fenced, ran = [], []
    for index in range(1, count + 1):
        (fenced if twins.fence_and_start(index) else ran).append(str(index))
    assert twins.ledger.read_text().split() == ran


# Where reads fail, a start needs a minute now and then: too long for the quick part.
READS_FAIL = pytest.param({"refuse": 0.05, "ops": "read,open"}, marks=pytest.mark.long)


@pytest.mark.parametrize("faults", [{}, READS_FAIL], ids=["caches", "reads fail"])
def test_twins_share_an_input_package(twins, faults):
    package = pack(twins)
    count = 12
    for index in range(1, count + 1):
        twins.jobs(*sh(f"cat input/sub/data.txt >>{twins.ledger}"), index=index)
    with faulty(BOTH, **faults):
        for index in range(1, count + 1):
            twins.both(index)
    told = twins.ledger.read_text().split()
    assert set(told) == {"hello"}
    assert faults or len(told) == count
    assert (package / (package / "ready").read_text().strip() / "sub/data.txt").read_text() == "hello\n"
