"""jim advertise: the ClassAd."""

import json

import pytest

from jim import __version__
from jim.cli.advertise import classad
from tests.support.cli_home import EVIL, EVIL_SHOWN
from tests.support.offering import offering, summary


@pytest.fixture
def home(tmp_path, capsys, monkeypatch):
    yield from offering(tmp_path / "state", capsys, monkeypatch)


def test_the_ad_has_a_line_for_each_attribute_that_is_known(home):
    (home.site.state / "summary.json").write_text(
        summary({"running": 3, "waiting": 2}, {"running": 1}, waits=[2, 4, 90])
    )
    tested = {"at": "2026-01-31T11:00:00.000Z", "status": "ok", "line": "JIM SITE OK - 9 checks, 33 local jobs"}
    (home.site.state / "site-test.json").write_text(json.dumps(tested | {"checks": []}))
    lines = home.out("advertise").splitlines()
    counts = [line for line in lines if line.startswith("LocalJobs")]
    assert counts == [
        "LocalJobsWaiting = 2",
        "LocalJobsSubmitting = 0",
        "LocalJobsSubmitted = 0",
        "LocalJobsRunning = 4",
        "LocalJobsCompleting = 0",
        "LocalJobsCompleted = 0",
        "LocalJobsFailed = 0",
        "LocalJobsKilled = 0",
        "LocalJobsHeld = 0",
        "LocalJobsSuspended = 0",
        "LocalJobsNew = 0",
        "LocalJobsCompletedFrozen = 0",
        "LocalJobsFailedFrozen = 0",
    ]
    assert [line for line in lines if line not in counts] == [
        'MyType = "JimSite"',
        'Name = "Wide Area@node1"',
        'Site = "Wide Area"',
        'Host = "node1"',
        f'Version = "{__version__}"',
        "At = 1769860800",
        'JobTypes = "executable,parametric"',
        'BatchSystem = "slurm"',
        'Queue = "long"',
        'Queues = "short,long"',
        'Accounts = "hep"',
        "WallSeconds = 7200",
        "MostWallSeconds = 86400",
        "MostMemoryMb = 4000",
        "MostCores = 8",
        "MostLocalJobs = 5000",
        'Drained = ""',
        'NoRoom = ""',
        "Slots = 16",
        "FreeSlots = 0",
        "Pending = 3",
        "Load = 0.19",
        "QueueLongSlots = 16",
        "QueueLongFreeSlots = 0",
        "QueueLongPending = 3",
        "QueueLongLoad = 0.19",
        "QueueLongWallSeconds = 604800",
        "GridJobs = 2",
        "WaitingSeconds = 4",
        "Changed = 1769860740",
        'Trouble = ""',
        "Unread = 0",
        "SiteTestAt = 1769857200",
        'SiteTestStatus = "ok"',
        'SiteTestLine = "JIM SITE OK - 9 checks, 33 local jobs"',
        (
            'Requirements = MY.Drained == "" && MY.NoRoom == "" && MY.SiteTestStatus =!= "critical"'
            " && (TARGET.JIM_job_type =?= undefined || stringListMember(TARGET.JIM_job_type, MY.JobTypes))"
            ' && (TARGET.JIM_queue =?= undefined || MY.Queues == "" || stringListMember(TARGET.JIM_queue, MY.Queues))'
            " && (TARGET.JIM_wall_seconds =?= undefined || MY.MostWallSeconds =?= undefined"
            " || TARGET.JIM_wall_seconds <= MY.MostWallSeconds)"
            " && (TARGET.JIM_memory_mb =?= undefined || MY.MostMemoryMb =?= undefined"
            " || TARGET.JIM_memory_mb <= MY.MostMemoryMb)"
            " && (TARGET.JIM_cores =?= undefined || MY.MostCores =?= undefined || TARGET.JIM_cores <= MY.MostCores)"
            " && (TARGET.JIM_local_jobs =?= undefined || MY.MostLocalJobs =?= undefined"
            " || TARGET.JIM_local_jobs <= MY.MostLocalJobs)"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('say "no"', r'"say \"no\""'),
        ("back\\slash\\", '"back\\slash\\"'),
        ('\\"', r'"\\""'),
        ("two\nlines", r'"two\nlines"'),
        ("Straße", '"Straße"'),
        (EVIL, f'"{EVIL_SHOWN}"'),
    ],
)
def test_texts_stay_in_their_quotes_and_in_their_line(text, shown):
    offered = {"site": "s", "host": "h", "trouble": text}
    assert list(classad(offered))[-2] == f"Trouble = {shown}"
