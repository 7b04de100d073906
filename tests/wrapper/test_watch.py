"""The wrapper under every shell: what becomes of an attempt whose wrapper, toucher or payload is killed or stopped."""

import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from jim.clock import Clock
from jim.localbatch.places import seen_below
from tests.wrapper.worker import (
    BUSY,
    LEAVES_ALL,
    MARK,
    Site,
    give_up,
    gone,
    is_dead,
    is_zombie,
    left,
    living,
    ours,
    pack,
    processes_of,
    python,
    sh,
    start,
    toucher_of,
    until,
    wait_for_touches,
)

IN_A_GROUP = "import os, time; os.setpgid(0, 0); open('up', 'w'); time.sleep(99)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('up', 'w'); time.sleep(99)"
RENAMED = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.prctl(15, b"other", 0, 0, 0)
words = open("/proc/self/stat").read().rpartition(")")[2].split()
ctypes.memset(int(words[47]), 0, int(words[48]) - int(words[47]))
open("up", "w")
time.sleep(99)
"""
DAEMON = """
import os, time
os.fork() and time.sleep(99)
os.setsid()
os.fork() and os._exit(0)
open("up", "w")
os.chdir("/")
os.closerange(0, 99)
time.sleep(99)
"""
PAYLOADS = {
    "in its group": sh(BUSY),
    "in a group of its own": python(IN_A_GROUP),
    "in a group that timeout makes": ("timeout", "300", "/bin/sh", "-c", BUSY),
    "in a session of its own": sh(f"setsid sh -c '{BUSY}'"),
    "without an environment": sh(f"setsid env -i sh -c 'PATH={os.defpath}; {BUSY}'"),
    "a daemon with its environment": python("; ".join(DAEMON.strip().splitlines())),
    "deaf to TERM": python(DEAF),
    "under another name": python("; ".join(RENAMED.strip().splitlines())),
}


def naps_of(toucher: int) -> list[int]:
    """Find the pause that it makes."""
    found = []
    for pid in Path(f"/proc/{toucher}/task/{toucher}/children").read_text().split():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"):
                found.append(int(pid))
    return found


@pytest.fixture
def place(slow_site: Site) -> Iterator[Site]:
    slow_site.path = f"{slow_site.path}:{os.defpath}"  # for what payloads call
    yield slow_site
    for pid in (*ours(slow_site), *left(slow_site)):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_whatever_outlives_its_wrapper_is_ended_and_only_then_called_gone(
    place: Site, payload: tuple[str, ...]
) -> None:
    process = start(place, *payload)
    if payload is PAYLOADS["deaf to TERM"]:
        toucher_of(place)
    claim = place.here / "claim.1"
    process.kill()
    process.wait(10)
    assert left(place)
    next_look = 0.0
    while not (place.here / "gone.1").exists():
        if time.monotonic() > next_look:
            alive = bool(left(place))
            assert not (alive and time.time() - claim.stat().st_mtime > 3), "a living payload's claim is touched"
            next_look = time.monotonic() + 0.2
        time.sleep(0.02)
    assert not left(place), "nothing that belongs to it lives"
    nonce = place.file("claim.1").splitlines()[0]
    assert (nonce, gone(place)["why"]) == (f"nonce {gone(place)['nonce']}", "the wrapper was killed")
    assert not (place.here / "exit.1").exists()
    until(lambda: not ours(place))


def test_a_daemon_is_ended_whatever_its_directory_is_called(place: Site) -> None:
    place.root = place.root / "d[a-z]*^$"
    place.__post_init__()
    process = start(place, *PAYLOADS["a daemon with its environment"])
    process.kill()
    process.wait(10)
    until((place.here / "gone.1").exists, 20)
    assert not left(place)


DAEMON_WITHOUT_ENVIRONMENT = """
import os, time
os.fork() and time.sleep(99)
os.setsid()
os.fork() and os._exit(0)
os.execve("/bin/sh", ["sh", "-c", ": >up; sleep 99"], {"PATH": os.defpath})
"""


def test_what_works_in_its_directory_is_found_however_names_are_to_be_quoted(place: Site) -> None:
    place.jobs(*python("; ".join(DAEMON_WITHOUT_ENVIRONMENT.strip().splitlines())), facts=("touch 1",))
    process = place.start(QUOTING_STYLE="c", TIME_STYLE="nonsense")
    until((place.here / "run.1" / "up").exists)
    process.kill()
    process.wait(10)
    until((place.here / "gone.1").exists, 20)
    assert not left(place)


LEAVES = "sleep 98 & (setsid sleep 97 &); (trap '' TERM; exec sleep 96) & "


@pytest.mark.parametrize(("end", "code"), [("kill -KILL $$", "-"), ("exit 3", "3")], ids=["killed", "failed"])
def test_what_a_failed_payload_leaves_does_not_meet_the_next_attempt(place: Site, end: str, code: str) -> None:
    """The payload's shell alone is killed, as for want of memory: what it has started would live on."""
    place.jobs(*sh(f"{LEAVES}: >up; {end}"))
    assert place.start().wait(20) == 1
    assert not left(place)
    assert place.record()["code"] == code


@pytest.mark.parametrize("mode", ["r", "a"])
def test_only_who_writes_into_the_directory_belongs_to_the_attempt(place: Site, tmp_path: Path, mode: str) -> None:
    """A person who reads what a payload prints must not be ended with the payload."""
    opened, go = tmp_path / "opened", tmp_path / "go"
    place.jobs(*sh(f"until [ -e {opened} ]; do sleep 0.05; done; exit 3"))
    process = place.start()
    until((place.here / "run.1" / "stdout").exists)
    script = (
        f"import time, pathlib\nf = open({str(place.here / 'run.1/stdout')!r}, {mode!r})\n"
        f"pathlib.Path({str(opened)!r}).touch()\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.05)"
    )
    person = subprocess.Popen([sys.executable, "-S", "-c", script], cwd="/", env={}, start_new_session=True)
    assert process.wait(30) == 1
    go.touch()
    assert (person.wait(20) == 0) == (mode == "r")


ONE_SIGN_EACH = """
import os, shutil, signal, sys, time

CLEAN = {{"PATH": os.defpath}}

def leave(name, env, where="/", group="own", program="/bin/sleep"):
    if os.fork():
        return
    group == "session" or group == "group" or os.setsid()
    group != "session" or os.setpgid(0, 0)
    if os.fork():
        os._exit(0)
    os.chdir(where)
    with open({pids!r} + name, "w") as file:
        file.write(str(os.getpid()))
    kept = os.open({run!r} + "/open", os.O_WRONLY | os.O_CREAT) if name == "a file open for writing" else 0
    kept and os.dup2(kept, 40)
    os.set_inheritable(40, True) if kept else None
    os.closerange(0, 40)
    os.closerange(41, 99)
    if name == "a parent":
        if os.fork() == 0:
            with open({pids!r} + "a child", "w") as file:
                file.write(str(os.getpid()))
            os.setsid()
            os.execve(program, ["sleep", "97"], CLEAN)
        os.environ.update(env)
        os.execve("/bin/sh", ["sh", "-c", "sleep 97; :"], env)
    os.execve(program, ["sleep", "97"], env)

marks = {{each: os.environ[each] for each in ("JIM_MARK", "JIM_RECOVERY")}}
shutil.copy("/bin/sleep", {run!r} + "/program")
leave("the environment", marks)
leave("a parent", marks)
leave("the directory", CLEAN, where={run!r})
leave("a program there", CLEAN, program={run!r} + "/program")
leave("a file open for writing", CLEAN)
leave("the session", CLEAN, group="session")
leave("the group", CLEAN, group="group")

def name_of(pid):
    with open("/proc/" + pid + "/comm") as file:
        return file.read()

def began():
    pids = [open({pids!r} + each).read() for each in os.listdir({pids!r})]
    return len(pids) == 8 and all(pids) and name_of("self") not in map(name_of, pids)

while not began():  # as the programs that are to be found
    time.sleep(0.01)
sys.exit(3)
"""


@pytest.mark.parametrize("quick", ["mawk", "none"])
def test_each_sign_alone_tells_that_a_process_belongs_to_the_attempt(place: Site, tmp_path: Path, quick: str) -> None:
    """Nothing but that sign: orphans all, but for one of which only its parent has one."""
    pids = tmp_path / "pids"
    pids.mkdir()
    if quick == "none":
        for name in ("mawk", "awk"):
            place.fake(name, "exit 2")
    script = tmp_path / "leaves.py"
    script.write_text(ONE_SIGN_EACH.format(pids=f"{pids}/", run=str(place.here / "run.1")))
    older = subprocess.Popen(["/bin/sleep", "99"], cwd="/", start_new_session=True)
    place.jobs(sys.executable, "-S", str(script))
    assert place.start().wait(30) == 1, place.file("log.1")
    signs = {each.name: int(each.read_text()) for each in pids.iterdir()}
    assert len(signs) == 8, "the payload has left all of them"
    assert {name for name, pid in signs.items() if psutil.pid_exists(pid) and not is_zombie(pid)} == set()
    assert older.poll() is None
    older.kill()
    older.wait()


def test_an_older_process_is_never_the_attempt_s(place: Site) -> None:
    """Such as the shell of a person who looks into the directory."""
    (place.here / "run.1").mkdir()
    person = subprocess.Popen(["/bin/sleep", "99"], cwd=place.here / "run.1", env={}, start_new_session=True)
    began = float(Path(f"/proc/{person.pid}/stat").read_text().split()[21]) / os.sysconf("SC_CLK_TCK")
    until(lambda: float(Path("/proc/uptime").read_text().split()[0]) > began + 0.02)  # births are told in ticks
    place.jobs(*sh("exit 3"))
    assert place.start().wait(30) == 1
    assert person.poll() is None
    person.kill()
    person.wait()


def test_what_a_good_short_payload_leaves_is_left_to_the_batch_system(place: Site) -> None:
    place.jobs(*sh(f"{LEAVES}: >up"))
    assert place.start().wait(20) == 0
    assert len(left(place)) == 3


AGAIN = {  # what a payload does that ends well, and may be run again all the same
    "a promised output is missing": "echo it; echo it >&2",
    "it asks for another attempt": ": >up; echo recoverable >$JIM_RECOVERY",
    "a promised output is a link, and the toucher watches": "ln -s up out.txt; until ls ../toucher.1.*; do :; done",
}


@pytest.mark.parametrize("script", AGAIN.values(), ids=AGAIN)
def test_what_a_payload_leaves_that_may_be_run_again_is_ended(place: Site, script: str) -> None:
    facts = () if "RECOVERY" in script else ("out out.txt",)
    place.jobs(*sh(f"{LEAVES} {script}"), facts=facts)
    assert place.start().wait(20) == 0
    assert not left(place)
    assert place.record()["code"] == "0"


def test_nothing_outlives_the_record_of_a_payload_that_was_watched(place: Site) -> None:
    place.jobs(*sh(f"{LEAVES} until ls ../toucher.1.*; do sleep 0.05; done"))
    assert place.start().wait(20) == 0
    assert not left(place)
    assert place.record()["code"] == "0"


def test_a_failed_payload_leaves_nothing_in_the_group_of_the_wrapper(place: Site) -> None:
    """Not even what nothing else tells of."""
    place.jobs(*sh("cd /; env -i /bin/sleep 95 >/dev/null 2>&1 & cd /; exit 3"))
    process = place.start()
    assert process.wait(20) == 1
    assert "/bin/sleep 95" not in processes_of(process.pid)


def test_the_whole_group_killed_with_a_payload_in_a_group_of_its_own(place: Site) -> None:
    process = start(place, *PAYLOADS["in a group of its own"])
    toucher_of(place)
    os.killpg(process.pid, signal.SIGKILL)
    assert left(place)
    until((place.here / "gone.1").exists)
    assert not left(place)


def test_a_payload_seen_below_its_parent_belongs_to_the_attempt_whatever_it_has_left(place: Site) -> None:
    """Without its environment, in its own session, elsewhere, and with a /proc that only root may read."""
    up = place.here / "up"
    script = "; ".join(LEAVES_ALL.format(up=str(up)).strip().splitlines())
    place.jobs("/usr/bin/env", "-i", *python(script), facts=("touch 1",))
    process = place.start()
    until(lambda: up.exists() and up.read_text())
    until(lambda: list(place.here.glob("peak.1.*")))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
    until((place.here / "gone.1").exists, 20)
    pid = int(up.read_text())
    assert not psutil.pid_exists(pid) or is_zombie(pid)


def unsigned(place: Site) -> str:
    """Give what a shell starts such a process with, and waits until the toucher has told of it."""
    script = "; ".join(LEAVES_ALL.format(up=str(place.here / "up")).strip().splitlines())
    start_it = shlex.join(["/usr/bin/env", "-i", *python(script)])
    return f'{start_it} & until grep -qsx "$! [0-9]*" {place.here}/known.1.*; do sleep 0.05; done'


def unsigned_lives(place: Site) -> bool:
    with contextlib.suppress(OSError):
        return not is_zombie(int(place.file("up")))
    return False


def test_what_the_toucher_saw_below_a_failed_payload_does_not_meet_the_next_attempt(place: Site) -> None:
    place.jobs(*sh(f"{unsigned(place)}; kill -KILL $$"), facts=("touch 1",))
    assert place.start().wait(20) == 1
    assert not unsigned_lives(place)
    assert place.record()["signal"] == "9"
    told = seen_below(str(place.here / "job.sh"), 1, Clock().boot_id())
    assert int(place.file("up")) in {pid for pid, _ in told}, "as the local batch system reads it"


def test_a_toucher_knows_what_the_one_before_saw(place: Site) -> None:
    process = start(place, *sh(f"({unsigned(place)}); {BUSY}"))
    (told,) = place.here.glob("toucher.1.*")
    first = told.read_text()
    os.kill(int(first.split()[1]), signal.SIGKILL)
    until(lambda: told.read_text() not in ("", first))
    wait_for_touches(place.here / "claim.1", 3)
    assert unsigned_lives(place)
    process.kill()
    until((place.here / "gone.1").exists, 20)
    assert not unsigned_lives(place)


@pytest.mark.parametrize(("told", "lives"), [("{b}\nend", False), ("{b}", True), ("{b}0\nend", True), ("end", True)])
def test_only_a_whole_list_of_what_was_seen_counts_and_births_in_it(place: Site, told: str, lives: bool) -> None:
    copies = (
        "until mv ../written ../list; do sleep 0.05; done; for c in ../c.*; do cp ../list ../known.1.${c#../c.}; done"
    )
    place.jobs(*sh(f": >up; {copies}; exit 3"))
    process = place.start()
    until((place.here / "run.1" / "up").exists)
    stranger = subprocess.Popen(["/bin/sleep", "99"], cwd="/", env={}, start_new_session=True)
    birth = Path(f"/proc/{stranger.pid}/stat").read_text().split()[21]
    (place.here / "draft").write_text(told.format(b=f"{stranger.pid} {birth}") + "\n")
    (place.here / "draft").rename(place.here / "written")
    assert process.wait(20) == 1
    assert (stranger.poll() is None) == lives
    stranger.kill()
    stranger.wait()


def test_a_payload_that_ends_after_its_wrapper_was_killed_is_not_done_twice(place: Site) -> None:
    place.jobs(*sh(": >up; until [ -e go ]; do sleep 0.01; done; echo done >out.txt"), facts=("touch 60", "out *.txt"))
    process = place.start()
    until((place.here / "run.1" / "up").exists)
    process.kill()
    (place.here / "run.1" / "go").touch()
    until((place.here / "exit.1").exists)
    record = place.record()
    assert (record["code"], record["signal"], record["reason"], record["attempt"]) == ("0", "-", "-", "2")
    assert f"started {record['started']}" in place.file("claim.1").splitlines()
    assert [line.split()[-1] for line in place.manifest()] == ["out.txt"]
    until((place.spool / f"{MARK}.1.exit").exists)
    assert (place.spool / f"{MARK}.1.exit").read_text() == place.file("exit.1")
    until(lambda: not ours(place))
    assert not (place.here / "gone.1").exists()


@pytest.mark.parametrize("watched_by", ["its child", "the toucher", "a successor", "who was there before"])
def test_a_payload_that_ends_well_at_the_term_of_its_toucher_is_not_done_twice(place: Site, watched_by: str) -> None:
    """The payload's parent is to live until then, whether or not the toucher knows it as its own parent."""
    if watched_by == "who was there before":  # from the unpacking on
        pack(place)
    process = start(place, *sh(f"trap 'echo done >out.txt; exit 0' TERM; {BUSY}"))
    if watched_by != "its child":  # so the wrapper is killed in the payload's first second
        first = toucher_of(place)
    if watched_by == "a successor":
        os.kill(first, signal.SIGKILL)
        until(lambda: toucher_of(place) != first)
    process.kill()
    until(lambda: (place.here / "exit.1").exists() or (place.here / "gone.1").exists())
    assert (place.record()["code"], place.record()["signal"], place.file("run.1/out.txt")) == ("0", "-", "done\n")
    until(lambda: not ours(place))


def test_a_payload_hears_alrm(place: Site) -> None:
    """Its parent is deaf to it."""
    place.jobs(*sh("kill -ALRM $$; sleep 9"))
    assert place.run() == 1
    assert place.record()["signal"] == str(signal.SIGALRM.value)


@pytest.mark.parametrize("command", ["sha256sum", "dd", "mv"])
def test_a_wrapper_killed_after_its_payload_has_ended_leaves_a_record_all_the_same(place: Site, command: str) -> None:
    leader = "read -r _ _ _ _ _ leader _ </proc/self/stat"
    place.fake(
        command, f'{leader}; [ -e {place.root}/hurt ] || {{ : >{place.root}/hurt; kill -9 $leader; }}; exec $real "$@"'
    )
    place.jobs(*sh("sleep 0.3; echo done >out.txt; exit 3"), facts=("out *.txt",))
    place.run()
    until((place.here / "exit.1").exists)
    until(lambda: not ours(place))
    record = place.record()
    assert record["code"] == "3"
    assert [line.split()[-1] for line in place.manifest()] == ["out.txt"]
    if command != "mv":  # which may outlive its wrapper, and gives its record the name
        assert record["reason"] == "the wrapper was killed", "nobody was there to hear of a warning"


def test_a_killed_parent_of_the_payload_ends_the_payload_and_is_told_as_signal_9(place: Site) -> None:
    place.jobs(*sh(f"echo $PPID >parent; {BUSY}"), facts=("touch 1",))
    process = place.start()
    until((place.here / "run.1" / "up").exists)
    os.kill(int(place.file("run.1/parent")), signal.SIGKILL)
    assert process.wait(20) == 1
    assert not left(place)
    assert (place.record()["code"], place.record()["signal"]) == ("-", "9")


def test_a_payload_whose_parent_was_killed_gets_no_time_to_end_well(place: Site) -> None:
    """Nobody could record such an end, and the work would be done twice."""
    place.jobs(*sh(f"trap 'echo >../well; exit 0' TERM; echo $PPID >parent; {BUSY}"), facts=("touch 1",))
    process = place.start()
    until((place.here / "run.1" / "up").exists)
    os.kill(int(place.file("run.1/parent")), signal.SIGKILL)
    assert process.wait(20) == 1
    assert not left(place)
    assert not (place.here / "well").exists()


def test_a_payload_whose_parent_was_killed_is_ended_before_a_long_look_at_all_processes(place: Site) -> None:
    """On a full node such a look takes half a second, in which a payload may come to its end."""
    for awk in filter(shutil.which, ("awk", "mawk")):
        look = f": >{place.root}/looks; sleep 0.5"
        place.fake(awk, f'case "$*" in *since=*) {look} ;; esac; exec $real "$@"')
    wait = f": >up; until [ -e {place.root}/looks ]; do sleep 0.02; done; : >../well"
    place.jobs(*sh(f"echo $PPID >parent; {wait}"), facts=("touch 1",))
    process = place.start()
    until((place.here / "run.1" / "up").exists)
    until(lambda: list(place.here.glob("known.1.*")))
    os.kill(int(place.file("run.1/parent")), signal.SIGKILL)
    assert process.wait(20) == 1
    assert (place.root / "looks").exists()
    assert not (place.here / "well").exists()


LOOK = """
cd "$1" && wrapper=$2
set -- lane 1
. "$wrapper" && . "$wrapper-watch"
know_self
me=$self led=$session born=$birth led_session='' quick=awk
setsid sh -c 'echo $$ >begun; exec sleep 60' &
(setsid sh -c 'sh -c "echo \\$\\$ >left; exec sleep 60" & exit 0' &)
sh -c 'echo $$ >own; exec sleep 60' &
mkdir local-jobs && echo 'echo $$ >named; exec 3<&-; sleep 60; :' >local-jobs/run.sh
setsid sh "$PWD/local-jobs/run.sh" &
mkdir s && echo 'echo $$ >"$1/of_jim"; sleep 60; :' | tee s/local-job >s/local-carrier
setsid sh "$PWD/s/local-job" "$PWD" 1 &
: >go
until [ -s named ] && [ -s of_jim ] && [ -s begun ] && [ -s left ] && [ -s own ] && [ -s strange ]; do :; done
find_young
printf '%s\n' "$young" | cut -d' ' -f1 >young
"""


def test_processes_in_new_sessions_are_looked_at_and_those_in_sessions_of_before_are_not(tmp_path: Path) -> None:
    old = "until [ -e go ]; do sleep 0.05; done; sh -c 'echo $$ >strange; exec sleep 60' & wait"
    stranger = subprocess.Popen(["sh", "-c", old], cwd=tmp_path, start_new_session=True)
    time.sleep(0.02)  # births are told in hundredths of a second
    wrapper = str(Path(__file__).parents[2] / "shell/local-job")
    subprocess.run(["sh", "-c", LOOK, "sh", str(tmp_path), wrapper], check=True, timeout=60)
    at = {name: int((tmp_path / name).read_text()) for name in ("begun", "left", "own", "named", "strange", "of_jim")}
    for each in (*at.values(), stranger.pid):
        os.kill(each, signal.SIGKILL)
    stranger.wait()
    young = set(map(int, (tmp_path / "young").read_text().split()))
    assert {at["begun"], at["left"], at["own"], at["named"]} <= young
    assert not {at["strange"], at["of_jim"], stranger.pid} & young


NUMBERS = """
echo 20000 >/proc/sys/kernel/ns_last_pid || exit
setsid sh -c '
    wrapper=$1
    set -- lane 1
    . "$wrapper" && . "$wrapper-watch"
    know_self
    me=$self led=$session born=$birth led_session="" quick=awk
    echo 100 >/proc/sys/kernel/ns_last_pid
    sleep 9 & left=$!
    echo 25000 >/proc/sys/kernel/ns_last_pid
    find_young
    kill "$left"
    echo "$self $left"
    printf "%s\\n" "$young"
' sh "$1" & wait
"""


def test_what_has_a_lower_number_than_its_wrapper_is_found(tmp_path: Path) -> None:
    """Numbers begin anew at their highest, and forks that fail at the limit of a cgroup use them up uncounted."""
    wrapper = str(Path(__file__).parents[2] / "shell/local-job")
    apart = [
        "unshare",
        *(["-r"] if os.getuid() else []),
        "-p",
        "-f",
        "--mount-proc",
        "sh",
        "-c",
        NUMBERS,
        "sh",
        wrapper,
    ]
    told = subprocess.run(apart, capture_output=True, text=True, check=False, timeout=60)
    if not told.stdout:
        pytest.skip(f"no numbers of processes of its own: {told.stderr}")
    own, *young = told.stdout.splitlines()
    assert own.split() == ["20001", "101"]
    assert {"20001", "101"} <= {each.split()[0] for each in young}


BEGUN_BY_OTHERS = """
until [ -e "$1/go" ]; do sleep 0.05; done
sh "${2%/*}/local-job" "$2" 1 & echo $! >"$1/wrapper"
wait
sleep 60
"""


@pytest.mark.parametrize("quick", [each for each in ("mawk", "gawk", "busybox") if shutil.which(each)])
def test_a_payload_in_a_session_older_than_its_wrapper_is_ended(place: Site, quick: str) -> None:
    """Where the batch system has begun that session: whatever the toucher can read of others."""
    awk = f"{shutil.which(quick)}{' awk' * (quick == 'busybox')}"
    for name in ("awk", "mawk"):
        place.fake(name, f'exec {awk} "$@"')
    place.jobs(*sh(f"(sleep 97 & echo $! >{place.root}/orphan); : >up; {BUSY}"), facts=("touch 1",))
    script = place.root / "script"
    script.write_text(BEGUN_BY_OTHERS)
    env = {"PATH": f"{place.root / 'bin'}:{place.path}", "HOME": "/"}
    words = ["sh", str(script), str(place.root), str(place.here)]
    with subprocess.Popen(words, env=env, start_new_session=True) as leader:
        time.sleep(0.02)  # births are told in hundredths of a second
        (place.root / "go").touch()
        until((place.here / "run.1" / "up").exists)
        place.started.append(leader)
        toucher_of(place)
        os.kill(int((place.root / "wrapper").read_text()), signal.SIGKILL)
        until((place.here / "gone.1").exists, 20)
        alive = left(place)
        leader.kill()
    assert not alive


@pytest.mark.parametrize("watched_by", ["the toucher", "a successor"])
def test_a_payload_whose_parent_and_wrapper_were_killed_gets_no_time_to_end_well(place: Site, watched_by: str) -> None:
    process = start(place, *sh(f"trap 'echo >../well; exit 0' TERM; echo $PPID >parent; {BUSY}"))
    first = toucher_of(place)
    if watched_by == "a successor":
        os.kill(first, signal.SIGKILL)
        until(lambda: toucher_of(place) != first)
    os.kill(int(place.file("run.1/parent")), signal.SIGSTOP)  # so that it is not the wrapper that notices
    process.kill()
    os.kill(int(place.file("run.1/parent")), signal.SIGKILL)
    until((place.here / "gone.1").exists)
    assert not left(place)
    assert not (place.here / "well").exists()
    until(lambda: not ours(place))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_toucher_that_is_killed_or_stopped_has_a_successor(place: Site, how: signal.Signals) -> None:
    process = start(place, *sh(": >up; until [ -e go ]; do sleep 0.1; done"))
    first, claim = toucher_of(place), place.here / "claim.1"
    os.kill(first, how)
    wait_for_touches(claim, 4)
    until(lambda: toucher_of(place) != first)
    (place.here / "run.1" / "go").touch()
    assert process.wait(10) == 0
    until(lambda: not ours(place))


def stay_in_group(site: Site, process: "subprocess.Popen[bytes]") -> tuple[Path, str, int]:
    """Kill the toucher while the file server is away; give the program that cannot be read, the old words, the next."""
    first = toucher_of(site)
    (told,) = site.here.glob("toucher.1.*")
    program, words = site.here.parent / "local-job", told.read_text()
    program.rename(program.with_suffix(".away"))
    os.kill(first, signal.SIGKILL)
    until(lambda: told.read_text() not in ("", words))
    successor = int(told.read_text().split()[1])
    assert os.getsid(successor) == process.pid
    return program, words, successor


def test_a_toucher_that_could_not_tell_of_itself_is_killed_before_the_next_begins(place: Site) -> None:
    """The wrapper would end what such a one starts, again and again, and never come to the exit record."""
    process = start(place, *sh(": >up; until [ -e go ]; do sleep 0.1; done"))
    program, words, second = stay_in_group(place, process)
    wait_for_touches(next(place.here.glob("seen.1.*")), 2)  # the wrapper has looked, and knows the second one
    next(place.here.glob("toucher.1.*")).write_text(words)
    os.kill(second, signal.SIGSTOP)
    program.with_suffix(".away").rename(program)
    assert toucher_of(place) != second
    assert is_dead(second)
    (place.here / "run.1" / "go").touch()
    assert process.wait(10) == 0
    assert place.record()["code"] == "0"
    until(lambda: not ours(place))


def test_a_wrapper_killed_while_it_reads_of_its_toucher_has_one(place: Site) -> None:
    """The file server may take long to answer: until then, the toucher that the wrapper does not trust may yet live."""
    process = start(place, *PAYLOADS["in a session of its own"])
    _, _, second = stay_in_group(place, process)
    (told,) = place.here.glob("toucher.1.*")
    with slow_to_open(told):
        os.kill(second, signal.SIGSTOP)
        until(lambda: place.file("log.1").count("another toucher") == 2)
        process.kill()
        process.wait(10)
    os.kill(second, signal.SIGCONT)
    until((place.here / "gone.1").exists)
    assert not left(place)


@contextlib.contextmanager
def slow_to_open(file: Path) -> Iterator[None]:
    """As with a slow file server: whoever opens the file waits. Whoever only asks for its kind is answered at once."""
    with file.open("r+") as held:
        fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGWINCH)  # the kernel's word that somebody waits, which nobody needs
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield


def test_a_fifo_in_place_of_the_toucher_s_word_holds_nobody_up(place: Site) -> None:
    process = start(place, *sh(": >up; until [ -e go ]; do sleep 0.1; done"))
    first, (told,) = toucher_of(place), place.here.glob("toucher.1.*")
    told.unlink()
    os.mkfifo(told)
    os.kill(first, signal.SIGKILL)
    wait_for_touches(place.here / "claim.1", 4)
    (place.here / "run.1" / "go").touch()
    assert process.wait(10) == 0
    assert place.record()["code"] == "0"
    until(lambda: not ours(place))


def test_a_toucher_leaves_the_group_once_the_file_server_is_back(place: Site) -> None:
    process = start(place, *PAYLOADS["in a session of its own"])
    program, _, second = stay_in_group(place, process)
    program.with_suffix(".away").rename(program)
    until(lambda: toucher_of(place) == second)
    wait_for_touches(place.here / "claim.1", 2)
    os.killpg(process.pid, signal.SIGKILL)
    until((place.here / "gone.1").exists)
    assert not left(place)
    until(lambda: not ours(place))


HELPER = '(while :; do sleep 5; done) & exec "$0" "$@"'


def test_what_the_wrapper_has_inherited_as_its_child_does_not_hold_up_the_record(place: Site) -> None:
    """As where the wrapper is the first process of a container, whose children all orphans become."""
    place.shell = ["/bin/sh", "-c", HELPER, *place.shell]
    place.jobs(*sh("exit 3"))
    assert place.start().wait(10) == 1
    assert place.record()["code"] == "3"


def test_while_a_file_server_s_clock_is_behind_one_toucher_is_enough(place: Site) -> None:
    """What the wrapper compares the claim with was written before, and so lies in the future."""
    process = start(place, *sh(": >up; until [ -e go ]; do sleep 0.1; done"))
    first, claim = toucher_of(place), place.here / "claim.1"
    until(lambda: list(place.here.glob("seen.1.*")))
    (seen,) = place.here.glob("seen.1.*")
    os.utime(seen, (time.time() + 3600,) * 2)
    until(lambda: toucher_of(place) != first)
    wait_for_touches(claim, 6)
    assert place.file("log.1").count("another toucher is started") == 1
    (place.here / "run.1" / "go").touch()
    assert process.wait(10) == 0


def test_a_stopped_wrapper_s_claim_is_touched(place: Site) -> None:
    process = start(place, *sh(": >up; until [ -e go ]; do sleep 0.1; done"))
    toucher_of(place)
    claim = place.here / "claim.1"
    os.killpg(process.pid, signal.SIGSTOP)
    was = claim.stat().st_mtime
    until(lambda: claim.stat().st_mtime > was + 1.5)
    os.killpg(process.pid, signal.SIGCONT)
    (place.here / "run.1" / "go").touch()
    assert process.wait(10) == 0


@pytest.mark.parametrize(
    "payload",
    [
        "in its group",
        *(pytest.param(each, marks=pytest.mark.torture) for each in ("in a session of its own", "deaf to TERM")),
    ],
)
def test_an_attempt_that_was_given_up_is_ended_without_a_record(place: Site, payload: str) -> None:
    process = start(place, *PAYLOADS[payload])
    give_up(place)
    until((place.here / "gone.1").exists, 20)
    assert not left(place)
    assert gone(place)["why"] == "given up by the keeper: silent"
    assert process.wait(10) != 0
    assert not (place.here / "exit.1").exists()
    assert (place.here / "over.1").is_file()
    until(lambda: not ours(place))


def test_what_was_stopped_and_thawed_asks_before_it_touches(place: Site) -> None:
    """As a freezer or a paused machine does with a whole job, while it is given up."""
    process = start(place, *sh(BUSY), touch=60)
    toucher = toucher_of(place)
    until(lambda: naps_of(toucher))  # before its first one, it knows no time since which it could have been stopped
    everybody = [toucher, *living(process.pid), *ours(place), *left(place), *naps_of(toucher)]
    for pid in everybody:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGSTOP)
    give_up(place)
    time.sleep(8)  # longer than its nap
    for pid in everybody:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)
    until(lambda: not left(place), 20)  # not a minute
    until((place.here / "gone.1").exists)


def stop_all(site: Site, process: "subprocess.Popen[bytes]") -> set[int]:
    """Stop a whole job, as a freezer does."""
    found: set[int] = set()
    while more := {*living(process.pid), *ours(site), *left(site)} - found:
        for pid in more:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        found |= more
    return found


def test_what_was_stopped_in_its_first_second_and_thawed_asks_before_it_touches(place: Site) -> None:
    """The toucher was just being born."""
    process = start(place, *sh(BUSY), touch=60)
    everybody = stop_all(place, process)
    assert not list(place.here.glob("toucher.1.*"))
    give_up(place)
    time.sleep(4)  # longer than a toucher takes to begin
    for pid in everybody:
        with contextlib.suppress(ProcessLookupError):  # it ended just before it was to be stopped
            os.kill(pid, signal.SIGCONT)
    until(lambda: not left(place), 20)  # not a minute
    until((place.here / "gone.1").exists)
    assert process.wait(10) != 0


def test_what_was_given_up_before_its_payload_began_does_not_begin(place: Site) -> None:
    place.fake("mkdir", f'[ "$1" != run.1 ] || until [ -e "{place.root}/go" ]; do sleep 0.05; done; exec $real "$@"')
    place.jobs(*sh(": >../begun"))
    process = place.start()
    until((place.here / "claim.1").exists)
    give_up(place)
    time.sleep(4)
    (place.root / "go").touch()
    assert process.wait(10) == 71
    assert gone(place)["why"] == "given up by the keeper: silent"
    assert not (place.here / "begun").exists()
    assert not (place.here / "exit.1").exists()
    until(lambda: not ours(place))


@pytest.mark.torture
def test_a_wrapper_whose_toucher_stands_still_asks_before_it_touches(place: Site) -> None:
    """It may be the first to go on after a thaw."""
    process = start(place, *sh(BUSY), touch=8)
    toucher = toucher_of(place)
    until(lambda: naps_of(toucher))
    os.kill(toucher, signal.SIGSTOP)
    give_up(place)
    began = time.monotonic()
    until((place.here / "gone.1").exists, 30)
    assert time.monotonic() - began < 17, "its successor waits for no touch before it asks"
    assert not left(place)
    assert process.wait(10) != 0


def test_what_is_over_is_another_claim_s(place: Site) -> None:
    process = start(place, *sh(": >up; until [ -e go ]; do sleep 0.1; done"))
    give_up(place, "other")
    claim = place.here / "claim.1"
    was = claim.stat().st_mtime
    until(lambda: claim.stat().st_mtime > was + 1)
    (place.here / "run.1" / "go").touch()
    assert process.wait(10) == 0
    assert not (place.here / "gone.1").exists()


def test_an_attempt_whose_claim_the_keeper_has_taken_after_all_is_ended(place: Site) -> None:
    """Somebody has removed its own one: the keeper could not know that it lives, and nobody else may start it."""
    process = start(place, *sh(BUSY))
    claim = place.here / "claim.1"
    claim.unlink()
    time.sleep(1.5)
    assert left(place), "a claim that cannot be found is nobody's"
    claim.write_text("nonce other\nhost -\npid 1\nfence\n")
    until((place.here / "gone.1").exists, 20)
    assert not left(place)
    assert gone(place)["why"] == "given up by the keeper: its claim is another's"
    assert process.wait(10) != 0
    assert not (place.here / "exit.1").exists()


@pytest.mark.parametrize(
    "notice", [False, pytest.param(True, marks=pytest.mark.torture)], ids=["with its notice", "alone"]
)
def test_a_claim_that_the_file_server_has_forgotten_is_claimed_again(place: Site, notice: bool) -> None:
    """Before the batch system starts the attempt once more, or the keeper takes it for one that never started."""
    process = start(place, *sh(": >up; until [ -e go ]; do sleep 0.1; done"))
    toucher_of(place)
    claim = place.here / "claim.1"
    nonce = claim.read_text().splitlines()[0]
    claim.unlink()
    if not notice:
        next(place.here.glob("c.*")).unlink()
    until(claim.exists)
    assert claim.read_text().splitlines()[0] == nonce
    assert place.run() == 71, "another start of the attempt"
    wait_for_touches(claim, 2)
    (place.here / "run.1" / "go").touch()
    assert process.wait(10) == 0
    assert place.record()["code"] == "0"
    assert "claim.1 was gone: it is claimed again" in place.file("log.1")


@pytest.mark.torture
def test_a_forgotten_claim_that_another_start_has_got_ends_the_first(place: Site) -> None:
    process, claim = start(place, *sh(f"echo $$ >>../ledger; {BUSY}"), touch=2), place.here / "claim.1"
    toucher_of(place)
    wait_for_touches(claim, 1)
    until(lambda: time.time() > claim.stat().st_mtime + 0.5)  # its look is over, the next one after the second start
    claim.unlink()
    shutil.rmtree(place.here / "run.1")  # the server has forgotten this, too
    second = place.start()
    until(lambda: place.file("ledger").count("\n") == 2, 20)
    assert process.wait(30) != 0
    first, of_second = map(int, place.file("ledger").split())
    until(lambda: is_dead(first), 10)
    until((place.here / "gone.1").exists, 10)
    wait_for_touches(claim, 2)  # what is ended is not of the second, though mark and directory are the same
    assert (second.poll(), is_dead(of_second)) == (None, False)


def test_a_claim_that_a_payload_has_made_a_fifo_holds_up_no_toucher(place: Site) -> None:
    """To open it waits for a writer: the batch job of an attempt whose wrapper was dead never ended."""
    process, claim = start(place, *sh(BUSY), touch=1), place.here / "claim.1"
    toucher_of(place)
    claim.unlink()
    os.mkfifo(claim)
    process.kill()
    until(lambda: not ours(place), 30)
    assert gone(place)["why"] == "the wrapper was killed"


def test_a_wrapper_that_writes_its_record_finishes_it_though_it_was_given_up(place: Site) -> None:
    place.fake("dd", f'until [ -e "{place.root}/go" ]; do sleep 0.05; done; exec $real "$@"')
    place.jobs(*sh("sleep 1.5"), facts=("touch 1",))
    process = place.start()
    until(lambda: list(place.here.glob("code.1.*")))
    give_up(place)
    claim = place.here / "claim.1"
    was = claim.stat().st_mtime
    until(lambda: claim.stat().st_mtime > was + 1)
    (place.root / "go").touch()
    assert process.wait(10) == 0
    assert place.record()["code"] == "0"
    assert not (place.here / "gone.1").exists()


def test_without_setsid_the_toucher_stays_in_the_group(place: Site, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for directory in place.path.split(":"):
        for each in Path(directory).glob("*"):
            if each.name != "setsid" and not (bare / each.name).is_symlink():
                (bare / each.name).symlink_to(each)
    place.path = str(bare)
    place.jobs(*sh(BUSY), facts=("touch 1",))
    process = place.start()
    until((place.here / "run.1" / "up").exists)
    claim = place.here / "claim.1"
    was = claim.stat().st_mtime
    until(lambda: claim.stat().st_mtime > was)
    process.kill()
    until((place.here / "gone.1").exists)
    assert not left(place)
