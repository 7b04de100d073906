"""bjobs, which knows ended jobs for CLEAN_PERIOD, an hour by default."""

from __future__ import annotations

from jim.adapters.history.bhist import Bhist
from jim.adapters.lsf import FIELDS


class Bjobs(Bhist):
    """The listing, asked for these ids alone. What bhist says is read, too: a site's own program may stand for it."""

    words, program = ("bjobs",), ""
    form = FIELDS


HISTORY = Bjobs
