"""The settings of a site."""

from pathlib import Path

import pytest

from jim.site.file import Site, read
from jim.site.settings import SECTIONS, settings


@pytest.fixture
def write(tmp_path):
    def write_it(text):
        file = tmp_path / "site.toml"
        file.write_text(text)
        return file

    return write_it


# What is in it


def test_the_defaults_are_those_that_operators_are_told():
    site = Site(state=Path("/s"))
    assert (site.batch.system, site.batch.slots, site.batch.query_seconds) == ("local", 0, 2.0)
    assert (site.batch.touch_seconds, site.batch.wall_seconds, site.limits.attempts) == (60, 86_400, 3)
    assert (site.limits.local_jobs, site.limits.queued, site.limits.per_submission) == (1_000_000, 10_000, 1_000)
    assert (site.keep.finished_days, site.keep.idle_seconds) == (30.0, 60.0)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_says_what_it_means_and_what_it_may_be(section):
    assert list(settings(section)) == list(SECTIONS[section]._fields)
    for name, declared in settings(section).items():
        assert len(declared.rule.help) > 10, name
        assert declared.default == getattr(SECTIONS[section](), name)
        if declared.kind in (int, float):
            assert declared.rule.least <= declared.default <= declared.rule.most


def test_a_site_cannot_be_changed():
    site = Site(state=Path("/s"))
    for place, name in ((site, "state"), (site.batch, "slots"), (site.limits, "attempts")):
        with pytest.raises(AttributeError):
            setattr(place, name, 7)


def test_lists_are_kept_as_they_cannot_be_changed(write, tmp_path):
    batch = read(write('[batch]\nqueues = ["a", "b"]\noptions = ["-P", "my grid"]\n'), tmp_path).batch
    assert (batch.queues, batch.accounts, batch.options) == (("a", "b"), (), ("-P", "my grid"))
