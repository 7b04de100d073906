"""Files of any shape, and how they are split."""

from collections import Counter

from hypothesis import strategies as st

from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription

SITES = {"A": ("a",), "B": ("b",)}
LOCATIONS = st.sampled_from([frozenset("A"), frozenset("B"), frozenset("AB")])
RUNS = st.dictionaries(st.integers(0, 4), st.frozensets(st.integers(0, 12), min_size=1), max_size=3)
SIZES = st.integers(1, 40)


@st.composite
def files(draw, **fixed):
    """Files with unique names, in no order."""
    number = draw(st.integers(0, 8))
    names = draw(st.permutations([f"f{n}" for n in range(number)]))
    kinds = {
        "size": st.integers(0, 30),
        "events": st.integers(0, 50),
        "first_event": st.integers(0, 9),
        "age_s": st.just(0),
    }
    return tuple(
        File(name, **{key: draw(kind) for key, kind in kinds.items()} | fixed)._replace(
            runs=tuple((run, tuple(sorted(lumis))) for run, lumis in sorted(draw(RUNS).items())),
            locations=draw(LOCATIONS),
        )
        for name in names
    )


def closed(those, **more):
    return Subscription(those, open=False, storage_to_sites=SITES, **more)


def jobs(splitter, work, **params):
    return [each for each in split(splitter, params, work) if isinstance(each, SplitJob)]


def lumis_of(those):
    return Counter((run, lumi) for each in those for run, lumis in each.runs for lumi in lumis)


LUMI_SPLITTERS = st.one_of(
    st.tuples(st.just("LumiBased"), st.fixed_dictionaries({"lumis_per_job": SIZES})),
    st.tuples(st.just("EventAwareLumiBased"), st.fixed_dictionaries({"events_per_job": SIZES})),
)
