"""Senders whose new grid jobs a site refuses."""

import json
import os

import pytest

from jim.errors import BadRequest, BadSite
from jim.site import bans
from jim.site.bans import Banned
from jim.site.file import Site, make_state
from jim.site.notices import Notice

NOW = 1_769_860_800.0  # 2026-01-31T12:00:00Z
EVE, ANN = "/DC=org/O=People/CN=Eve", "/DC=org/O=People/CN=Ann"


@pytest.fixture
def site(tmp_path, monkeypatch):
    made = Site(state=tmp_path / "state")
    make_state(made)
    monkeypatch.setattr("jim.site.notices.time.time", lambda: NOW)
    return made


def sender(dn="", *fqans):
    return {"dn": dn, "fqans": list(fqans), "contact": "https://gate:1/2"}


@pytest.mark.parametrize(
    ("who", "claimed", "refused"),
    [
        (EVE, sender(EVE), True),
        (EVE, sender(EVE, "/dzero/Role=NULL"), True),
        (EVE, sender(ANN), False),
        (EVE, sender(f"{EVE}lyn"), False),
        (EVE, sender(f"{EVE}/CN=1234"), False),  # whoever has another name
        ("dzero", sender(ANN, "/dzero/Role=production/Capability=NULL"), True),
        ("dzero", sender(ANN, "/cdf/Role=NULL", "/dzero/mc"), True),  # any of the VOs
        ("dzero", sender(ANN, "/dzerox/Role=NULL"), False),
        ("dzero", sender("/O=dzero/CN=dzero"), False),
        (EVE, {}, False),  # no proxy
        (EVE, sender(), False),
    ],
)
def test_a_sender_is_banned_by_dn_or_by_vo(site, who, claimed, refused):
    bans.require_welcome(site, claimed)
    bans.ban(site, [who])
    if refused:
        with pytest.raises(Banned):
            bans.require_welcome(site, claimed)
    else:
        bans.require_welcome(site, claimed)


def test_a_refusal_says_who_since_when_why_and_until_when(site):
    bans.ban(site, [EVE, "dzero"], "8h", "floods the queue")
    with pytest.raises(Banned) as refused:
        bans.require_welcome(site, sender(EVE))
    told = (
        "since 2026-01-31T12:00:00Z: floods the queue; it takes them again from 2026-01-31T20:00:00Z on; "
        "what it has taken in goes on"
    )
    assert str(refused.value) == f"the site has taken no new grid jobs of {EVE} {told}"
    with pytest.raises(Banned) as refused:
        bans.require_welcome(site, sender(ANN, "/dzero"))
    assert str(refused.value) == f"the site has taken no new grid jobs of the VO dzero {told}"
    assert site.bans.stat().st_mode & 0o777 == 0o600


def test_a_ban_ends_by_itself_or_by_hand_and_a_new_one_replaces_it(site, monkeypatch):
    bans.ban(site, [EVE], "1h", "for an hour")
    bans.ban(site, [ANN, "dzero"])
    bans.ban(site, [EVE], "2h")
    assert bans.banned(site) == {ANN: Notice(NOW), "dzero": Notice(NOW), EVE: Notice(NOW, NOW + 7200)}
    monkeypatch.setattr("jim.site.notices.time.time", lambda: NOW + 7200)
    assert list(bans.banned(site)) == [ANN, "dzero"]
    assert bans.unban(site, ["dzero", EVE]) == ["dzero"]
    assert [each["who"] for each in json.loads(site.bans.read_bytes())] == [ANN]  # what is over is kept no longer
    assert bans.unban(site, [ANN, ANN]) == [ANN]
    assert bans.banned(site) == {}


@pytest.mark.parametrize(
    "who",
    ["", "/dzero/Role=production", "/dzero", "CN=Eve,O=People", "two words", "/CN=Eve\n", "/CN=\x1b[2J", "x" * 1001],
)
def test_only_a_dn_or_a_vo_can_be_banned(site, who):
    for verb in (bans.ban, bans.unban):
        with pytest.raises(BadRequest, match=r"is neither a DN, such as .*, nor a VO, such as dzero"):
            verb(site, [ANN, who])
    assert not site.bans.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"{}x", b"[1]", b'[{"who": "a"}]', b'{"who": 1}'])
def test_a_file_that_makes_no_sense_bans_all_who_have_a_proxy_until_someone_looks(site, content):
    site.bans.write_bytes(content)
    bans.require_welcome(site, sender())
    why = rf"{site.bans} is there and cannot be read: .*; mend or remove it, and ban anew whom it named$"
    with pytest.raises(Banned, match=f"^the sender may be banned: {why}"):
        bans.require_welcome(site, sender(ANN))
    for does in (lambda: bans.ban(site, [EVE]), lambda: bans.unban(site, [EVE]), lambda: bans.banned(site)):
        with pytest.raises(BadSite, match=f"^{why}"):
            does()
    assert site.bans.read_bytes() == content


def test_a_pipe_in_place_of_the_file_holds_no_door(site):
    os.mkfifo(site.bans)
    with pytest.raises(Banned, match="not a regular file"):
        bans.require_welcome(site, sender(ANN))


def test_the_file_of_a_managed_site_is_roots_and_counts_for_every_account(tmp_path):
    ours, theirs = (Site(state=tmp_path / name, managed=True) for name in ("mc", "cms"))
    assert ours.bans == theirs.bans == tmp_path / ".bans"


# A site of several accounts: only root may read who is banned


@pytest.fixture
def managed(tmp_path, monkeypatch):
    monkeypatch.setattr("jim.site.notices.time.time", lambda: NOW)
    made = Site(state=tmp_path / "mc", managed=True)
    make_state(made)
    return made


def hide(monkeypatch, site):
    """Let the list be root's alone: the tests may be root's, who may read all."""

    def read(path, limit, real=bans.read_regular):
        if path == site.bans:
            raise PermissionError(path)
        return real(path, limit)

    monkeypatch.setattr(bans, "read_regular", read)


def test_doors_of_accounts_know_whom_root_has_banned_and_can_read_no_list(managed, monkeypatch):
    bans.ban(managed, [EVE, "dzero"], "8h", "floods the queue")
    assert managed.bans.stat().st_mode & 0o777 == 0o600
    open_to_all = [each for each in managed.bans.parent.iterdir() if each.is_file() and each.stat().st_mode & 0o044]
    assert [each.name for each in open_to_all] == [".banned"]
    for secret in ("Eve", "dzero", "floods", "2026", str(NOW + 28_800)):
        assert secret not in open_to_all[0].read_text()
    hide(monkeypatch, managed)
    bans.require_welcome(managed, sender(ANN, "/cdf"))
    why = "floods the queue; it takes them again from 2026-01-31T20:00:00Z on"
    with pytest.raises(Banned, match=why):
        bans.require_welcome(managed, sender(EVE))
    with pytest.raises(Banned, match=f"the VO dzero .*{why}"):
        bans.require_welcome(managed, sender(ANN, "/cdf", "/dzero/mc"))
    with pytest.raises(BadSite, match=r"\.bans is for root alone, who may say `jim site bans`"):
        bans.banned(managed)
    monkeypatch.setattr("jim.site.notices.time.time", lambda: NOW + 28_800)
    bans.require_welcome(managed, sender(EVE))


def test_what_doors_know_follows_the_list(managed, monkeypatch):
    bans.ban(managed, [EVE])
    before = (managed.bans.parent / ".banned").read_text()
    bans.ban(managed, [ANN])
    assert (
        json.loads(before)["sealed"]
        .keys()
        .isdisjoint(json.loads((managed.bans.parent / ".banned").read_text())["sealed"])
    ), "nobody can follow one name"
    bans.unban(managed, [EVE])
    hide(monkeypatch, managed)
    bans.require_welcome(managed, sender(EVE))
    with pytest.raises(Banned):
        bans.require_welcome(managed, sender(ANN))


def test_the_list_of_an_older_version_counts_until_root_changes_it(managed):
    managed.bans.write_text(json.dumps([{"who": EVE, **Notice(NOW).told()}]))
    with pytest.raises(Banned):
        bans.require_welcome(managed, sender(EVE))
    bans.ban(managed, [ANN])
    for each in (EVE, ANN):
        with pytest.raises(Banned):
            bans.require_welcome(managed, sender(each))


@pytest.mark.parametrize("content", ["", "[]", '{"salt": "x"}', '{"salt": "00", "sealed": 1}', "[" * 100_000])
def test_what_doors_cannot_read_bans_all_who_have_a_proxy(managed, content):
    bans.ban(managed, [EVE])
    (managed.bans.parent / ".banned").write_text(content)
    bans.require_welcome(managed, sender())
    with pytest.raises(Banned, match=r"^the sender may be banned: .*\.banned is there and cannot be read"):
        bans.require_welcome(managed, sender(ANN))


def test_a_kill_between_the_two_files_lets_nobody_in(managed, monkeypatch):
    """Doors are told first."""
    write = bans.notices.write

    def killed(site, file, *more):
        if file == site.bans:
            raise KeyboardInterrupt
        write(site, file, *more)

    monkeypatch.setattr(bans.notices, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        bans.ban(managed, [EVE])
    with pytest.raises(Banned):
        bans.require_welcome(managed, sender(EVE))
