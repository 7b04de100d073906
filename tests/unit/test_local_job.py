"""The wrapper on the worker node, under every shell that is here: dash, busybox with its own commands, bash."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jim.model import Job
from jim.sandbox import Line, prepare_submission

SHELL = Path(__file__).parents[2] / "shell"
PROGRAMS = ("local-job", "jim-publish")
MARK = "jim-3f9a-12-1"
HOST = Path("/proc/sys/kernel/hostname").read_text().strip()
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"  # "hello\n"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # "abc", FIPS 180
TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def shells() -> dict[str, list[str]]:
    """Those that are different; bash as RHEL's /bin/sh, which is posix mode."""
    found = {"sh": ["/bin/sh"]}
    dash, busybox, bash = (shutil.which(name) for name in ("dash", "busybox", "bash"))
    if dash and not Path("/bin/sh").samefile(dash):
        found["dash"] = [dash]
    if busybox:
        found["busybox"] = [busybox, "sh"]
    if bash:
        found["bash"] = [bash, "--posix"]
    return found


SHELLS = shells()


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Wait for an event that has no handle to wait on."""
    deadline, tick = time.monotonic() + seconds, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "this never came true"
        tick.wait(0.003)


def processes_of(session: int) -> list[str]:
    """Give the command lines of the living processes of a session; a zombie has ended, whoever has noticed."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(process.name)) == session and ") Z " not in (process / "stat").read_text(errors="replace"):
                found.append((process / "cmdline").read_text(errors="replace").replace("\0", " ").strip())
    return found


@dataclass
class Site:
    """A work directory, a worker node to run on, and what its commands do."""

    root: Path
    shell: list[str]
    path: str
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spool.mkdir(parents=True)
        self.here.mkdir(parents=True)
        for name in PROGRAMS:
            shutil.copy(SHELL / name, self.here.parent)

    @property
    def spool(self) -> Path:
        return self.root / "work" / "spool"

    @property
    def here(self) -> Path:
        return self.root / "work" / "12" / "s1"

    def jobs(self, *argv: str | bytes, index: int = 1, facts: tuple[str, ...] = ()) -> None:
        """Write what the keeper would: common facts, then one local job."""
        common = [f"mark {MARK}", "touch 60", "spool ../../spool", "limit 10000000000", *facts]
        own = [f"n {index - 1}", "attempt 2", "seed 417330291"]
        lines = [f"* {fact}".encode() for fact in common] + [f"{index} {fact}".encode() for fact in own]
        lines += [f"{index} arg ".encode() + (arg if isinstance(arg, bytes) else arg.encode()) for arg in argv]
        assert not any(b"\n" in line for line in lines)
        with (self.here / "jobs").open("ab") as jobs:
            jobs.write(b"".join(line + b"\n" for line in lines))

    def fake(self, command: str, script: str) -> None:
        """Put a command before the real one, which the script may call as $real."""
        real = shutil.which(command, path=self.path)
        target = self.root / "bin" / command
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"#!/bin/sh\nreal='{real}'\n{script}\n")
        target.chmod(0o755)

    def start(self, index: int | str = 1, where: Path | None = None, **env: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*self.shell, str(self.here.parent / "local-job"), str(where or self.here), str(index)],
            env={"PATH": f"{self.root / 'bin'}:{self.path}", "HOME": "/", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, index: int | str = 1, where: Path | None = None, **env: str) -> int:
        return self.start(index, where, **env).wait(30)

    def file(self, name: str) -> str:
        return (self.here / name).read_text(errors="surrogateescape")

    def record(self, index: int = 1) -> dict[str, str]:
        lines = self.file(f"exit.{index}").splitlines()
        assert lines[0] == "jim-exit 1"
        assert lines[-1] == "end"
        return dict(line.split(" ", 1) for line in lines[1:15])

    def manifest(self, index: int = 1) -> list[str]:
        """Give the manifest without the two empty files that every local job has."""
        lines = self.file(f"exit.{index}").split("\n")[15:-2]
        return [line for line in lines if line not in (f"file 0 {NOTHING} stdout", f"file 0 {NOTHING} stderr")]

    def no_naps(self) -> None:
        """Make the wrapper's pauses short, but not those between two touches."""
        self.fake("sleep", f'case $1 in 60) exec $real 60 ;; *) echo "$1" >>"{self.root}/naps" ;; esac')

    def naps(self) -> list[str]:
        return (self.root / "naps").read_text().split()

    def end(self) -> None:
        for process in self.started:
            if processes_of(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


@pytest.fixture(scope="session")
def applets(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a PATH on which every command is busybox's."""
    where = tmp_path_factory.mktemp("applets")
    subprocess.run([shutil.which("busybox") or "", "--install", "-s", str(where)], check=True)
    return str(where)


@pytest.fixture(params=sorted(SHELLS))
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    path = request.getfixturevalue("applets") if request.param == "busybox" else os.defpath + ":/usr/bin:/bin"
    made = Site(tmp_path, SHELLS[request.param], path)
    yield made
    made.end()


def sh(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", script)


def test_exit_record_line_by_line(site: Site) -> None:
    site.jobs(*sh("echo hello; printf abc >events.dat"), index=7, facts=("out *.dat",))
    assert site.run(7, JIM_BATCH_ID="4711", JIM_RESTART="0") == 0
    claim = site.file("claim.7").splitlines()
    nonce = claim[0].removeprefix("nonce ")
    assert re.fullmatch(r"[0-9a-f-]{32,36}", nonce)
    assert claim[1:] == [f"host {HOST}", f"pid {site.started[0].pid}", "batch 4711", "restart 0"]
    text = site.file("exit.7")
    assert re.sub(r"cpu 0\.\d\d\n", "cpu CPU\n", re.sub(TIME, "TIME", text)).splitlines() == [
        "jim-exit 1",
        f"mark {MARK}",
        "index 7",
        f"nonce {nonce}",
        "n 6",
        "attempt 2",
        f"host {HOST}",
        "batch 4711",
        "started TIME",
        "ended TIME",
        "cpu CPU",
        "code 0",
        "signal -",
        "reason -",
        "recovery -",
        f"file 0 {NOTHING} stderr",
        f"file 3 {ABC} events.dat",
        f"file 6 {HELLO} stdout",
        "end",
    ]
    assert (site.spool / f"{MARK}.7.start").read_text() == site.file("claim.7")
    assert (site.spool / f"{MARK}.7.exit").read_text() == text
    assert sorted(path.name for path in site.spool.iterdir()) == [f"{MARK}.7.exit", f"{MARK}.7.start"]
    assert site.file("log.7") == ""


@pytest.mark.parametrize(
    ("argv", "code", "by_signal", "exits"),
    [
        (("/bin/true",), "0", "-", 0),
        (sh("exit 3"), "3", "-", 1),
        (sh("exit 128"), "128", "-", 1),
        (sh("exit 200"), "200", "-", 1),
        (("/no/such/program",), "127", "-", 1),
        (("no-such-program",), "127", "-", 1),
        (("/etc/passwd",), "126", "-", 1),
        (sh("kill -s KILL $$"), "-", "9", 1),
        (sh("kill -s SEGV $$"), "-", "11", 1),
    ],
)
def test_code_and_signal(site: Site, argv: tuple[str, ...], code: str, by_signal: str, exits: int) -> None:
    site.jobs(*argv)
    assert site.run() == exits
    record = site.record()
    assert (record["code"], record["signal"], record["reason"]) == (code, by_signal, "-")


def test_cpu_is_the_payloads(site: Site) -> None:
    burn = "import sys, time; [0 for _ in iter(time.process_time, 0) if time.process_time() > 0.2 and sys.exit()]"
    site.jobs(*python(burn))
    assert site.run() == 0
    assert 0.17 <= float(site.record()["cpu"]) < 3


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("printf 'recoverable --more 2\\nsecond\\n' >R", "recoverable --more 2"),
        ("printf 'success' >R", "success"),
        ("printf 'fatal\\t\\033[1m no\\r\\n' >R", "fatal[1m no"),
        ("head -c 5000 /dev/zero | tr '\\0' x >R", "x" * 1000),
        (": >R", "-"),
        ("ln -s /etc/passwd R", "-"),
        ("mkfifo R", "-"),
        ("mkdir R", "-"),
    ],
)
def test_recovery(site: Site, script: str, line: str) -> None:
    site.jobs(*sh(script.replace("R", '"$JIM_RECOVERY"')))
    assert site.run() == 0
    assert site.record()["recovery"] == line


def test_arguments_arrive_as_they_were(site: Site) -> None:
    odd = ["", " lead", "trail ", " ", "a  b", "$HOME", "`id`", "$(id)", "*", "/*", "?", "~", '"', "'", "\\n", "\\"]
    odd += ["-n", "--", "é", "a\tb", "1 arg x", "* arg y", "%s", "!x", "#", "&", ";", "a=b", "{a,b}", "\r", "\x01"]
    show = "import json, sys; print(json.dumps(sys.argv[1:]))"
    site.jobs(*python(show), *odd, b"\xff")
    assert site.run() == 0
    assert json.loads(site.file("run.1/stdout")) == [*odd, "\udcff"]


def test_environment(site: Site) -> None:
    show = "import json, os; print(json.dumps([dict(os.environ), os.getcwd(), os.read(0, 1) == b'']))"
    wanted = {"PATH": "/wanted", "A": " b  c ", "E": "", "IFS": "1", "Q": "$HOME `id` *", "n": "mine", "nl": "mine"}
    refused = ("env a-b=1", "env =1", "env noequals")
    site.jobs(*python(show), facts=(*(f"env {name}={value}" for name, value in wanted.items()), *refused))
    assert site.run(LC_ALL="C.UTF-8", CDPATH="/", JIM_INPUT="/old", KEPT="x") == 0
    environment, directory, at_end = json.loads(site.file("run.1/stdout"))
    assert {name: environment[name] for name in wanted} == wanted
    assert {name: value for name, value in environment.items() if name.startswith("JIM_")} == {
        "JIM_GRID_JOB": "12",
        "JIM_LOCAL_JOB": "0",
        "JIM_ATTEMPT": "2",
        "JIM_SEED": "417330291",
        "JIM_INPUT": "",
        "JIM_RECOVERY": str(site.here / "recovery.1"),
        "JIM_PUBLISH": str(site.here.parent / "jim-publish"),
        "JIM_SPOOL": f"{site.here}/../../spool",
        "JIM_MARK": MARK,
        "JIM_INDEX": "1",
    }
    assert (environment["LC_ALL"], environment["KEPT"], "a-b" in environment) == ("C.UTF-8", "x", False)
    assert directory == str(site.here / "run.1")
    assert at_end


def test_locale_and_umask_are_left_alone(site: Site) -> None:
    site.jobs(*sh("echo ${LC_ALL-unset} >facts; umask >>facts"))
    before = os.umask(0o027)
    try:
        assert site.run() == 0
    finally:
        os.umask(before)
    assert re.fullmatch(r"unset\n0?027\n", site.file("run.1/facts"))


def test_publication_reaches_the_spool(site: Site) -> None:
    site.jobs(*sh('"$JIM_PUBLISH" phase gen 117 250'))
    assert site.run() == 0
    assert (site.spool / f"{MARK}.1.pub.phase-gen").read_text() == "phase gen 117 250 events\n"


def test_the_script_of_a_submission_reads_the_wrapper_in(site: Site) -> None:
    """Under another name and from anywhere, as batch systems copy it; the directory has a name that shells misread."""
    here = site.here.parent / "a 'b' $c" / "s 2"
    here.parent.mkdir()
    for name in PROGRAMS:
        shutil.copy(SHELL / name, here.parent)
    settings = [("mark", MARK), ("spool", "../../../spool")]
    lines = [
        Line(Job(12, "key", n, 1), ["/bin/sh", "-c", 'echo "$JIM_LOCAL_JOB $JIM_PUBLISH"; exit 3']) for n in (0, 1)
    ]
    variables = {"index": "TASK", "id": "BATCH", "restart": "AGAIN"}
    copied = site.root / "script"
    shutil.copy(prepare_submission(here, variables, settings, lines), copied)
    environment = {"PATH": site.path, "TASK": "2", "BATCH": "4711", "AGAIN": "1"}
    done = subprocess.run([*site.shell, str(copied)], cwd="/", env=environment, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert (here / "run.2" / "stdout").read_text() == f"1 {here.parent}/jim-publish\n"
    assert "code 3\n" in (here / "exit.2").read_text()
    assert {"batch 4711", "restart 1"} <= set((here / "claim.2").read_text().splitlines())


def test_a_relative_directory_is_not_looked_for_elsewhere(site: Site) -> None:
    decoy = site.root / "decoy" / "s1"
    decoy.mkdir(parents=True)
    site.jobs("/bin/true")
    environment = {"PATH": site.path, "CDPATH": str(decoy.parent)}
    subprocess.run(
        [*site.shell, str(site.here.parent / "local-job"), "s1", "1"], cwd=site.here.parent, env=environment, check=True
    )
    assert site.record()["code"] == "0"
    assert not list(decoy.iterdir())


@pytest.mark.parametrize("index", [1, 11, 111])
def test_only_its_own_lines_count(site: Site, index: int) -> None:
    for one in (1, 11, 111):
        site.jobs("/bin/echo", str(one), index=one)
    assert site.run(index) == 0
    assert site.file(f"run.{index}/stdout") == f"{index}\n"


@pytest.mark.parametrize(
    ("claim", "host"), [("nonce other\nhost node9\npid 1\n", "node9"), ("nonce other\nhost -\nfence 4711\n", "-")]
)
def test_a_claim_that_is_taken(site: Site, claim: str, host: str) -> None:
    site.jobs(*sh("echo ran >>../ledger"))
    (site.here / "claim.1").write_text(claim)
    assert site.run(JIM_BATCH_ID="4712") == 71
    [refused] = site.here.glob("refused.1.*")
    nonce = refused.name.removeprefix("refused.1.")
    facts = [f"nonce {nonce}", f"host {HOST}", f"pid {site.started[0].pid}", "batch 4712", "restart -", "winner other"]
    assert refused.read_text().splitlines() == facts
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


def test_a_missing_directory_stays_missing(site: Site) -> None:
    assert site.run(where=site.here.with_name("s2")) == 71
    assert {path.name for path in site.here.parent.iterdir()} == {"s1", *PROGRAMS}
    assert not list(site.spool.iterdir())


@pytest.mark.parametrize("index", ["", "x", "1*", "-1", "1/../2"])
def test_what_is_no_index(site: Site, index: str) -> None:
    site.jobs("/bin/true")
    assert site.run(index) == 72
    assert [path.name for path in site.here.iterdir()] == ["jobs"]


def test_own_trouble(site: Site) -> None:
    assert site.run() == 72, "no jobs file"
    site.jobs("/bin/true")
    assert site.run(2) == 72, "not in the jobs file"
    assert not list(site.here.glob("c*"))
    (site.here / "run.1").mkdir()
    assert site.run(1) == 72, "a directory in the payload's place"
    assert "run.1" in site.file("log.1")
    assert not (site.here / "exit.1").exists()


def test_a_claim_is_touched(site: Site) -> None:
    site.jobs(*sh("mkfifo gate; read line <gate"), facts=("touch 0.05",))
    process = site.start()
    until((site.here / "run.1").exists)
    claim = site.here / "claim.1"
    first = claim.stat().st_mtime_ns
    until(lambda: claim.stat().st_mtime_ns > first)
    process.terminate()
    process.wait(10)
    assert not processes_of(process.pid)


def test_nothing_is_left_running(site: Site) -> None:
    site.jobs("/bin/true")
    process = site.start()
    assert process.wait(10) == 0
    assert not processes_of(process.pid)


def test_a_killed_wrapper_leaves_a_stale_claim(site: Site) -> None:
    site.jobs("/bin/sleep", "50", facts=("touch 0.1",))
    process = site.start()
    claim = site.here / "claim.1"
    until(claim.exists)
    first = claim.stat().st_mtime_ns
    until(lambda: claim.stat().st_mtime_ns > first)
    process.kill()
    process.wait(10)
    last = claim.stat().st_mtime_ns
    until(lambda: processes_of(process.pid) == ["/bin/sleep 50"], 2)
    assert claim.stat().st_mtime_ns - last < 100_000_000
    assert not (site.here / "exit.1").exists()


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


def pack(site: Site) -> Path:
    """Put a package where a grid job finds it, and give that place."""
    place = site.root / "work" / "packages" / "abc"
    place.mkdir(parents=True)
    source = site.root / "data.txt"
    source.write_text("hello\n")
    with tarfile.open(place / "package.tar", "w") as tar:
        tar.add(source, "sub/data.txt")
    (site.here.parent / "package").symlink_to("../packages/abc")
    return place


def test_wrappers_unpack_once(site: Site) -> None:
    place = pack(site)
    for index in range(1, 9):
        site.jobs(*sh('cat "$JIM_INPUT/sub/data.txt" input/sub/data.txt; echo "$JIM_INPUT"'), index=index)
    assert [process.wait(30) for process in [site.start(index) for index in range(1, 9)]] == [0] * 8
    [unpacked] = place.glob("unpacked.*")
    assert (place / "ready").read_text() == f"{unpacked.name}\n"
    assert not list(place.glob("ready.*"))
    for index in range(1, 9):
        where = f"{site.here.parent}/package/{unpacked.name}"
        assert site.file(f"run.{index}/stdout") == f"hello\nhello\n{where}\n"


def test_a_package_that_is_ready_is_not_unpacked(site: Site) -> None:
    place = pack(site)
    site.fake("tar", "exit 9")
    (place / "unpacked.x").mkdir()
    (place / "ready").write_text("unpacked.x\n")
    site.jobs(*sh('echo "$JIM_INPUT"'))
    assert site.run() == 0
    assert site.file("run.1/stdout") == f"{site.here.parent}/package/unpacked.x\n"
    assert (site.here / "run.1" / "input").readlink() == Path("../../package/unpacked.x")


def test_a_broken_package(site: Site) -> None:
    place = pack(site)
    (place / "package.tar").write_text("no tar\n" * 999)
    site.jobs("/bin/true")
    assert site.run() == 72
    assert "unpack" in site.file("log.1")
    assert {path.name for path in place.iterdir()} == {"package.tar"}


@pytest.mark.parametrize(
    ("script", "patterns", "expected"),
    [
        ("printf abc >'a  b.dat'", ["a  *.dat"], [f"file 3 {ABC} a  b.dat"]),
        ("printf abc >' x '", [" x "], [f"file 3 {ABC}  x "]),
        ("printf abc >-n", ["-*"], [f"file 3 {ABC} -n"]),
        ("printf abc >é", ["*"], [f"file 3 {ABC} é"]),
        ("printf abc >'[1]'", ["*1]"], [f"file 3 {ABC} [1]"]),
        ("printf abc >'$(id)'", ["*id)"], [f"file 3 {ABC} $(id)"]),
        ("mkdir a; printf abc >a/x.dat; : >a/y", ["a/*.dat"], [f"file 3 {ABC} a/x.dat"]),
        ("mkdir -p d/e; printf abc >d/e/.h; : >d/x", ["d"], [f"file 3 {ABC} d/e/.h", f"file 0 {NOTHING} d/x"]),
        ("mkdir -p d/e; printf abc >d/e/..h", ["d/", "d/e/*"], [f"file 3 {ABC} d/e/..h"]),
        ("printf abc >x.dat", ["*.dat", "x*", "*", "x.dat"], [f"file 3 {ABC} x.dat"]),
        ("printf abc >.x; : >y", [".*"], [f"file 3 {ABC} .x"]),
        (":", ["no.dat", "no*", "a/b"], ["missing no.dat", "missing a/b"]),
        ("ln -s /etc/passwd escape.dat", ["*.dat"], ["refused link escape.dat"]),
        ("ln -s nowhere x.dat", ["x.dat"], ["refused link x.dat"]),
        ("mkdir d; ln -s /etc d/e; : >d/x", ["d"], ["refused link d/e", f"file 0 {NOTHING} d/x"]),
        ("ln -s /etc e", ["e/passwd", "e/pass*wd", "e/"], ["refused link e/passwd", "refused link e"]),
        ("mkdir a; ln -s /etc a/e; mkdir a/f; : >a/f/passwd", ["a/*/passwd"],
            ["refused link a/e/passwd", f"file 0 {NOTHING} a/f/passwd"]),
        ("mkfifo f.dat", ["*"], ["refused special f.dat"]),
        ("ln -s /dev/zero z.dat", ["z.dat"], ["refused link z.dat"]),
        ("printf abcd >x; printf abc >y", ["*"], ["refused large x", f"file 3 {ABC} y"]),
        ("printf abc >\"$(printf 'a\\nb')\"; printf abc >ab", ["a*"], ["refused name a?b", f"file 3 {ABC} ab"]),
        ("x=$(printf 'd/x\\n/y'); mkdir -p \"${x%/y}\"; : >\"$x\"", ["d"], ["refused name d/x?"]),
        ("printf abc >'a\\b'", ["a*"], ["refused name a?b"]),
        ("printf abc >'a\tb'", ["a*"], ["refused name a?b"]),
        (": >../secret", ["../secret", "/etc/passwd", "a/../../secret", "a\\*", "a//b", "./x"],
            ["refused name " + name for name in ("../secret", "/etc/passwd", "a/../../secret", "a?*", "a//b", "./x")]),
        ("cd ..; rm -rf run.1", ["x"], ["missing stdout"]),
        ("rm stdout; ln -s /etc/passwd stdout", [], ["refused link stdout"]),
    ],
)  # fmt: skip
def test_manifest(site: Site, script: str, patterns: list[str], expected: list[str]) -> None:
    limit = "limit 3" if "abcd" in script else "limit 1000000"
    site.jobs(*sh(script), facts=(limit, *(f"out {pattern}" for pattern in patterns)))
    assert site.run() == 0
    assert sorted(site.manifest()) == sorted(expected)


def test_bytes_in_a_name(site: Site) -> None:
    site.jobs(*python("open(b'a\\xff\\xe9.dat', 'wb').write(b'abc')"), facts=("out *.dat",))
    assert site.run() == 0
    assert site.manifest() == [f"file 3 {ABC} a\udcff\udce9.dat"]


def test_a_sparse_giant_is_not_read(site: Site) -> None:
    make = "import os; os.truncate(os.open('big', os.O_CREAT | os.O_WRONLY), 100 << 30)"
    site.jobs(*python(make), facts=("out big",))
    assert site.run() == 0
    assert site.manifest() == ["refused large big"]


def test_a_socket_is_not_opened(site: Site) -> None:
    site.jobs(*python("import socket; socket.socket(socket.AF_UNIX).bind('s')"), facts=("out s",))
    assert site.run() == 0
    assert site.manifest() == ["refused special s"]


def test_the_input_is_no_output(site: Site) -> None:
    pack(site)
    site.jobs("/bin/true", facts=("out *", "out input/sub/data.txt"))
    assert site.run() == 0
    assert site.manifest() == ["refused link input/sub/data.txt"]


@pytest.mark.parametrize("change", ["printf d >>grow.dat", "printf xyz >grow.dat", "rm grow.dat"])
def test_a_file_that_changes_while_it_is_read(site: Site, change: str) -> None:
    site.fake("sha256sum", f'$real "$@"; {change}')
    site.jobs(*sh("printf abc >grow.dat; printf abc >still.dat"), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == [f"file 3 {ABC} still.dat", "refused changed grow.dat"]


def test_a_file_that_cannot_be_read(site: Site) -> None:
    site.fake("sha256sum", 'for one do [ "$one" = ./b.dat ] || $real "$one"; done')
    site.jobs(*sh("for x in a b c; do printf abc >$x.dat; done"), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == [f"file 3 {ABC} a.dat", f"file 3 {ABC} c.dat", "refused unreadable b.dat"]


def test_a_file_that_is_gone_before_it_is_read(site: Site) -> None:
    site.fake("stat", 'rm -f a.dat c.dat; exec $real "$@"')
    site.jobs(*sh("for x in a b c; do printf abc >$x.dat; done"), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == [f"file 3 {ABC} b.dat", "refused changed a.dat", "refused changed c.dat"]


@pytest.mark.parametrize(("command", "script"), [("sort", "exit 1"), ("stat", "echo 1 of another ./file")])
def test_outputs_that_cannot_be_listed(site: Site, command: str, script: str) -> None:
    """A manifest that lacks something without saying so would be worse than none."""
    site.fake(command, script)
    site.jobs(*sh("printf abc >a.dat"), facts=("out *.dat",))
    assert site.run() == 72
    assert "cannot list the outputs" in site.file("log.1")
    assert not (site.here / "exit.1").exists()


@pytest.mark.parametrize("count", [100, 201])
def test_many_files(site: Site, count: int) -> None:
    make = f"for i in range({count}): open(f'{{i}} .dat', 'w').write('abc')"
    site.jobs(*python(make), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == sorted(f"file 3 {ABC} {i} .dat" for i in range(count))


GATE = 'mkfifo gate; : >up; trap "exit 5" ALRM; while :; do read line <gate; done'


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "USR2", "XCPU"])
def test_a_warning_is_passed_on(site: Site, name: str) -> None:
    site.jobs(*sh(f"trap 'echo got {name}; exit 3' {name}; {GATE}"))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    process.send_signal(signal.Signals[f"SIG{name}"])
    assert process.wait(10) == 1
    record = site.record()
    assert (record["code"], record["signal"]) == ("3", "-")
    assert record["reason"] == f"signal {name} from the batch system"
    assert site.file("run.1/stdout") == f"got {name}\n"


@pytest.mark.parametrize(("name", "number"), [("TERM", "15"), ("INT", "15"), ("USR1", "10")])
def test_a_payload_that_dies_of_a_warning(site: Site, name: str, number: str) -> None:
    site.jobs(*sh(f": >up; exec {sys.executable} -S -c 'import time; time.sleep(50)'"))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    process.send_signal(signal.Signals[f"SIG{name}"])
    assert process.wait(10) == 1
    record = site.record()
    assert (record["code"], record["signal"]) == ("-", number)
    assert record["reason"] == f"signal {name} from the batch system"


def test_a_warning_reaches_the_whole_family(site: Site) -> None:
    child = f"trap 'echo child; exit' TERM; {GATE}"
    site.jobs(*sh(f"trap 'echo parent; wait; exit 4' TERM; /bin/sh -c '{child.replace(chr(39), chr(34))}' & wait"))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    process.terminate()
    assert process.wait(10) == 1
    assert sorted(site.file("run.1/stdout").split()) == ["child", "parent"]
    assert site.record()["code"] == "4"


def test_a_payload_may_go_on_after_warnings(site: Site) -> None:
    """The batch system signals the process group, over and over; the payload takes its time."""
    site.jobs(*sh(f"trap : USR1 TERM; trap 'exit 9' HUP; {GATE}"), facts=("touch 0.05",))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    for _ in range(10):
        os.killpg(process.pid, signal.SIGUSR1)
        os.killpg(process.pid, signal.SIGTERM)
    claim = site.here / "claim.1"
    first = claim.stat().st_mtime_ns
    until(lambda: claim.stat().st_mtime_ns > first)
    process.send_signal(signal.SIGHUP)
    assert process.wait(10) == 1
    record = site.record()
    assert (record["code"], record["signal"], record["reason"]) == ("9", "-", "signal HUP from the batch system")
    assert not processes_of(process.pid)


def test_a_warning_before_the_payload_began(site: Site) -> None:
    site.fake("mkdir", 'kill -s TERM "$PPID"; exec $real "$@"')
    site.jobs(*sh("echo ran"))
    assert site.run() == 1
    record = site.record()
    assert (record["code"], record["signal"], record["reason"]) == ("-", "15", "signal TERM from the batch system")
    assert "ran" not in [path.read_text() for path in site.here.glob("run.1/stdout")]


def test_a_warning_while_the_record_is_written(site: Site) -> None:
    site.fake("dd", 'kill -s TERM "$PPID" $$; exec $real "$@"')
    site.jobs("/bin/true")
    assert site.run() == 0
    assert site.record()["reason"] == "-"
