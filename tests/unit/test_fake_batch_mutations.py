"""JIM broken on purpose, one thing at a time: the histories notice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase

from jim import verdict
from jim.idealizer import cancel, lookup, query, settle
from jim.model import State
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


@pytest.mark.torture
@pytest.mark.parametrize(
    ("mutation", "machine", "dialect", "seed"),
    [
        (no_fence, "Troubles", "slurm", 2),
        (absence_by_one_listing, "Glitches", "pbs", 1),
        (absence_by_two_listings_in_short_order, "Glitches", "slurm", 1),
        (completed_says_the_batch_system, "Troubles", "slurm", 1),
    ],
)
def test_broken_on_purpose(monkeypatch, mutation, machine, dialect, seed):
    mutation(monkeypatch)
    with pytest.raises(AssertionError):
        play(machine, dialect, seed, ENOUGH, (Phase.generate,))
