"""The room on the disks of state and work directory."""

import pytest

from jim.errors import BadSite
from jim.site import space
from jim.site.file import Disk, Site, make_state, read
from jim.site.space import NoRoom, Shortage


@pytest.fixture
def site(tmp_path):
    made = Site(state=tmp_path / "state", disk=Disk(2000, 100, 5000, 500))
    make_state(made)
    return made


def rooms(monkeypatch, site, state, work):
    monkeypatch.setattr("jim.site.space.free_mb", lambda place: {site.state: state, site.work: work}[place])


@pytest.mark.parametrize(
    ("state", "work", "found"),
    [
        (2000, 5000, []),
        (1999, 5000, [(False, "state")]),
        (100, 5000, [(False, "state")]),
        (99, 5000, [(True, "state")]),
        (2000, 4999, [(False, "work")]),
        (2000, 499, [(True, "work")]),
        (0, 600, [(True, "state"), (False, "work")]),
    ],
)
def test_each_disk_has_two_thresholds(site, monkeypatch, state, work, found):
    rooms(monkeypatch, site, state, work)
    short = space.shortages(site)
    assert [(each.stops, each.words.split()[4]) for each in short] == found
    if any(stops for stops, _ in found):
        with pytest.raises(NoRoom):
            space.require_room(site)
    else:
        space.require_room(site)


def test_the_words_have_the_numbers_and_what_follows(site, monkeypatch):
    rooms(monkeypatch, site, 1500, 499)
    assert space.shortages(site) == [
        Shortage(
            False,
            f"the disk of the state directory {site.state} has 1,500 MB left, and disk.state_warn_mb is 2,000: below "
            "100 MB JIM takes no new grid jobs and sends nothing",
        ),
        Shortage(
            True,
            f"the disk of the work directory {site.work} has 499 MB left, and disk.work_stop_mb is 500: JIM takes no "
            "new grid jobs and sends nothing until there is room; what runs goes on",
        ),
    ]
    with pytest.raises(NoRoom, match=r"^the disk of the work directory .* what runs goes on$"):
        space.require_room(site)


def test_what_is_free_is_asked_of_the_disk_also_for_a_directory_still_to_be_made(tmp_path):
    assert space.free_mb(tmp_path) > 0
    site = Site(state=tmp_path / "not/yet", disk=Disk(work_warn_mb=10**9))
    (short,) = space.shortages(site)
    assert short.words.startswith(f"the disk of the work directory {tmp_path} has ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("state_warn_mb = 50", ":2: disk.state_warn_mb: 50 is less than disk.state_stop_mb, 100"),
        (
            "work_stop_mb = 3_000",
            ":2: disk.work_stop_mb: 3,000 is more than disk.work_warn_mb, which is 2,000",
        ),
        ("work_stop_mb = -1", ":2: disk.work_stop_mb: must be between 0 and 1,000,000,000"),
        ("work_stop = 1", ":2: disk.work_stop: unknown key"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(tmp_path, text, why):
    file = tmp_path / "site.toml"
    file.write_text(f"[disk]\n{text}\n")
    with pytest.raises(BadSite) as refused:
        read(file, tmp_path)
    assert str(refused.value).startswith(f"{file}{why}")


def test_the_room_of_a_disk_is_told_with_its_size_also_for_a_directory_still_to_be_made(tmp_path):
    free, size = space.room(tmp_path / "not/yet")
    assert 0 < free <= size
