"""The files that a local job finds on the worker node: the package, the submission directory, and its claims."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.errors import BadRequest, JimError
from jim.evidence.exit_record import LONGEST_RECORD, Claim, ExitRecord, Told, read_claim, read_exit_record, read_jobs
from jim.files import passes, put_once, read_regular, replace, replace_durably, sync_directory
from jim.handlers.base import Attributes, Handler
from jim.jobs import GridJob
from jim.model import MARK_VARIABLE, Job
from jim.site.file import Site
from jim.site.realm import OWN, Opener
from jim.workdir import credentials, packages
from jim.workdir.removed import INSTANCE, WRAPPER, is_absent

Sharing = Callable[[], str]
OWNER = "owner"  # in a grid job's directory: the owner
SUBMISSION = re.compile(r"s[1-9][0-9]{0,8}")
LONGEST_OWNER, LONGEST_JOBS = 10_000_000, 10**10
PROGRAMS = ("local-job-outputs", "local-job-watch", "jim-publish", "local-job")  # of the worker node
# Last part of the directory's name of a grid job that ended before it was submitted, when the usual name is in use.
NEVER_SENT = "0"
SENT = "sent"  # the last try of the batch command that may have run; never removed
MADE = "made."  # begins the name of a file beside a submission directory, written before that is made; never removed
LUGGAGE = "luggage"  # files that a job takes along to a worker node that does not see the work directory


class Line(NamedTuple):
    """The attempt that one index of a submission runs."""

    job: Job
    command: Sequence[str]
    settings: Sequence[tuple[str, str]] = ()  # its own environment


class Trace(NamedTuple):
    """What one attempt has left in its submission directory."""

    claim: Claim | None
    touched: float  # time of the last touch of the claim, by the file server's clock
    exit_record: ExitRecord | None
    unreadable: bool = False  # the file cannot be read now, so there may be an exit record
    gone: bool = False  # the wrapper or its watcher says that no process is left, and that no record will come


def shell_directory() -> Path:
    """Return the directory of doors and wrapper: beside the package in a checkout, in libexec when installed."""
    beside = Path(__file__).resolve().parents[2] / "shell"
    return beside if beside.is_dir() else Path(sys.prefix) / "libexec/jim/shell"


def own_directory(work: Path, job: GridJob, *, unsent: bool = False) -> str:
    """Make a grid job's directory, once, and return its name; never use a directory of another grid job.

    After a restore, doors may use a number again before anyone notices. With `unsent`, for a grid job that ended before
    it was submitted, a directory from which something was submitted is not used either: after a restore it may be its
    own.
    """
    told = json.dumps({"key": job.key, "created": job.created, "nonce": job.nonce}).encode()
    other = job.nonce or hashlib.sha256(told).hexdigest()[:16]
    names = str(job.id), f"{job.id}-{other}", *([f"{job.id}-{other}{NEVER_SENT}"] if unsent else [])
    for name in names:
        place = work / name
        place.mkdir(mode=0o700, exist_ok=True)
        if place.is_symlink() or (unsent and submissions_in(place)):  # JIM makes no link there
            continue
        if is_owned(place, job) or (not _is_used(place) and put_once(place / OWNER, told) == told):
            sync_directory(work)
            return name
    raise JimError(f"{place} belongs to another grid job")


def is_owned(place: Path, job: GridJob) -> bool:
    """Tell whether a directory says that it belongs to this grid job. Grid jobs of an older version have no nonce."""
    try:
        told = json.loads(read_regular(place / OWNER, LONGEST_OWNER))
        return (told["key"], told["created"]) == (job.key, job.created) and job.nonce in ("", told["nonce"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False


def _is_used(place: Path) -> bool:
    """Tell whether a directory is in use already; an older version did not write the owner."""
    names = os.listdir(place)  # noqa: PTH208 - names suffice
    return OWNER in names or any(each == "result" or SUBMISSION.fullmatch(each) for each in names)


def submissions_in(place: Path) -> dict[int, Path]:
    """Return the submission directories of a grid job, by number; none if its directory does not exist."""
    try:
        names = os.listdir(place)  # noqa: PTH208 - names suffice
    except FileNotFoundError:
        return {}
    return {int(name[1:]): place / name for name in sorted(names) if SUBMISSION.fullmatch(name)}


def submission_directory(place: Path, k: int) -> Path:
    """Return the directory of a submission, inside that of its grid job."""
    return place / f"s{k}"


def was_never_made(directory: Path) -> bool:
    """Tell whether a submission directory was never made, so that nothing can have been sent from it.

    That its own name is absent proves nothing: somebody may have moved the directory away for a moment.
    """
    return is_absent(_made(directory)) and not is_absent(directory.parent / WRAPPER)


def _made(directory: Path) -> Path:
    return directory.with_name(MADE + directory.name)


def told_in(directory: Path) -> Told | None:
    """Read which attempts a submission directory is for; None if that is not written yet."""
    try:
        return read_jobs(read_regular(directory / "jobs", LONGEST_JOBS).decode(errors="replace"))
    except FileNotFoundError:
        return None
    except JimError as error:
        raise JimError(f"{directory / 'jobs'}: {error}") from error


def has_another(directory: Path, own: Told) -> bool:
    """Tell whether a submission directory belongs to another submission; a damaged one proves nothing."""
    with suppress(JimError):
        told = told_in(directory)
        if told and told.mark:  # after a restore the store may have only some of the attempts
            return told.mark != own.mark or not own.attempts.items() <= told.attempts.items()
    return False


def is_seen(work: Path) -> bool:
    """Tell whether the work directory is readable now."""
    try:
        return bool(read_regular(work / INSTANCE, 100))
    except (OSError, JimError):
        return False


def prepare_grid_job(
    site: Site, place: Path, handler: Handler, request: Attributes, opener: Opener = OWN, sharing: Sharing = str
) -> None:
    """Fill a grid job's directory once: the present wrapper, and the package of files that its sender may name.

    `sharing` gives the words that grid jobs have in common which may share a package.
    """
    for name in PROGRAMS:
        replace_durably(place / name, (shell_directory() / name).read_bytes(), 0o700)
    credentials.hand_over(place, request, credentials.now(), opener, credentials.content_soon)
    sent = packages.members(request.get("inputs") or (), site.limits.input_bytes, request.get("stdin") or "", opener)
    if site.payload.tools:
        sent += packages.walked(Path(site.payload.tools), packages.TOOLS)
    with tempfile.TemporaryDirectory(prefix=".area-", dir=place) as area:
        handler.prepare_work_area(request, Path(area))
        own = list(packages.walked(Path(area)))
        if both := {each.name for each in own} & {each.name for each in sent}:
            raise BadRequest(f"the job type {request['job_type']} has a file {min(both)} of its own", "inputs")
        if own or sent:
            packages.share(site.work, place, [*own, *sent], sharing())


def prepare_submission(
    directory: Path,
    common: Mapping[str, str],
    settings: Sequence[tuple[str, str]],
    lines: Sequence[Line],
    *,
    shared: bool = True,
) -> Path:
    """Make a submission directory durable and return the script for the batch system.

    `common` names the batch system's variables: index, id, restart. `shared`: worker nodes see the directory. Repeating
    this changes nothing.
    """
    replace(_made(directory), b"")  # first: without this file there was no directory
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    text = "".join(f"* {word} {value}\n" for word, value in settings) + "".join(map(_job_lines, enumerate(lines, 1)))
    script = directory / "job.sh"
    replace_durably(directory / "jobs", text.encode())
    if shared:
        place, wrapper = str(directory), str(directory.parent / WRAPPER)
    else:
        place, wrapper = f"{directory.parent.name}/{directory.name}", "./remote-job"
        _pack_luggage(directory)
    replace_durably(script, _script(place, wrapper, common).encode(), 0o700)
    sync_directory(directory.parent)
    return script


def _pack_luggage(directory: Path) -> None:
    """Pack the files that go along with each job; links are followed when the job starts."""
    luggage, place = directory / LUGGAGE, directory.parent
    luggage.mkdir(mode=0o700, exist_ok=True)
    replace_durably(luggage / "remote-job", (shell_directory() / "remote-job").read_bytes())
    names = (*PROGRAMS, packages.HELD, *credentials.KINDS)
    for each in (directory / "jobs", *(place / name for name in names)):
        if each.exists():
            with suppress(FileExistsError):
                (luggage / each.name).symlink_to(each)


def _job_lines(numbered: tuple[int, Line]) -> str:
    index, line = numbered
    job = line.job
    facts = [("n", job.n), ("attempt", job.attempt), ("seed", job.seed), *line.settings]
    facts += [("arg", word) for word in line.command]
    return "".join(f"{index} {word} {value}\n" for word, value in facts) + f"{index} end\n"


def _script(place: str, wrapper: str, variables: Mapping[str, str]) -> str:
    restart = f"${{{variables['restart']}:-}}" if variables["restart"] else ""
    return (
        "#!/bin/sh\n"
        # Variables of the batch command, which some batch systems pass on.
        f"unset PYTHONPATH {MARK_VARIABLE}\n"
        '[ "${LC_ALL-}" != C ] || unset LC_ALL\n'
        f'export JIM_BATCH_ID="${{{variables["id"]}:-}}" JIM_RESTART="{restart}"\n'
        f'set -- {shlex.quote(place)} "${{{variables["index"]}:-1}}"\n'
        f". {shlex.quote(wrapper)}\n"
    )


def mark_sent(directory: Path, number: int) -> None:
    """Record that this try of the batch command may run from now on."""
    replace_durably(directory / SENT, f"{number}\n".encode())


def tries_sent(directory: Path) -> int:
    """Return the last try of the batch command that may have run; 0: none."""
    try:
        return int(read_regular(directory / SENT, 20) or 1)  # an empty file is from a version that counted no tries
    except FileNotFoundError:
        return 0


def trace(directory: Path, index: int) -> Trace:
    """Read what an attempt left; an incomplete file counts as missing."""
    gone = _gone(directory, index)  # first: a claim that is gone leaves no exit record after this
    claim = claim_of(directory, index)
    touched, record, unreadable = 0.0, None, False
    try:
        touched = (directory / f"claim.{index}").stat().st_mtime
    except OSError as error:
        unreadable = passes(error)
    try:
        record = read_exit_record(read_regular(directory / f"exit.{index}", LONGEST_RECORD).decode(errors="replace"))
    except OSError as error:
        unreadable = unreadable or passes(error)
    except JimError:
        pass
    return Trace(claim, touched, record, unreadable, bool(claim and claim.nonce and gone == claim.nonce))


def _gone(directory: Path, index: int) -> str:
    """Return the nonce of the claim that has no process any more, if that is written."""
    try:
        lines = read_regular(directory / f"gone.{index}", 4096).decode(errors="replace").splitlines()
    except (OSError, JimError):  # so this proves nothing
        return ""
    facts = dict(line.partition(" ")[::2] for line in lines)
    return facts.get("nonce", "") if lines[-1:] == ["end"] else ""


def put_over(directory: Path, index: int, nonce: str, why: str) -> None:
    """Write durably, and once, that an attempt is given up, for any holder of its claim that still lives."""
    own = directory / f"o.{os.urandom(8).hex()}"
    replace_durably(own, f"nonce {nonce}\nwhy {why}\nend\n".encode())
    over = directory / f"over.{index}"
    with suppress(FileExistsError):
        os.link(own, over)
    own.unlink()
    # Over NFS the answer of `link` can be lost; and a wrapper that looks makes a directory of this name for a moment.
    if not stat.S_ISREG(over.lstat().st_mode):
        with suppress(OSError):
            over.rmdir()  # the wrapper's node may have died at this moment
        raise JimError(f"cannot write {over} now")
    sync_directory(directory)


def has_refused(directory: Path, index: int) -> bool:
    """Tell whether another start of an attempt found its claim taken."""
    return any(directory.glob(f"refused.{index}.*"))


def claim_of(directory: Path, index: int) -> Claim | None:
    """Read who holds a claim; a claim damaged by a power cut or a payload counts as taken."""
    try:
        return read_claim(read_regular(directory / f"claim.{index}", 4096).decode(errors="replace"))
    except FileNotFoundError:
        return None
    except JimError:
        return Claim(nonce="", host="", batch="", fence=False)


def fence(directory: Path, indices: Iterable[int]) -> dict[int, Claim]:
    """Take the claims of these attempts, so that they can never start; return the holder of each.

    Only reading the claim tells who won: over NFS the answer of `link` can be lost.
    """
    nonce = os.urandom(16).hex()
    own = directory / f"c.{nonce}"
    replace_durably(own, f"nonce {nonce}\nhost -\npid {os.getpid()}\nfence\n".encode())
    wanted = list(indices)
    for index in wanted:
        with suppress(FileExistsError):
            os.link(own, directory / f"claim.{index}")
    sync_directory(directory)
    holders = {}
    for index in wanted:
        holder = claim_of(directory, index)
        if holder is None:
            raise JimError(f"JIM could neither take nor read {directory}/claim.{index}")
        holders[index] = holder
    return holders


def claims(directory: Path) -> Iterator[tuple[int, Claim]]:
    """Return every taken claim of a submission directory.

    If worker nodes do not see the directory, their claims stay on the nodes; an exit record that came back proves a
    claim.
    """
    try:
        names = os.listdir(directory)  # noqa: PTH208 - names suffice
    except FileNotFoundError:
        return
    for name in names:
        found = re.fullmatch(r"(claim|exit)\.([0-9]{1,9})", name)
        if found:
            index = int(found[2])
            claim = (
                claim_of(directory, index) if found[1] == "claim" else _claim_told(trace(directory, index).exit_record)
            )
            if claim:
                yield index, claim


def _claim_told(record: ExitRecord | None) -> Claim | None:
    return Claim(record.nonce, record.host, record.batch, fence=False) if record else None


def remove_grid_directory(place: Path) -> None:
    """Remove everything of a grid job, after a rename: a wrapper that comes late finds nothing.

    Remove as much as possible; raise the reason if anything is left.
    """
    doomed = place.with_name(f".removed-{place.name}")
    with suppress(FileNotFoundError):
        place.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)
    if not is_absent(doomed):
        shutil.rmtree(doomed)
