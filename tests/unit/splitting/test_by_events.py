"""Ranges of consecutive events."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jim.splitting.by_events import by_events


def holds(*strategies):
    """Try a property with many values; the machine may be as slow as it is."""
    return lambda test: settings(derandomize=True, deadline=None, max_examples=20)(given(*strategies)(test))


SIZES = st.integers(1, 40)
FLAG = st.booleans()


@holds(st.integers(0, 200), SIZES, FLAG)
def test_events_are_cut_into_as_few_pieces_as_can_be(events, size, balanced):
    pieces = list(by_events(events, size, balanced=balanced))
    assert [n for one in pieces for n in range(one.first_event, one.first_event + one.events)] == [
        *range(1, events + 1)
    ]
    assert len(pieces) == -(-events // size)
    sizes = [one.events for one in pieces]
    if balanced:
        assert max(sizes, default=0) - min(sizes, default=0) <= 1
    else:
        assert set(sizes[:-1]) <= {size}
    assert all(1 <= each <= size for each in sizes)
