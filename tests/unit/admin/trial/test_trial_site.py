"""The temporary state directory of a site test."""

from __future__ import annotations

from jim.admin.trial import trial_site


def test_what_two_attempts_say_alike_is_told_once():
    said = "not accepted: something odd (exit 1 after 0.{0} s: qsub --name jim-ec44a644-1-{0} /w/1/s{0}/job.sh)"
    last = f"attempt 3: {said.format(3)}"
    assert list(trial_site._distinct([said.format(2), last, "and another", said.format(3)])) == [last, "and another"]
