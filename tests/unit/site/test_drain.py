"""A site that is drained takes no new grid jobs, and goes on with those that it has."""

import os

import pytest

from jim.site import drain
from jim.site.drain import Drained
from jim.site.file import Site, make_state
from jim.site.notices import Notice

NOW = 1_769_860_800.0  # 2026-01-31T12:00:00Z


@pytest.fixture
def site(tmp_path, monkeypatch):
    made = Site(state=tmp_path / "state")
    make_state(made)
    monkeypatch.setattr("jim.site.notices.time.time", lambda: NOW)
    return made


def test_a_drained_site_refuses_with_since_when_why_and_until_when(site):
    assert drain.in_words(site) == ""
    drain.require_open(site)
    drain.drain(site, "8h", "disks are exchanged")
    told = (
        "the site has taken no new grid jobs since 2026-01-31T12:00:00Z: disks are exchanged; it takes "
        "new ones again from 2026-01-31T20:00:00Z on; what it has taken in goes on"
    )
    assert drain.in_words(site) == told
    with pytest.raises(Drained) as refused:
        drain.require_open(site)
    assert str(refused.value) == told
    assert site.drain.stat().st_mode & 0o777 == 0o644  # other accounts are to read it


def test_a_drain_ends_by_itself_or_by_hand(site, monkeypatch):
    drain.drain(site, "1h")
    monkeypatch.setattr("jim.site.notices.time.time", lambda: NOW + 3600)
    assert drain.drained(site) is None
    drain.drain(site)
    assert drain.drained(site) == Notice(NOW + 3600)
    assert drain.undrain(site)
    assert drain.drained(site) is None
    assert not drain.undrain(site)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"since": 1}', b'{"since": "x", "until": 1, "reason": ""}'])
def test_a_file_that_makes_no_sense_drains_the_site_until_someone_looks(site, content):
    site.drain.write_bytes(content)
    with pytest.raises(Drained, match=r"is there and cannot be read: .*; `jim site undrain` removes it$"):
        drain.require_open(site)
    assert "cannot be read" in drain.in_words(site)
    assert drain.undrain(site)


def test_a_pipe_in_place_of_the_file_holds_no_door(site):
    os.mkfifo(site.drain)
    with pytest.raises(Drained, match="not a regular file"):
        drain.require_open(site)


def test_the_file_of_a_managed_site_is_roots_and_counts_for_every_account(tmp_path):
    ours, theirs = (Site(state=tmp_path / name, managed=True) for name in ("mc", "cms"))
    assert ours.drain == theirs.drain == tmp_path / ".drain"


# By hand


def test_people_drain_and_undrain_by_the_command_line(home):
    assert home.out("site", "undrain") == "the site was not drained; undrain changes nothing\n"
    home.add()
    home.beat()
    assert home.out("site", "drain", "--reason", "disks").startswith("the site has taken no new grid jobs since 20")
    assert home.out("status").splitlines()[-1].startswith("the site has taken no new grid jobs since 20")
    assert ": disks; what it has taken in goes on" in home.json("advertise")["drained"]
    assert home.out("site", "undrain") == "the site takes new grid jobs again\n"
    assert "takes no new" not in home.out("status")
    code, _, error = home.run("site", "drain", "--until", "yesterday")
    assert (code, error[:26]) == (2, "jim: until: 'yesterday' is")
