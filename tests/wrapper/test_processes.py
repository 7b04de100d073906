"""The wrapper under every shell: how many processes it starts, and what those do that become another one."""

import resource
import statistics
import subprocess
from itertools import count
from pathlib import Path

import pytest

from tests.support.compiled import compiled
from tests.wrapper.worker import Site, sh, until

# The facts and the time, the claim, the payload's directory, its parent, which becomes what writes the record, the
# payload, the notice of the start, and the name of the record.
MOST = 7


@pytest.fixture(scope="session")
def fork_counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile what counts processes."""
    return compiled(Path(__file__).parent / "fork_counts.c", tmp_path_factory.mktemp("fork_counts"))


def test_a_payload_that_leaves_nothing_takes_seven_processes(site: Site, fork_counts: Path) -> None:
    """It ends while its start is told. On a busy machine it may not, and a toucher begins; so its end is awaited."""
    ended = "until [ -s ended ] && read -r pid <ended && ! [ -e /proc/$pid/cwd ]; do :; done"
    site.fake("ln", f'case $2 in *.start) {ended} ;; esac; exec $real "$@"')
    site.fake("date", f'echo 1 >>{site.root}/dates; exec $real "$@"')
    site.jobs(*sh("echo $$ >../ended"))
    counts, dates = site.root / "counts", site.root / "dates"
    assert site.run(LD_PRELOAD=str(fork_counts), FORK_COUNTS=str(counts)) == 0
    assert site.record()["code"] == "0"
    later = dates.read_text().split() if dates.exists() else []  # one more tells the end, where it is in another second
    assert len(counts.read_text().split()) - len(later) == MOST


# P writes while the wrapper, woken, does so itself; the file of P is open before, and gets its content after.
LATE = """
[ ! -e late ] || exec $real "$@"
for each do case $each in of=*) exec 3>"${each#of=}" ;; esac; done
: >late
until [ -e exit.1 ]; do kill -s VTALRM $PPID; sleep 0.02; done
echo late >&3
: >written
"""


def test_what_the_payload_s_parent_writes_late_spoils_no_record(site: Site) -> None:
    site.fake("dd", LATE)
    site.jobs("/bin/true")
    assert site.run() == 0
    until((site.here / "written").exists)
    assert site.record()["code"] == "0"


def test_what_the_payload_s_parent_has_not_written_to_its_end_is_no_record(site: Site) -> None:
    half = 'for each do case $each in of=*) head -c 100 >"${each#of=}" ;; esac; done'
    site.fake("dd", f'[ -e half ] && exec $real "$@"; : >half; {half}; kill -KILL $$')
    site.jobs("/bin/true")
    assert site.run() == 0
    assert site.record()["code"] == "0"
    assert next(site.spool.glob("*.exit")).read_text() == site.file("exit.1")


def test_a_payload_that_ends_well_after_a_warning_was_warned(site: Site) -> None:
    site.jobs(*sh("trap 'exit 0' TERM; : >up; while :; do sleep 9 & wait; done"))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    process.terminate()
    assert process.wait(10) == 0
    record = site.record()
    assert (record["code"], record["reason"]) == ("0", "signal TERM from the batch system")


def test_a_payload_that_leaves_only_advice_has_it_told(site: Site) -> None:
    site.jobs(*sh('echo hold a >"$JIM_RECOVERY"'))
    assert site.run() == 0
    assert site.record()["recovery"] == "hold a"


OTHERS = 400  # processes of the node that are none of the attempt's
DEAREST = 0.06  # seconds of a processor; each of the others read by a shell took 0.25


def test_the_end_of_an_attempt_costs_little_on_a_full_node(slow_site: Site) -> None:
    """What is left of a payload that fails, or was watched, is looked for among all processes."""
    number = count(1)

    def failing() -> float:
        index = next(number)
        slow_site.jobs(*sh("exit 3"), index=index)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert slow_site.run(index) == 1
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    alone = statistics.median(failing() for _ in range(5))
    others = [subprocess.Popen(["/bin/sleep", "99"], cwd="/", start_new_session=True) for _ in range(OTHERS)]
    try:
        crowded = statistics.median(failing() for _ in range(5))
    finally:
        for each in others:
            each.kill()
        for each in others:
            each.wait()
    assert crowded - alone < DEAREST
