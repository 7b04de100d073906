"""Only its own account writes into a state directory: what root leaves there, the account cannot read."""

import pytest

from jim.doors import inbox
from jim.errors import BadSite
from jim.keeper import main, waking
from jim.site.file import Site, load, make_state
from jim.site.whose import require_own

OTHER = 4_321_987  # no account has it


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A state directory, and this is another account."""
    site = Site(state=tmp_path / "s")
    make_state(site)
    monkeypatch.setattr("os.geteuid", lambda: OTHER)
    return site.state


def everything(state):
    return sorted(str(each) for each in state.rglob("*"))


@pytest.mark.parametrize(
    "write",
    [
        lambda state: make_state(Site(state=state)),
        lambda state: inbox.deposit(state, "k", {}),
        lambda state: inbox.task_wish(state, "pause", "t"),
        waking.wake,
        waking.start_keeper,
        lambda state: main.run_keeper(state, lambda: pytest.fail("it begins"), foreground=True),
        require_own,
    ],
)
def test_nothing_is_written_for_another_account(state, monkeypatch, write):
    monkeypatch.setattr("jim.command.spawn", lambda *_, **__: pytest.fail("a keeper is started"))
    before = everything(state)
    with pytest.raises(BadSite) as refused:
        write(state)
    owner = inbox.account()
    assert str(refused.value) == (
        f"{state} belongs to {owner}, but this is uid {OTHER}: run this command as {owner}; "
        "to use a directory of your own, unset JIM_STATE or set it to another directory"
    )
    assert everything(state) == before


def test_a_wish_for_a_grid_job_is_refused_too(state):
    (state / "answers/1").touch()
    with pytest.raises(BadSite, match="run this command as"):
        inbox.wish(state, "cancel", "1")
    assert list((state / "inbox").iterdir()) == []


def test_another_account_may_read(state):
    assert load(str(state)).state == state


def test_what_is_not_there_yet_is_nobodys(tmp_path):
    require_own(tmp_path / "a/b")


def test_a_reader_who_would_start_a_keeper_goes_on_without(state):
    """`jim watch` as root starts none, and shows what there is."""
    from jim import run_grid_job

    run_grid_job.wake(state)
    assert not (state / "keeper.lock").exists()
