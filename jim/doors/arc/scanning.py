"""Tells A-REX which of its jobs have ended. A-REX starts this every ten seconds, as root, once for all jobs.

What an account has written, only a process of that account reads, and for a second at most. That process first stores
the end in the account's state directory. Only then the scan, as root, tells A-REX: after a kill in between, the next
scan tells the same end.
"""

from __future__ import annotations

import json
import os
import pwd
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from jim.command import forked, run
from jim.doors import generations, inbox
from jim.doors.arc import ENDED, delegations, facts, plain
from jim.doors.arc.request import LONGEST_LOCAL, pairs_of
from jim.doors.arc.told_ends import Told, tell, told_of
from jim.doors.serving import hear_of_children
from jim.errors import JimError, words_of
from jim.files import locked, read_regular, replace, replace_durably
from jim.guide import SHELL
from jim.site import file as site_file
from jim.site.accounts import become

MOST_LINES = 10  # about jobs of one account, in one scan
ACCOUNT_SECONDS, COMMAND_SECONDS, KICK_SECONDS = 1.0, 120.0, 10.0
STATUS = re.compile(r"job\.([A-Za-z0-9]+)\.status")
OURS = re.compile(r"(\d{1,10})\.([1-9]\d{0,14})", re.ASCII)  # the id that A-REX was given: uid and grid job
HEX, COUNT = re.compile("[0-9a-f]+"), re.compile("[0-9]{1,9}")
LOST = 255, "JIM does not know this job any more: its grid job was removed, or its state directory replaced"


class Job(NamedTuple):
    """A job that A-REX has handed to JIM."""

    id: str
    control: Path
    entered: int  # when A-REX wrote its state, in nanoseconds; it does so each time that it starts
    reruns: int  # how often its user may still resume it
    cancelling: bool
    uid: int
    session: str
    delegation: str  # the id of the user's credential; empty: there is none


Later = tuple[str, Job, int]  # what is to be done, and the last generation when that was found


def scan(controls: Iterable[Path]) -> None:
    """Look at all jobs that JIM has, and tell A-REX of those that have ended."""
    by_account: dict[int, list[Job]] = {}
    for control in controls:
        given = cache(partial(_given, control))  # read once, and only if a proxy seems to be renewed
        for job in jobs(control):
            by_account.setdefault(job.uid, []).append(job)
            _renew_proxy(job, given)
    for uid, mine in by_account.items():
        with _alone(f"uid {uid}: no answer about its jobs ({len(mine)})"):
            for job, code, words in _ended(uid, mine):
                with _alone(f"{job.id}: A-REX is not told its end"):
                    if not _moved_on(job):  # when it is resumed, A-REX would take this for its end
                        _tell_arex(job, code, words)


@contextmanager
def _alone(what: str, into: list[str] | None = None) -> Iterator[None]:
    """Let a failure hold up nothing else, and say what has failed, or add that to a list."""
    try:
        yield
    except (JimError, OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        line = f"{what}; tried again in the next scan: {plain(words_of(error))}\n"
        (sys.stderr.write if into is None else into.append)(line)


def jobs(control: Path) -> Iterator[Job]:
    """Return the jobs that A-REX has handed to JIM, but those of which it has an end already."""
    for status in (control / "processing").glob("job.*.status"):
        with suppress(OSError, JimError):  # it moved on just now
            if (name := STATUS.fullmatch(status.name)) and (job := _job(control, status, name[1])):
                yield job


def _job(control: Path, status: Path, id_: str) -> Job | None:
    word = read_regular(status, 100).strip()
    if word not in (b"INLRMS", b"CANCELING") or (control / f"job.{id_}.lrms_done").exists():
        return None
    file = control / f"job.{id_}.local"
    local = pairs_of(read_regular(file, LONGEST_LOCAL))
    # A-REX gives the file to the account: nobody hands a job to somebody else by writing another uid into it.
    if not (ours := OURS.fullmatch(local.get("localid", ""))) or file.lstat().st_uid not in (0, int(ours[1])):
        return None
    named = local.get("sessiondir", ""), local.get("delegationid", "")
    reruns = int(local["rerun"]) if COUNT.fullmatch(local.get("rerun", "")) else 0
    return Job(id_, control, status.stat().st_mtime_ns, reruns, word == b"CANCELING", int(ours[1]), *named)


def _ended(uid: int, mine: Sequence[Job]) -> Iterator[tuple[Job, int, str]]:
    """Ask, as the account, which of its jobs have ended."""
    later: list[Later] = []
    answer = forked(partial(_told_by, pwd.getpwuid(uid).pw_name, mine, later), partial(_do, later), ACCOUNT_SECONDS)
    for place, code, words in json.loads(answer):
        yield mine[place], int(code), str(words)


def _tell_arex(job: Job, code: int, words: str) -> None:
    # Durable: a power cut could leave it empty. A-REX would take that for a failure, and no scan would tell it again.
    replace_durably(job.control / f"job.{job.id}.lrms_done", f"{code} {plain(words)}\n".encode(), 0o644)
    kick = Path(os.environ.get("ARC_LOCATION", "/usr"), "lib/arc/gm-kick")
    # If that fails, A-REX looks after a while.
    run([str(kick), "-j", job.id, str(job.control / f"job.{job.id}.local")], limit=KICK_SECONDS)


def _given(control: Path) -> AbstractSet[tuple[object, object]]:
    with _alone(f"{control}: no proxy is renewed before A-REX does so itself"):
        return delegations.given(control)
    return frozenset()


def _renew_proxy(job: Job, given: Callable[[], AbstractSet[tuple[object, object]]]) -> None:
    """Write a renewed proxy into the job's file: A-REX itself does so only when the job moves on.

    The account names the proxy, and A-REX's record says whether the job may have it.
    """
    parts = re.findall(".{1,3}", job.delegation if HEX.fullmatch(job.delegation) else "")
    file, place = job.control.joinpath(delegations.PLACE, *parts), job.control / f"job.{job.id}.proxy"
    with suppress(OSError, JimError):  # a job without a proxy, or one that moved on just now
        about, draft = place.stat(), place.with_name(f".job.{job.id}.proxy.new")
        if not parts or (renewed := file.stat().st_mtime_ns) == about.st_mtime_ns:
            return
        if (job.id, job.delegation) not in given():
            return
        replace(draft, read_regular(file, LONGEST_LOCAL))
        os.utime(draft, ns=(renewed, renewed))  # later scans know it by that, even if somebody sets the clock back
        os.chown(draft, about.st_uid, about.st_gid)
        draft.rename(place)


# In a process of the account


def _told_by(name: str, mine: Sequence[Job], later: list[Later]) -> bytes:
    become(name)
    state, until = site_file.load().state, time.monotonic() + ACCOUNT_SECONDS / 2
    found, failures = list[tuple[int, int, str]](), list[str]()
    for place in random.sample(range(len(mine)), len(mine)):  # what takes too long has its turn in a later scan
        with _alone(f"{mine[place].id}: its end is not known", failures):
            if time.monotonic() < until and (end := _end(state, mine[place], later)):
                found.append((place, end.code, end.words))
    sys.stderr.writelines(failures[:MOST_LINES])  # where a disk is away, thousands of jobs have the same reason
    return json.dumps(found).encode()


def _end(state: Path, job: Job, later: list[Later]) -> Told | None:
    """Return the end of a job, once it is stored; note what else is to be done about the job."""
    told = told_of(state, job.id)
    if told and told.reruns == job.reruns:  # A-REX has not taken it yet
        return told
    after, number = generations.last(state, job.id), generations.number_of_last(state, job.id)
    if number and not (told and told.number == number):
        return _answered(state, job, number, later)
    if told:
        return _resumed(state, job, told, ("resume" if number else "submit", job, after), later)
    if (state / "keys").is_dir() and (state / "status.db").exists():  # else it may only be out of reach
        return tell(state, job.id, Told(0, job.reruns, *LOST))
    raise JimError(f"{state} has no keys or no store: it may be out of reach")


def _resumed(state: Path, job: Job, told: Told, again: Later, later: list[Later]) -> Told | None:
    """Let a job be handed in once more; if it was killed instead, tell the old end, once no scan hands it in."""
    if not job.cancelling:
        later.append(again)
    elif time.time() - job.entered / 1e9 >= COMMAND_SECONDS:
        return tell(state, job.id, told._replace(reruns=job.reruns))
    return None


def _answered(state: Path, job: Job, number: int, later: list[Later]) -> Told | None:
    """Return the end of a grid job, as its keeper has written it."""
    later.append(("poll", job, 0))
    answer = read_regular(state / "answers" / str(number), inbox.LONGEST)
    if not answer.startswith(ENDED + b" "):
        if job.cancelling and not generations.is_to_end(state, number, "arc"):
            later.append(("cancel", job, 0))
        return None
    _, code, words = answer.decode(errors="replace").rstrip("\n").split(" ", 2)
    facts.write(state, number, job.session, int(code))
    return tell(state, job.id, Told(number, job.reruns, int(code), words if int(code) else ""))


def _do(later: Sequence[Later]) -> None:
    """Do what takes longer, after the answer, unless an earlier scan is still at it: the next scan finds it again."""
    state = site_file.load().state
    with suppress(BlockingIOError), locked(state / "scan.lock", wait=False):
        if polled := next((job for what, job, _ in later if what == "poll"), None):
            # A poll starts a keeper if none lives.
            run([str(SHELL / "jim-poll"), str(generations.number_of_last(state, polled.id))], limit=COMMAND_SECONDS)
        for what, job, after in later:
            with _alone(f"{job.id}: {what} failed"):
                if what == "cancel" or (what != "poll" and not _moved_on(job)):
                    _call(state, what, job, after)


def _call(state: Path, what: str, job: Job, after: int) -> None:
    if what == "resume":
        generations.begin(state, job.id, after)  # later scans may have found the same
    verb = "cancel" if what == "cancel" else "submit"
    words = [str(SHELL / f"arc/{verb}-jim-job"), "--again", f"{job.control}/job.{job.id}.grami"]
    answer = run(words, limit=COMMAND_SECONDS)
    if answer.code == 2 and verb == "submit":  # it can never be accepted
        tell(state, job.id, Told(0, job.reruns, 1, " ".join(answer.err.split())[-500:]))


def _moved_on(job: Job) -> bool:
    """Tell whether A-REX has changed the state of a job since the scan began."""
    status = job.control / f"processing/job.{job.id}.status"
    with suppress(PermissionError):
        return not status.exists() or status.stat().st_mtime_ns != job.entered
    return False


if __name__ == "__main__":
    hear_of_children()
    scan(map(Path, sys.argv[1:]))
