"""Settings of single queues, and time limits that are left to the batch system."""

from pathlib import Path

import pytest

from jim.errors import BadRequest, BadSite
from jim.model import Resources
from jim.site.file import Site, read
from jim.work.sizing import check_limits

TEXT = """[batch]
queue = "short"
wall_seconds = 7200
most_memory_mb = 8000
[queues.short]
wall_seconds = 600
most_memory_mb = 2000
[queues.long]
wall_seconds = "none"
"""


@pytest.fixture
def site(tmp_path):
    def site(text=TEXT):
        file = tmp_path / "site.toml"
        file.write_text(text)
        return read(file, tmp_path)

    return site


@pytest.mark.parametrize(("queue", "seconds"), [(None, 600), ("short", 600), ("long", None), ("another", 7200)])
def test_each_queue_has_its_own_default_time(site, queue, seconds):
    assert site().complete(Resources(queue=queue)).wall_seconds == seconds
    assert site().complete(Resources(queue=queue, wall_seconds=5)).wall_seconds == 5


def test_no_time_limit_at_all(site):
    found = site('[batch]\nwall_seconds = "none"\n')
    assert found.complete(Resources()).wall_seconds is None
    assert Site(state=Path("/s")).complete(Resources()).wall_seconds == 86_400


def test_each_queue_has_its_own_most_memory(site):
    for queue in ("long", "another"):
        check_limits(Resources(queue=queue, memory_mb=8000), site())
    words = "memory_mb: 3,000 MB, more than the 2,000 MB that this site allows a local job in the queue short"
    for queue in ("short", None):
        with pytest.raises(BadRequest) as refused:
            check_limits(Resources(queue=queue, memory_mb=3000), site())
        assert str(refused.value) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[queues]\nshort = 3\n", "2: queues.short must be a section: write [queues.short]"),
        ("[queues.short]\nwall_second = 3\n", "2: queues.short.wall_second: unknown key; did you mean 'wall_seconds'?"),
        ('[queues.short]\nwall_seconds = "never"\n', '2: queues.short.wall_seconds: expected a whole number or "none"'),
        ("[queues.short]\nwall_seconds = 0\n", "2: queues.short.wall_seconds: must be between 1 and 100,000,000"),
        ('[queues.short]\nmost_memory_mb = "none"\n', "2: queues.short.most_memory_mb: expected a whole number, found"),
        ('[queues."-x"]\n', "no request can name the queue '-x'"),
        ("[queue.short]\nwall_seconds = 3\n", "unknown section [queue]; did you mean 'queues'?"),
        (
            "[batch]\nmost_wall_seconds = 60\n[queues.short]\nwall_seconds = 61\n",
            "4: queues.short.wall_seconds: 61 is more than batch.most_wall_seconds, 60",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(site, text, words):
    with pytest.raises(BadSite) as wrong:
        site(text)
    assert words in str(wrong.value)
