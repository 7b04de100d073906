"""What completed local jobs have used, as the store tells."""

from __future__ import annotations

from jim.evidence.exit_record import with_seen
from jim.jobs import Used
from jim.model import Step
from tests.support.cli_home import Home

RECORD = (
    "jim-exit 1\nmark m\nindex 1\nnonce x\nn 0\nattempt 1\nhost h\nbatch -\nstarted 2026-01-31T11:00:00Z\n"
    "ended 2026-01-31T11:01:40Z\ncpu {cpu}\nup 100\ncode 0\nsignal -\nreason -\nrecovery -\n{peak}end\n"
)


def add(home: Home, number: int, *records: tuple[float, str], asked: int | None = None, **request: object) -> None:
    """Add a grid job whose local jobs, of 250 events each, have left these records."""
    home.add(number, size=len(records), **{"job_type": "events", **request})
    local_jobs = home.store.local_jobs(number)
    home.store.intend(number, 1, f"jim-cafe-{number}-1", local_jobs, 0, {"memory_mb": asked} if asked else {})
    for idx, (cpu, peak) in enumerate(records, 1):
        told = RECORD.format(cpu=cpu, peak=f"peak {peak}\n" if peak else "")
        home.store.set_attempt(number, 1, idx, record=told, verdict="completed" if cpu else "failed")
    home.store.set_grid_job(number, step=Step.ACTIVE)


def test_what_completed_local_jobs_have_used_is_found_by_type_and_request_id(home: Home) -> None:
    add(home, 1, (500.0, ""), (25.0, "204800 sampled"), (0, "204800 sampled"), request_id="13669")
    add(home, 2, (1000.0, "1 cgroup"), request_id="13669")
    add(home, 3, (1.0, ""), request_id="4711")
    add(home, 4, (1.0, ""), request_id="13669", job_type="others")
    add(home, 5, (1.0, ""), request_id="13669", test="yes")
    add(home, 6, (2.5, ""))
    assert home.store.completed.used("events", "13669", 10) == [
        Used(250, 4.0, 1),
        Used(250, 2.0, None),
        Used(250, 0.1, 200),
    ]
    assert home.store.completed.used("events", "13669", 2) == [Used(250, 4.0, 1), Used(250, 2.0, None)]
    assert home.store.completed.used("events", "", 10) == [Used(250, 0.01, None)]
    assert home.store.completed.used("nothing", "", 10) == []


def test_the_peak_of_a_cgroup_at_its_limit_tells_nothing(home: Home) -> None:
    """It may be of files in the cache: who learns from it would ask for more and more."""
    full, half = f"{960 * 1024} cgroup", f"{500 * 1024} cgroup"
    add(home, 1, (250.0, full), (250.0, half), (250.0, full.replace("cgroup", "sampled")), asked=1000)
    assert [each.memory_mb for each in home.store.completed.used("events", "", 10)] == [None, 500, 960]


def test_of_times_that_cannot_be_true_no_more_is_learned_than_the_cores_can_have_used(home: Home) -> None:
    add(home, 1, (1e11, ""), (500.0, ""))
    forged = home.store.attempts(1)[0]
    home.store.set_attempt(1, 1, 1, record=with_seen(forged.record, 250.0, 2))
    assert [each.cpu_per_event for each in home.store.completed.used("events", "", 10)] == [2.0, 2.0]


def test_how_long_completed_local_jobs_took_is_found_by_type_request_id_and_program(home: Home) -> None:
    add(home, 1, (1.0, ""), (1.0, ""), (0, ""), executable="reco", request_id=13669)
    add(home, 2, (1.0, ""), executable="reco", request_id=13669, test="yes")
    add(home, 3, (1.0, ""), executable="other", request_id=13669)
    add(home, 4, (1.0, ""), executable="reco")
    like = {"job_type": "events", "executable": "reco", "request_id": 13669}
    assert home.store.completed.seconds(like, 10) == [(100.0, 250), (100.0, 250)]
    assert home.store.completed.seconds(like, 1) == [(100.0, 250)]
    assert home.store.completed.seconds({**like, "job_type": "nothing"}, 10) == []


def test_a_program_that_is_sent_along_is_another_in_another_directory(home: Home) -> None:
    """Or what somebody's run.sh took would tell how many of everybody's to put into one batch job."""
    add(home, 1, (1.0, ""), executable="./run.sh", inputs=["/home/a/run.sh", "/home/a/data.1"])
    add(home, 2, (1.0, ""), executable="python3", arguments=["fit.py", "7"], inputs=["/home/a/fit.py"])
    add(
        home,
        3,
        (1.0, ""),
        executable="python3",
        argument_sets=[["fit.py", "7"], ["fit.py", "8"]],
        inputs=["/home/a/fit.py"],
    )

    def found(directory: str, **request: object) -> int:
        inputs = [f"{directory}/{each}" for each in ("run.sh", "fit.py", "data.2")]
        return len(home.store.completed.seconds({"job_type": "events", "inputs": inputs, **request}, 10))

    assert [found(each, executable="./run.sh") for each in ("/home/a", "/home/b")] == [1, 0]
    of_python = {"executable": "python3", "arguments": ["fit.py", "9"]}
    assert [found(each, **of_python) for each in ("/home/a", "/home/b")] == [2, 0]
    assert found("/home/a", executable="python3", arguments=["run.sh"]) == 0
