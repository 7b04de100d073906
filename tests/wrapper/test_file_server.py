"""The wrapper under every shell, on a file server that fails for a moment, or whose answers are lost."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.compiled import compiled
from tests.wrapper.worker import ABC, HELLO, Site, pack, sh, until


@pytest.fixture(scope="session")
def list_fails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile what lets listings fail."""
    return compiled(Path(__file__).parent / "list_fails.c", tmp_path_factory.mktemp("list_fails"))


@pytest.fixture
def failing(site: Site, list_fails: Path) -> dict[str, str]:
    """Give the environment of a wrapper for which no directory can be listed while a file `failing` is there."""
    return {"LD_PRELOAD": str(list_fails), "LIST_FAILS": str(site.root / "failing")}


@pytest.mark.parametrize("pattern", ["*.dat", "d/*.dat", "d", "*/x.dat"])
def test_outputs_in_a_directory_that_cannot_be_listed_for_a_moment_are_not_lost(
    site: Site, failing: dict[str, str], pattern: str
) -> None:
    site.no_naps()
    site.jobs(
        *sh(f"mkdir d; printf abc >d/x.dat; printf abc >x.dat; : >{site.root}/failing"), facts=(f"out {pattern}",)
    )
    assert site.run(**failing) == 0
    assert site.manifest() == [f"refused failing {pattern}"]


def test_an_output_that_cannot_be_looked_at_for_a_moment_is_not_missing(site: Site, failing: dict[str, str]) -> None:
    site.no_naps()
    site.jobs(*sh(f": >{site.root}/failing"), facts=("out x.dat",))
    assert site.run(**failing) == 0
    assert site.manifest() == ["refused failing x.dat"]


def test_a_payloads_directory_that_cannot_be_entered_is_missing_only_where_it_is_known_to_be_gone(
    site: Site, failing: dict[str, str]
) -> None:
    site.no_naps()
    site.jobs(*sh(f"cd ..; mv run.1 aside; : >{site.root}/failing"), facts=("out x.dat",))
    assert site.run(**failing) == 0
    assert site.manifest() == ["refused failing stdout"]


def test_a_file_that_cannot_be_measured_for_a_moment_has_not_changed(site: Site) -> None:
    site.no_naps()
    site.fake("stat", 'for one do case $one in *b.dat) ;; *) set -- "$@" "$one" ;; esac; shift; done; exec $real "$@"')
    site.jobs(*sh("for x in a b; do printf abc >$x.dat; done"), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == [f"file 3 {ABC} a.dat", "refused failing b.dat"]


def test_outputs_that_cannot_be_listed_for_a_moment_are_listed_again(site: Site, failing: dict[str, str]) -> None:
    nap = f"rm -f {site.root}/failing; [ -e {site.root}/waited ] || echo $1 >{site.root}/waited"
    site.fake("sleep", f'[ -e {site.root}/failing ] || exec $real "$@"; {nap}')
    site.jobs(*sh(f"mkdir d; printf abc >d/x.dat; : >{site.root}/failing"), facts=("out d/*.dat",))
    assert site.run(**failing) == 0
    assert site.manifest() == [f"file 3 {ABC} d/x.dat"]
    assert (site.root / "waited").read_text() == "1\n"


@pytest.mark.parametrize("says", ["exit 2", "exit 0"], ids=["and says so", "and does not say so"])
def test_arguments_cut_off_by_a_failing_read_are_not_run(site: Site, says: str) -> None:
    for command in ("mawk" if shutil.which("mawk", path=site.path) else "awk", "grep"):
        site.fake(command, f'case "$*" in *jobs) $real "$@" | head -n 12; {says} ;; esac; exec $real "$@"')
    site.no_naps()
    site.jobs(*sh('echo "$@" >../ledger'), "sh", "--only", "some")
    assert site.run() == 72
    assert site.naps() == ["1", "2", "4"]
    assert not list(site.here.glob("ledger"))
    assert not list(site.here.glob("c*")), "before it claims"


@pytest.mark.parametrize("done", [True, False], ids=["its answer lost", "not done at once"])
def test_a_lost_answer_of_mkdir_costs_no_attempt(site: Site, done: bool) -> None:
    once = f'[ -e {site.root}/lied ] && exec $real "$@"; : >{site.root}/lied; {"$real $1;" if done else ""} exit 1'
    site.fake("mkdir", once)
    site.no_naps()
    site.jobs(*sh("echo ran >>../ledger"))
    assert site.run() == 0
    assert site.file("ledger") == "ran\n"


@pytest.fixture(scope="session")
def open_fails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile what lets a file fail to open."""
    return compiled(Path(__file__).parent / "open_fails.c", tmp_path_factory.mktemp("open_fails"))


def test_a_wrapper_that_cannot_look_at_itself_claims_nothing(site: Site, open_fails: Path) -> None:
    """As without a /proc: neither could it watch a payload, nor would it ever know a toucher."""
    (site.root / "opens.seen").touch()
    site.jobs(*sh("echo ran"))
    assert site.run(LD_PRELOAD=str(open_fails), OPEN_FAILS=str(site.root / "opens"), OPEN_NAME="stat") == 72
    assert "/proc does not show this process" in site.file("log.1")
    assert not (site.here / "claim.1").exists()


@pytest.mark.skipif(
    subprocess.run(["unshare", "-rpf", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0,
    reason="this account may make no namespace of process ids",
)
def test_a_wrapper_with_the_proc_of_other_process_ids_claims_nothing(site: Site) -> None:
    """It would take a stranger for itself, and the toucher would never see it die."""
    site.shell = ["unshare", "-rpf", *site.shell]
    site.jobs(*sh("echo ran"))
    assert site.run() == 72
    assert not (site.here / "claim.1").exists()


@pytest.mark.parametrize(
    ("name", "first"),
    [("c.", True), ("stdout", True), ("stderr", True), ("stdout", False)],
    ids=["the notice of who claims", "stdout", "stderr", "stdout, a moment later"],
)
def test_a_file_that_cannot_be_opened_for_a_moment_costs_no_attempt(
    site: Site, open_fails: Path, name: str, first: bool
) -> None:
    """A payload that did not run has no exit code of its own."""
    (site.root / ("opens.seen" if first else "opens")).touch()
    site.no_naps()
    site.jobs(*sh("echo ran"))
    assert site.run(LD_PRELOAD=str(open_fails), OPEN_FAILS=str(site.root / "opens"), OPEN_NAME=name) == 0
    assert site.file("run.1/stdout") == "ran\n"
    assert not list(site.root.glob("opens*")), "it has failed"


def without_path(site: Site) -> Path:
    """Let the path of the work directory be away as a payload begins; give its other name."""
    work, away = site.root / "work", site.root / "away"
    site.fake("mkdir", f'$real "$@" && {{ [ "$1" != run.1 ] || mv {work} {away}; }}')
    site.jobs(*sh("echo ran"))
    return away


def test_a_payload_s_directory_whose_path_is_away_for_a_moment_costs_no_attempt(site: Site) -> None:
    """`cd` takes the whole path, in some shells. The payload was told as one that may not be run."""
    away = without_path(site)
    process = site.start()
    until((away / "12/s1/run.1/stderr").exists)
    time.sleep(0.2)
    away.rename(site.root / "work")
    assert process.wait(20) == 0
    assert site.file("run.1/stdout") == "ran\n"


def test_a_payload_whose_directory_stays_out_of_reach_has_no_exit_code(site: Site) -> None:
    site.fake("sleep", 'case $1 in 2 | 4 | 8 | 15 | 30) exit ;; esac; exec $real "$@"')
    away = without_path(site)
    process = site.start()
    until(lambda: list((away / "12/s1").glob("code.1.*")))
    away.rename(site.root / "work")
    process.wait(20)
    ran = site.file("run.1/stdout") == "ran\n"  # where `cd` does not need the path
    assert (site.record()["code"], site.record()["signal"]) == (("0", "-") if ran else ("-", "9"))


def test_facts_that_cannot_be_read_for_a_moment_are_read_again(site: Site) -> None:
    once = f'case "$*" in *jobs) [ -e {site.root}/lied ] || {{ : >{site.root}/lied; exit 2; }} ;; esac; exec $real "$@"'
    for command in {"mawk", "grep"} if shutil.which("mawk", path=site.path) else {"grep"}:
        site.fake(command, once)
    site.no_naps()
    site.jobs(*sh("echo ran"))
    assert site.run() == 0
    assert site.file("run.1/stdout") == "ran\n"


def test_a_claim_that_cannot_be_linked_for_a_moment_is_linked_again(site: Site) -> None:
    site.fake("ln", f'[ -e {site.root}/lied ] && exec $real "$@"; : >{site.root}/lied; exit 1')
    site.no_naps()
    site.jobs(*sh("echo ran >>../ledger"))
    assert site.run() == 0
    assert site.naps()[:1] == ["1"]
    assert site.file("ledger") == "ran\n"


def test_a_shared_package_outlives_a_read_that_fails(site: Site) -> None:
    """Old wrappers took the package away that `ready` names, from all who share it, for ever."""
    place = pack(site)
    aside = 'case $2 in *ready) $real "$@"; mv ../package/ready ../package/aside; exit 0 ;; esac; exec $real "$@"'
    site.fake("ln", aside)
    site.no_naps()
    site.jobs(*sh("cat input/sub/data.txt"))
    site.run()
    (site.root / "bin" / "ln").unlink()
    if not (place / "ready").exists():
        (place / "aside").rename(place / "ready")
    site.jobs(*sh("cat input/sub/data.txt"), index=2)
    assert site.run(2) == 0
    assert site.file("run.2/stdout") == "hello\n"
    assert (place / (place / "ready").read_text().strip()).is_dir()


def test_a_package_that_is_ready_and_not_there_is_made_again(site: Site) -> None:
    place = pack(site)
    (place / "ready").write_text("unpacked.gone\n")
    for index in range(1, 5):
        site.jobs(*sh("cat input/sub/data.txt"), index=index)
    assert [process.wait(30) for process in [site.start(index) for index in range(1, 5)]] == [0] * 4
    assert [site.file(f"run.{index}/stdout") for index in range(1, 5)] == ["hello\n"] * 4
    assert (place / (place / "ready").read_text().strip()).is_dir()
    assert not list(place.glob("ready.*"))


@pytest.mark.parametrize("left", [0, 3000], ids=["missing", "cut"])
def test_a_part_of_the_wrapper_that_cannot_be_read_just_now_is_read_again(site: Site, left: int) -> None:
    part = site.here.parent / "local-job-outputs"
    whole = part.read_bytes()
    part.write_bytes(whole[:left]) if left else part.unlink()
    site.jobs(*sh("echo hello"))
    process = site.start()
    until(lambda: list(site.here.glob("code.1.*")))
    part.write_bytes(whole)
    assert process.wait(30) == 0
    assert f"file 6 {HELLO} stdout\n" in site.file("exit.1")


@pytest.mark.parametrize("left", [0, 3000], ids=["missing", "cut"])
def test_nothing_is_claimed_before_it_is_known_how_to_watch_it(site: Site, left: int) -> None:
    part = site.here.parent / "local-job-watch"
    whole = part.read_bytes()
    part.write_bytes(whole[:left]) if left else part.unlink()
    site.fake("sleep", f': >{site.root}/waits; exec $real "$@"')
    site.jobs(*sh("echo hello"))
    process = site.start()
    until((site.root / "waits").exists)
    assert not list(site.here.glob("c*"))
    part.write_bytes(whole)
    assert process.wait(30) == 0
    assert f"file 6 {HELLO} stdout\n" in site.file("exit.1")


def test_an_older_wrapper_runs_what_the_keeper_writes_now(site: Site) -> None:
    """A grid job keeps its wrapper; the jobs files of its later submissions are of today, with an end."""
    older = (
        (site.here.parent / "local-job")
        .read_text()
        .replace("        end) whole=1 ;;\n", "")
        .replace("whole=''", "whole=1")
    )
    (site.here.parent / "local-job").write_text(older)
    site.jobs(*sh('echo "$#"'), "sh", "a", "b")
    assert site.run() == 0
    assert site.file("run.1/stdout") == "2\n"
