"""The life of a grid job: the keeper's moves, and in which order."""

from jim.run_grid_job import moves


def test_each_move_is_about_the_site_or_about_one_grid_job():
    names = {move.name: move.is_of_grid_job for move in moves()}
    assert names["TakingInbox"] is names["Asking"] is names["follow_clock"] is False
    assert [name for name, of_one in names.items() if of_one] == [
        *("resolve", "split", "Fulfilling", "Renewing", "Sending", "look_up", "WhyFailed", "collect"),
        "Answering",
    ]


def test_wishes_come_before_what_is_sent_and_answers_after_what_was_collected():
    order = [move.name for move in moves()]
    for earlier, later in (
        ("Disks", "Sending"),
        ("Avoiding", "Sending"),
        ("TakingInbox", "Fulfilling"),
        ("TakingSpool", "collect"),
        ("Fulfilling", "Sending"),
        ("Sending", "share"),
        ("collect", "Answering"),
        ("share", "Asking"),
        ("Asking", "settle"),
        ("settle", "end"),
    ):
        assert order.index(earlier) < order.index(later), (earlier, later)
