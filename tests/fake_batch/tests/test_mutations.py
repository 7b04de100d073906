"""JIM broken on purpose, one thing at a time: the histories notice, or a test of its own where nothing ends wrongly."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest
from hypothesis import Phase

from jim import files
from jim.errors import BatchError, Full, JimError, Refused, Unclear
from jim.evidence import verdict
from jim.evidence.exit_record import Claim
from jim.idealizer import health
from jim.keeper import recorded_outputs, unlisted_attempts
from jim.keeper.attempts import judging, settling
from jim.keeper.inbox import accepting
from jim.keeper.inbox.accepting import take_request
from jim.keeper.queue import asking, fulfilling, looking_up, sending
from jim.keeper.results import accounting
from jim.keeper.results.outputs_of_failed import Unfinished
from jim.keeper.results.tar_summary import Enclosure
from jim.keeper.serial import Hold, Serials
from jim.model import NO_REASON, State, Witness
from jim.site.file import Batch
from jim.statusdb.store import Store
from tests.fake_batch.play import play
from tests.support.stand_ins import Answers, Instead, World

ENOUGH = 150  # histories within which each of these was noticed, from its seed on
FEW = 8  # histories of one seed: the first so many have noticed what is not left to `make torture`


def no_fence(patch):
    """Take the keeper's own word for a fence, without taking the claim."""

    def fence(_, directory, indices):
        claims = dict(looking_up.claims(directory))
        return {index: claims.get(index, Claim("nobody", "-", "", fence=True)) for index in indices}

    for module in (settling, looking_up, fulfilling):
        patch.setattr(module, "fence", fence)


def absence_by_one_listing(patch):
    """Trust one listing, an empty one, too, at once."""
    compare = asking.compare

    def trusting(listing, live, width):
        return replace(compare(listing, live, width), proves_absence=True)

    look = settling._examine
    patch.setattr(asking, "compare", trusting)
    patch.setattr(unlisted_attempts, "MISSED_TWICE", 1)
    patch.setattr(settling, "_examine", lambda keeper, doubt: look(keeper, replace(doubt, last=doubt.since + 1e9)))


def absence_by_two_listings_in_short_order(patch):
    """Trust two listings however soon the second one comes."""
    look = settling._examine
    patch.setattr(settling, "_examine", lambda keeper, doubt: look(keeper, replace(doubt, last=doubt.since + 1e9)))


def completed_says_the_batch_system(patch):
    """Take its word that a job has ended well, exit record or not."""
    of_vanished = verdict.of_vanished

    def believing(ended, **more):
        well = ended is not None and ended.state is State.COMPLETED
        return verdict.VERIFIED if well else of_vanished(ended, **more)

    patch.setattr(verdict, "of_vanished", believing)


def killed_as_soon_as_the_cancel_was_answered(patch):
    """Take the answer to a cancel for the end of what was to be cancelled."""
    end = fulfilling._end

    def ending(keeper, live, reused):
        answer = end(keeper, live, reused)
        keeper.workers.later("told", lambda: recorded(keeper, live))
        return answer

    def recorded(keeper, live):
        killed = verdict.Verdict(State.KILLED, NO_REASON, Witness.USER)
        for each in live:
            if judging.cancelled(keeper, each.grid, each.n):
                judging.record(keeper, (each.grid, each.k, each.idx), killed)

    patch.setattr(fulfilling, "_end", ending)


def given_up_when_the_controller_is_down(patch):
    """Take "nothing was done, come later" for what never gets better by itself."""
    sort_out = sending._sort_out

    def giving_up(keeper, submission, error):
        later = isinstance(error, BatchError) and not isinstance(error, Unclear | Refused | Full)
        sort_out(keeper, submission, JimError(str(error)) if later else error)

    patch.setattr(sending, "_sort_out", giving_up)


def over_time_says_the_batch_system(patch):
    """Take its word that a job ran into its time limit, however early its claim went stale."""
    patch.setattr(verdict, "before_its_time", lambda found, *_: found)


def wishes_are_fulfilled_as_often_as_their_file_is_read(patch):
    """Forget which wishes were fulfilled before their files were gone."""
    patch.setattr(Store, "fulfil", lambda store, name: None)
    patch.setattr(Store, "fulfilled", lambda store: set())


def what_comes_to_nothing_is_not_told(patch):
    """Leave no line where a wish changes nothing."""
    note = Store.note

    def silent(store, grid, what, *more):
        if not what.endswith("changes nothing"):
            note(store, grid, what, *more)

    patch.setattr(Store, "note", silent)


def a_late_request_is_dropped(patch):
    """Take a request that waits for its key for one that is settled."""

    def dropping(keeper, path, content):
        take_request(keeper, path, content)
        return lambda: path.unlink(missing_ok=True)

    patch.setattr(accepting, "take_request", dropping)


def no_serial_is_behind(patch):
    """Let a keeper go on with any state directory."""
    patch.setattr(Serials, "behind", property(lambda serials: False))


def nobody_looks_whose_the_work_directory_is(patch):
    """Let a keeper make what it likes, though another one is at work."""
    patch.setattr(Hold, "reach", lambda hold: None)


def one_change_is_forgotten(patch):
    """Look at a grid job that has changed, but for each third time."""
    changed = Store.changed

    def forgetful(store):
        found = changed(store)
        store.told = getattr(store, "told", 0) + bool(found)
        return found if store.told % 3 else set()

    patch.setattr(Store, "changed", forgetful)


def lines_are_written_again(patch):
    """Never look which lines of the accounting a killed keeper has written."""
    patch.setattr(accounting, "_tail", lambda file: b"")


def half_a_line_stays(patch):
    """Append to half a line that a killed keeper has left."""
    patch.setattr(files, "_whole", lambda descriptor: os.fstat(descriptor).st_size)


def marked_before_they_are_written(patch):
    """Take what is about to be accounted for accounted."""
    lines_of = accounting.lines_of

    def hasty(keeper, ended, carriers):
        keeper.store.senders.are_accounted(ended[-1].seq)
        return lines_of(keeper, ended, carriers)

    patch.setattr(accounting, "lines_of", hasty)


def nothing_of_what_was_killed(patch):
    """Leave out what killed local jobs have left."""
    add = Unfinished.add
    killed = State.KILLED.value
    patch.setattr(Unfinished, "add", lambda self, ended: {} if ended.state == killed else add(self, ended))


def without_the_second_output(patch):
    """Leave out what a payload wrote beside its standard output and error."""
    read = recorded_outputs.read_exit_record

    def reading(text):
        record = read(text)
        return record._replace(files=record.files[:2])

    patch.setattr(recorded_outputs, "read_exit_record", reading)


def tables_of_another_attempt(patch):
    """Tell of the first attempt in the tables of a tar."""
    tell = Enclosure.tell
    patch.setattr(Enclosure, "tell", lambda self, ended, *more: tell(self, ended._replace(attempt=1), *more))


def play_enough(machine, dialect, seed, block):
    for number in range(seed, seed + ENOUGH // block):
        play(machine, dialect, number, block, (Phase.generate,))


@pytest.mark.parametrize(
    ("mutation", "machine", "dialect", "seed", "block"),
    [
        (absence_by_one_listing, "Glitches", "pbs", 1, FEW),
        (marked_before_they_are_written, "Troubles", "slurm", 1, FEW),
        (tables_of_another_attempt, "Troubles", "slurm", 1, FEW),
        *(
            pytest.param(*each, ENOUGH, marks=pytest.mark.torture)
            for each in [
                (no_fence, "Troubles", "local", 1),
                (one_change_is_forgotten, "Glitches", "slurm", 1),
                (without_the_second_output, "Glitches", "slurm", 1),
                (wishes_are_fulfilled_as_often_as_their_file_is_read, "People", "slurm", 1),
                (what_comes_to_nothing_is_not_told, "People", "slurm", 1),
                (a_late_request_is_dropped, "People", "slurm", 1),
                (no_serial_is_behind, "Restores", "slurm", 1),
                (nobody_looks_whose_the_work_directory_is, "Restores", "slurm", 1),
                (absence_by_two_listings_in_short_order, "Glitches", "slurm", 1),
                (completed_says_the_batch_system, "Troubles", "slurm", 2),
                (killed_as_soon_as_the_cancel_was_answered, "Troubles", "slurm", 4),
                (given_up_when_the_controller_is_down, "Troubles", "slurm", 3),
                (nothing_of_what_was_killed, "Troubles", "slurm", 1),
                (half_a_line_stays, "Troubles", "slurm", 1),
                (lines_are_written_again, "Troubles", "slurm", 1),
                (over_time_says_the_batch_system, "Troubles", "lsf", 3),
            ]
        ),
    ],
)
def test_broken_on_purpose(monkeypatch, mutation, machine, dialect, seed, block):
    mutation(monkeypatch)
    with pytest.raises(AssertionError):
        play_enough(machine, dialect, seed, block)


# The breaker. When it trips changes no end, only how long it takes: no history notices.


def the_breaker_trips_at_once(patch):
    """Leave the batch system alone after a single failure."""
    patch.setattr(health, "TRIPS_AFTER", 1)


def the_breaker_never_trips(patch):
    """Send to a batch system that does not answer."""
    patch.setattr(health, "TRIPS_AFTER", sys.maxsize)


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0))


def hand_in_after(world, failures):
    """Let so many listings fail in a row, then hand in another grid job, and give it; no time passes."""
    first = world.submit(key=f"before {failures}")
    world.until(lambda: world.state(first) is State.SUBMITTED)
    world.batch.lies = [Instead("query", Answers.DOWN)] * failures
    world.until(lambda: world.keeper.health.failures == failures, seconds=0.2)
    grid = world.submit(key=f"after {failures}")
    world.go(4)
    return grid


def breaks_after_three_failures(world):
    """Check that fewer keep nothing from being sent, and that three do, until it is asked again."""
    for failures in (1, 2):
        grid = hand_in_after(world, failures)
        assert world.state(grid) is State.SUBMITTED, f"held up by {failures}"
        world.until(lambda: not world.keeper.health.failures)
    grid = hand_in_after(world, 3)
    assert world.state(grid) is State.WAITING
    world.until(lambda: world.state(grid) is State.SUBMITTED)


def test_the_breaker_opens_after_three_failures(world):
    breaks_after_three_failures(world)


@pytest.mark.parametrize("mutation", [the_breaker_trips_at_once, the_breaker_never_trips])
def test_the_breaker_broken_on_purpose(world, monkeypatch, mutation):
    mutation(monkeypatch)
    with pytest.raises(AssertionError):
        breaks_after_three_failures(world)
