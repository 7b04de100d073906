"""The forms of publications: progress lines as elements, elements as progress, and the limits of all."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

OF_ALL = -1  # stands for n in publications about the grid job itself
LONGEST = 65_536  # bytes
MOST, MOST_BYTES = 64, 1 << 20  # of one local job: publications are shown, not archived
UNCHECKED = "?"  # to be compared with a grammar of the job type
PHASE_KEY = "phase-"  # begins the names of phases
NAME = re.compile(r"[\w-]{1,40}", re.ASCII)
# A publication is a phase if it is an element such as `<phase name="sim" done="117" total="250" unit="events"/>`.
PHASE = "<phase "
_LINE = re.compile(r"phase ([\w-]{1,40}) (\d{1,15}) (\d{1,15}) (\S{1,40})\n?", re.ASCII)
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"))
_CHARACTER = rf"""(?:[^"<&]|{"|".join(escape for _, escape in _ESCAPES)})"""
_ATTRIBUTE = re.compile(rf'\b(?:(name|unit)="({_CHARACTER}{{1,40}})"|(done|total)="([0-9]{{1,15}})")')


class PhaseTold(NamedTuple):
    """The progress that a publication tells."""

    name: str
    unit: str
    done: int
    total: int


@lru_cache(64)  # SQL asks for its parts, one after the other
def phase_of(content: str) -> PhaseTold | None:
    """Read a publication that is a phase; None: it is something else."""
    if not content.startswith(PHASE):
        return None
    facts = {word or number: text or digits for word, text, number, digits in _ATTRIBUTE.findall(content)}
    if not facts.keys() >= {"name", "done", "total"}:
        return None
    return PhaseTold(_plain(facts["name"]), _plain(facts.get("unit", "")), int(facts["done"]), int(facts["total"]))


def _plain(value: str) -> str:
    for character, escape in reversed(_ESCAPES):  # & comes last: &amp;lt; stands for &lt;
        value = value.replace(escape, character)
    return value


def phase_element(line: str) -> str:
    """Return a progress line as an element; empty: it is none."""
    told = _LINE.fullmatch(line)
    if not told:
        return ""
    name, done, total, unit = told.groups()
    for character, escape in _ESCAPES:
        unit = unit.replace(character, escape)
    return f'<phase name="{name}" done="{done}" total="{total}" unit="{unit}"/>'
