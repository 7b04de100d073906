"""JIM broken on purpose, one thing at a time: the histories notice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase

from jim import verdict, verdicts
from jim.adapters import sge
from jim.errors import BatchError, Full, JimError, Refused, Unclear
from jim.idealizer import cancel, lookup, query, settle, submit
from jim.model import State, Witness
from jim.records import Claim
from tests.fake_batch.play import play

ENOUGH = 150  # histories within which each of these was noticed, from its seed on


def no_fence(patch):
    """Take the keeper's own word for a fence, without taking the claim."""

    def fence(directory, indices):
        claims = dict(lookup.claims(directory))
        return {index: claims.get(index, Claim("nobody", "-", "", fence=True)) for index in indices}

    for module in (settle, lookup, cancel):
        patch.setattr(module, "fence", fence)


def absence_by_one_listing(patch):
    """Trust one listing, an empty one, too, at once."""
    compare = query.compare

    def trusting(listing, live, width):
        return replace(compare(listing, live, width), proves_absence=True)

    look = settle._look
    patch.setattr(query, "compare", trusting)
    patch.setattr(settle, "MISSED_TWICE", 1)
    patch.setattr(settle, "_look", lambda house, doubt: look(house, replace(doubt, last=doubt.since + 1e9)))


def absence_by_two_listings_in_short_order(patch):
    """Trust two listings however soon the second one comes."""
    look = settle._look
    patch.setattr(settle, "_look", lambda house, doubt: look(house, replace(doubt, last=doubt.since + 1e9)))


def completed_says_the_batch_system(patch):
    """Take its word that a job has ended well, exit record or not."""
    of_vanished = verdict.of_vanished

    def believing(ended, **more):
        well = ended is not None and ended.state is State.COMPLETED
        return verdict.VERIFIED if well else of_vanished(ended, **more)

    patch.setattr(verdict, "of_vanished", believing)


def killed_as_soon_as_the_cancel_was_answered(patch):
    """Take the answer to a cancel for the end of what was to be cancelled."""
    end = cancel._end

    def ending(house, live, reused):
        answer = end(house, live, reused)
        house.workers.later("told", lambda: recorded(house, live))
        return answer

    def recorded(house, live):
        killed = verdict.Verdict(State.KILLED, "cancelled", Witness.USER)
        for each in live:
            if verdicts.cancelled(house, each.grid, each.n):
                verdicts.record(house, (each.grid, each.k, each.idx), killed)

    patch.setattr(cancel, "_end", ending)


def given_up_when_the_controller_is_down(patch):
    """Take "nothing was done, come later" for what never gets better by itself."""
    not_recorded = submit._not_recorded

    def giving_up(house, submission, error):
        later = isinstance(error, BatchError) and not isinstance(error, Unclear | Refused | Full)
        not_recorded(house, submission, JimError(str(error)) if later else error)

    patch.setattr(submit, "_not_recorded", giving_up)


def each_line_of_the_accounts_is_a_death(patch):
    """Believe of an end, too, that nobody saw."""
    patch.setattr(sge, "NEVER_RAN", sge.NEVER_RAN | {"0": ""})


def over_time_says_the_batch_system(patch):
    """Take its word that a job ran into its time limit, however early its claim went stale."""
    patch.setattr(verdict, "before_its_time", lambda found, *_: found)


@pytest.mark.torture
@pytest.mark.parametrize(
    ("mutation", "machine", "dialect", "seed"),
    [
        (no_fence, "Troubles", "slurm", 3),
        (absence_by_one_listing, "Glitches", "pbs", 1),
        (absence_by_two_listings_in_short_order, "Glitches", "slurm", 1),
        (completed_says_the_batch_system, "Troubles", "slurm", 2),
        (killed_as_soon_as_the_cancel_was_answered, "Troubles", "slurm", 3),
        (given_up_when_the_controller_is_down, "Troubles", "slurm", 3),
        (each_line_of_the_accounts_is_a_death, "Troubles", "sge", 3),
        (over_time_says_the_batch_system, "Troubles", "lsf", 1),
    ],
)
def test_broken_on_purpose(monkeypatch, mutation, machine, dialect, seed):
    mutation(monkeypatch)
    with pytest.raises(AssertionError):
        play(machine, dialect, seed, ENOUGH, (Phase.generate,))
