"""The wrapper under every shell: what its worker node cannot do."""

import pytest

from jim.workdir.submission import PROGRAMS
from tests.wrapper.worker import HELLO, MARK, Site, sh


def test_a_missing_directory_stays_missing(site: Site) -> None:
    assert site.run(where=site.here.with_name("s2")) == 71
    assert {path.name for path in site.here.parent.iterdir()} == {"s1", *PROGRAMS}
    assert not list(site.spool.iterdir())


@pytest.mark.parametrize("index", ["", "x", "1*", "-1", "1/../2"])
def test_what_is_no_index(site: Site, index: str) -> None:
    site.jobs("/bin/true")
    assert site.run(index) == 72
    assert [path.name for path in site.here.iterdir()] == ["jobs"]


def test_a_wrapper_that_cannot_write_exits_with_its_own_code(slow_site: Site) -> None:
    assert slow_site.run() == 72, "no jobs file"
    slow_site.jobs("/bin/true")
    assert slow_site.run(2) == 72, "not in the jobs file"
    assert not list(slow_site.here.glob("c*"))
    (slow_site.here / "run.1" / "full").mkdir(parents=True)
    slow_site.no_naps()
    assert slow_site.run(1) == 72, "a full directory in the payload's place"
    assert "run.1" in slow_site.file("log.1")
    assert not (slow_site.here / "exit.1").exists()


def test_a_payload_that_cannot_be_given_its_stdout_has_not_run(slow_site: Site) -> None:
    slow_site.fake("mkdir", '$real "$@" && ln -s /nowhere/x run.1/stdout')
    slow_site.jobs(*sh("echo ran >>../ledger"))
    assert slow_site.run() == 72
    assert "cannot write into run.1" in slow_site.file("log.1")
    assert not (slow_site.here / "exit.1").exists()
    assert not (slow_site.here / "ledger").exists()


def test_no_spool_is_no_reason_to_stop(site: Site) -> None:
    site.spool.rmdir()
    site.jobs("/bin/true")
    assert site.run() == 0
    assert site.record()["code"] == "0"
    assert "into the spool" in site.file("log.1")


def test_a_spool_on_another_file_system(site: Site) -> None:
    site.fake("ln", 'case $2 in *spool*) exit 1 ;; esac; exec $real "$@"')
    site.jobs("/bin/true")
    assert site.run() == 0
    assert sorted(path.name for path in site.spool.iterdir()) == [f"{MARK}.1.exit", f"{MARK}.1.start"]
    assert (site.spool / f"{MARK}.1.exit").read_text() == site.file("exit.1")
    assert (site.spool / f"{MARK}.1.start").read_text() == site.file("claim.1")


def test_the_exit_record_waits_for_a_full_disk(site: Site) -> None:
    counts = site.root / "counts"
    full = f'echo "$*" >>"{counts}"; [ "$(grep -c . "{counts}")" -gt 2 ] || {{ echo half; exit 1; }}; exec $real "$@"'
    site.fake("dd", full)
    site.no_naps()
    site.jobs(*sh("echo hello"))
    assert site.run() == 0
    assert site.naps() == ["1", "2"]
    assert site.manifest() == [f"file 6 {HELLO} stdout"]
    assert all("conv=fsync" in line for line in counts.read_text().splitlines())


@pytest.mark.parametrize("command", ["dd", "mv"])
def test_half_an_exit_record_is_none(site: Site, command: str) -> None:
    half = 'for arg do case $arg in of=*) : >"${arg#of=}" ;; esac; done'
    site.fake(command, f'case "$*" in *exit*) {half}; exit 1 ;; esac')
    site.no_naps()
    site.jobs("/bin/true")
    assert site.run() == 72
    assert site.naps() == ["1", "2", "4", "8", "15", "30"]
    assert not [path.name for path in site.here.glob("*exit*")] + list(site.here.glob(".exit*"))
    assert [path.name for path in site.spool.iterdir()] == [f"{MARK}.1.start"]
