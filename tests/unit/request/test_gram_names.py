"""Attributes under GRAM's names."""

from __future__ import annotations

import re
from pathlib import Path

from jim.request import gram_names

HOME = Path(__file__).parents[3]
PAGE = (HOME / "docs/requests.md").read_text()


# The page


def test_the_page_names_every_word_of_gram():
    names = {*gram_names.RENAMED, *gram_names.USELESS, *gram_names.NO_JOB_TYPES, "count", "jobtype"}
    assert names <= {each.lower() for each in re.findall(r"`(\w+)`", PAGE)}
