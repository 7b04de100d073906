"""Whose code and settings JIM obeys."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from jim import trust
from jim.errors import BadSite
from jim.request import handler_of
from jim.site import file as site_file
from jim.trust import Untrusted, of_others, open_to_all, settings_in, use

ME = os.geteuid()
STRANGER = 54_321


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of a site's own code that is closed to others."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    place = tmp_path / "up/own"
    (place / "trusted").mkdir(parents=True)
    (place / "trusted/pi.py").write_text("from jim.handlers.executable import Executable\n\nHANDLER = Executable\n")
    for each in (tmp_path / "up", *(tmp_path / "up").rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)
    return place


def _open(place: Path, bits: int) -> Path:
    place.chmod(place.stat().st_mode | bits)
    return place


def test_code_that_is_closed_to_others_is_used(own: Path) -> None:
    assert handler_of("trusted.pi", str(own))
    assert sys.path[-1] == str(own)


@pytest.mark.parametrize("place", ["..", ".", "trusted", "trusted/pi.py"])
def test_code_that_everybody_can_write_is_run_for_nobody(own: Path, place: str) -> None:
    odd = _open(own / place, stat.S_IWOTH)
    with pytest.raises(Untrusted, match=r"everybody can write to it, so JIM runs nothing of site\.handlers") as refused:
        handler_of("trusted.pi", str(own))
    assert Path(refused.value.filename).samefile(odd)
    assert str(own) not in sys.path


def test_a_sticky_directory_above_is_no_danger_and_one_among_the_code_is(own: Path) -> None:
    _open(own.parent, stat.S_IWOTH | stat.S_ISVTX)
    use(str(own))
    assert [*open_to_all(own)] == []
    _open(own / "trusted", stat.S_IWOTH | stat.S_ISVTX)
    assert [*open_to_all(own)] == [own / "trusted"]


@pytest.mark.parametrize("led_to", ["far/odd.py", "far", "far/below/odd.py"])
def test_where_links_lead_counts_too(own: Path, tmp_path: Path, led_to: str) -> None:
    (tmp_path / "far/below").mkdir(parents=True)
    for each in ("far/odd.py", "far/below/odd.py"):
        (tmp_path / each).touch(0o644)
    for each in (tmp_path / "far", tmp_path / "far/below"):
        each.chmod(0o755)
    (own / "link").symlink_to(tmp_path / "far")
    (own / "file.py").symlink_to(tmp_path / "far/below/odd.py")
    (own / "loop").symlink_to(own)
    (own / "gone").symlink_to(tmp_path / "nowhere")
    assert [*open_to_all(own)] == []
    _open(tmp_path / led_to, stat.S_IWOTH)
    assert tmp_path / led_to in {*open_to_all(own)}


@pytest.mark.parametrize("led_by", ["file", "directory"])
def test_each_link_on_the_way_counts(own: Path, tmp_path: Path, led_by: str) -> None:
    """Whoever can replace a link in the middle decides where the way ends."""
    middle = tmp_path / "middle"
    middle.mkdir(mode=0o755)
    (middle / "second").symlink_to("../up" if led_by == "directory" else own)
    (tmp_path / "first").symlink_to(middle / "second")
    place = tmp_path / "first" / "own" if led_by == "directory" else tmp_path / "first"
    assert [*open_to_all(place)] == []
    _open(middle, stat.S_IWOTH)
    assert [*open_to_all(place)] == [middle]


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        [*open_to_all(tmp_path / "one/code")]


def test_what_others_own_or_a_group_can_write_is_found(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _open(own / "trusted", stat.S_IWGRP)
    monkeypatch.setattr(trust, "_by_group", lambda about: bool(about.st_mode & stat.S_IWGRP))
    assert own / "trusted" in {*of_others(own, ME)}
    monkeypatch.setattr(trust, "_by_group", lambda about: False)
    assert {each for each in of_others(own, ME) if own.parent in (each, *each.parents)} == set()
    monkeypatch.setattr(trust, "ROOT", -1)
    assert {own, own / "trusted/pi.py"} <= {*of_others(own, STRANGER)}


def test_root_runs_only_what_root_alone_can_change(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "ROOT", ME)
    monkeypatch.setattr(trust, "of_others", lambda place, account: iter([place / "trusted/pi.py"]))
    with pytest.raises(Untrusted, match=r"not only root can change it, so root runs nothing of site\.handlers"):
        handler_of("trusted.pi", str(own))
    monkeypatch.setattr(trust, "ROOT", STRANGER)  # it is another account's process
    assert handler_of("trusted.pi", str(own))


@pytest.mark.parametrize(
    ("gid", "mode", "others"),
    [(0, 0o664, False), (12_345_678, 0o664, True), (12_345_678, 0o644, False), (12_345_678, 0o602, False)],
)
def test_a_group_is_others_unless_it_is_root_s_or_the_owner_s_own(gid: int, mode: int, others: bool) -> None:
    assert trust._by_group(os.stat_result((mode, 1, 1, 1, ME, gid, 0, 0, 0, 0))) is others


def test_the_group_of_the_owner_s_own_name_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    about = os.stat_result((0o664, 1, 1, 1, 7, 8, 0, 0, 0, 0))
    monkeypatch.setattr("pwd.getpwuid", lambda uid: type("Account", (), {"pw_name": "mc"}))
    for name, others in (("mc", False), ("users", True)):
        monkeypatch.setattr("grp.getgrgid", lambda gid, name=name: type("Group", (), {"gr_name": name}))
        assert trust._by_group(about) is others


# The site file


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A site file of this account."""
    (tmp_path / "etc").mkdir(mode=0o755)
    file = tmp_path / "etc/site.toml"
    file.write_text("[site]\n")
    file.chmod(0o644)
    return file


def test_the_settings_of_root_and_of_the_account_are_obeyed(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_in(settings, ME) == b"[site]\n"
    monkeypatch.setattr(trust, "ROOT", ME)
    assert settings_in(settings) == b"[site]\n"
    monkeypatch.setattr(trust, "ROOT", -1)
    with pytest.raises(Untrusted, match=f"it belongs to uid {ME}, and settings are root's or the account's own"):
        settings_in(settings, STRANGER)


def test_settings_that_others_can_change_are_not_obeyed(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, words in ((settings, "others can write to it"), (settings.parent, "others can replace it")):
        before = place.stat().st_mode
        _open(place, stat.S_IWOTH)
        with pytest.raises(BadSite, match=rf"JIM does not obey the site file .*site\.toml: {words}"):
            site_file.read(settings, settings.parent)
        place.chmod(before)
    monkeypatch.setattr(trust, "_by_group", lambda about: True)
    with pytest.raises(BadSite, match="run chmod go-w"):
        site_file.read(settings, settings.parent)


def test_a_pipe_or_an_endless_file_is_no_site_file(settings: Path) -> None:
    os.mkfifo(settings.parent / "pipe")
    with pytest.raises(BadSite, match="it is not a regular file"):
        site_file.read(settings.parent / "pipe", settings.parent)
    with settings.open("wb") as file:
        file.truncate(trust.LONGEST + 1)
    with pytest.raises(BadSite, match="it has more than 4,194,304 bytes"):
        site_file.read(settings, settings.parent)


def test_an_account_s_own_file_is_not_that_of_a_site_of_several_accounts(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "ROOT", -1)
    monkeypatch.setattr("jim.site.file.os.geteuid", lambda: STRANGER)
    assert site_file.read(settings, settings.parent)
    with pytest.raises(BadSite, match="settings are root's or the account's own"):
        site_file.read(settings, settings.parent, managed=True)
