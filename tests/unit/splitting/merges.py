"""Files to merge, and the merges of outputs."""

from jim.splitting.files_and_jobs import Settled, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Producer
from tests.support.splitting_work import file, jobs, names, work

LIMITS = {"min_merge_size": 50, "max_merge_size": 100, "max_merge_events": 1000}


def sized(name, size, lumi=1, events=1, run=1, **more):
    return file(name, events, {run: [lumi]}, size=size, **more)


def parentless(*files, is_open=True, injected=True, **params):
    return names(jobs("ParentlessMergeBySize", work(*files, open=is_open, injected=injected), **LIMITS | params))


def merge_outputs(files, producers, **more):
    subscription = work(
        *files, producers=tuple(Producer(g, frozenset(p.split()), end) for g, p, end in producers), **more
    )
    stream = list(split("WMBSMergeBySize", LIMITS, subscription))
    settled = [(each.state, [one.lfn for one in each.files]) for each in stream if isinstance(each, Settled)]
    return names(each for each in stream if isinstance(each, SplitJob)), settled
