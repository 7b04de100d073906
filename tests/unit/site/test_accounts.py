"""The accounts of a managed site, and how root acts as one of them."""

import json
import os
import pwd
from types import SimpleNamespace

import pytest

from jim.errors import BadRequest
from jim.model import Answer
from jim.site.accounts import accounts, become, require_of_site

ME = pwd.getpwuid(os.getuid()).pw_name


def test_an_account_is_one_whose_directory_is_its_own(tmp_path):
    for name in (ME, "no such account", ".published"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    said = []
    assert list(accounts(said.append, tmp_path)) == [ME]
    assert said == ["no such account: there is no such account; left alone"]


def test_what_was_put_aside_beside_an_account_is_no_matter(tmp_path):
    """The timer complained each minute of what somebody had put aside to go back to an older version."""
    for name in (ME, f"{ME}.newer", "nobody-here.newer", f"{ME}.newer.old"):
        (tmp_path / name).mkdir()
    said = []
    assert list(accounts(said.append, tmp_path)) == [ME]
    assert sorted(said) == sorted(
        [
            f"{ME}.newer.old: there is no such account; left alone",
            "nobody-here.newer: there is no such account; left alone",
        ]
    )


def test_nothing_is_done_as_an_account_whose_directory_is_anothers(tmp_path, monkeypatch):
    (tmp_path / ME).mkdir()
    monkeypatch.setattr("jim.site.accounts.pwd.getpwnam", lambda name: SimpleNamespace(pw_uid=os.getuid() + 1))
    said = []
    assert list(accounts(said.append, tmp_path)) == []
    assert said == [f"{ME}: {tmp_path / ME} belongs to uid {os.getuid()}; left alone"]


def test_an_account_that_is_not_of_the_site_is_refused(tmp_path):
    file, place = tmp_path / "site.toml", tmp_path / "state"
    require_of_site("nobody", file, place)  # a site of its owner
    file.touch()
    place.mkdir()
    with pytest.raises(
        BadRequest, match="nobody is no account of this site: it has none yet; `jim site init --account"
    ):
        require_of_site("nobody", file, place)
    (place / ME).mkdir()
    require_of_site(ME, file, place)
    with pytest.raises(BadRequest, match=f"its accounts are {ME};"):
        require_of_site("nobody", file, place)


def test_whether_an_account_is_of_the_site_costs_the_same_for_hundreds_of_accounts(tmp_path, monkeypatch):
    """What root does as each account in turn asks that for each of them, every ten seconds."""
    file, place, asked = tmp_path / "site.toml", tmp_path / "state", []
    file.touch()
    for name in (ME, *(f"account{n}" for n in range(300))):
        (place / name).mkdir(parents=True)
    known = pwd.getpwnam
    monkeypatch.setattr("jim.site.accounts.pwd.getpwnam", lambda name: asked.append(name) or known(name))
    require_of_site(ME, file, place)
    assert asked == [ME]
    with pytest.raises(BadRequest, match=r"\.\. is no account of this site"):
        require_of_site("..", file, place)


@pytest.fixture
def done(monkeypatch):
    """What the system is asked for; nobody becomes anybody."""
    calls = []
    for name in ("chdir", "initgroups", "setgid", "setuid"):
        monkeypatch.setattr(f"jim.site.accounts.os.{name}", lambda *given, name=name: calls.append((name, *given)))
    known = SimpleNamespace(pw_uid=4001, pw_gid=4002, pw_dir="/home/mc")
    monkeypatch.setattr("jim.site.accounts.pwd.getpwnam", {"mc": known}.__getitem__)
    monkeypatch.setattr("jim.site.accounts.os.environ", {"JIM_STATE": "/root/jim", "XDG_STATE_HOME": "/root/.state"})
    return calls


def test_root_becomes_an_account_with_its_groups_first_and_its_own_state_directory(done, monkeypatch):
    monkeypatch.setattr("jim.site.accounts.os.geteuid", lambda: 0)
    become("mc")
    assert done == [("chdir", "/"), ("initgroups", "mc", 4002), ("setgid", 4002), ("setuid", 4001)]
    del os.environ["PYTEST_CURRENT_TEST"]
    assert os.environ == {"HOME": "/home/mc", "USER": "mc", "LOGNAME": "mc"}


def test_an_account_looks_at_its_own_grid_jobs_as_it_is(done, monkeypatch):
    monkeypatch.setattr("jim.site.accounts.os.geteuid", lambda: 4001)
    become("mc")
    assert done == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mc", "only root may look at the grid jobs of mc: run this as root, or as mc"),
        ("eve\0", "there is no account "),
    ],
)
def test_nobody_else_becomes_an_account(done, monkeypatch, name, told):
    monkeypatch.setattr("jim.site.accounts.os.geteuid", lambda: 4003)
    with pytest.raises(BadRequest) as refused:
        become(name)
    assert str(refused.value).startswith(told)
    assert done == []


# jim status --all


@pytest.fixture
def several(home, monkeypatch):
    """Root of a managed site of two accounts; one of them cannot tell."""
    told = {"bob": '[{"id": 1}]', "mc": '[{"id": 7}, {"id": 8}]'}
    monkeypatch.setattr("jim.cli.every_account.os.geteuid", lambda: 0)
    monkeypatch.setattr("jim.cli.every_account.site_file.load", lambda: home.site._replace(managed=True))
    monkeypatch.setattr("jim.site.accounts.accounts", lambda complain: iter(["bob", "eve", "mc"]))

    def run(command, *, limit, account):
        if account == "eve":
            return Answer(command, 1, "", "jim: its disk is away", 0.1)
        return Answer(command, 0, told[account] if command[-1] == "--json" else f"grid jobs of {account}\n", "", 0.1)

    monkeypatch.setattr("jim.site.accounts.run", run)
    return home


def test_root_sees_the_grid_jobs_of_every_account(several):
    code, out, error = several.run("status", "--all")
    assert (code, out) == (1, "== bob\ngrid jobs of bob\n== mc\ngrid jobs of mc\n")
    assert error.startswith("jim: eve: ")
    assert "its disk is away" in error
    code, out, _ = several.run("status", "--all", "--json")
    assert (code, json.loads(out)) == (
        *(1, [{"account": "bob", "id": 1}, {"account": "mc", "id": 7}, {"account": "mc", "id": 8}]),
    )


def test_all_accounts_are_for_root(home, monkeypatch):
    monkeypatch.setattr("jim.cli.every_account.os.geteuid", lambda: 4001)
    code, out, error = home.run("status", "--all")
    assert (code, out) == (2, "")
    assert error.startswith("jim: --all is for root of a site of several accounts")
