"""A JIM site on a lab: the real doors, keeper and wrapper, as the lab's ordinary user; and ways to hurt what is below.

The oracle is a directory that JIM does not read: each payload makes one file when it starts and one when it ends,
and holds a lock by which two that live at the same time find each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from jim.adapters.pbs_wrappers import PbsWrappers
from jim.adapters.slurm import Slurm

ROOT = Path(__file__).resolve().parents[2]
LABS = Path(os.environ.get("JIM_LABS", "/var/lib/jim-labs"))
USER = os.environ.get("LAB_USER", "griduser")
PLAIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What JIM imports, and what these import.
LIBRARIES = ("lxml", "psutil", "tenacity", "rich", "pygments", "markdown_it", "mdurl")
LIMIT = 180.0
LONG = "while [ ! -e go ]; do sleep 0.2; done"  # it ends by force only
# The last lines of a last answer.
DONE, FAILED, CANCELLED = "GRAM_SCRIPT_JOB_STATE:8\n\n", "GRAM_SCRIPT_ERROR:17\n\n", "GRAM_SCRIPT_ERROR:8\n\n"
FAST = "query_seconds = 1.0\nvisible_seconds = 1.0\ntouch_seconds = 2\n"
# Room for many short local jobs at once; Slurm forgets what has ended within half a minute.
SLOTS = 64
ROOM: dict[str, dict[str, object]] = {
    "slurm": {"SLURM_LAB_NODES": 2, "SLURM_LAB_CPUS": SLOTS // 2, "SLURM_LAB_MINJOBAGE": 10},
    "sge": {"SGE_LAB_SLOTS": SLOTS},
}
KEPT = "[keep]\nidle_seconds = 5.0\n"

# Before a batch command: counts it, and holds it before or after the real one for as long as a test wants. Where it is
# to lie, submissions are obeyed and never answered well, cancels are answered well and mostly not obeyed, and listings
# say in turn: nothing, half of it, that there are no jobs, the truth. Where it is to deny, submissions and cancels are
# obeyed, and their answers say in turn, by the file `denying`, that nothing was done. Listings leave out what the file
# `hidden` names.
FRONT = """#!/bin/sh
place={place} verb=$1
shift
echo "$verb" >>"$place/calls"
hold() {{
    mv "$place/hold-$1-$verb" "$place/held-$1-$verb" 2>/dev/null || return 0
    while [ -e "$place/held-$1-$verb" ]; do sleep 0.05; done
}}
hold before
if [ -e "$place/denying" ] && case $verb in submit | cancel) ;; *) false ;; esac; then
    "$@" >/dev/null 2>&1
    turn=$(($(grep -c "$verb" "$place/calls") % $(grep -c . "$place/denying") + 1))
    sed -n "${{turn}}p" "$place/denying" >&2
    exit 1
fi
if [ -e "$place/hidden" ] && case $verb in query | find) ;; *) false ;; esac; then
    told=$("$@") || exit
    printf '%s\n' "$told" | grep -v -F -f "$place/hidden"
    exit 0
fi
[ ! -e "$place/lying" ] || case $verb in
    submit)
        "$@" >/dev/null
        [ "$(grep -c submit "$place/calls")" = 1 ] || {{ echo "Unexpected message received" >&2; exit 1; }}
        exit 0;;
    cancel) [ "$(($(grep -c cancel "$place/calls") % 3))" = 0 ] || exit 0;;
    query | find)
        told=$("$@" && echo .) || exit
        told=${{told%.}}
        case $(($(grep -c -e query -e find "$place/calls") % 4)) in
            0) exit 0;;
            1) printf %s "$told" | head -c "$((${{#told}} / 2))"; exit 0;;
            2) printf %s "$told" | head -n "{head}"; exit 0;;
            *) printf %s "$told"; exit 0;;
        esac;;
esac
"$@"
code=$?
hold after
exit "$code"
"""
HEADS = {"slurm": 1}  # lines of a listing this says nothing about job
PAYLOAD = """#!/bin/sh
me=$JIM_GRID_JOB.$JIM_LOCAL_JOB.$JIM_ATTEMPT
exec 9>>{ledger}/$JIM_GRID_JOB.$JIM_LOCAL_JOB.alive
flock -n 9 || : >{ledger}/$me.$$.overlap
: >{ledger}/$me.$$.start
{body}
echo "data $JIM_LOCAL_JOB $JIM_ATTEMPT" >out.txt
: >{ledger}/$me.$$.end
"""


def until(true: Callable[[], Any], what: str, limit: float = LIMIT) -> Any:
    """Wait for something that has no handle to wait on, looking often."""
    end = time.monotonic() + limit
    while not (found := true()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit:g} s: {what}")
        time.sleep(0.1)
    return found


# The labs


def start_lab(name: str, *, anew: bool = False, **settings: object) -> None:
    """Bring a lab up, with these settings for its script; one that has them is left as it is, unless wanted anew."""
    environment = {**os.environ, **{name: str(value) for name, value in settings.items()}}
    for script in ("down.sh", "up.sh") if anew else ("up.sh",):
        command = [str(ROOT / f"tests/live/labs/{name}/{script}")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: exit {done.returncode}: {done.stderr[-1000:]}")


class Daemon(NamedTuple):
    """A daemon of a lab: where its pid stands, and how it is started anew."""

    pid_file: Path
    start: tuple[str, ...]
    lab: Path = LABS / "slurm"

    @property
    def pid(self) -> int:
        return int(self.pid_file.read_text())

    def kill(self) -> None:
        """End it as a crash does, and wait until it is gone."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        until(lambda: not _lives(pid), f"{self.pid_file.stem} is gone")

    def start_again(self, **more: object) -> None:
        """Start it as its lab does: with nothing of ours in its environment, but for what is said here."""
        variables = [f"{name}={value}" for name, value in (_of_sge() | more).items()]
        clean = ["env", "-i", f"PATH={PLAIN_PATH}", f"JIM_LAB={self.lab}", *variables, *self.start]
        subprocess.run(clean, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=True)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop it for a while."""
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


SLURMCTLD = Daemon(LABS / "slurm/pid/slurmctld.pid", ("slurmctld",))
QMASTER = Daemon(
    LABS / "sge/qmaster/qmaster.pid",
    ("env", f"LD_PRELOAD={LABS / 'sge/loopback.so'}", "/usr/sbin/sge_qmaster"),
    LABS / "sge",
)
SLURMDBD = Daemon(LABS / "slurm/pid/slurmdbd.pid", ("slurmdbd",))
MUNGED = Daemon(Path("/run/munge/munged.pid"), ("runuser", "-u", "munge", "--", "/usr/sbin/munged", "--force"))


def _lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False


def _of_sge() -> dict[str, Any]:
    """Give the variables by which Grid Engine's programs find its lab, if there is one."""
    setting = LABS / "sge/env.sh"
    return dict(each.split("=", 1) for each in setting.read_text().split()[1:]) if setting.exists() else {}


def operator(*command: str) -> str:
    """Run a batch command as root, who runs the labs; those of Grid Engine get its variables."""
    environment = {"PATH": f"/usr/lib/gridengine:{PLAIN_PATH}", **_of_sge()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


# JIM


def install(place: Path) -> dict[str, str]:
    """Install this tree where the lab's user may read it; return what its doors have in their environment."""
    home = place / "jim"
    for name in ("jim", "adapters", "handlers", "shell"):
        shutil.copytree(ROOT / name, home / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in LIBRARIES:
        found = find_spec(name)
        assert found
        assert found.origin
        source = Path(found.origin).parent
        shutil.copytree(source, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    return {"PATH": PLAIN_PATH, "JIM_PYTHON": _python()}


def copy_of_the_source(place: Path) -> Path:
    """Copy what `make install` installs from."""
    left_out = shutil.ignore_patterns(".git", ".venv", "tests", "__pycache__")
    shutil.copytree(ROOT, place, symlinks=True, ignore=left_out)
    return place


def _python() -> str:
    """Find this Python where ordinary accounts may run it; the lab's own may not be there yet."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for each in (os.path.realpath(sys.executable), f"/usr/local/bin/python{version}", f"/usr/bin/python{version}"):
        call = ["runuser", "-u", "nobody", "--", each, "-c", ""]
        if subprocess.run(call, capture_output=True, cwd="/", timeout=30, check=False).returncode == 0:
            return each
    raise RuntimeError(
        f"ordinary accounts may run no Python {version}: neither {sys.executable} nor one of the system's"
    )


class Hold(NamedTuple):
    """A batch command that waits for a test."""

    wanted: Path
    held: Path

    def there(self) -> None:
        """Wait until it waits."""
        until(self.held.exists, f"{self.held.name} is there", 60)

    def go(self) -> None:
        """Let it go on."""
        self.wanted.unlink(missing_ok=True)
        self.held.unlink(missing_ok=True)


class LiveSite:
    """A state directory on a lab, of the lab's user, and what its payloads wrote down."""

    def __init__(
        self,
        place: Path,
        system: str,
        environment: dict[str, str],
        *,
        batch: str = "",
        more: str = "",
        history: str = "",
        asks: Mapping[str, object] | None = None,
    ) -> None:
        self.system, self.user = system, USER
        self.asks = asks or {}  # attributes of all its requests
        self.home, self.place = place / "jim", Path(tempfile.mkdtemp(prefix=f"{system}-", dir=place))
        self.state, self.ledger = self.place / "state", self.place / "ledger"
        self.calls = self.place / "calls"
        self.ledger.mkdir()
        self.calls.touch()
        front = self.place / "front"
        front.write_text(FRONT.format(place=shlex.quote(str(self.place)), head=HEADS.get(system, 0)))
        front.chmod(0o755)
        self.environment = {**environment, "HOME": str(self.place), "JIM_STATE": str(self.state)}
        teller = f'history = "{history}"' if history else ""
        site = [f'[batch]\nsystem = "{system}"', teller, FAST, batch, "[batch.commands]"]
        commands = _commands(system) | ({"history": [history]} if history else {})
        site += [f"{verb} = {json.dumps([str(front), verb, *words])}" for verb, words in commands.items()]
        (self.place / "site.toml").write_text("\n".join([*site, KEPT, more, ""]))
        self.environment["JIM_SITE"] = str(self.place / "site.toml")
        for each in (self.place, *self.place.rglob("*")):
            shutil.chown(each, USER, USER)
        self.number = 0

    # What is done

    def door(self, door: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Call a door as the gatekeeper does: as the user, with nothing else in the environment."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        command = ["runuser", "-u", USER, "--", "env", "-i", *variables, str(self.home / "shell" / door), *words]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, cwd="/", check=False
        )

    def jim(self, *words: str) -> str:
        """Call the people's door, which must succeed."""
        done = self.door("jim", *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def submit(
        self, pieces: int | list[str] = 1, *, body: str = "", by: Sequence[str] = (), **attributes: object
    ) -> int:
        """Hand in a grid job; the payload's body is shell, its $1 each of the pieces. `by`: what starts the payload."""
        self.number += 1
        script = self.place / f"payload-{self.number}"
        script.write_text(PAYLOAD.format(ledger=shlex.quote(str(self.ledger)), body=body))
        script.chmod(0o755)
        sets = [[str(n)] for n in range(pieces)] if isinstance(pieces, int) else [[each] for each in pieces]
        program, *words = (*by, str(script))
        sets = [[*words, *each] for each in sets]
        asked = {"job_type": "parametric", "executable": program, "argument_sets": sets, "outputs": ["out.txt"]}
        request = self.place / f"request-{self.number}.json"
        request.write_text(json.dumps({**asked, "wall_seconds": 600, "key": str(request), **self.asks, **attributes}))
        done = self.door("jim-submit", str(request))
        assert done.returncode == 0, done.stderr
        return int(done.stdout.partition("JOB_ID:")[2].split()[0])

    @contextmanager
    def held(self, when: str, verb: str) -> Iterator[Hold]:
        """Hold the next batch command of this kind, before or after the real one."""
        hold = Hold(self.place / f"hold-{when}-{verb}", self.place / f"held-{when}-{verb}")
        hold.wanted.touch()
        shutil.chown(hold.wanted, USER, USER)
        try:
            yield hold
        finally:
            hold.go()

    def wake(self) -> None:
        """Start a keeper, as a poll would in the end."""
        self.door("jim-wake", str(self.state))

    def beats(self) -> bool:
        """Tell whether the keeper that has the lock lives."""
        with suppress(OSError, ValueError):
            return _lives(self.keeper)
        return False

    @property
    def keeper(self) -> int:
        """The keeper's pid."""
        return int((self.state / "keeper.lock").read_text())

    def saved(self) -> Path:
        """Save the state directory, as a backup does: without the work directory."""
        backup = self.place / "backup"
        shutil.copytree(self.state, backup, ignore=shutil.ignore_patterns("work", "keeper.log", "bell"))
        return backup

    def put_back(self, backup: Path) -> None:
        """Put what was saved in the place of what is there now."""
        for each in self.state.iterdir():
            if each.name not in ("work", "keeper.log"):
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        shutil.copytree(backup, self.state, dirs_exist_ok=True)
        for top in self.state.iterdir():
            if top.name != "work":
                for each in (top, *top.rglob("*")):
                    shutil.chown(each, USER, USER)

    def close(self) -> None:
        """End its keeper; what it has in the batch system goes with the lab."""
        with suppress(OSError, ValueError, ProcessLookupError):
            os.kill(self.keeper, signal.SIGKILL)

    # What is seen

    def poll(self, job: int) -> str:
        """Ask as the gatekeeper does."""
        return self.door("jim-poll", str(job)).stdout

    def ended(self, job: int, limit: float = LIMIT) -> str:
        """Wait for the last answer: DONE, FAILED or CANCELLED; the reason before it is left out."""

        def end() -> str:
            got = self.poll(job)
            return next((each for each in (DONE, FAILED, CANCELLED) if got.endswith(each)), "")

        found: str = until(end, f"grid job {job} is at its end", limit)
        return found

    def states(self, job: int) -> dict[int, str]:
        """Ask for every local job's state."""
        shown = json.loads(self.jim("show", "--all", "--json", str(job)))
        return {int(each["id"].partition(".")[2]): each["status"] for each in shown["local_jobs"]}

    def batch_id(self, job: int) -> str:
        """Ask for the batch id of a grid job's first submission."""
        shown = json.loads(self.jim("show", "--json", str(job)))
        told: str = shown["submissions"][0]["batch_id"]
        return told

    def wrapper(self, job: int, n: int) -> int:
        """Give the pid of the wrapper that holds the claim of a local job of the first submission."""
        claim = (self.state / f"work/{job}/s1/claim.{n + 1}").read_text()
        return int(claim.partition("\npid ")[2].split()[0])

    def tar(self, job: int) -> tuple[dict[int, dict[str, Any]], dict[str, bytes]]:
        """Read the tar: what its summary says of each local job, and every file, which must be there once."""
        tar = next((self.state / f"work/{job}/result").glob("*.tar"))
        with tarfile.open(tar) as packed:
            names = packed.getnames()
            assert len(names) == len(set(names)), "a file is in the tar twice"
            files = {each: packed.extractfile(each).read() for each in names}  # type: ignore[union-attr]
        told = json.loads(files.pop("summary.json"))
        return {each["n"]: each for each in told["local_jobs"]}, files

    def events(self, word: str, job: int) -> Counter[tuple[int, int]]:
        """Count what the payloads wrote down, by local job and attempt."""
        names = [each.name.split(".") for each in self.ledger.glob(f"{job}.*.{word}")]
        return Counter((int(name[1]), int(name[2])) for name in names)

    def living(self, job: int) -> list[int]:
        """Give the pids of the payloads that have started and not ended."""
        started, ended = ({each.stem for each in self.ledger.glob(f"{job}.*.{word}")} for word in ("start", "end"))
        return [int(each.rpartition(".")[2]) for each in started - ended]

    def overlaps(self, job: int) -> int:
        """Count payloads that found another one of their piece alive."""
        return sum(self.events("overlap", job).values())

    def alive(self, job: int, n: int) -> bool:
        """Tell whether a payload of a local job lives: it, or what it has started, holds a lock."""
        file = self.ledger / f"{job}.{n}.alive"
        if not file.exists():
            return False
        with file.open() as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def called(self, verb: str) -> int:
        """Count the batch commands of a kind."""
        return self.calls.read_text().split().count(verb)

    def log(self) -> str:
        """Give what the keeper had to say."""
        log = self.state / "keeper.log"
        return log.read_text() if log.exists() else ""


def _commands(system: str) -> dict[str, list[str]]:
    """Give the first words of each batch command on this lab."""
    if system in ("sge", "condor"):
        told: dict[str, list[str]] = tomllib.loads((LABS / system / "site.toml").read_text())["batch"]["commands"]
        return told
    if system == "pbs_wrappers":
        there = LABS / "pbs-wrappers/usr/bin"
        return {verb: [str(there / program), *words] for verb, (program, *words) in PbsWrappers.commands.items()}
    return {verb: list(words) for verb, words in Slurm.commands.items()}
