"""How many events a local job gets, by which rule, and what is refused."""

from pathlib import Path

import pytest

from jim.errors import BadRequest
from jim.handlers.base import BY_EVENTS, Handler
from jim.model import Resources
from jim.site.file import Site
from jim.site.settings import Batch, Sizing
from jim.work.sizing import check_limits, size


class Events(Handler):
    attributes = BY_EVENTS


def sized(recommended=0, most=0, **request):
    site = Site(Path("/s"), sizing=Sizing(recommended, most))
    return size(Events(), {"job_type": "events", **request}, site)


@pytest.mark.parametrize(
    ("recommended", "per_event", "events_per_job"),
    [(3600, 0.1, 36_000), (3600, 2.5, 1_440), (1, 0.3, 3), (10, 30.0, 1), (3600, 0.7, 5_142)],
)
def test_a_local_job_has_as_many_events_as_the_site_recommends(recommended, per_event, events_per_job):
    assert sized(recommended, events=10**5, cpu_seconds_per_event=per_event).events_per_job == events_per_job


def test_the_most_that_a_site_allows_counts_where_it_recommends_nothing():
    found = sized(most=3600, events=10**5, cpu_seconds_per_event=0.1)
    assert (found.pieces, found.events_per_job) == (3, 36_000)  # the last one has 28,000
    assert found.why == "3,600 s of CPU per local job, as the site allows, ÷ 0.1 s per event (the request's value)"


def test_what_fits_is_told_where_too_many_events_are_asked_for():
    with pytest.raises(BadRequest) as error:
        sized(most=60, events=1000, events_per_job=601, cpu_seconds_per_event=0.1)
    assert str(error.value) == (
        "events_per_job: 601 events × 0.1 s per event (the request's value) = 60.1 s, "
        "more than the 60 s of CPU that this site allows a local job; at most 600 events fit"
    )


@pytest.mark.parametrize("events_per_job", [{}, {"events_per_job": 300}])
def test_one_event_that_takes_longer_than_the_site_allows_is_refused_as_such(events_per_job):
    with pytest.raises(BadRequest) as error:
        sized(most=2, events=1000, cpu_seconds_per_event=2.5, **events_per_job)
    assert str(error.value) == (
        "events: one event takes 2.5 s of CPU (the request's value), "
        "more than the 2 s that this site allows a local job"
    )


def test_one_machine_has_no_more_cores_than_it_has(monkeypatch):
    """A local job with more than these would be run, and told nobody."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    check_limits(Resources(cores=2), Site(Path("/s")))
    check_limits(Resources(cores=500), Site(Path("/s"), batch=Batch("slurm")))
    check_limits(Resources(cores="5$SplitID"), Site(Path("/s")))
    with pytest.raises(BadRequest) as error:
        check_limits(Resources(cores=500), Site(Path("/s")))
    assert str(error.value) == "cores: 500 cores, but this machine, on which all local jobs run, has 2"


def test_several_cores_give_more_cpu_time_within_a_time_limit():
    site = Site(Path("/s"), batch=Batch("slurm"))
    found = sized(events=250, events_per_job=250, cpu_seconds_per_event=4.0)
    check_limits(Resources(wall_seconds=250, cores=4), site, found)
    check_limits(Resources(wall_seconds=1000), site, found)
    for resources, limit in (
        (Resources(wall_seconds=249, cores=4), "249 s on 4 cores"),
        (Resources(wall_seconds=999), "999 s"),
    ):
        with pytest.raises(BadRequest) as error:
            check_limits(resources, site, found)
        assert str(error.value) == (
            f"a local job of 250 events needs 1,000 s of CPU, more than its time limit of {limit}; "
            "use a larger wall_seconds or a smaller events_per_job"
        )


@pytest.mark.parametrize(
    ("wall", "told"), [(60, "only 60 s long"), (None, "not known to JIM: ask for wall_seconds, too")]
)
def test_a_warning_before_a_limit_that_is_too_short_or_unknown_is_refused(wall, told):
    site = Site(Path("/s"))
    site = site._replace(batch=site.batch._replace(wall_seconds=0))
    check_limits(Resources(wall_seconds=61, warn_seconds=60), site)
    with pytest.raises(BadRequest, match=f"warn_seconds: 60 s before a time limit that is {told}"):
        check_limits(Resources(wall_seconds=wall, warn_seconds=60), site)


def of_system(system, **batch):
    site = Site(Path("/s"))
    return site._replace(batch=site.batch._replace(system=system, **batch))


@pytest.mark.parametrize(
    ("system", "asked", "told"),
    [
        ("local", {"gpus": 1}, "gpus: 1: the batch system local cannot be asked for gpus"),
        ("local", {"constraint": "ib"}, "constraint: 'ib': the batch system local cannot be asked for constraint"),
        ("pbs_wrappers", {"licences": "idl"}, "licences: 'idl': the batch system pbs_wrappers cannot be asked"),
        ("pbs", {"constraint": "ib or so"}, "constraint: 'ib or so': JIM cannot ask the batch system pbs for this"),
        ("slurm", {"licences": "idl;rm"}, "licences: 'idl;rm': JIM cannot ask the batch system slurm for this"),
        ("slurm", {"batch_options": ["--exclusive"]}, "batch_options: '--exclusive': this site allows none"),
    ],
)  # fmt: skip
def test_what_a_batch_system_cannot_be_asked_for_is_refused(system, asked, told):
    with pytest.raises(BadRequest) as error:
        check_limits(Resources(**asked), of_system(system))
    assert str(error.value).startswith(told)


def test_what_a_batch_system_can_be_asked_for_is_taken():
    check_limits(Resources(gpus=2, constraint="ib", licences="idl:2"), of_system("slurm"))
    check_limits(Resources(constraint="$feature"), of_system("local"))  # each local job's own is checked


def test_an_option_and_its_value_stand_together_if_the_site_says_so():
    """Alone, `-l` would take JIM's next word, which may be a limit, for its value."""
    site = of_system("sge", allowed_options=("-l gpu=*", "-ac *", "-notify", "*x"))
    for words in (["-l", "gpu=2"], ["-notify", "-l", "gpu=2", "-ac", "a=b", "-notify"], ["-l", "gpu=2", "-l", "gpu=1"]):
        check_limits(Resources(batch_options=words), site)
    for words in (["-l"], ["-notify", "-l"], ["gpu=2"], ["-l", "mem=2"], ["-l gpu=2"], ["-ac", "-notify", "-l"], [""]):
        with pytest.raises(BadRequest, match=r"this site allows only -l gpu=\*, -ac \*, -notify, \*x"):
            check_limits(Resources(batch_options=words), site)


@pytest.mark.parametrize("word", ["--exclusive", "--nice=100", "--nice="])
def test_words_that_a_site_allows_are_taken(word):
    check_limits(Resources(batch_options=[word]), of_system("slurm", allowed_options=("--exclusive", "--nice=*")))


@pytest.mark.parametrize(
    "word", ["--exclusive=user", "--nice=1 2", "--nice=$(id)", "--nice='", "--nice=\n", "x--nice=1"]
)
def test_words_that_a_site_does_not_allow_are_refused(word):
    site = of_system("slurm", allowed_options=("--exclusive", "--nice=*"))
    with pytest.raises(BadRequest, match=r"batch_options: .*: this site allows only --exclusive, --nice=\*"):
        check_limits(Resources(batch_options=[word]), site)
