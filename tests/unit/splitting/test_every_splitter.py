"""What must hold of every splitting, whatever the files: nothing lost, nothing twice, no job over its limit."""

import json
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.recovery import document_of, recovery_from
from tests.unit.splitting.any_files import LUMI_SPLITTERS, SIZES, closed, files, jobs, lumis_of


def holds(*strategies):
    """Try a property with many values; the machine may be as slow as it is."""
    return lambda test: settings(derandomize=True, deadline=None, max_examples=20)(given(*strategies)(test))


FLAG = st.booleans()


def units(job):
    """Give what a job processes: run and lumi, each as often as files of the job have it in a range of its own."""
    return [(run, lumi) for run, those in job.mask.run_lumis.items() for a, b in those for lumi in range(a, b + 1)]


LUMI_FLAGS = st.fixed_dictionaries({"splitOnRun": FLAG, "halt_job_on_file_boundaries": FLAG})


@holds(files(), SIZES)
def test_every_event_of_a_file_is_in_exactly_one_job(those, size):
    made = jobs("EventBased", closed(those), events_per_job=size)
    for file in those:
        ranges = [job.mask[:2] for job in made if job.files == (file,)]
        if not file.events:
            assert ranges == [(file.first_event, None)]
            continue
        assert [n for a, b in ranges for n in range(a, b + 1)] == list(
            range(file.first_event, file.first_event + file.events)
        )
        assert all(b - a + 1 == size for a, b in ranges[:-1])
        assert ranges[-1][1] - ranges[-1][0] + 1 <= size
    assert all(len(job.files) == 1 for job in made)


@holds(st.integers(0, 200), SIZES, SIZES, st.integers(1, 50))
def test_generated_events_and_lumis_are_each_in_exactly_one_job(events, size, per_lumi, lumi):
    file = File("MCFakeFile", events=events, first_event=1, runs=((1, (lumi,)),), locations=frozenset("A"))
    made = jobs("EventBased", closed((file,), production=True), events_per_job=size, events_per_lumi=per_lumi)
    assert [n for job in made for n in range(job.mask[0], job.mask[1] + 1)] == list(range(1, events + 1))
    lumis = [n for job in made for n in range(job.mask[2], job.mask[3] + 1)]
    assert lumis == list(range(lumi, lumi + len(lumis)))
    for job in made:
        in_job = job.mask.last_event - job.mask.first_event + 1
        assert (job.mask.last_lumi - job.mask.first_lumi) * per_lumi < in_job <= size


@holds(files(), LUMI_SPLITTERS, LUMI_FLAGS)
def test_every_lumi_of_every_file_is_in_exactly_one_job(those, splitter, flags):
    made = jobs(splitter[0], closed(those), **splitter[1], **flags)
    assert sum((Counter(units(job)) for job in made), Counter()) == lumis_of(those)
    for job in made:
        held = lumis_of(job.files)
        assert not Counter(units(job)) - held
        assert len({file.locations for file in job.files}) == 1
        if flags["splitOnRun"]:
            assert len(job.mask.run_lumis) == 1
        if flags["halt_job_on_file_boundaries"]:
            assert len(job.files) == 1
    assert {file.lfn for job in made for file in job.files} == {file.lfn for file in those if file.runs}


@holds(files(), st.sampled_from(["LumiBased", "EventAwareLumiBased"]), SIZES, LUMI_FLAGS)
def test_a_lumi_of_two_files_can_be_had_once_with_both(those, splitter, size, flags):
    limit = {"lumis_per_job" if splitter == "LumiBased" else "events_per_job": size}
    once_with_all_files(those, jobs(splitter, closed(those), applyLumiCorrection=True, **limit, **flags))


@holds(files(), SIZES, LUMI_FLAGS)
def test_by_work_has_a_lumi_of_two_files_once_at_each_place(those, size, flags):
    made = jobs("EventAwareLumiByWork", closed(those), events_per_job=size, **flags)
    for place in {file.locations for file in those}:
        here = [job for job in made if job.locations == place]
        once_with_all_files([file for file in those if file.locations == place], here)


def once_with_all_files(those, made):
    assert Counter(unit for job in made for unit in units(job)) == dict.fromkeys(lumis_of(those), 1)
    for file in those:
        for unit in lumis_of([file]):
            assert all(file in job.files for job in made if unit in units(job))


@holds(files(), SIZES, LUMI_FLAGS)
def test_no_job_has_more_lumis_than_its_limit(those, size, flags):
    made = jobs("LumiBased", closed(those), lumis_per_job=size, **flags)
    assert all(len(units(job)) <= size for job in made)


@holds(files(), SIZES, LUMI_FLAGS)
def test_no_job_has_more_events_than_its_limit_unless_one_lumi_has(those, size, flags):
    cost = {"timePerEvent": 1}
    made = jobs("EventAwareLumiBased", closed(those), events_per_job=size, performance=cost, **flags)
    for job in made:
        # Lumis of a file without events (after rounding) cost nothing: they may join a job that is full.
        costly = lumis_of(file for file in job.files if round(file.events / sum(len(lumis) for _, lumis in file.runs)))
        assert job.estimates.time_s <= size or len(set(units(job)) & set(costly)) == 1


@holds(files(), SIZES, FLAG, st.sampled_from(["FileBased", "MinFileBased"]))
def test_every_file_is_in_exactly_one_job_in_the_order_of_names(those, size, by_run, splitter):
    made = jobs(splitter, closed(those), files_per_job=size, respect_run_boundaries=by_run)
    assert Counter(file.lfn for job in made for file in job.files) == Counter(file.lfn for file in those)
    for place in {file.locations for file in those}:
        inside = [file.lfn for job in made if job.locations == place for file in job.files]
        assert inside == sorted(inside)
    assert all(len(job.files) <= size for job in made)
    if by_run:
        assert all(len({file.lowest_run for file in job.files}) == 1 for job in made)


@holds(files(), SIZES)
def test_no_job_has_more_bytes_than_its_limit_unless_one_file_has(those, size):
    made = jobs("SizeBased", closed(those), size_per_job=size)
    assert Counter(file.lfn for job in made for file in job.files) == Counter(file.lfn for file in those)
    assert all(sum(file.size for file in job.files) <= size or len(job.files) == 1 for job in made)


@holds(files(), SIZES, SIZES, FLAG)
def test_in_the_end_every_file_is_merged_once(those, size, events, across):
    limits = {"max_merge_size": size, "max_merge_events": events, "min_merge_size": 5, "merge_across_runs": across}
    made = jobs("ParentlessMergeBySize", closed(those), **limits)
    assert Counter(file.lfn for job in made for file in job.files) == Counter(file.lfn for file in those)
    for job in made:
        fits = sum(file.size for file in job.files) <= size and sum(file.events for file in job.files) <= events
        assert fits or len(job.files) == 1
        assert set.intersection(*(set(file.locations) for file in job.files))


@holds(files(), SIZES, st.sampled_from(["MinFileBased", "SiblingProcessingBased", "ParentlessMergeBySize"]))
def test_what_waits_is_still_there_when_no_more_comes(those, size, splitter):
    params = {"max_merge_size": size, "min_merge_size": size // 2} if "Merge" in splitter else {"files_per_job": size}
    first = jobs(splitter, replace(closed(those), open=True), **params)
    used = {file.lfn for job in first for file in job.files}
    later = jobs(splitter, closed(tuple(file for file in those if file.lfn not in used)), **params)
    assert Counter(f.lfn for job in first + later for f in job.files) == Counter(f.lfn for f in those)


BY_KEY = {
    "LumiBased": {"lumis_per_job": 3},
    "EventAwareLumiBased": {"events_per_job": 20},
    "EventAwareLumiByWork": {"events_per_job": 20},
    "FileBased": {"files_per_job": 2},
    "MinFileBased": {"files_per_job": 2},
    "ParentlessMergeBySize": {"max_merge_size": 40},
    "SiblingProcessingBased": {"files_per_job": 2},
}


@holds(st.data(), files(), st.sampled_from(sorted(BY_KEY)), FLAG)
def test_jobs_do_not_depend_on_the_order_of_the_files(data, those, splitter, is_open):
    shuffled = tuple(data.draw(st.permutations(those)))
    works = [replace(closed(each), open=is_open) for each in (those, shuffled)]
    first, second = ([job.to_record() for job in jobs(splitter, work, **BY_KEY[splitter])] for work in works)
    assert first == second


@holds(files(), st.sampled_from([*sorted(BY_KEY), "EventBased", "SizeBased"]))
def test_a_splitting_can_be_repeated_and_written_down(those, splitter):
    params = BY_KEY.get(splitter, {})
    made = jobs(splitter, closed(those), **params)
    assert made == jobs(splitter, closed(those), **params)
    by_name = {file.lfn: file for file in those}
    assert [SplitJob.from_record(json.loads(json.dumps(job.to_record())), by_name) for job in made] == made
    assert tuple(File.from_record(json.loads(json.dumps(file.to_record()))) for file in those) == those


# Taking apart and putting together


@holds(files(), LUMI_SPLITTERS)
def test_documents_of_all_jobs_recover_all_lumis(those, splitter):
    made = jobs(splitter[0], closed(those), **splitter[1])
    recovery = recovery_from({"documents": [document_of(job) for job in made]})
    again = jobs(splitter[0], closed(those, recovery=recovery), **splitter[1])
    assert [job.to_record() for job in again] == [job.to_record() for job in made]


@holds(files(), SIZES)
def test_documents_of_all_jobs_recover_all_events(those, size):
    made = jobs("EventBased", closed(those), events_per_job=size)
    recovery = recovery_from({"documents": [document_of(job) for job in reversed(made)]})
    again = jobs("EventBased", closed(those, recovery=recovery), events_per_job=size)
    assert [job.mask for job in again] == [job.mask for job in made]
