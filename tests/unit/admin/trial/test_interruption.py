"""Signals that end a site test."""

from __future__ import annotations

import os
import signal

import pytest

from jim.admin.trial.interruption import Interrupted, Interruption

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("which", SIGNALS)
def test_each_of_these_signals_is_noted_and_heeded_later(which):
    before = signal.getsignal(which)
    with Interruption() as interruption:
        interruption.heed()
        os.kill(os.getpid(), which)
        with pytest.raises(Interrupted, match=f"^interrupted by {which.name}$"):
            interruption.heed()
        with pytest.raises(Interrupted):  # however often it looks
            interruption.heed()
    assert signal.getsignal(which) is before
