"""The temporary state directory of a site test."""

from __future__ import annotations

from itertools import chain, repeat

from jim.admin.trial import trial_site


def test_what_two_attempts_say_alike_is_told_once():
    said = "not accepted: something odd (exit 1 after 0.{0} s: qsub --name jim-ec44a644-1-{0} /w/1/s{0}/job.sh)"
    last = f"attempt 3: {said.format(3)}"
    assert list(trial_site._distinct([said.format(2), last, "and another", said.format(3)])) == [last, "and another"]


def test_a_trial_writes_only_below_the_work_directory_of_its_account(tried, site):
    own = tried.place / "shared/state"
    own.mkdir(parents=True)
    tried.write(more=f'[site]\nwork = "{own.parent}"\n')
    with trial_site.TrialSite(site()) as trial:
        assert trial.site.work == own / trial.site.state.name
        assert list(own.parent.iterdir()) == [own]
    assert list(own.iterdir()) == []


def test_a_trial_that_waits_for_a_hanging_command_before_it_removes_its_files_says_so(tried, site, monkeypatch):
    told, idle = [], chain([False, False], repeat(True))
    monkeypatch.setattr(trial_site, "TELL_SECONDS", -1.0)
    with trial_site.TrialSite(site(), waits=told.append) as trial:
        monkeypatch.setattr(trial.rounds.keeper.workers, "idle", lambda: next(idle))
    assert told == ["for a command of the batch system that has not returned, for 0 s now"] * 2
