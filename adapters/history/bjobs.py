"""bjobs, which knows ended jobs for CLEAN_PERIOD, by default an hour."""

from __future__ import annotations

from jim.adapters.history.bhist import Bhist
from jim.adapters.lsf import FIELDS


class Bjobs(Bhist):
    """A listing of these ids only. Output of bhist is read as well: a site's own program may replace bjobs."""

    words = ("bjobs",)
    form = FIELDS


HISTORY = Bjobs
