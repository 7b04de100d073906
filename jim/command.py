"""The only module that starts processes: argument lists, a limit on every wait, nothing inherited by chance."""

from __future__ import annotations

import fcntl
import os
import pwd
import select
import signal
import site
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from jim.errors import JimError, words_of
from jim.model import MARK_VARIABLE, Answer

KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")
HOME = str(Path(__file__).resolve().parents[1])  # directory of the package that runs
LONGEST_OUTPUT = 256 * 1024 * 1024  # a longer answer is garbage, and must not fill the memory
END, NO_ANSWER = b"\0end\0", b"\0no\0"  # end what a forked process says: its answer, or why it has none
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 0.2  # seconds between two looks at the size of a running command's output


def scrubbed_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment with only what a process needs; messages are in English."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return kept | {"LC_ALL": "C", "PYTHONPATH": os.pathsep.join((HOME, *_of_account()))} | dict(extra or {})


def _of_account() -> list[str]:
    """Return the place of libraries that this account has installed for itself, if this Python reads it."""
    own = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    return [own] if own in sys.path and own != HOME else []


def run(command: Sequence[str], *, limit: float, mark: str = "", account: str = "", longest: int = 0) -> Answer:
    """Run a command to its end or its limit, and return its answer; a failed command raises no error.

    Root may run it as another account.
    """
    began, longest = time.monotonic(), longest or LONGEST_OUTPUT
    variables, who = _become(account)
    environment = scrubbed_environment(variables | ({MARK_VARIABLE: mark} if mark else {}))
    if sys.executable not in command:  # with what pip has put beside JIM, another Python may not work
        del environment["PYTHONPATH"]
    # Files instead of pipes: a grandchild that keeps a pipe open would block this process.
    with _memory("out") as out, _memory("err") as err:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                cwd="/",
                start_new_session=True,
                **who,
            )
        except (OSError, ValueError) as error:
            words = f"cannot start: {error}"
            return Answer(tuple(command), 127, "", words, time.monotonic() - began, started=False)
        code = _wait(process, limit, (out, err), longest)
        for stream in (out, err):  # processes that left the session can write no more
            with suppress(OSError):
                fcntl.fcntl(stream.fileno(), fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW)
        seconds = time.monotonic() - began
        if _too_long((out, err), longest):  # a truncated answer may say the opposite
            return Answer(tuple(command), None, "", f"it printed more than {longest:,} bytes", seconds)
        return Answer(tuple(command), code, _text(out), _text(err), seconds)


def run_confined(command: Sequence[str], *, given: IO[bytes], out: IO[bytes], limit: float) -> Answer:
    """Run a command from a file to a file, with an empty environment; at its limit, end it with all that it started."""
    began = time.monotonic()
    with _memory("err") as err:
        process = subprocess.Popen(
            command, stdin=given, stdout=out, stderr=err, env={}, cwd="/", start_new_session=True
        )
        code = _wait(process, limit, (err,), LONGEST_OUTPUT)
        return Answer(tuple(command), code, "", _text(err), time.monotonic() - began)


def _become(account: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the environment of a process of this account, and arguments for Popen."""
    if not account:
        return {}, {}
    known = pwd.getpwnam(account)
    variables = {"HOME": known.pw_dir, "USER": account, "LOGNAME": account}
    groups = os.getgrouplist(account, known.pw_gid)
    return variables, {"user": known.pw_uid, "group": known.pw_gid, "extra_groups": groups}


def spawn(
    command: Sequence[str], *, env: Mapping[str, str], cwd: str = "/", pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a process that outlives this one: own session, no open descriptors, no input or output."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def attend(command: Sequence[str], *, env: Mapping[str, str], alone: bool) -> int:
    """Run a command before a person, with the terminal, and return its exit code; negative for a signal.

    With `alone`, it has a session of its own and no terminal, as in a batch system: what would end this process, such
    as Ctrl-C or a closed window, ends the command.
    """
    started: list[int] = []  # the command, once it is there
    signals: list[object] = []  # that have come

    def end(*come: object) -> None:
        signals.extend(come)
        for pid in started:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)

    ending = [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN] if alone else []
    before = {each: signal.signal(each, end) for each in ending}  # first: else one that comes now leaves the command
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL if alone else None, env=dict(env), start_new_session=alone
        )
        started.append(process.pid)
        if signals:
            end()
        while True:
            with suppress(KeyboardInterrupt):  # without `alone`, the command has got that itself
                return process.wait()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def forked(answer: Callable[[], bytes], then: Callable[[], object], limit: float) -> bytes:
    """Call a function in a forked process, and return its answer; an error says why there is none within the limit.

    Then that process goes on alone. It may become another account first: what it reads cannot hang this process.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(reading)
        _answer_and_leave(answer, then, writing)
    os.close(writing)
    end = time.monotonic() + limit
    with open(reading, "rb") as pipe:  # noqa: PTH123 - a descriptor
        said = _until(pipe, end)
    if said.endswith(END):
        return said[: -len(END)]
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # a process that is stuck in the kernel is not waited for
    if said.endswith(NO_ANSWER):
        raise JimError(said[: -len(NO_ANSWER)].decode(errors="replace"))
    late = f"it took longer than {limit:g} s" if time.monotonic() >= end else "its process ended without a word"
    raise JimError(late)


def _answer_and_leave(answer: Callable[[], bytes], then: Callable[[], object], writing: int) -> NoReturn:
    try:
        with open(writing, "wb") as pipe:
            pipe.write(said := _answer_or_reason(answer))
        if said.endswith(END):
            then()
    finally:
        os._exit(0)  # this process has no part in what the other one has begun


def _answer_or_reason(answer: Callable[[], bytes]) -> bytes:
    try:
        return answer() + END
    except Exception as error:  # noqa: BLE001 - after any error, the other process tells people why
        return words_of(error).encode(errors="replace") + NO_ANSWER


def _until(pipe: IO[bytes], end: float) -> bytes:
    said, coming = bytearray(), select.poll()  # `select.select` knows no descriptors above 1,023
    coming.register(pipe, select.POLLIN)
    while (left := end - time.monotonic()) > 0 and coming.poll(left * 1000):
        part = os.read(pipe.fileno(), 65_536)
        if not part:
            break
        said += part
    return bytes(said)


def end_marked(mark: str, id_variable: str) -> list[int]:
    """End every batch command of this mark that still runs, and return their pids.

    Some batch systems pass a command's environment on to its job: processes with a batch id are spared.
    """
    wanted, job = f"{MARK_VARIABLE}={mark}".encode(), f"{id_variable}=".encode()
    ended = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):  # it has ended, or belongs to another account
            environment = (entry / "environ").read_bytes().split(b"\0")
            if wanted in environment and not any(each.startswith(job) for each in environment):
                os.kill(int(entry.name), signal.SIGKILL)
                ended.append(int(entry.name))
    return ended


def _wait(process: subprocess.Popen[bytes], limit: float, printed: Sequence[IO[bytes]], longest: int) -> int | None:
    end = time.monotonic() + limit
    while (left := end - time.monotonic()) > 0 and not _too_long(printed, longest):
        with suppress(subprocess.TimeoutExpired):
            return process.wait(min(left, LOOK_SECONDS))
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # the kernel must end a process that is stuck in it
        process.wait(5)
    return None


def _too_long(printed: Sequence[IO[bytes]], longest: int) -> bool:
    return any(os.fstat(stream.fileno()).st_size > longest for stream in printed)


def _memory(name: str) -> IO[bytes]:
    return os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b")


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace")


def become(program: str, words: Sequence[str]) -> NoReturn:
    """Let a program take the place of this process."""
    os.execv(program, (program, *words))
