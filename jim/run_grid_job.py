"""The life of a grid job: the verbs of the doors, and the keeper's `moves`.

A door takes in a request (`submit`) or a wish (`cancel`): the door checks it, makes it durable in the inbox
and answers at once. `shell/jim-poll` is a script of its own: it prints the answer that the keeper has
written, and starts a keeper if the heartbeat is old. Requests, wishes and polls start a keeper if none runs;
after a reboot, a timer of the system does.

In each round, the keeper makes its moves about what has changed; it ends when no work is left. Each move reads
the store, does one thing, and records the result; after a kill at any point, the next keeper continues. Only the keeper
writes the store: doors write the inbox, and wrappers on worker nodes report through the spool.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jim.doors import inbox
from jim.doors.contract import door_of
from jim.doors.serving import Interrupted, leave, or_else, serve, taken_in, uninterrupted
from jim.errors import BadRequest, JimError, plain
from jim.model import Verb
from jim.site import file as site_file
from jim.site import whose

if TYPE_CHECKING:
    from collections.abc import Callable

    from jim.doors.contract import Door
    from jim.keeper.keeper import Keeper
    from jim.keeper.results.aging import Aging
    from jim.keeper.results.answering import Answering
    from jim.keeper.rounds import Move, Rounds


# The verbs of the doors


def submit(file: Path, through: Door | None = None, /, **more: Any) -> int:
    """Take in a request file and return its grid job's id; a refused request leaves nothing in the inbox."""
    from jim.doors import welcome  # loaded only here: most verbs take in no request
    from jim.doors.intake import to_hand_in

    door, site = through or door_of(), site_file.load()
    whose.refuse_root(managed=site.managed)
    checked, apart, sender, places, realm = to_hand_in(file, site, door, **more)
    site_file.make_state(site)
    require_keeper(site.state)
    key, after = _generation(site.state, door, checked["key"])
    with welcome.one_by_one(site, sender), uninterrupted() as interrupts:
        number = inbox.known(site.state, key, checked, apart)
        if not number:
            welcome.require(site, sender)
        door.expect(site, key, file)  # after all refusals: `expect` replaces what the door keeps of this key
        request, by = checked | {"key": key}, _by(through)
        number = number or inbox.deposit(
            site.state, key, request, apart, door, sender, by, after=after, places=places, realm=realm
        )
        wake(site.state)
    if interrupts:
        raise Interrupted(number)
    return number


def _generation(state: Path, door: Door, key: str | None) -> tuple[str, int]:
    """Return the key of the grid job that a submission is for, and the grid job that must finish first; 0: none."""
    if not key:
        return f"by-hand-{os.urandom(12).hex()}", 0
    if not (door.has_generations or door.resumes):
        return key, 0
    from jim.doors import generations  # most doors need none of this module

    if door.has_generations:
        key = generations.current(state, key, door.name)
    else:
        key = generations.key_of(key, generations.last(state, key))
    return key, generations.before(state, key)


def _by(door: Door | None) -> str:
    """Return who asks, for the journal: a gatekeeper calls a door, a person the command line."""
    return inbox.by(f"the door {door.name}" if door else "the command line")


def cancel(target: str, through: Door | None = None) -> bytes:
    """Leave a wish to cancel a grid job or local jobs; return what a poll would answer now: the job may have ended."""
    site = site_file.load()
    answer = inbox.answer(site.state, inbox.target_of(target)[0])
    wish(Verb.CANCEL, target, through)
    return answer


def wish(verb: str, target: str, through: Door | None = None, /, **more: Any) -> Path:
    """Leave a wish for the keeper, and return its file; a door's wish names the door."""
    site = site_file.load()
    more |= {"door": through.name} if through else {}
    file = inbox.wish(site.state, verb, target, by=_by(through), **more)
    wake(site.state)
    return file


def require_keeper(state: Path) -> None:
    """Refuse requests if no keeper runs and none could start."""
    from jim.keeper import waking

    waking.require_keeper(state)


def wake(state: Path) -> None:
    """Ring the keeper's bell, or start a keeper. If none starts, the request waits in the inbox for the next poll.

    Somebody else who only looks at the state directory, such as root, starts none. Nothing that fails here may look
    like a refusal of what is durable by now.
    """
    with suppress(Exception):
        from jim.keeper import waking  # the code that starts processes is loaded only after the request is durable

        waking.wake(state)


# The keeper's rounds


def moves() -> tuple[Move, ...]:
    """Return the keeper's moves for the site and for grid jobs, in order; loaded here, as no door needs them."""
    from jim.keeper import clock_jumps
    from jim.keeper.attempts import arrivals
    from jim.keeper.inbox import accepting
    from jim.keeper.queue import asking, avoiding, disks, dividing
    from jim.keeper.queue.fulfilling import Fulfilling
    from jim.keeper.queue.looking_up import look_up
    from jim.keeper.queue.renewing import Renewing
    from jim.keeper.queue.sending import Sending
    from jim.keeper.results import collecting
    from jim.keeper.results.aging import Aging
    from jim.keeper.results.answering import Answering
    from jim.keeper.results.why_failed import WhyFailed
    from jim.keeper.rounds import of_grid_job, of_site, of_tasks

    return (
        of_site(disk_space := disks.Disks()),  # looks for room on the disks, without which nothing is sent
        of_site(avoiding.Avoiding()),  # judges hosts: nothing is sent to black holes, what they have eaten is spared
        of_site(clock_jumps.follow_clock),  # after a jump of the clock, everything is due but held local jobs
        of_site(accepting.TakingInbox((aging := Aging()).remove)),  # requests and wishes of the doors
        of_site(arrivals.TakingSpool()),  # starts, ends and publications of the wrappers
        of_grid_job(dividing.resolve),  # accepted ─> resolved: size and directory
        of_grid_job(dividing.split),  # resolved ─> split: local jobs; active with the first confirmed submission
        of_grid_job(Fulfilling()),  # carries out wishes: cancel, suspend, resume
        of_grid_job(renewing := Renewing()),  # remembers which proxies and tokens a grid job uses
        of_grid_job(sending := Sending(disk_space)),  # waiting ─> submitting ─> submitted; `share` stores the intent
        of_grid_job(look_up),  # submissions whose answer was lost: adopted by claim or mark, or fenced and sent again
        of_grid_job(WhyFailed()),  # last words of failed local jobs, and inputs that are gone: for people only
        of_grid_job(collecting.collect),  # active ─> collecting ─> finished
        of_grid_job(answering := Answering()),  # puts outputs where gatekeepers take them; writes the answers to polls
        of_tasks(),  # plans, releases, hands in and follows what tasks want done
        of_site(sending.share),  # gives out places in the queue, highest priority first
        of_site(renewing.renew),  # renews proxies and tokens
        of_site(asking.Asking()),  # one query for all batch jobs
        *_of_attempts(),
        *_last_moves(aging, answering),
    )


def _of_attempts() -> tuple[Move, ...]:
    """Return the moves that find out what became of attempts."""
    from jim.keeper.attempts import ending, never_starting, settling
    from jim.keeper.results.verifying import Verifying
    from jim.keeper.rounds import of_site

    return (
        of_site(never_starting.InVain()),  # attempts that can never start: fences them, or adopts those that did start
        of_site(settling.settle),  # attempts missing from two good listings: takes the exit record, or fences
        of_site(ending.end),  # started attempts that seem dead: writes `over.I`, looks once more, judges
        of_site(Verifying()),  # compares outputs with exit records: completing ─> completed
    )


def _last_moves(aging: Aging, answering: Answering) -> tuple[Move, ...]:
    """Return the last moves, which check publications, account for attempts, remove grid jobs and tell of ends."""
    from jim.keeper.attempts.validating import Validating
    from jim.keeper.results import door_rounds
    from jim.keeper.results.accounting import Accounting
    from jim.keeper.rounds import of_site

    return (
        of_site(Validating()),  # has publications compared with grammars of their job types
        of_site(Accounting()),  # writes the accounting of attempts that have ended
        of_site(aging),  # removes finished grid jobs above the age limit, and those that people want removed
        of_site(answering.publish),  # writes the summary for the site's Unix group
        of_site(door_rounds.tell),  # tells gatekeepers that do not poll
    )


def rounds() -> Callable[[Keeper], Rounds]:
    """Load the moves; return the function that makes the rounds of one keeper with them."""
    from jim.keeper.rounds import Rounds

    all_moves = moves()
    return lambda keeper: Rounds(keeper, all_moves)


def door(arguments: list[str], name: str = "") -> int:
    """Serve a gatekeeper: its door's lines on stdout, reasons for people on stderr."""
    verb, *targets = arguments or [""]
    found_doors: list[Door] = []  # empty if the door itself cannot be found

    def answer() -> int:
        found_doors.append(_door_named(name))
        output, deed = _answer(found_doors[0], verb, targets)
        with or_else(deed):
            sys.stdout.buffer.write(output)
        return 0

    def complain(message: str, error: Exception) -> None:
        for each in found_doors:
            sys.stdout.buffer.write(each.refused(verb, message, error))
        sys.stderr.write(f"jim-{verb}: {plain(message)}\n")

    return serve(answer, complain)


def _door_named(name: str) -> Door:
    return door_of(name, site_file.load().site.handlers if "." in name else "")


def _answer(door: Door, verb: str, targets: list[str]) -> tuple[bytes, str]:
    """Return a door's answer, and words for what was done, in case the answer cannot be written."""
    if verb not in door.usage:
        raise JimError(f"unknown verb {verb!r}: a door knows {', '.join(door.usage)}")
    if targets in (["-h"], ["--help"]):  # no gatekeeper asks for help
        return f"{door.usage[verb]}\n".encode(), "only the usage was asked for"
    if not all(targets) or (verb in ("submit", "cancel") and len(targets) != 1):
        raise BadRequest(door.usage[verb])
    if verb == "submit":
        try:
            number = submit(Path(targets[0]).absolute(), door)
        except Interrupted as interrupt:
            number = interrupt.number
        return door.accepted(number), taken_in(number)
    if verb == "cancel":
        return door.cancelled(cancel(targets[0], door)), "the wish to cancel was taken in"
    return door.do(verb, targets, site_file.load())


def main(arguments: list[str] | None = None) -> int:
    """Run the door of `--door NAME`, or the usual one; or the keeper that doors start; or wake a keeper."""
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


if __name__ == "__main__":
    # Imported under its own name, so that each class exists once.
    from jim.run_grid_job import main as _main

    leave(_main())
