"""A batch system that is made to fail."""

from __future__ import annotations

from jim.admin.trial import LEVELS
from jim.admin.trial.trial_site import TrialSite
from tests.unit.admin.trial.tried import change


def test_the_glitch_level_has_the_site_s_time_for_a_command(tried, site):
    """A site whose commands need longer than some limit of the test's own would never pass."""
    assert LEVELS["glitch"].settings == {}
    change(tried, "command_seconds = 5", "command_seconds = 300")
    with TrialSite(site()) as own:
        assert own.patience >= 900 + 2 * 0.2  # a submission, a question and a ping that hang, one after the other
