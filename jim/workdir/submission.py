"""The files that a local job finds on the worker node: the package and the submission directory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.errors import BadRequest, JimError
from jim.evidence.exit_record import JobsFile, read_jobs
from jim.files import LinkFound, for_children, held, put_once, read_regular, replace, replace_durably, sync_directory
from jim.files.trees import remove_tree
from jim.guide import SHELL
from jim.handlers.base import Attributes, Handler
from jim.jobs import GridJob
from jim.model import MARK_VARIABLE, Job
from jim.site.file import Site
from jim.site.realm import OWN, Opener
from jim.workdir import credentials, packages
from jim.workdir.pinned import lacks, pinned
from jim.workdir.removed import INSTANCE, WRAPPER

Sharing = Callable[[], str]
OWNER = "owner"  # in a grid job's directory: the owner
SUBMISSION = re.compile(r"s[1-9][0-9]{0,8}")
LONGEST_OWNER, LONGEST_JOBS = 10_000_000, 10**10
PROGRAMS = ("local-job-outputs", "local-job-watch", "jim-publish", "local-carrier", "local-job")  # of the worker node
# Last part of the directory's name of a grid job that ended before it was submitted, when the usual name is in use.
NEVER_SENT = "0"
SENT = "sent"  # the last try of the batch command that may have run; never removed
CARRIER = "local-carrier"  # the program of a batch job that runs several attempts
MADE = "made."  # begins the name of a file beside a submission directory, written before that is made; never removed
LUGGAGE = "luggage"  # files that a job takes along to a worker node that does not see the work directory


class Line(NamedTuple):
    """The attempt that one index of a submission runs."""

    job: Job
    command: Sequence[str]
    settings: Sequence[tuple[str, str]] = ()  # its own environment


def own_directory(work: Path, job: GridJob, *, unsent: bool = False) -> str:
    """Make a grid job's directory, once, and return its name; never use a directory of another grid job.

    After a restore, doors may use a number again before anyone notices. With `unsent`, for a grid job that ended before
    it was submitted, a directory from which something was submitted is not used either: after a restore it may be its
    own.
    """
    owner = json.dumps({"key": job.key, "created": job.created, "nonce": job.nonce}).encode()
    other = job.nonce or hashlib.sha256(owner).hexdigest()[:16]
    names = str(job.id), f"{job.id}-{other}", *([f"{job.id}-{other}{NEVER_SENT}"] if unsent else [])
    for name in names:
        with suppress(FileExistsError):
            (work / name).mkdir(mode=0o700)
        with suppress(LinkFound):  # JIM makes no link there
            if _take(work / name, job, owner, unsent=unsent):
                sync_directory(work)
                return name
    raise JimError(f"{work / name} belongs to another grid job")


def _take(place: Path, job: GridJob, told: bytes, *, unsent: bool) -> bool:
    """Make a directory that of a grid job, unless it is another's; tell whether it is this one's."""
    with held(place) as here:
        if unsent and _submissions(here):
            return False
        return _is_owned(here, job) or (not _is_used(here) and put_once(here / OWNER, told) == told)


def is_owned(place: Path, job: GridJob) -> bool:
    """Tell whether a directory says that it belongs to this grid job. Grid jobs of an older version have no nonce."""
    try:
        with held(place) as here:
            return _is_owned(here, job)
    except FileNotFoundError:
        return False


def _is_owned(place: Path, job: GridJob) -> bool:
    try:
        record = json.loads(read_regular(place / OWNER, LONGEST_OWNER))
        return (record["key"], record["created"]) == (job.key, job.created) and job.nonce in ("", record["nonce"])
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError, JimError):  # it says nothing, or is odd
        return False


def _is_used(place: Path) -> bool:
    """Tell whether a directory is in use already; an older version did not write the owner."""
    names = os.listdir(place)  # noqa: PTH208 - names suffice
    return OWNER in names or any(each == "result" or SUBMISSION.fullmatch(each) for each in names)


def submissions_in(place: Path) -> dict[int, Path]:
    """Return the submission directories of a grid job, by number; none if its directory does not exist."""
    try:
        with held(place) as here:
            return {int(name[1:]): place / name for name in _submissions(here)}
    except FileNotFoundError:
        return {}


def _submissions(place: Path) -> list[str]:
    return sorted(filter(SUBMISSION.fullmatch, os.listdir(place)))  # noqa: PTH208 - names suffice


def submission_directory(place: Path, k: int) -> Path:
    """Return the directory of a submission, inside that of its grid job."""
    return place / f"s{k}"


def was_never_made(directory: Path) -> bool:
    """Tell whether a submission directory was never made, so that nothing can have been sent from it.

    That its own name is absent proves nothing: somebody may have moved the directory away for a moment.
    """
    place = directory.parent
    return lacks(place, MADE + directory.name) and not lacks(place, WRAPPER)


def jobs_file_in(directory: Path) -> JobsFile | None:
    """Read which attempts a submission directory is for; None if that is not written yet."""
    try:
        with pinned(directory) as here:
            content = read_regular(here / "jobs", LONGEST_JOBS)
        return read_jobs(content.decode(errors="replace"))
    except FileNotFoundError:
        return None
    except JimError as error:
        raise JimError(f"{directory / 'jobs'}: {error}") from error


def has_another(directory: Path, own: JobsFile) -> bool:
    """Tell whether a submission directory belongs to another submission; a damaged one proves nothing."""
    with suppress(JimError):
        record = jobs_file_in(directory)
        if record and record.mark:  # after a restore the store may have only some of the attempts
            return record.mark != own.mark or not own.attempts.items() <= record.attempts.items()
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
    with held(place) as here:
        for name in PROGRAMS:
            replace_durably(here / name, (SHELL / name).read_bytes(), 0o700)
    credentials.hand_over(place, request, credentials.now(), opener, credentials.content_soon)
    sent = packages.members(request.get("inputs") or (), site.limits.input_bytes, request.get("stdin") or "", opener)
    if site.payload.tools:
        sent += packages.walked(Path(site.payload.tools), packages.TOOLS)
    with held(place) as here, tempfile.TemporaryDirectory(prefix=".area-", dir=here) as area:
        handler.prepare_work_area(request, for_children(Path(area)))
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
    carriers: int = 0,
    *,
    shared: bool = True,
) -> Path:
    """Make a submission directory durable and return the script for the batch system.

    `common` names the batch system's variables: index, id, restart. `carriers`: so many batch jobs run all attempts.
    `shared`: worker nodes see the directory. Repeating this changes nothing.
    """
    text = "".join(f"* {word} {value}\n" for word, value in settings) + "".join(map(_job_lines, enumerate(lines, 1)))
    if shared:
        program = directory.parent / (CARRIER if carriers else WRAPPER)
        script = _script(str(directory), str(program), common)
    else:
        script = _script(f"{directory.parent.name}/{directory.name}", "./remote-job", common)
    with held(directory.parent) as place:
        replace(place / (MADE + directory.name), b"")  # first: without this file there was no directory
        with suppress(FileExistsError):
            (place / directory.name).mkdir(mode=0o700)
        with held(place / directory.name) as here:
            replace_durably(here / "jobs", text.encode())
            if not shared:
                _pack_luggage(here, directory)
            replace_durably(here / "job.sh", script.encode(), 0o700)
        sync_directory(place)
    return directory / "job.sh"


def _pack_luggage(here: Path, directory: Path) -> None:
    """Pack the files that go along with each job; links are followed when the job starts."""
    with suppress(FileExistsError):
        (here / LUGGAGE).mkdir(mode=0o700)
    names = (*(each for each in PROGRAMS if each != CARRIER), packages.HELD, *credentials.KINDS)
    with held(here / LUGGAGE) as luggage:
        replace_durably(luggage / "remote-job", (SHELL / "remote-job").read_bytes())
        for each in (directory / "jobs", *(directory.parent / name for name in names)):
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
        f"unset PYTHONPATH JIM_CARRIER {MARK_VARIABLE}\n"
        '[ "${LC_ALL-}" != C ] || unset LC_ALL\n'
        f'export JIM_BATCH_ID="${{{variables["id"]}:-}}" JIM_RESTART="{restart}"\n'
        f'set -- {shlex.quote(place)} "${{{variables["index"]}:-1}}"\n'
        f". {shlex.quote(wrapper)}\n"
    )


def mark_sent(directory: Path, number: int) -> None:
    """Record that this try of the batch command may run from now on."""
    with pinned(directory) as here:
        replace_durably(here / SENT, f"{number}\n".encode())


def tries_sent(directory: Path) -> int:
    """Return the last try of the batch command that may have run; 0: none."""
    try:
        with pinned(directory) as here:
            return int(read_regular(here / SENT, 20) or 1)  # an empty file is from a version that counted no tries
    except FileNotFoundError:
        return 0
    except (ValueError, JimError):  # what stands there instead proves nothing: the batch system may have it
        return sys.maxsize


def remove_grid_directory(place: Path) -> None:
    """Remove everything of a grid job, after a rename: a wrapper that comes late finds nothing.

    Remove as much as possible; raise the reason if anything is left. Of a link, what it leads to stays.
    """
    doomed = place.with_name(f".removed-{place.name}")
    with suppress(FileNotFoundError):
        place.rename(doomed)
    if doomed.is_symlink():
        doomed.unlink()
    with suppress(OSError):  # what came meanwhile goes by the next call
        remove_tree(doomed)
    with suppress(FileNotFoundError):
        remove_tree(doomed)
