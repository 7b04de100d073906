"""Outputs that are links, devices, FIFOs, giants, or change: before they are read, while, and after."""

from __future__ import annotations

import itertools
import tarfile

import pytest

from jim.model import State
from jim.workdir.tar import Tar
from tests.faults.real import LIMIT, doomed, until
from tests.support.stand_ins import World

# What a payload leaves as its output x, and what is said of it. A device needs root; a FIFO is as special.
LEFT = [
    ("ln -s /etc/passwd x", "link x"),
    ("ln -s /etc x", "link x"),
    ("ln -s nowhere x", "link x"),
    ("mkdir x && ln -s /etc/passwd x/y", "link x/y"),
    ("mkfifo x", "special x"),
    ("mknod x c 1 3 2>/dev/null || mkfifo x", "special x"),
    ("truncate -s 2T x", "large x"),
    ("echo grows >x", "changed x"),
    ("mkdir x && : >\"$(printf 'x/a\\nfile 1 b')\"", "name x/a?file 1 b"),
    ("", "missing x"),
]


@pytest.mark.torture
def test_outputs_that_cannot_be_taken_fail_with_their_reason(place):
    hurt = place("p", settings="[limits]\noutput_bytes = 100000000\n")
    hurt.front("sha256sum", '"$real" "$@"; [ ! -f x ] || [ "$(head -c 5 x)" != grows ] || echo more >>x')
    cases = "\n".join(f"{n}) {script} ;;" for n, (script, _) in enumerate(LEFT))
    hurt.submit(len(LEFT) + 1, body=f"case $JIM_LOCAL_JOB in\n{cases}\n*) echo fine >x ;; esac", outputs=("x",))
    hurt.finish()
    hurt.held()
    with hurt.store() as store:
        reasons = [store.local_job(1, n).reason for n in range(len(LEFT))]
    assert reasons == [f"output not taken: {said}" for _, said in LEFT]
    assert hurt.state_of(len(LEFT)) == "completed"
    assert {attempt for _, attempt in hurt.events("start")} == {1}, "it would only happen again"
    said, number, end = hurt.answer().split("\n", 2)
    assert said == (
        f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{len(LEFT)} of {len(LEFT) + 1} local jobs failed: "
        "output not taken: link x (3), output not taken: special x (2), output not taken: link x/y (1), 4 more"
    )
    assert (number, end) == ("GRAM_SCRIPT_ERROR:17", "\n")


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        ("echo data 0 7 >out.txt", "out.txt: other content than when the payload ended"),
        pytest.param("echo more >>out.txt", "out.txt: 14 bytes instead of 9", marks=pytest.mark.torture),
        pytest.param("rm out.txt", "No such file or directory", marks=pytest.mark.torture),
        pytest.param("ln -sf /etc/passwd out.txt", "out.txt: is or lies behind a link", marks=pytest.mark.torture),
        pytest.param("rm out.txt; mkfifo out.txt", "is not a regular file", marks=pytest.mark.torture),
    ],
)
def test_outputs_changed_before_they_are_verified_mean_another_attempt(place, tamper, said):
    """The end of the wrapper is the last that is known of them; whoever changed them, it is no success."""
    hurt = place("p")
    # Of the first attempt: the wrapper's last command, which gives the exit record its name.
    hurt.front(
        "mv", f'case $3 in exit.*) [ "$LOCALBATCH_ID" != 1 ] || (cd run.1 && {tamper}) ;; esac; exec "$real" "$@"'
    )
    hurt.submit(1)
    hurt.finish()
    hurt.check(1)
    assert hurt.events("start") == [(0, 1), (0, 2)]
    assert "attempt 1: outputs do not match the exit record: " in hurt.journal()
    assert said in hurt.journal()


def changed_after_all(place):
    """Bring a grid job to the point of its tar, and change an output behind the keeper's back."""
    hurt = place("p", visible_seconds=20.0)  # so long the output may come back
    hurt.submit(2)
    assert hurt.keep(command=doomed(hurt.place / "seen", "after", 1, "collect")) != 0
    # The killed keeper may have made the tar already, and the next one takes from it what is lost.
    (hurt.site.work / "1/result/1.tar").unlink(missing_ok=True)
    output = hurt.site.work / "1/s1/run.1/out.txt"
    before = output.read_bytes()
    output.write_text("data 0 7\n")
    keeper = hurt.start_keeper()
    until(lambda: "collecting failed" in hurt.journal(), "the keeper finds out")
    said = "output 1.0/out.txt changed after it was verified: other content than when the payload ended"
    assert said in hurt.journal()
    assert said in hurt.door("explain", "1").stdout
    assert hurt.answer() == "GRAM_SCRIPT_JOB_STATE:2\n\n"
    return hurt, keeper, lambda: output.write_bytes(before)


def test_outputs_changed_after_they_were_verified_do_not_slip_in(place):
    hurt, keeper, restore = changed_after_all(place)
    restore()
    assert keeper.wait(LIMIT) == 0
    hurt.check(2)


@pytest.mark.torture
def test_a_grid_job_whose_outputs_are_spoilt_can_be_cancelled(place):
    hurt, keeper, _ = changed_after_all(place)
    hurt.wish("cancel", 1)
    assert keeper.wait(LIMIT) == 0
    with hurt.store() as store:
        job = store.grid_job(1)
        assert store.counts(1) == {State.FAILED: 1, State.COMPLETED: 1}
    assert job.outcome == "failed"
    said = "cancelled: 1 of 2 local jobs failed: outputs were lost or changed after they were verified: out.txt"
    assert job.reason.startswith(said)
    with tarfile.open(job.result["tar"]) as tar:
        names = [each for each in tar.getnames() if each.endswith("out.txt")]
    assert names == ["1.1/out.txt"]


def test_outputs_changed_while_the_tar_is_written_do_not_slip_in(tmp_path, monkeypatch):
    """The very moment between a look at a file and its copy, which no process could be made to hit."""
    world = World(tmp_path, monkeypatch)
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    # sha256 of b"right"
    digest = "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9"
    world.batch.finish(1, extra=f"file 5 {digest} x.dat\n", files=[("x.dat", b"right")])
    output = world.site.work / "1/s1/run.1/x.dat"
    add = Tar.add
    contents = itertools.chain([b"wrong"], itertools.repeat(b"right"))

    def change_and_add(tar, name, *rest, **how):
        if name.endswith("x.dat"):
            output.write_bytes(next(contents))
        add(tar, name, *rest, **how)

    monkeypatch.setattr(Tar, "add", change_and_add)
    world.until(lambda: world.finished(grid))
    with tarfile.open(world.store.grid_job(grid).result["tar"]) as tar:
        assert tar.extractfile("1.0/x.dat").read() == b"right"
    said = "output 1.0/x.dat changed after it was verified: other content than when the payload ended"
    assert said in [line.reason for line in world.store.journals.of(grid)]
