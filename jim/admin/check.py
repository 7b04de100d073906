"""Proves with real operations that a site can keep JIM's promise: one finding for each question."""

from __future__ import annotations

import fcntl
import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from jim.admin import keepers
from jim.admin.code import load_all
from jim.admin.finding import FAILED, OK, WARNING, Finding
from jim.admin.home import others
from jim.clock import Clock
from jim.command import run
from jim.doors import untaken_files
from jim.errors import FEW, JimError
from jim.evidence.exit_record import read_exit_record
from jim.files import replace_durably, sync_directory
from jim.files.durable import UNKNOWN, file_system_of
from jim.guide import SHELL, guide
from jim.keeper.serial import instances_in, is_used, refuse_foreign, told
from jim.model import Job
from jim.reading.quantities import how_many
from jim.site import file as site_file
from jim.site import whose
from jim.site.file import STATE_VARIABLE, Site, make_state
from jim.site.libraries import how_to_install
from jim.site.space import free_mb, shortage
from jim.statusdb import file_of, is_there, open_store
from jim.trust import ROOT, Untrusted, of_others, open_to_all
from jim.work.catalogue import NotReadable, catalogue_at
from jim.workdir.claims import fence
from jim.workdir.submission import PROGRAMS, Line, prepare_submission

LIBRARIES = ("lxml.etree", "psutil", "tenacity", "rich")
CLOCKS_APART_SECONDS = 30
WRAPPER_SECONDS = 60
OF_ROOT = "this is root, as whom no grid job may run, and proves nothing of the accounts of this site"
READING_SECONDS = 10.0


def findings(mounts: str | None = None, root: Path = Path("/")) -> Iterator[Finding]:
    """Ask every question; a question that depends on a failed one is left out."""
    yield _ask("libraries", _libraries)
    if (hidden := _ask("another JIM", lambda: others(os.environ.get("PATH", os.defpath)))).level != OK:
        yield hidden
    try:
        site = site_file.load()
    except JimError as error:
        yield Finding("site file", FAILED, str(error), f"correct the file; {guide('settings.md')} lists every setting")
        return
    yield Finding("site file", OK, f"{site.file} is valid" if site.file else "no site file; all settings are defaults")
    of_root = site.managed and os.geteuid() == ROOT
    if of_root:  # it has no state directory there, and gets none
        yield Finding("account", WARNING, OF_ROOT, "run `sudo -u ACCOUNT jim site check` for each account")
    else:
        state = _ask("state directory", lambda: _state(site, mounts))
        yield state
        if state.level == FAILED:
            return
    faults = set()
    for name, question in _of_site(site, root) if of_root else _questions(site, mounts, root):
        found = _ask(name, question)
        if found.level != FAILED or found.said not in faults:  # one fault may spoil several answers
            yield found
        faults |= {found.said} if found.level == FAILED else set()


def _questions(site: Site, mounts: str | None, root: Path) -> Iterator[tuple[str, Callable[[], Finding]]]:
    """List the questions that can be asked once there is a state directory."""
    yield "locks", lambda: _locks(site.state)
    yield "state files", lambda: _files(site.state)
    yield "inbox", lambda: _inbox(site.state)
    yield "status DB", lambda: _database(site.state)
    yield "serials", lambda: _good(told(site))
    yield "state space", lambda: _space(site, "state", site.state)
    yield "work directory", lambda: _work(site, mounts)
    yield "work space", lambda: _space(site, "work", site.work)
    yield "wrapper", lambda: _wrapper(site.work)
    yield "batch system", lambda: _batch(site)
    yield from _of_site(site, root)
    yield "keeper", lambda: keepers.keeper(site)
    yield "clock", lambda: _clock(site, time.time())


def _of_site(site: Site, root: Path) -> Iterator[tuple[str, Callable[[], Finding]]]:
    """List the questions that have one answer for all accounts."""
    yield "promise", lambda: _promise(site)
    if site.site.catalogue:
        yield "catalogue", lambda: _catalogue(site.site.catalogue)
    if site.site.handlers or site.site.steps or site.limits.analyser:
        yield "handlers", lambda: _handlers(site)
    yield "keeper --all", lambda: keepers.arranged(site, root)


def _ask(name: str, question: Callable[[], Finding]) -> Finding:
    """Ask one question; a question without an answer is a failure, too."""
    try:
        return question().named(name)
    except (JimError, OSError, ValueError, ImportError) as error:
        return Finding(name, FAILED, str(error))


def _good(said: str) -> Finding:
    return Finding("", OK, said)


def _libraries() -> Finding:
    if missing := [name.partition(".")[0] for name in LIBRARIES if not _is_there(name)]:
        return Finding("", FAILED, f"missing: {', '.join(missing)}", how_to_install(missing))
    return _good(", ".join(name.partition(".")[0] for name in LIBRARIES))


def _is_there(name: str) -> bool:
    with suppress(ImportError):
        return bool(importlib.import_module(name))
    return False


# The state directory


def _state(site: Site, mounts: str | None) -> Finding:
    owner = site.state.stat().st_uid if site.state.exists() else os.geteuid()
    if owner != os.geteuid():
        todo = f"run this command as its owner, or set {STATE_VARIABLE} to a directory of your own"
        return Finding("", FAILED, f"{site.state} belongs to uid {owner}, but this is uid {os.geteuid()}", todo)
    make_state(site, mounts)
    about = site.state.stat()
    kind = file_system_of(site.state, mounts)
    disk = f"{kind}; it must be on a local disk" if kind == UNKNOWN else f"a local disk ({kind})"
    return _good(f"{site.state} is on {disk}, mode {about.st_mode & 0o777:04o}")


def _locks(state: Path) -> Finding:
    """Take a lock twice: the second time must fail, otherwise two keepers could run."""
    with tempfile.NamedTemporaryFile(dir=state, prefix=".check-") as first, Path(first.name).open("a") as second:
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _good("flock excludes a second holder")
    return Finding("", FAILED, "two processes can hold the same flock", "put the state directory on a local disk")


def _files(place: Path) -> Finding:
    """Write, fsync, rename over an existing file, and read the file."""
    with tempfile.TemporaryDirectory(dir=place, prefix=".check-") as name:
        file = Path(name) / "file"
        for content in (b"old", b"new"):
            replace_durably(file, content)
        if file.read_bytes() != b"new" or os.listdir(name) != ["file"]:  # noqa: PTH208 - names suffice
            return Finding("", FAILED, "a rename did not replace an existing file", "use another file system")
    return _good("fsync and rename work")


def _inbox(state: Path) -> Finding:
    """Look for requests and wishes that no keeper can take."""
    said, todo = [], []
    if barred := untaken_files.barred(state):
        said.append(f"{_files_of(barred)} cannot be read by this account")
        todo.append(f"{untaken_files.remedy(barred[0])}; or remove the file")
    if aside := untaken_files.aside(state):
        said.append(f"{_files_of(aside)} {'is' if len(aside) == 1 else 'are'} damaged")
        todo.append("submit the request, or ask for the wish, again; then remove the damaged file")
    if said:
        return Finding("", WARNING, f"in {state / 'inbox'}: {'; '.join(said)}", "; ".join(todo))
    return _good("every request and wish can be read")


def _files_of(paths: Sequence[Path]) -> str:
    names = [path.name for path in paths[:FEW]] + ([f"{len(paths) - FEW:,} more"] if len(paths) > FEW else [])
    return f"{how_many(len(paths), 'file')} ({', '.join(names)})"


def _database(state: Path) -> Finding:
    """Read the whole status DB, or as much as the time allows."""
    if not is_there(state):
        return _good("there is no status DB yet")
    with closing(open_store(state, Clock())) as store:
        whole = store.look_for_damage(READING_SECONDS)
    return _good("the whole status DB is readable" if whole else f"no damage found within {READING_SECONDS:g} s")


def _space(site: Site, name: str, place: Path) -> Finding:
    about, todo = os.statvfs(place), f"free space below {place}"
    if about.f_files and about.f_favail < 10_000:
        return Finding("", WARNING, f"{about.f_favail:,} inodes free", todo)
    if short := shortage(site, name, place):
        return Finding("", FAILED if short.stops else WARNING, short.words, todo)
    return _good(f"{free_mb(place):,} MB free")


# The work directory


def _work(site: Site, mounts: str | None) -> Finding:
    """Do what claims and outputs need: link, fail to link again, read the winner, notice changes."""
    _require_own(site)
    with tempfile.TemporaryDirectory(dir=site.work, prefix=".check-") as name:
        place = Path(name)
        ours = fence(place, [1])[1].nonce
        if fence(place, [1])[1].nonce != ours:
            return Finding("", FAILED, "two processes could take one claim", "use a file system with hard links")
        (place / "claim.1").rename(place / "moved")
        sync_directory(place)
        coarse = _coarse_times(place / "moved")
    said = f"{site.work} ({file_system_of(site.work, mounts)}): links, renames and fsync work"
    if coarse:
        todo = "JIM may not notice outputs that change while it reads them"
        return Finding("", WARNING, f"{said}; file times have only whole seconds", todo)
    return _good(said)


def _require_own(site: Site) -> None:
    """Refuse a work directory that no keeper would go on in: of another, or empty where grid jobs work."""
    if is_there(site.state) and (instances := instances_in(site.state)):
        with closing(open_store(site.state, Clock())) as store:
            refuse_foreign(site, instances, used=is_used(site, store))


def _coarse_times(file: Path) -> bool:
    os.utime(file, ns=(10**18 + 123_456_789,) * 2)
    return file.stat().st_mtime_ns % 10**9 == 0


def _wrapper(work: Path) -> Finding:
    """Run a local job as a batch system would, and read its exit record."""
    with tempfile.TemporaryDirectory(dir=work, prefix=".check-") as name:
        place = Path(name)
        (place / "spool").mkdir()
        for program in PROGRAMS:
            shutil.copy(SHELL / program, place / program)
        settings = [("mark", "jim-check-1-1"), ("spool", "../spool"), ("touch", "60"), ("limit", "1000000")]
        line = Line(Job(1, "check", 0, 1), ("/bin/echo", "hello"))
        variables = {"index": "JIM_NO_INDEX", "id": "JIM_NO_ID", "restart": ""}
        answer = run((str(prepare_submission(place / "s1", variables, settings, [line])),), limit=WRAPPER_SECONDS)
        problem = _problem(place / "s1", answer.facts() if answer.code else "")
    if problem:
        return Finding(
            "",
            FAILED,
            problem,
            f"{work} must allow programs to run (mount option noexec must be off), and /bin/sh must be POSIX",
        )
    return _good(f"a local job ran under /bin/sh in {answer.seconds:.2f} s, with a claim and an exit record")


def _problem(directory: Path, failure: str) -> str:
    if failure:
        log = directory / "log.1"
        return failure + (f" / {log.read_text()[-300:].strip()}" if log.exists() else "")
    record = read_exit_record((directory / "exit.1").read_text())
    hello = (directory / "run.1" / "stdout").read_text()
    return (
        "" if (record.code, hello) == (0, "hello\n") else f"its exit record says {record.code}, and it wrote {hello!r}"
    )


# The batch system


def _batch(site: Site) -> Finding:
    from jim.admin.trial.asking import health  # needs libraries; another finding says if they are missing

    return health(site)


def _promise(site: Site) -> Finding:
    from jim.keeper.opening import adapter_of

    try:
        shared = adapter_of(site).shared_work
    except Untrusted as error:  # `_handlers` tells what is wrong where it is no matter of root alone
        if os.geteuid() != ROOT:
            raise
        return Finding("", WARNING, f"not looked at: {error}", "run `sudo -u ACCOUNT jim site check`")
    if shared:
        return _good("worker nodes see the work directory, so JIM ensures that each attempt starts at most once")
    said = f"worker nodes do not see the work directory: only {site.batch.system} ensures that no attempt runs twice"
    return Finding("", WARNING, said, "with a shared work directory JIM itself could ensure this")


def _handlers(site: Site) -> Finding:
    """Check the site's own code: whoever can change it acts as every account that uses it."""
    own = site.site.handlers
    if own and (place := next(open_to_all(Path(own)), None)):
        todo = f"JIM runs nothing of it: inspect the files, then run chmod o-w {place}"
        return Finding("", FAILED, f"everybody can write to {place}", todo)
    foreign = next(of_others(Path(own), os.geteuid()), None) if own else None
    if foreign and os.geteuid() == ROOT:
        todo = f"sudo -u ACCOUNT jim site check, for an account of the site, looks at it; or run chown -R root {own}"
        return Finding("", WARNING, f"root runs nothing of {own}, for not only root can change {foreign}", todo)
    types, functions = load_all(site)
    job_types = f"{own}: {', '.join(types) or 'no job type'}" if own else ""
    said = "; ".join(filter(None, (job_types, ", ".join(functions))))
    if foreign:
        todo = f"make sure that you trust who can: whoever changes it acts as {whose.name_of(os.geteuid())}"
        return Finding("", WARNING, f"{said}; not only root and this account can change {foreign}", todo)
    return _good(said)


def _catalogue(place: str) -> Finding:
    try:
        ids, datasets = catalogue_at(place).counts()
    except NotReadable as error:
        return Finding("", FAILED, str(error), "requests that need the catalogue wait until it is readable")
    return _good(f"request ids: {ids:,}, datasets: {datasets:,}, in {place}")


# The clock


def _clock(site: Site, now: float) -> Finding:
    """Compare this machine's clock with the file server's."""
    with tempfile.NamedTemporaryFile(dir=site.work, prefix=".check-") as file:
        apart = abs(os.fstat(file.fileno()).st_mtime - now)
    if apart > CLOCKS_APART_SECONDS:
        said = f"the clock of the work directory's file server differs by {apart:,.0f} s from this machine's"
        return Finding("", WARNING, said, "synchronise both clocks (NTP); only ages that people read are wrong")
    written = file_of(site.state)
    if written.exists() and written.stat().st_mtime - now > CLOCKS_APART_SECONDS:
        return Finding("", WARNING, "this clock was set back since JIM last wrote", "synchronise this clock (NTP)")
    return _good("this machine's clock agrees with the work directory's file server")
