"""Groups what a listing says of jobs that wait: few groups of short, printable words for each submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from jim.errors import plain
from jim.evidence.carriers import Carried
from jim.jobs import Live
from jim.model import Listing, State

LONGEST, MOST = 200, 8  # characters of words, and groups of a submission in one state
OTHERS = "other words"


def grouped(listing: Listing, live: Sequence[Live], name_length: int) -> dict[tuple[int, int, str, str], int]:
    """Return how many jobs wait for what: (grid job, submission, state, words) → jobs."""
    shown = cache(_shown)
    of_submission: dict[tuple[int, int, str], dict[str, int]] = {}
    for each, state, words in _waiting(listing, live, name_length):
        groups = of_submission.setdefault((each.grid, each.k, state.value), {})
        groups[shown(words)] = groups.get(shown(words), 0) + 1
    return {(*key, words): count for key, groups in of_submission.items() for words, count in _few(groups).items()}


def _waiting(listing: Listing, live: Sequence[Live], name_length: int) -> Iterator[tuple[Live, State, str]]:
    """Yield the attempts that the listing shows waiting, with its words."""
    carried = Carried(listing, name_length)
    for each in live:
        seen = None if each.started else carried.of(each)
        if seen is None or seen.mark[:name_length] != each.mark[:name_length]:
            continue
        if seen.state is State.SUBMITTED and seen.waits:
            yield each, seen.state, seen.waits
        elif seen.state is State.HELD and seen.reason:
            yield each, seen.state, seen.reason


def _shown(words: str) -> str:
    """Return a stranger's words as one short line that no terminal obeys."""
    line = plain(" ".join(words.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _few(groups: Mapping[str, int]) -> dict[str, int]:
    """Keep the largest groups: words may name each job."""
    known = {words: count for words, count in groups.items() if words}
    if len(known) <= MOST:
        return known
    largest = sorted(known, key=lambda words: (-known[words], words))[: MOST - 1]
    kept = {words: known[words] for words in largest}
    kept[OTHERS] = kept.get(OTHERS, 0) + sum(known.values()) - sum(kept.values())
    return kept
