"""What payloads may do to the spool: files that no wrapper writes, and floods."""

from __future__ import annotations

import os
import re
import time
from functools import partial

import pytest

from tests.faults.real import at_once, until

# Run by a payload, in the spool: it knows the mark of its submission, and its index. A directory gets its name once it
# is full: the keeper may put it aside at any moment, and where `:` cannot write, the shell ends and makes no more.
MISCHIEF = r"""
cd "$JIM_SPOOL" && m=$JIM_MARK i=$JIM_INDEX
head -c 2000 /dev/urandom >noise
head -c 2000 /dev/urandom >$m.$i.exit
head -c 2000 /dev/urandom >$m.$i.start
head -c 2000 /dev/urandom >$m.$i.refused
head -c 2000 /dev/urandom >$m.$i.pub.noise
truncate -s 1T $m.9.exit
truncate -s 1T $m.$i.pub.huge
printf 'jim-exit 1\nmark %s\nindex %s\n' $m $i >$m.8.exit
printf 'jim-exit 1\nmark %s\nindex 1\nnonce x\nn 0\nattempt 7\nhost h\nbatch 1\nstarted 2026-01-01T00:00:00Z
ended 2026-01-01T00:00:00Z\ncpu 0.00\ncode 0\nsignal -\nreason -\nrecovery -\nend\n' $m >$m.7.exit
printf 'nonce x\nhost h\n' >jim-00000000-1-1.1.start
printf 'nonce x\nhost h\n' >$m.99.start
printf 'nonce x\nhost h\n' >${m%-*}-77.1.refused
printf '<a>' >$m.$i.pub.open
printf '<!DOCTYPE a [<!ENTITY b "bb">]><a>&b;</a>' >$m.$i.pub.entity
printf 'phase a 1\n' >$m.$i.pub.phase
mkdir $m.$i.pub.empty .full && : >.full/file && mv .full $m.$i.pub.full
mkdir -m 0 $m.$i.pub.closed
: >$m.$i.pub.unreadable && chmod 0 $m.$i.pub.unreadable
mkfifo $m.$i.pub.fifo
ln -s /etc/passwd $m.$i.pub.link
ln -s nowhere $m.$i.pub.dangling
ln -s . $m.$i.pub.round
: >"$(printf 'new\nline \033[2J \377\376')"
: >-rf
"""
NAMES = ["é" * 127, "x" * 255, "\N{GRINNING FACE}" * 63]


def quiet(place) -> str:
    """Give the keepers' log without what is said of the spool."""
    return "\n".join(line for line in place.log().splitlines() if " spool: " not in line)


def test_files_that_no_wrapper_writes_are_put_aside_and_stop_nothing(place):
    hurt = place("p")
    long = "\n".join(f": >'{name}'" for name in NAMES)
    hurt.submit(2, body=f"[ $JIM_LOCAL_JOB = 1 ] || ({MISCHIEF}\n{long})")
    hurt.finish()
    hurt.check(2)
    assert list(hurt.site.work.glob("spool/*")) == []
    aside = {path.name[9:] for path in hurt.site.work.glob("rejected/*")}
    mark = (hurt.site.work / "1/s1/jobs").read_text().split("\n")[0].removeprefix("* mark ")
    wrong = {"noise", "-rf", "new\nline \033[2J \udcff\udcfe", "jim-00000000-1-1.1.start", f"{mark[:-2]}-77.1.refused"}
    wrong |= {f"{mark}.{rest}" for rest in ("1.refused", "9.exit", "8.exit", "7.exit", "99.start")}
    publications = "noise huge open entity phase empty full closed unreadable fifo link dangling round"
    wrong |= {f"{mark}.1.pub.{name}" for name in publications.split()}
    wrong |= {os.fsdecode(os.fsencode(name)[:200]) for name in NAMES}
    assert aside >= wrong
    assert aside - wrong <= {f"{mark}.1.exit", f"{mark}.1.start"}  # unless the wrapper's own came first
    assert "is not a valid report of a wrapper" in hurt.log()
    assert 1 <= hurt.log().count(" spool: ") < len(wrong)  # once a minute for each reason
    assert not re.search(r"ERROR|a round failed", quiet(hurt))
    assert "\x1b" not in hurt.log()


def flood(place, size: int) -> None:
    """Let a payload publish under so many names, at once and unfinished; the other one is not held up."""
    hurt = place("p", slots=2)
    hurt.submit(
        2,
        body="[ $JIM_LOCAL_JOB = 1 ] || (cd $JIM_SPOOL; n=0; "
        f'while [ $n -lt {size} ]; do n=$((n + 1)); echo "phase a $n {size} x" >$JIM_MARK.$JIM_INDEX.pub.$n; done)',
    )
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of(1) == "completed", "the other payload's end")
    slowest, seen = 0.0, time.monotonic()
    beat = ""
    while keeper.poll() is None:
        now = (hurt.state / "heartbeat").read_text()
        if now != beat:
            slowest, seen, beat = max(slowest, time.monotonic() - seen), time.monotonic(), now
        time.sleep(0.05)
    assert keeper.returncode == 0
    assert slowest < 20, "polls would take the keeper for dead"
    hurt.check(2)
    with hurt.store() as store:
        assert len(list(store.publications.details(1))) == 64


@pytest.mark.torture
def test_a_flood_of_publications(place):
    flood(place, 300)


@pytest.mark.torture
def test_a_hundred_thousand_publications(place):
    flood(place, 100_000)


# The inbox


def test_wishes_are_taken_in_the_order_in_which_they_were_left(place):
    """Whatever the clock said: each is later than the one before, and is dated an hour earlier."""
    hurt = place("p")
    hurt.submit(1)
    for verb in ("suspend", "resume", "suspend", "resume"):
        hurt.wish(verb, 1)
    hurt.submit(1, key="other")
    hurt.wish("cancel", 2)
    now = time.time()
    left = sorted(hurt.state.glob("inbox/[!.]*"), key=lambda path: path.stat().st_mtime_ns)
    for n, path in enumerate(left):
        os.utime(path, (now - 3600 * n, now - 3600 * n))
    hurt.finish()
    hurt.check(1)
    with hurt.store() as store:
        assert store.grid_job(2).outcome == "killed"


def test_files_that_no_door_leaves_are_put_aside(place):
    hurt = place("p")
    inbox = hurt.state / "inbox"
    (inbox / "wish-binary").write_bytes(os.urandom(2000))
    (inbox / "wish-empty").touch()
    (inbox / "wish-list").write_text("[1]")
    (inbox / "wish-number").write_text("1")
    (inbox / "wish-deep").write_text("[" * 100_000)
    (inbox / "request-odd").write_text('{"id": "x", "key": [], "owner": 1, "created": {}, "request": {"job_type": 1}}')
    (inbox / "request-none").write_text('{"id": null, "key": null, "owner": null, "created": null, "request": null}')
    (inbox / "request-huge").touch()
    os.truncate(inbox / "request-huge", 10**12)
    (inbox / "wish-dangling").symlink_to("nowhere")
    (inbox / "wish-link").symlink_to("/etc/passwd")
    (inbox / "wish-directory").mkdir()
    os.mkfifo(inbox / "wish-fifo")
    (inbox / ("é" * 127)).touch()
    hurt.submit(1)
    hurt.finish()
    hurt.check(1)
    assert list(inbox.glob("[!.]*")) == []
    assert len(list(inbox.glob(".unreadable-*"))) >= 8
    assert "wish-list cannot be taken: " in hurt.log()
    assert "request-odd cannot be taken: " in hurt.log()
    aside = [line for line in hurt.log().splitlines() if "; it was put aside as " in line]
    assert len(aside) >= 8
    assert not re.search(r"ERROR|a round failed", "\n".join(set(hurt.log().splitlines()) - set(aside)))


SAID = {"full": "No space left on device", "readonly": "Read-only file system"}


def hand_in(place, shim, what: str, at: int, ends: dict[int, int]) -> None:
    """Hand in a request without a key: who is told of a failure does it again, and must not have it twice."""
    hurt = place(f"{what}-{at}")
    file = hurt.place / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    fault = {"LD_PRELOAD": str(shim), "SHIM_AT": str(at), "SHIM_DO": what, "SHIM_FOR": "1"}
    answer = hurt.door("submit", str(file), more=fault)
    taken = len(list(hurt.state.glob("inbox/request-*")))
    assert taken == (answer.returncode == 0), answer
    assert taken or SAID[what] in answer.stderr
    ends[at] = answer.returncode


def hand_in_at(place, shim, what: str, writes) -> None:
    ends: dict[int, int] = {}
    at_once((f"{what} at {at}", partial(hand_in, place, shim, what, at, ends)) for at in writes)
    assert list(ends.values()).count(1) > 4
    assert ends[max(writes)] == 0, "it makes more writes than that"


def test_a_door_that_could_not_store_a_request_leaves_none(place, shim):
    hand_in_at(place, shim, "full", (11, *range(18, 24), 26))


@pytest.mark.torture
@pytest.mark.parametrize("what", SAID)
def test_a_door_that_could_not_store_a_request_leaves_none_at_every_write(place, shim, what):
    hand_in_at(place, shim, what, range(1, 27))
