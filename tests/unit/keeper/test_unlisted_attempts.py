"""A submission that was found after all leaves no doubt, and takes none from its neighbours."""

from jim.keeper.unlisted_attempts import Doubts


def test_only_the_doubts_about_the_submission_that_was_found_are_dropped():
    doubts = Doubts(dict.fromkeys([(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)]))
    doubts.drop(1, 1)
    assert list(doubts) == [(1, 2, 1), (2, 1, 1)]


def test_silence_from_before_any_absence_of_the_work_directory_counts():
    assert Doubts().blind_at < 0.0
