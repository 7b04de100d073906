"""Work for splitters, as short as a test wants to say it, and what they make of it, in short."""

from jim.doors.inbox import deposit
from jim.request import check
from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription

A, B = frozenset({"SE_A"}), frozenset({"SE_B"})
AB = A | B
SITES = {"SE_A": ("a1", "a2"), "SE_B": ("b1",)}
COST = {"timePerEvent": 2, "sizePerEvent": 3, "memoryRequirement": 500}
MC = "MCFakeFile-1"
# As a request says it.
FILES = [
    {"lfn": "/a", "events": 30, "runs": {"1": [1, 2, 3]}, "locations": ["A"]},
    {"lfn": "/b", "events": 10, "runs": {"2": [7]}, "locations": ["B"]},
]
ASKED = {"job_type": "executable", "executable": "/bin/echo", "arguments": ["$SplitID"]}


def file(lfn, events=100, runs=None, locations=A, **more):
    table = tuple((run, tuple(lumis)) for run, lumis in (runs or {}).items())
    return File(lfn, events=events, runs=table, locations=locations, **more)


def work(*files, **more):
    return Subscription(files, **{"open": False, "storage_to_sites": SITES} | more)


def jobs(splitter, subscription, **params):
    return [each for each in split(splitter, params, subscription) if isinstance(each, SplitJob)]


def names(made):
    return [" ".join(each.lfn for each in job.files) for job in made]


def events(made):
    return [(job.mask.first_event, job.mask.last_event) for job in made]


def lumis(made):
    """Show masks as texts: `1:2-4,6 2:1` are lumis 2 to 4 and 6 of run 1, and 1 of run 2."""
    ranges = [job.mask.run_lumis.items() for job in made]
    shown = [
        [(run, ",".join(str(a) if a == b else f"{a}-{b}" for a, b in those)) for run, those in runs] for runs in ranges
    ]
    return [" ".join(f"{run}:{those}" for run, those in runs) for runs in shown]


def submit(world, splitter="LumiBased", **more):
    asked = ASKED | {"splitter": splitter} | ({"input_files": FILES} if splitter.endswith("Based") else {}) | more
    return deposit(world.site.state, "k1", check(asked)[1] | {"key": "k1"})


def states(world, grid=1):
    return [each.state.value for each in world.store.local_jobs(grid)]


def end_all(world, *codes):
    for index, code in enumerate(codes, 1):
        world.batch.start(1, index)
        world.batch.finish(1, index, code=code)
    world.until(lambda: world.finished(1))
