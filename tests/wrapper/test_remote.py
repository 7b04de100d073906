"""A worker node that does not see the work directory: what travels there, and what comes back."""

import io
import os
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

from jim.model import Job
from jim.workdir.submission import Line, prepare_submission
from tests.wrapper.worker import MARK, Site, until

VARIABLES = {"index": "TASK", "id": "BATCH", "restart": ""}
SETTINGS = [("mark", MARK), ("spool", "../../spool"), ("touch", "60"), ("limit", "1000000"), ("out", "out.txt")]


def prepare(site: Site, *scripts: str, settings: tuple[tuple[str, str], ...] = ()) -> Path:
    """Make a submission of these payloads, as the keeper does."""
    lines = [Line(Job(12, "key", n, 2), ["/bin/sh", "-c", script]) for n, script in enumerate(scripts)]
    return prepare_submission(site.here, VARIABLES, [*SETTINGS, *settings], lines, shared=False)


def start(site: Site, script: Path, index: int = 1) -> subprocess.Popen[bytes]:
    """Do what HTCondor does: copy what lies in luggage/, and what links there lead to, then run the script."""
    scratch = site.root / f"scratch.{index}"
    shutil.copytree(site.here / "luggage", scratch)
    shutil.copy(script, scratch / "condor_exec.exe")
    process = subprocess.Popen(
        [*site.shell, "./condor_exec.exe"],
        cwd=scratch,
        env={"PATH": site.path, "TASK": str(index), "BATCH": "4711"},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    site.started.append(process)
    return process


def bring_back(site: Site, index: int = 1) -> list[str]:
    """Copy what lies in back/ into the submission directory, and name it."""
    back = site.root / f"scratch.{index}" / "back"
    shutil.copytree(back, site.here, dirs_exist_ok=True)
    return sorted(str(path.relative_to(back)) for path in back.rglob("*") if path.is_file())


def test_outputs_and_records_come_back_under_the_names_that_they_have_here(site: Site) -> None:
    script = prepare(site, "true", 'echo a >out.txt; echo b >unwanted; echo "$PWD"; echo "fatal x" >"$JIM_RECOVERY"')
    assert start(site, script, 2).wait(30) == 0
    assert bring_back(site, 2) == [
        "exit.2",
        "log.2",
        "recovery.2",
        "run.2/out.txt",
        "run.2/stderr",
        "run.2/stdout",
    ]
    record = site.record(2)
    assert (record["batch"], record["code"], record["recovery"]) == ("4711", "0", "fatal x")
    assert site.file("run.2/out.txt") == "a\n"
    assert site.file("run.2/stdout").startswith(f"{site.root}/scratch.2/jim-")


def test_a_payload_that_fails_is_told_as_anywhere(site: Site) -> None:
    assert start(site, prepare(site, "exit 7")).wait(30) == 1
    bring_back(site)
    assert site.record()["code"] == "7"


def test_the_package_and_what_the_payload_calls_travel_along(site: Site) -> None:
    with tarfile.open(site.here.parent / "package.tar", "w") as tar:
        entry = tarfile.TarInfo("in.txt")
        entry.size = 6
        tar.addfile(entry, io.BytesIO(b"input\n"))
    publish = '"$JIM_PUBLISH" phase gen 1 2'
    script = prepare(site, f"cat in.txt input/in.txt >out.txt && {publish}", settings=(("in", "in.txt"),))
    assert start(site, script).wait(30) == 0
    bring_back(site)
    assert site.file("run.1/out.txt") == "input\ninput\n"
    assert list(site.spool.iterdir()) == []


def test_a_job_gets_the_token_that_is_there_when_it_starts(site: Site) -> None:
    token = site.here.parent / "token"
    token.write_text("first")
    script = prepare(site, 'cat "$BEARER_TOKEN_FILE" >out.txt')
    (token.parent / "renewed").write_text("second")
    (token.parent / "renewed").rename(token)
    assert start(site, script).wait(30) == 0
    assert [name for name in bring_back(site) if "token" in name] == []
    assert site.file("run.1/out.txt") == "second"


def test_a_submission_prepared_again_is_the_same(site: Site) -> None:
    assert prepare(site, "exit 0").read_text() == prepare(site, "exit 0").read_text()
    assert start(site, site.here / "job.sh").wait(30) == 0


def test_a_warning_reaches_the_payload(site: Site) -> None:
    script = prepare(site, 'trap "echo warned >out.txt; exit 3" TERM; : >ready; while :; do sleep 0.05; done')
    job = start(site, script)
    until(lambda: list((site.root / "scratch.1").glob("jim-*/ready")))
    os.kill(job.pid, signal.SIGTERM)
    assert job.wait(30) == 1
    bring_back(site)
    assert site.record()["reason"] == "signal TERM from the batch system"
    assert site.file("run.1/out.txt") == "warned\n"


def test_a_link_in_the_place_of_a_recovery_file_stays_there(site: Site) -> None:
    """HTCondor would hold a job that is to bring back what is not there, and JIM would lose its end."""
    script = prepare(site, 'echo a >out.txt; ln -s /nowhere "$JIM_RECOVERY"')
    assert start(site, script).wait(30) == 0
    assert "recovery.1" not in bring_back(site)
    assert site.record()["code"] == "0"


def test_a_node_without_room_is_trouble_of_its_own(site: Site) -> None:
    (site.here.parent / "local-job").unlink()
    assert start(site, prepare(site, "exit 0")).wait(30) == 72
