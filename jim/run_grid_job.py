"""The life of a grid job: what doors do, and the keeper's `moves`.

A door hands over a request (`submit`) or a wish (`cancel`): it is checked, made durable in the inbox, and
answered at once. `shell/jim-poll` is no part of this: a script, it prints the answer that the keeper has
written, and has a keeper started where the heartbeat is old. Submissions, wishes and polls start a keeper
where none runs; after a reboot a timer does.

The keeper makes its moves round after round, until every grid job is finished. Each move reads the store,
does one thing, and records it; after a kill at any place, the next round takes it up again. Nobody else
writes the store: doors write the inbox, and wrappers on worker nodes report through the spool.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from jim.doors import inbox, stdout
from jim.doors.contract import door_of
from jim.doors.intake import to_hand_in
from jim.errors import BadRequest, JimError
from jim.model import Verb
from jim.site import file as site_file

if TYPE_CHECKING:
    from jim.doors.contract import Door
    from jim.keeper.keeper import Keeper
    from jim.keeper.rounds import Move, Rounds


# The verbs of the doors


def submit(file: Path, through: Door | None = None, /, **more: Any) -> int:
    """Take in a request file and return its grid job's id; a refused one leaves nothing behind."""
    door, site = through or door_of(), site_file.load()
    checked, apart = to_hand_in(file, site, door, **more)
    site_file.make_state(site)
    require_keeper(site.state)
    key = checked["key"] or f"by-hand-{os.urandom(12).hex()}"
    number = inbox.known(site.state, key, checked, apart)
    if not number and os.path.lexists(site.drain):
        from jim.site.drain import require_open  # seldom there

        require_open(site)
    door.expect(site, key, file)  # not before: what is refused must not take the place of what was expected
    number = number or inbox.deposit(site.state, key, checked | {"key": key}, apart, door)
    wake(site.state)
    return number


def taken_in(number: int) -> str:
    """Say what is true of a request whose id cannot be printed."""
    return f"the request was taken in as grid job {number}, and handed in again with the same key it has the same id"


def cancel(target: str) -> bytes:
    """Wish that a grid job, or one local job of it, ends; return what polls say: it may have ended already."""
    site = site_file.load()
    answer = inbox.answer(site.state, inbox.target_of(target)[0])
    wish(Verb.CANCEL, target)
    return answer


def wish(verb: str, target: str, **more: Any) -> None:
    """Leave a wish for the keeper."""
    site = site_file.load()
    inbox.wish(site.state, verb, target, by=inbox.account(), **more)
    wake(site.state)


def require_keeper(state: Path) -> None:
    """Refuse to take in what no keeper could ever run."""
    from jim.keeper import waking

    waking.require_keeper(state)


def wake(state: Path) -> None:
    """See to it that a keeper runs. If none can be started, what is stored counts all the same; a poll tries again."""
    from jim.keeper import waking  # what starts processes is loaded once the request is durable, and for no other verb

    with suppress(OSError):
        waking.wake(state)


# The keeper's rounds


def moves() -> tuple[Move, ...]:
    """Give what the keeper does, in this order, about the site or one grid job; a door need not load any of it."""
    from jim.keeper.aging import Aging
    from jim.keeper.answering import Answering
    from jim.keeper.arrivals import TakingInbox, take_spool
    from jim.keeper.asking import Asking
    from jim.keeper.collecting import collect
    from jim.keeper.dividing import resolve, split
    from jim.keeper.due import follow_clock
    from jim.keeper.ending import end
    from jim.keeper.fulfilling import Fulfilling
    from jim.keeper.looking_up import look_up
    from jim.keeper.renewing import Renewing
    from jim.keeper.rounds import of_grid_job, of_site
    from jim.keeper.sending import Sending
    from jim.keeper.settling import settle
    from jim.keeper.telling import tell
    from jim.keeper.verifying import Verifying

    answering, renewing, sending = Answering(), Renewing(), Sending()
    return (
        of_site(follow_clock),  # after a jump of the clock, what was to be tried again later is due
        of_site(TakingInbox()),  # requests and wishes of the doors
        of_site(take_spool),  # starts, ends and publications of the wrappers
        of_grid_job(resolve),  # accepted ─> resolved: its size, its directory
        of_grid_job(split),  # resolved ─> split: its local jobs. The first one that is accepted makes it active
        of_grid_job(Fulfilling()),  # cancel, suspend, resume
        of_grid_job(renewing),  # the proxies and tokens that it names
        of_grid_job(sending),  # waiting ─> submitting ─> submitted; `share`, below, stores the intent
        of_grid_job(look_up),  # submissions whose answer was lost: adopted by claim or mark, or fenced and sent again
        of_grid_job(collect),  # active ─> collecting ─> finished
        of_grid_job(answering),  # what polls print
        of_site(sending.share),  # the room in the queue, those of the highest priority first
        of_site(renewing.renew),  # proxies and tokens
        of_site(Asking()),  # one question for all jobs
        of_site(settle),  # what two good listings did not show: its exit record is there, or it is fenced, or dead
        of_site(end),  # what started, and seems dead, is given up by name before it has its verdict
        of_site(Verifying()),  # local jobs, completing ─> completed
        of_site(Aging()),  # what is finished has an age limit
        of_site(answering.publish),  # what the group may read
        of_site(tell),  # what doors do besides: some gatekeepers do not poll
    )


def rounds() -> Callable[[Keeper], Rounds]:
    """Load the moves, and give what makes rounds of them."""
    from jim.keeper.rounds import Rounds

    made = moves()
    return lambda keeper: Rounds(keeper, made)


# The one place where errors become exit codes and protocol lines

UNEXPECTED, INTERRUPTED, NOT_READ = 70, 130, 141  # a fault of JIM's own; Ctrl-C; a closed pipe


def serve(action: Callable[[], int], complain: Callable[[str, Exception], None]) -> int:
    """Do what a gatekeeper or a person asked; what goes wrong is told by `complain`, and becomes an exit code."""
    stdout.prepare()
    try:
        code = action()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read us has had enough
        stdout.give_up()
        return NOT_READ
    except Exception as error:  # noqa: BLE001 - whatever it is, a gatekeeper must get its answer
        error = _explained(error)
        with stdout.last_words():
            complain(str(error) if isinstance(error, JimError) else f"{type(error).__name__}: {error}", error)
        return error.exit_code if isinstance(error, JimError) else 1 if isinstance(error, OSError) else UNEXPECTED


WHAT_TO_DO = {
    errno.ENOSPC: "free space, or inodes, on its disk, and do it again",
    errno.EDQUOT: "make room below the quota, and do it again",
    errno.EACCES: "see that this account may use it",
    errno.EROFS: "its disk can only be read just now",
}


def _explained(error: Exception) -> Exception:
    """Say what the system or Python said of files or libraries, with what there is to do."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        todo = WHAT_TO_DO.get(error.errno or 0, "`jim site check` may tell more")
        return JimError(f"{os.fsdecode(error.filename)}: {error.strerror}; {todo}")
    if not isinstance(error, ModuleNotFoundError) or (error.name or "jim").partition(".")[0] == "jim":
        return error
    from jim.keeper.waking import lacking

    return lacking([str(error.name)])


def door(arguments: list[str], name: str = "") -> int:
    """Serve a gatekeeper: its door's lines on stdout; reasons for people on stderr."""
    verb, *targets = arguments or [""]
    speaker: list[Door] = []  # none where the door itself cannot be found

    def answer() -> int:
        speaker.append(_opened(name))
        said, done = _answer(speaker[0], verb, targets)
        with stdout.or_else(done):
            sys.stdout.buffer.write(said)
        return 0

    def complain(message: str, error: Exception) -> None:
        for each in speaker:
            sys.stdout.buffer.write(each.refused(verb, message, error))
        sys.stderr.write(f"jim-{verb}: {message}\n")

    return serve(answer, complain)


def _opened(name: str) -> Door:
    return door_of(name, site_file.load().site.handlers if "." in name else "")


def _answer(door: Door, verb: str, targets: list[str]) -> tuple[bytes, str]:
    """Give what a door has to say, and, should nobody hear it, what was done."""
    if verb not in door.usage:
        raise JimError(f"unknown verb {verb!r}: a door knows {', '.join(door.usage)}")
    if targets in (["-h"], ["--help"]):  # nothing that a gatekeeper says
        return f"{door.usage[verb]}\n".encode(), "it was the usage"
    if not all(targets) or (verb in ("submit", "cancel") and len(targets) != 1):
        raise BadRequest(door.usage[verb])
    if verb == "submit":
        number = submit(Path(targets[0]).absolute(), door)
        return door.accepted(number), taken_in(number)
    if verb == "cancel":
        return door.cancelled(cancel(targets[0])), "the wish to cancel was taken in"
    return door.do(verb, targets, site_file.load())


def main(arguments: list[str] | None = None) -> int:
    """Run a door, named by `--door NAME` unless it is the default one, or the keeper that doors start."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["keeper"]:
        from jim.keeper.main import run_keeper

        return run_keeper(Path(words[1]), rounds)
    if words[:1] == ["wake"]:
        wake(Path(words[1]))
        return 0
    if words[:1] == ["--door"] and len(words) > 1:
        return door(words[2:], words[1])
    return door(words)


def leave(code: int) -> NoReturn:
    """End at once: what Python tidies up at its end takes longer than a door's own work."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    # Under its own name, so that there is one of each class.
    from jim.run_grid_job import leave as _leave
    from jim.run_grid_job import main as _main

    _leave(_main())
