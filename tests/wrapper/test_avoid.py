"""The wrapper under every shell, on a host that JIM avoids: it waits, says that it leaves, and takes no claim."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.wrapper.worker import HOST, MARK, Site, sh, until

SHORT = HOST.partition(".")[0]


def avoid(site: Site, *lines: str) -> None:
    (site.root / "work" / "avoid").write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("line", [HOST, SHORT])
def test_on_an_avoided_host_it_leaves_without_a_claim(site: Site, line: str) -> None:
    site.fake("sleep", f'echo "$1" >>"{site.root}/naps"; ls "{site.here}" >>"{site.root}/seen"')
    site.jobs(*sh("echo ran >>../ledger"))
    avoid(site, "wn7", line, "wn8")
    assert site.run(JIM_BATCH_ID="4712") == 71
    assert site.naps() == ["60"]
    assert (site.root / "seen").read_text().split() == ["jobs", "log.1"], "it tells only after it has waited"
    [left] = site.here.glob("left.1.*")
    told = left.read_text().splitlines()
    assert told[:4] == [
        f"nonce {left.name.removeprefix('left.1.')}",
        f"host {HOST}",
        f"pid {site.started[0].pid}",
        "batch 4712",
    ]
    assert (site.spool / f"{MARK}.1.left").read_text() == left.read_text()
    assert {each.name for each in site.here.iterdir()} == {"jobs", "log.1", left.name}
    assert f"{HOST} is a host that JIM avoids (exit 71)" in site.file("log.1")


@pytest.mark.parametrize("lines", [(), ("wn7", f"{HOST}x", f"x{HOST}"), (f"{SHORT[:-1]}",), ("",)])
def test_on_other_hosts_it_runs_as_ever(site: Site, lines: tuple[str, ...]) -> None:
    site.jobs(*sh("echo ran >>../ledger"))
    avoid(site, *lines)
    assert site.run() == 0
    assert site.file("ledger") == "ran\n"
    assert not list(site.here.glob("left.*"))


@pytest.mark.parametrize("content", ["wn7", "wn7\nwn8", f"wn7\n{HOST}x", "wn7 trial.wn7.1\nw", "\0\0\n\0"])
def test_a_file_whose_last_line_does_not_end_names_no_other_host(site: Site, content: str) -> None:
    site.jobs(*sh("echo ran >>../ledger"))
    (site.root / "work" / "avoid").write_text(content)
    assert site.run() == 0
    assert site.file("ledger") == "ran\n"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_not_read(site: Site, make: Callable[[Path], None]) -> None:
    site.jobs(*sh("echo ran >>../ledger"))
    make(site.root / "work" / "avoid")
    assert site.run() == 0
    assert site.file("ledger") == "ran\n"


def test_of_those_that_come_to_a_host_on_trial_one_runs(site: Site) -> None:
    site.fake("sleep", "exit 0")
    avoid(site, f"{HOST} trial.{HOST}.1003600")
    for index in range(1, 6):
        site.jobs(*sh("echo ran >>../ledger"), index=index)
    ends = sorted(process.wait(30) for process in [site.start(index) for index in range(1, 6)])
    assert ends == [0, 71, 71, 71, 71]
    assert site.file("ledger") == "ran\n"
    assert (site.root / "work" / f"trial.{HOST}.1003600").is_dir()
    assert len(list(site.here.glob("left.*"))) == 4
    assert len(list(site.here.glob("claim.*"))) == 1


def test_one_that_is_ended_while_it_waits_leaves_nothing(site: Site) -> None:
    site.fake("sleep", f': >"{site.root}/waits"; exec $real "$@"')
    site.jobs(*sh("echo ran >>../ledger"))
    avoid(site, HOST)
    process = site.start()
    until((site.root / "waits").exists)
    process.kill()
    process.wait(10)
    assert {each.name for each in site.here.iterdir()} == {"jobs", "log.1"}
