"""JIM broken on purpose, one thing at a time: the histories notice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase

from jim.idealizer import cancel, evidence, lookup
from jim.records import Claim
from tests.fake_batch.play import play

ENOUGH = 150  # histories within which each of these was noticed


def no_fence(patch):
    """Take the keeper's own word for a fence, without taking the claim."""

    def fence(directory, indices):
        claims = dict(lookup.claims(directory))
        return {index: claims.get(index, Claim("nobody", "-", "", fence=True)) for index in indices}

    for module in (evidence, lookup, cancel):
        patch.setattr(module, "fence", fence)


def absence_by_one_listing(patch):
    """Trust one listing, an empty one, too, at once."""
    compare = evidence.compare

    def trusting(listing, live, width):
        return replace(compare(listing, live, width), proves_absence=True)

    look = evidence._look
    patch.setattr(evidence, "compare", trusting)
    patch.setattr(evidence, "MISSED_TWICE", 1)
    patch.setattr(evidence, "_look", lambda house, doubt: look(house, replace(doubt, last=doubt.since + 1e9)))


def absence_by_two_listings_in_short_order(patch):
    """Trust two listings however soon the second one comes."""
    look = evidence._look
    patch.setattr(evidence, "_look", lambda house, doubt: look(house, replace(doubt, last=doubt.since + 1e9)))


@pytest.mark.torture
@pytest.mark.parametrize(
    ("mutation", "machine", "dialect"),
    [
        (no_fence, "Troubles", "slurm"),
        (absence_by_one_listing, "Glitches", "pbs"),
        (absence_by_two_listings_in_short_order, "Glitches", "slurm"),
    ],
)
def test_broken_on_purpose(monkeypatch, mutation, machine, dialect):
    mutation(monkeypatch)
    with pytest.raises(AssertionError):
        play(machine, dialect, 1, ENOUGH, (Phase.generate,))
