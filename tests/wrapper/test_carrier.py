"""A carrier: one batch job that runs many local jobs, each with a wrapper, a claim and an exit record of its own."""

import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.compiled import compiled
from tests.wrapper.worker import HOST, MARK, Site, is_dead, processes_of, sh, until

NOTES = 'echo $JIM_INDEX >>"$JIM_RECOVERY.notes"'  # beside the others of the submission, one file for each attempt
# The claim, the payload's parent, which becomes what writes the record, the payload, and the notice of the start.
MOST = 5
MEMORY_MB = int(Path("/proc/meminfo").read_text().split()[1]) // 1024


def jobs(
    site: Site, count: int, script: str, *, facts: tuple[str, ...] = (), carriers: int = 1, lanes: int = 1
) -> None:
    """Write what the keeper would, for local jobs that all run the same."""
    common = [f"mark {MARK}", "touch 60", "spool ../../spool", "limit 10000000000", *facts]
    common += [f"carriers {carriers}", f"lanes {lanes}"]
    lines = [f"* {each}" for each in common]
    for index in range(1, count + 1):
        own = [f"n {index - 1}", "attempt 1", "seed 4711", *(f"arg {word}" for word in sh(script)), "end"]
        lines += [f"{index} {each}" for each in own]
    (site.here / "jobs").write_text("".join(f"{line}\n" for line in lines))


def begin(site: Site, carrier: int = 1, **environment: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*site.shell, str(site.here.parent / "local-carrier"), str(site.here), str(carrier)],
        env={"PATH": f"{site.root / 'bin'}:{site.path}", "HOME": "/", **environment},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    site.started.append(process)
    return process


def ended(site: Site) -> set[int]:
    return {int(each.suffix[1:]) for each in site.here.glob("exit.*")}


def times_run(site: Site) -> Counter[int]:
    """Count how often each local job ran, by what their payloads have noted."""
    return Counter(int(line) for each in site.here.glob("*.notes") for line in each.read_text().split())


def log(site: Site, carrier: int = 1) -> str:
    return site.file(f"log.carrier.{carrier}")


def test_one_carrier_runs_what_nobody_else_does(site: Site) -> None:
    """Its share is 2, 5 and 8 of eight; the carriers 1 and 3 never start."""
    jobs(site, 8, NOTES, carriers=3)
    assert begin(site, 2).wait(60) == 0
    assert times_run(site) == dict.fromkeys(range(1, 9), 1)
    assert ended(site) == set(range(1, 9))
    assert (site.here / "carried.2").read_text().split()[:3] == ["2", "5", "8"]
    record = site.record(5)
    assert (record["carrier"], record["index"], record["n"], record["code"]) == ("2", "5", "4", "0")
    assert f"host {HOST}\n" in site.file("claim.5")
    assert "\ncarrier 2\n" in site.file("claim.5")
    assert (site.spool / f"{MARK}.5.exit").read_text() == site.file("exit.5")
    assert log(site, 2) == ""


def test_carriers_that_run_together_run_each_once(site: Site) -> None:
    """The second start of carrier 1 is what a batch system makes that has lost its memory of the first."""
    jobs(site, 24, NOTES, carriers=2, lanes=2)
    carriers = [begin(site, each) for each in (1, 2, 1)]
    assert [each.wait(60) for each in carriers] == [0, 0, 0]
    assert times_run(site) == dict.fromkeys(range(1, 25), 1)
    assert ended(site) == set(range(1, 25))
    assert not list(site.here.glob("refused.*"))  # a race that is lost tells nothing
    assert {each.name.split(".")[-1] for each in site.spool.iterdir()} == {"start", "exit"}
    assert len(list(site.here.glob("c.*"))) == 24


def test_lanes_run_at_the_same_time(site: Site) -> None:
    """Each waits for three notes, so all ends come only if three run together."""
    jobs(site, 3, f'{NOTES}; until [ "$(cat ../*.notes | wc -l)" -ge 3 ]; do sleep 0.05; done', lanes=3)
    assert begin(site).wait(30) == 0
    assert ended(site) == {1, 2, 3}


@pytest.mark.parametrize(
    ("cores", "each_cores", "each_mb", "lanes"),
    [
        (7, 2, 1, 3),
        (2, 4, 1, 1),
        (64, 1, 1, 9),  # there are no more local jobs
        (64, 1, MEMORY_MB // 2, 2),
        (64, 1, MEMORY_MB * 2, 1),
    ],
)
def test_a_carrier_alone_on_its_node_runs_as_many_as_fit(
    site: Site, cores: int, each_cores: int, each_mb: int, lanes: int
) -> None:
    """Each lane has a session of its own. All wait until as many have begun as there should be lanes."""
    script = f"read -r _ _ _ _ _ session _ </proc/self/stat; echo $session >../session.$JIM_INDEX; {NOTES}"
    script += f"; until [ $(cat ../session.* | wc -l) -ge {lanes} ]; do sleep 0.05; done"
    jobs(site, 9, script, facts=(f"each_cores {each_cores}", f"each_mb {each_mb}"))
    site.fake("nproc", f"echo {cores}")
    assert begin(site).wait(30) == 0
    assert ended(site) == set(range(1, 10))
    assert len({each.read_text() for each in site.here.glob("session.*")}) == lanes


def test_a_node_has_its_cores_whatever_openmp_is_told(site: Site) -> None:
    """PBS and many sites set these variables for each job, and nproc heeds them. All wait until three have begun."""
    script = f"{NOTES}; : >../began.$JIM_INDEX; for i in $(seq 50); do set -- ../began.*; [ $# -lt 3 ] || exit 0"
    jobs(site, 3, f"{script}; sleep 0.1; done; exit 3", facts=("each_cores 1", "each_mb 1"))
    site.fake("nproc", "echo ${OMP_NUM_THREADS:-${OMP_THREAD_LIMIT:-3}}")
    assert begin(site, OMP_NUM_THREADS="1", OMP_THREAD_LIMIT="1").wait(30) == 0
    assert {site.record(index)["code"] for index in (1, 2, 3)} == {"0"}


def test_each_local_job_has_its_own_end(site: Site) -> None:
    jobs(site, 4, f'{NOTES}; [ "$JIM_INDEX" != 2 ] || exit 7; echo "$JIM_LOCAL_JOB $JIM_ATTEMPT $JIM_SEED"')
    assert begin(site).wait(30) == 0
    assert [site.record(each)["code"] for each in (1, 2, 3, 4)] == ["0", "7", "0", "0"]
    assert site.file("run.3/stdout") == "2 1 4711\n"


def test_three_quick_bad_ends_are_enough(site: Site) -> None:
    """It may be the host, and not the payload: others shall have the rest."""
    jobs(site, 9, f"{NOTES}; exit 1")
    assert begin(site).wait(30) == 0
    assert ended(site) == {1, 2, 3}
    assert "3 local jobs have failed within 10 s each: nothing more is begun here" in log(site)


def test_a_good_end_in_between_speaks_for_the_host(site: Site) -> None:
    jobs(site, 9, f'{NOTES}; exit "$((JIM_INDEX % 3 != 0))"')
    assert begin(site).wait(30) == 0
    assert ended(site) == set(range(1, 10))


def test_a_wrapper_with_trouble_of_its_own_is_enough(site: Site) -> None:
    jobs(site, 5, NOTES)
    site.fake("ln", 'case "$*" in *claim.2) rm -f "$1"; exit 1 ;; esac; exec $real "$@"')
    site.fake("sleep", "")
    assert begin(site).wait(30) == 0
    assert ended(site) == {1}
    assert "the wrapper of 2 had trouble of its own: nothing more is begun here" in log(site)


def test_facts_without_an_end_are_read_again(site: Site) -> None:
    """Some commands take a read that failed for the end of the file, and a payload would lack arguments."""
    jobs(site, 2, 'echo "$0"')
    facts = site.here / "jobs"
    facts.write_text(facts.read_text().replace("2 end\n", "2 arg --all\n2 end\n"))
    cut = '$real "$@" | sed "/^2 arg --all/,/^2 end/d" && : >cut'
    site.fake("awk", f'case "$*" in *wanted*) [ -e cut ] || {{ {cut}; exit; }} ;; esac; exec $real "$@"')
    assert begin(site).wait(30) == 0
    assert (site.here / "cut").exists()
    assert site.file("run.2/stdout") == "--all\n"


def test_while_a_grid_job_is_suspended_nothing_is_begun(site: Site) -> None:
    jobs(site, 3, f"{NOTES}; : >../stop")
    assert begin(site).wait(30) == 0
    assert ended(site) == {1}
    (site.here / "stop").unlink()
    assert begin(site).wait(30) == 0
    assert ended(site) == {1, 2}


def test_a_warning_reaches_what_runs_and_nothing_more_is_begun(site: Site) -> None:
    jobs(site, 6, f'{NOTES}; trap "exit 5" TERM; : >up; while :; do sleep 0.1; done', lanes=2)
    process = begin(site)
    until(lambda: all((site.here / f"run.{each}" / "up").exists() for each in (1, 2)))
    process.terminate()
    assert process.wait(20) == 0
    assert ended(site) == {1, 2}
    assert [(site.record(each)["code"], site.record(each)["reason"]) for each in (1, 2)] == [
        ("5", "signal TERM from the batch system")
    ] * 2


def test_a_payload_that_signals_its_group_stops_no_others(site: Site) -> None:
    """As with `trap "kill 0" EXIT`. Its lane is of that group, but such a signal is no warning of the batch system."""
    jobs(site, 3, f'{NOTES}; trap "" TERM; kill -s TERM 0')
    assert begin(site).wait(30) == 0
    assert ended(site) == {1, 2, 3}
    assert [site.record(each)["code"] for each in (1, 2, 3)] == ["0"] * 3


def test_nothing_is_begun_that_might_not_be_over_in_time(site: Site) -> None:
    """After the first one, which takes two seconds, the carrier has less than four seconds left."""
    jobs(site, 3, f"{NOTES}; sleep 2", facts=("wall 4", "warn 0", "carrier_wall 5"))
    assert begin(site).wait(30) == 0
    assert ended(site) == {1}


def test_the_first_has_the_time_that_it_would_have_alone(site: Site) -> None:
    """The site allows no more than one of them asks for; the lane begins some time after the carrier."""
    jobs(site, 3, f"{NOTES}; sleep 1", facts=("wall 100", "warn 0", "carrier_wall 100"))
    site.fake("setsid", 'sleep 1.1; exec $real "$@"')
    assert begin(site).wait(30) == 0
    assert ended(site) == {1}


def test_a_payload_whose_own_time_is_over_is_ended(slow_site: Site) -> None:
    """The carrier's time is for all, so its batch system ends none of them alone."""
    site = slow_site
    facts = ("touch 1", "wall 2", "warn 0", "carrier_wall 60")
    jobs(site, 2, f'{NOTES}; [ "$JIM_INDEX" = 2 ] || {{ trap "" TERM; while :; do sleep 0.2; done; }}', facts=facts)
    began = time.monotonic()
    process = begin(site)
    assert process.wait(40) == 0
    assert time.monotonic() - began > 10  # seconds after TERM, which comes a second or more after the beginning
    record = site.record(1)
    assert (record["signal"], record["warned"], record["reason"]) == ("9", "0", "warned 0 s before its time limit")
    assert site.record(2)["code"] == "0"


def test_one_that_is_given_up_ends_alone(slow_site: Site) -> None:
    """Its toucher looks every ten seconds. The lane, which is another one then, goes on with the others."""
    site = slow_site
    jobs(site, 3, f'{NOTES}; : >up; until [ -e ../go ] && [ "$JIM_INDEX" != 1 ]; do sleep 0.1; done', lanes=2)
    process = begin(site)
    until(lambda: all((site.here / f"run.{each}" / "up").exists() for each in (1, 2)))
    nonce = site.file("claim.1").splitlines()[0].removeprefix("nonce ")
    (site.here / "over.1").write_text(f"nonce {nonce}\nwhy cancelled\nend\n")
    until((site.here / "gone.1").exists, 25)
    until((site.here / "run.3" / "up").exists, 25)
    (site.here / "go").touch()
    assert process.wait(20) == 0
    assert ended(site) == {2, 3}
    assert times_run(site) == {1: 1, 2: 1, 3: 1}


def test_a_killed_wrapper_takes_nobody_along(slow_site: Site) -> None:
    """Its toucher ends all of the lane's session, so the lane ends before that, and another one begins."""
    site = slow_site
    jobs(site, 3, f'{NOTES}; [ "$JIM_INDEX" != 1 ] || {{ : >up; while :; do sleep 0.1; done; }}', facts=("touch 1",))
    process = begin(site)
    until((site.here / "run.1" / "up").exists)
    until(lambda: list(site.here.glob("toucher.1.*")))
    os.kill(int(site.file("claim.1").splitlines()[2].removeprefix("pid ")), signal.SIGKILL)
    assert process.wait(30) == 0
    until((site.here / "gone.1").exists, 20)
    assert ended(site) == {2, 3}
    assert "why the wrapper was killed" in site.file("gone.1")
    until((site.spool / f"{MARK}.1.gone").exists)
    assert times_run(site) == {1: 1, 2: 1, 3: 1}


def test_what_a_failed_payload_leaves_is_ended_and_nothing_else(site: Site) -> None:
    """It has a session of its own; the local job beside it is no member, nor is what runs after it."""
    left = 'setsid sh -c "trap : TERM; while :; do sleep 0.1; done" & echo $! >left'
    beside = f'{NOTES}; [ "$JIM_INDEX" = 2 ] || {{ {left}; exit 1; }}; : >up; until [ -e ../go ]; do sleep 0.1; done'
    jobs(site, 3, beside, lanes=2)
    process = begin(site)
    until(lambda: {1, 3} <= ended(site), 20)
    assert is_dead(int(site.file("run.1/left")))
    assert is_dead(int(site.file("run.3/left")))
    (site.here / "go").touch()
    assert process.wait(20) == 0
    assert site.record(2)["code"] == "0"


def test_without_its_chief_a_lane_begins_nothing_more(site: Site) -> None:
    jobs(site, 5, f"{NOTES}; : >up; until [ -e ../go ]; do sleep 0.1; done")
    process = begin(site)
    until((site.here / "run.1" / "up").exists)
    process.kill()
    process.wait(10)
    (site.here / "go").touch()
    until(lambda: ended(site) == {1})
    until(lambda: not any("local-carrier" in words for words in _of(site)))
    assert ended(site) == {1}


def _of(site: Site) -> list[str]:
    found = []
    for pid in site.newcomers():
        with suppress(OSError):  # it has ended meanwhile
            words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
            found += [words] if str(site.here) in words else []
    return found


def test_a_host_that_jim_avoids_begins_nothing(site: Site) -> None:
    jobs(site, 2, NOTES)
    (site.root / "work" / "avoid").write_text(f"{HOST}\n")
    site.fake("sleep", f'echo "$1" >>{site.root}/naps')
    assert begin(site).wait(30) == 0
    assert ended(site) == set()
    assert site.naps() == ["60"]  # a host on which all ends at once would empty the queue
    assert f"{HOST} is a host that JIM avoids" in log(site)


def test_a_directory_that_is_gone_has_nothing_to_run(site: Site) -> None:
    program = str(site.here.parent / "local-carrier")
    assert subprocess.run([*site.shell, program, "/nowhere", "1"], check=False).returncode == 0


def test_a_payload_s_fifo_in_the_place_of_a_carrier_s_file_keeps_nobody_waiting(site: Site) -> None:
    jobs(site, 4, '[ "$JIM_INDEX" != 1 ] || { rm -f ../carried.1; mkfifo ../carried.1; }')
    assert begin(site).wait(20) == 0
    assert ended(site) == {1, 2, 3, 4}


def test_nothing_of_a_carrier_is_left(site: Site) -> None:
    jobs(site, 6, NOTES, lanes=3)
    process = begin(site)
    assert process.wait(30) == 0
    assert processes_of(process.pid) == []
    until(lambda: not _of(site))


@pytest.fixture(scope="session")
def fork_counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile what counts processes."""
    return compiled(Path(__file__).parent / "fork_counts.c", tmp_path_factory.mktemp("fork_counts"))


def test_a_payload_in_a_carrier_takes_few_processes(site: Site, fork_counts: Path) -> None:
    """The facts, the time and the directories of many are told and made at once."""
    # On a busy machine a payload may not end while its start is told, and a toucher begins; so its end is awaited.
    ended = 'until [ -s "ended.$i" ] && read -r pid <"ended.$i" && ! [ -e "/proc/$pid/cwd" ]; do :; done'
    site.fake("ln", f'case $2 in *.start) i=${{2%.start}}; i=${{i##*.}}; {ended} ;; esac; exec $real "$@"')
    jobs(site, 16, 'echo $$ >"../ended.$JIM_INDEX"')
    counts = site.root / "counts"
    assert begin(site, LD_PRELOAD=str(fork_counts), FORK_COUNTS=str(counts)).wait(60) == 0
    more = "busybox" in site.shell[0]  # its dd does not know `excl`
    assert len(counts.read_text().split()) <= 16 * (MOST + 2 + more)
